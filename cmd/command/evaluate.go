package command

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strings"

	lib "dyad"
	"dyad/algorithms/evaluate"
	"dyad/engine"
	"dyad/engine/dataset"
	"dyad/internal/files"
	"dyad/privacy/ledger"
)

type evaluateCmd struct {
	Model        string    `arg:"" help:"Model file."`
	Data         dataFiles `placeholder:"FILE" help:"Data file or files, as of dyad train, in the format of the training data, with labels."`
	Threshold    float64   `default:"0" help:"Score at or above which a record counts as positive, for the accuracy."`
	PublicData   bool      `help:"The data are public: exact figures, and nothing is charged."`
	ExactFigures bool      `help:"Exact figures of private records. No guarantee covers them; do not publish them."`
	Holdout      *float64  `placeholder:"F" help:"Evaluate the fraction of the records that \"dyad train\" with this --holdout and the same --split-seed held out."`
	SplitSeed    uint64    `default:"1" help:"Seed of the split into training and held-out records."`
	Plan         bool      `help:"Print what a private evaluation of -n records would release and cost. No data are read."`
	N            int       `positive:"" short:"n" help:"Number of records or persons, for --plan; of persons in a file whose number is not that of the schema."`
	Out          string    `writes:"figures" short:"o" placeholder:"FILE" help:"File of the report of a private evaluation (JSON), which is kept through any crash after its release. Default: evaluation.json on private data, or evaluation.RUN.json if that exists."`
	Neighbours   dataFiles `placeholder:"FILE" help:"For exact figures of a metric: labelled records among which the nearest neighbours are looked for, e.g. the training file; if it is the data file, each record is left out of its own neighbours."`
	Confidence   float64   `positive:"" default:"0.95" help:"Level of the intervals."`
	labelsFlag
	Top int `positive:"" default:"10" help:"Ranks that count for exact NDCG and precision, with graded labels or query groups."`
	compareFlag
	privateFlags
	runFlags
	pageFlag
	trackFlag

	aim  *evaluate.Aim // of dyad threshold; nil: no threshold is chosen
	held target        // of figures of held-out records that a training asked for; zero: of --out
}

// Help shows examples.
func (evaluateCmd) Help() string {
	return `With --epsilon the figures are private: AUC, operating points of the ROC curve, accuracies and, if asked for, the
mean loss are released with noise, with intervals that cover the sampling of the records and the noise, and charged to
the ledger like a training. --plan prints the charge before.

Exact figures are computed from the records of the file and carry no privacy guarantee. They are for public data
(--public-data); of private records they are printed only with --exact-figures.

For a metric the accuracy of nearest neighbour classifiers is printed next to that of the identity metric.
Such a classifier consists of raw records: publishing it is not covered by the guarantee of the metric.

Examples:
  dyad evaluate model.json --plan -n 2000 --epsilon 1
  dyad evaluate model.json --data patients.csv --epsilon 1
  dyad evaluate model.json --data patients.csv --epsilon 1 --threshold 0.01 --out figures.json
  dyad evaluate model.json --compare second.json --data patients.csv --epsilon 1
  dyad evaluate metric.json --data patients.csv --epsilon 1 --reference public.csv
  dyad evaluate model.json --data public.csv --public-data --json
  dyad evaluate metric.json --data patients.csv --neighbours patients.csv --exact-figures`
}

// Run evaluates.
func (c *evaluateCmd) Run(a *app) error {
	m, err := a.openModel(c.Model, c.Ledger)
	if err != nil {
		return err
	}
	if !(c.Confidence > 0 && c.Confidence < 1) || c.Top < 1 {
		return badInput("--confidence is %v and --top %d, want strictly between 0 and 1, and at least 1", c.Confidence, c.Top)
	}
	// The schema of the model speaks of the records that it was trained on, not of these.
	if err := c.checkFlags(); err != nil {
		return err
	}
	page, err := c.output(c.Force, c.Data.and(c.Reference.and(c.Neighbours.and(c.Labels, c.Model, c.Ledger, c.Out)...)...)...)
	if err == nil && (page != nil || c.Track != "") && (c.ExactFigures || c.Plan) {
		if err = errNoExact; c.Plan {
			err = badInput("--plan releases nothing that a page could show; leave --report and --track out")
		}
	}
	if err != nil {
		return err
	}
	if err := c.checkTrack(); err != nil {
		return err
	}
	other, err := c.other(a, m)
	if err != nil {
		return err
	}
	if c.Epsilon != nil {
		return c.private(a, m, other, c.PublicData)
	}
	held, _, err := c.read(a, m, true)
	if err != nil {
		return err
	}
	if other != nil && (page != nil || c.Track != "") {
		return badInput("the exact difference of two models has no page and no run folder; leave --report and --track, or --compare out")
	}
	if other != nil {
		return c.exactDifference(a, m, other, held)
	}
	var among *engine.Records
	if m.Task == taskMetric {
		if !c.Neighbours.given() {
			return badInput("a metric is evaluated by nearest neighbours: name the records to look among with --neighbours FILE")
		}
		if c.Data.shared(c.Neighbours) > 0 {
			among = held.Records
		} else {
			neighbours, err := a.readTraining(c.Neighbours, m.Encoder.Schema(), dataset.Options{Persons: dataset.IgnorePersons}, true)
			if err != nil {
				return err
			}
			among = neighbours.Records
		}
	} else if c.Neighbours.given() {
		return badInput("--neighbours is for a metric, and %s is a model of task %s", c.Model, m.Task)
	}
	e, err := m.Evaluate(a.ctx, held, lib.EvaluateOptions{Threshold: c.Threshold, Confidence: c.Confidence, Top: c.Top, Among: among})
	if err != nil {
		return err
	}
	unit, on := "records", fmt.Sprintf("%d records", e.Records)
	if held.Records.ByPerson() {
		unit, on = "persons", fmt.Sprintf("%d persons, by their rows", e.Records)
	}
	text := fmt.Sprintf("%-10s %d\n%s", unit, e.Records, figures(e, "%-10s %s\n"))
	if e.Objective != nil {
		text += fmt.Sprintf("objective  %.6g (%s)\n", *e.Objective, e.ObjectiveOf)
	}
	text += fmt.Sprintf("guarantee  %s\n", e.Guarantee)
	brief := fmt.Sprintf("%s, on %s\nguarantee  %s\nnext       --verbose: all figures\n", headline(e), on, e.Guarantee)
	err = errors.Join(a.emitBrief(e, text, brief), c.write(a, c.Model, trackedRun{model: m, open: e}))
	if page == nil {
		return err
	}
	d := modelDocument(m, c.Model)
	d.title = "An evaluation on public records"
	if d.open, err = opened(c.PublicData, m, e, held, on); err != nil {
		return err
	}
	return a.writePage(page, d)
}

// checkFlags refuses flags that contradict each other, before a file is read.
func (c *evaluateCmd) checkFlags() error {
	switch {
	case c.Plan && (c.Epsilon == nil || c.N == 0 || c.Data.given()):
		return badInput("--plan needs --epsilon and -n, and no --data: it reads no data")
	case !c.Plan && c.N != 0 && c.Epsilon == nil:
		return badInput("-n is for private figures, with --epsilon")
	case !c.Plan && !c.Data.given():
		return badInput("name the data file with --data")
	case c.Epsilon != nil && (c.ExactFigures || c.Neighbours.given()):
		return badInput("--exact-figures and --neighbours are for exact figures, and --epsilon asks for private ones; a metric is evaluated privately with --reference")
	case c.Epsilon != nil:
		return nil
	case c.set() != "" || c.Out != "" || c.Resume != "" || c.Seed != nil:
		return badInput("%s is for private figures; say --epsilon", cmp.Or(c.set(), "--out, --resume or --seed"))
	case c.Data.shared(c.Neighbours) > 0 && (c.Data.shared(c.Neighbours) < len(c.Data.names) || len(c.Neighbours.names) > len(c.Data.names)):
		return badInput("--neighbours and --data share some of their files, and a record must not be its own neighbour; name the same files, or others")
	case !c.PublicData && !c.ExactFigures:
		return badInput("the data count as private, whatever the model was trained on: --epsilon EPSILON releases private figures, and --plan with -n shows before what it costs; --exact-figures prints exact ones, which no guarantee covers; --public-data says that the data are public")
	}
	return nil
}

// read reads the data, or the part of them that a training held out; rest is how many records or persons the
// split leaves to the training, 0 without one.
func (c *evaluateCmd) read(a *app, m *model, public bool) (held *lib.Data, rest int, err error) {
	persons := dataset.IgnorePersons // exact figures count rows
	if c.Holdout != nil || c.Epsilon != nil {
		persons = dataset.KeepPersons // the split of the training is one of persons, and so is the unit
	}
	schema := *m.Encoder.Schema()
	if c.Holdout == nil && c.Neighbours.given() && c.Data.shared(c.Neighbours) > 0 && schema.ByPerson() {
		// Rows are left out of the neighbours of their person; exact figures count all of them.
		persons, schema.Persons, schema.IDs, schema.MaxRowsPerPerson = dataset.KeepPersons, 0, dataset.IDsPublic, math.MaxInt32
	}
	if c.N > 0 {
		if schema.Persons == 0 {
			return nil, 0, badInput("-n is for --plan, and for files of persons with private ids; else the number of records is that of the file")
		}
		schema.Persons = c.N
	}
	schema.Store = cmp.Or(schema.Store, dataset.StoreFloat64) // a pack in float32 has other records than the model encodes
	schema.Public = schema.Public && public                   // what it says of these records
	data, err := a.readTraining(c.Data, &schema, c.options(dataset.Options{Persons: persons}), public)
	if err != nil {
		return nil, 0, err
	}
	all := lib.NewData(data)
	if c.Holdout == nil {
		return all, 0, nil
	}
	if err := checkShare(*c.Holdout, false); err != nil {
		return nil, 0, err
	}
	train, held, err := all.Split(*c.Holdout, c.SplitSeed)
	if err != nil {
		return nil, 0, err
	}
	return held, train.Records.Units(), nil
}

// private releases private figures, or prints their plan.
func (c *evaluateCmd) private(a *app, m, other *model, public bool) error {
	o := c.privateFlags.of(m)
	o.Threshold, o.Aim, o.Confidence, o.Compare = c.Threshold, c.aim, c.Confidence, other
	o.Names.Data, o.Names.Model, o.Names.Compare = c.Data.String(), c.Model, c.Compare
	if c.Plan {
		p, err := lib.PlanFigures(lib.ShapeOf(m.Encoder, c.N), o)
		if err != nil {
			return err
		}
		return a.emitPlan(&p.Plan.Plan)
	}
	as := targetOf(c.Out, "evaluation.json", public)
	if c.held != (target{}) {
		as = c.held
	}
	of := runOutcome{DataID: m.DataID, Public: public}
	if !public {
		o.Names.Ledger, _ = c.path() // opening it says what is wrong
	}
	var p *lib.FigurePlan
	var r *privateResult
	d := lib.FigureData{}
	k := charging{runFlags: c.runFlags, as: as, inputs: c.Data.and(c.Reference.and(c.Labels, c.Model)...), doing: "evaluating", page: c.pageFlag, track: c.trackFlag, outcome: &of}
	k.recovered = func(saved *lib.Outcome, _ *lib.Ledger) error {
		if err := k.noteReleased(a, saved, "report is"); c.Report != "" && err == nil {
			a.note("dyad: \"dyad report %s --figures %s\" makes its page", c.Model, saved.File)
		}
		return nil
	}
	k.plan = func() (planned, error) {
		if m.Task == taskMetric && c.Reference.given() && c.Data.shared(c.Reference) > 0 {
			return planned{}, badInput("%s is both data and public reference", c.Reference)
		}
		err := o.Check()
		if err == nil {
			d, err = c.figureData(a, m, other, public)
		}
		if err == nil {
			p, err = lib.PlanFigures(d.Shape(), o)
		}
		if err == nil {
			err = p.Fits(d)
		}
		if err != nil {
			return planned{}, err
		}
		return planned{plan: &p.Plan.Plan, delta: p.Options.Budget.Delta, n: p.Options.Records}, nil
	}
	k.run = func(o lib.Run) (done bool, away error) {
		r, away = a.release(p, d, o)
		if done, away = settled(asResult(away)); !done {
			return false, a.charged(away)
		}
		of.Run, r.whole = r.Run, c.Out == ""
		return true, away
	}
	k.tell = func() error {
		if err := r.told(of.Spent); err != nil {
			return err
		}
		return a.emitBrief(r, r.text(), r.brief(a))
	}
	k.draw = func(out *files.Output, _ *lib.Ledger) error { return c.writePage(a, out, m, r) }
	k.tracked = func() (string, trackedRun) { return c.Model, trackedRun{model: m, figures: r} }
	return k.perform(a)
}

// figureData reads what private figures are of.
func (c *evaluateCmd) figureData(a *app, m, other *model, public bool) (d lib.FigureData, err error) {
	if d.Data, d.Rest, err = c.read(a, m, public); err != nil {
		return d, err
	}
	if d.Compared, err = c.compared(a, other, public); err != nil || m.Task != taskMetric {
		return d, err
	}
	reference, err := a.readTraining(c.Reference, m.Encoder.Schema(), dataset.Options{Persons: dataset.IgnorePersons}, true)
	if err == nil {
		d.Reference = lib.NewData(reference)
	}
	return d, err
}

// writePage writes the page of released figures.
func (c *evaluateCmd) writePage(a *app, out *files.Output, m *model, r *privateResult) error {
	d := modelDocument(m, c.Model)
	d.figures = r
	if r.Ledger != "" {
		l, err := ledger.Open(r.Ledger)
		if err != nil {
			return err
		}
		if d.charges, err = chargesOf(l, m.DataID, r.Guarantee.Delta); err != nil {
			return err
		}
		if err := d.alsoCharged(l, r); err != nil {
			return err
		}
		if len(d.charges.runs) == 0 { // the model was charged elsewhere
			d.charges, d.otherCharges = d.otherCharges, nil
		}
	}
	return a.writePage(out, d)
}

// units are how many records or persons were evaluated.
func (r *privateResult) units() string {
	return fmt.Sprintf("%d %ss", r.Figures.Records, cmp.Or(r.Figures.Unit, "record"))
}

func (r *privateResult) text() string {
	var b strings.Builder
	r.outcome().writeData(&b, ": "+r.units())
	b.WriteString(r.Report.Text())
	r.outcome().writeLedger(&b)
	writeFigures(&b, r.Figures)
	r.writeChosen(&b)
	if r.Out != "" {
		line(&b, "report", "%s", r.Out)
	}
	return b.String()
}

// figures are the task's figures, each line by the format of label and text.
func figures(e *evaluation, format string) string {
	var b strings.Builder
	for _, k := range e.KNN {
		fmt.Fprintf(&b, format, fmt.Sprintf("%d-NN", k.K), fmt.Sprintf("accuracy %.4f with the metric, %.4f with the identity", k.Learned, k.Identity))
	}
	line := func(label, text string, args ...any) {
		fmt.Fprintf(&b, format, label, fmt.Sprintf(text, args...))
	}
	if e.AUC != nil {
		interval := ""
		if e.AUCLow != nil {
			interval = fmt.Sprintf(" (%g %% interval %.4f to %.4f, DeLong)", 100*e.Confidence, *e.AUCLow, *e.AUCHigh)
		}
		line("AUC", "%.4f%s", *e.AUC, interval)
		line("accuracy", "%.4f (score >= %g counts as positive)", *e.Accuracy, e.Threshold)
	}
	if e.Ranking != nil {
		line("ranking", "%.4f of the pairs with different labels in the right order, mean over groups", *e.Ranking)
		line("NDCG", "%.4f at %d", *e.NDCG, e.Top)
	}
	if e.Precision != nil {
		line("precision", "%.4f at %d", *e.Precision, e.Top)
	}
	return b.String()
}
