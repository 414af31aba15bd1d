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
	"dyad/internal/input"
	"dyad/privacy/ledger"
)

// evaluateCmd has a command for each kind of performance figures.
type evaluateCmd struct {
	Private evaluatePrivateCmd `cmd:"" help:"Release private figures; \"dyad evaluate MODEL --epsilon EPSILON\" is short for it."`
	Exact   evaluateExactCmd   `cmd:"" help:"Print exact figures of public records, or of private ones without a guarantee."`
	Compare evaluateCompareCmd `cmd:"" help:"Evaluate the difference of the AUCs of two models on the same records."`
}

// evaluatedFlags are the flags for the records of an evaluation.
type evaluatedFlags struct {
	Model      string   `arg:"" help:"Model file."`
	PublicData bool     `help:"The data are public: no budget is charged, and the report says so."`
	Holdout    *float64 `within:"(0,1)" placeholder:"F" help:"Use only the records that \"dyad train\" held out with the same --holdout and --split-seed."`
	SplitSeed  uint64   `default:"1" help:"Seed of the split into training and held-out records."`
	Confidence float64  `within:"(0,1)" default:"0.95" help:"Level of the intervals."`
	labelsFlag
	pageFlag
	trackFlag
}

// releaseFlags are the flags of figures that are released or planned.
type releaseFlags struct {
	Data    dataFiles `required:"" xor:"records" placeholder:"FILE" help:"As for train, in the format of the training data, with labels."`
	Plan    bool      `required:"" xor:"records" needs:"n" not:"report track" help:"Print what a run on -n records would release and cost. No data are read."`
	N       int       `positive:"" needs:"epsilon" short:"n" help:"As for plan, with --plan. Or the number of persons in the file, if the schema has another number."`
	Epsilon *float64  `placeholder:"EPSILON" help:"Release private figures with this epsilon, charged to the ledger."`
	Delta   *float64  `needs:"epsilon" placeholder:"DELTA" help:"Delta; 0 asks for pure epsilon. Default: min(1e-5, n^-1.5)."`
	Out     string    `writes:"figures" needs:"epsilon" short:"o" placeholder:"FILE" help:"File of the report of a private evaluation (JSON). After its release the report survives any crash. Default: evaluation.json on private data, or evaluation.RUN.json if that exists."`
	runFlags
}

type evaluatePrivateCmd struct {
	evaluatedFlags
	releaseFlags
	figureFlags
	Threshold float64 `default:"0" help:"Score at or above which a record counts as positive, for the accuracy."`

	aim  *evaluate.Aim // aim of dyad threshold; nil if no threshold is chosen
	held target        // target for the figures of held-out records of a training; zero if --out applies
	with string        // file of the second model, if two models are compared
}

// Help returns a text with examples.
func (evaluatePrivateCmd) Help() string {
	return `AUC, operating points of the ROC curve, accuracies and, if asked for, the mean loss are released with noise, with
intervals that cover the sampling of the records and the noise, and charged to the ledger like a training. --plan
prints the charge before. "dyad evaluate exact" prints exact figures, "dyad evaluate compare" the difference of two models.

Examples:
  dyad evaluate model.json --plan -n 2000 --epsilon 1
  dyad evaluate model.json --data patients.csv --epsilon 1
  dyad evaluate model.json --data patients.csv --epsilon 1 --threshold 0.01 --out figures.json
  dyad evaluate metric.json --data patients.csv --epsilon 1 --reference public.csv`
}

// errCountsAsPrivate is the error of an evaluation without a budget on data that were not declared public.
var errCountsAsPrivate = badInput("the data count as private, whatever the model was trained on: --epsilon EPSILON " +
	"releases private figures, and --plan with -n shows their cost first. \"dyad evaluate exact\" with --exact-figures " +
	"prints exact figures, which no guarantee covers, and with --public-data it declares the data public")

// Run releases private figures.
func (c *evaluatePrivateCmd) Run(a *app) error {
	m, err := a.openModel(c.Model, c.Ledger)
	if err == nil && c.Epsilon == nil {
		err = errCountsAsPrivate
	}
	if err != nil {
		return err
	}
	return c.private(a, m, nil, c.PublicData)
}

type evaluateExactCmd struct {
	evaluatedFlags
	Data         dataFiles `required:"" placeholder:"FILE" help:"As for train, in the format of the training data, with labels."`
	ExactFigures bool      `not:"report track" why:"a page or a run folder is a release, and must not have exact figures of private records; --epsilon draws private figures" help:"Exact figures of private records. No guarantee covers them; do not publish them."`
	Threshold    float64   `default:"0" help:"Score at or above which a record counts as positive, for the accuracy."`
	Neighbours   dataFiles `placeholder:"FILE" help:"For a metric: file of labelled records to search for nearest neighbours, e.g. the training file. If it is the data file, a record is not its own neighbour."`
	Top          int       `positive:"" default:"10" help:"Ranks that count for NDCG and precision, with graded labels or query groups."`
	Force        bool
	Yes          bool   `short:"y" hidden:""` // accepted; there is no charge to confirm
	DataID       string `hidden:"" placeholder:"ID"`
	ledgerFlag
}

// Help returns a text with examples.
func (evaluateExactCmd) Help() string {
	return `Exact figures are computed from the records of the file and carry no privacy guarantee. They are for public data
(--public-data); of private records they are printed only with --exact-figures.

For a metric the accuracy of nearest neighbour classifiers is printed next to that of the identity metric.
Such a classifier consists of raw records: publishing it is not covered by the guarantee of the metric.

Examples:
  dyad evaluate exact model.json --data public.csv --public-data --json
  dyad evaluate exact metric.json --data patients.csv --neighbours patients.csv --exact-figures`
}

// Run prints exact figures.
func (c *evaluateExactCmd) Run(a *app) error {
	m, err := a.openModel(c.Model, c.Ledger)
	if err == nil && !c.PublicData && !c.ExactFigures {
		err = errCountsAsPrivate
	}
	if err != nil {
		return err
	}
	// The schema of the model describes its training records and not these records.
	if shared := c.Data.shared(c.Neighbours); shared > 0 &&
		(shared < len(c.Data.names) || len(c.Neighbours.names) > len(c.Data.names)) {
		return badInput("--neighbours and --data have some but not all files in common, and a record must not be its own " +
			"neighbour; name exactly the same files, or only different files")
	}
	page, err := c.output(c.Force, c.Data.and(c.Neighbours.and(c.Labels, c.Model, c.Ledger)...)...)
	if err != nil {
		return err
	}
	if err := c.checkTrack(); err != nil {
		return err
	}
	o := reading{persons: dataset.IgnorePersons, public: true} // exact figures count rows
	if c.Holdout == nil && c.Data.shared(c.Neighbours) > 0 && m.Encoder.Schema().ByPerson() {
		o.leftOut = true
	}
	held, _, err := c.read(a, m, c.Data, o)
	if err != nil {
		return err
	}
	var among *engine.Records
	if c.Neighbours.given() {
		err = needs(m, input.Needs{Metric: fmt.Sprintf("--neighbours is for a metric, and %s is a model of task %s",
			c.Model, m.Task)})
	} else {
		err = needs(m, input.Needs{Scores: "a metric is evaluated by nearest neighbours: name the file of the neighbours " +
			"with --neighbours FILE"})
	}
	if err != nil {
		return err
	}
	if m.Task == taskMetric {
		if c.Data.shared(c.Neighbours) > 0 {
			among = held.Records
		} else {
			neighbours, err := a.readTraining(c.Neighbours, m.Encoder.Schema(),
				dataset.Options{Persons: dataset.IgnorePersons}, true)
			if err != nil {
				return err
			}
			among = neighbours.Records
		}
	}
	e, err := m.Evaluate(a.ctx, held, lib.EvaluateOptions{Threshold: c.Threshold, Confidence: c.Confidence,
		Top: c.Top, Among: among})
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

// reading holds the options for reading the records of an evaluation.
type reading struct {
	persons dataset.PersonMode
	n       int  // number of persons instead of the number in the schema; 0 for the latter
	public  bool // the schema's declaration as public may apply to these records
	leftOut bool // each row is left out of its own neighbours, and all rows of persons count
}

// read reads the data, or the part of the data that a training held out. rest is the number of records or
// persons that the split leaves to the training, or 0 without a split.
func (c *evaluatedFlags) read(a *app, m *model, from dataFiles, o reading) (held *lib.Data, rest int, err error) {
	if c.Holdout != nil {
		o.persons = dataset.KeepPersons // the training splits persons
	}
	schema := *m.Encoder.Schema()
	if o.leftOut {
		o.persons, schema.Persons, schema.IDs, schema.MaxRowsPerPerson = dataset.KeepPersons, 0,
			dataset.IDsPublic, math.MaxInt32
	}
	if o.n > 0 {
		if schema.Persons == 0 {
			return nil, 0, badInput("-n is only for --plan and for files of persons with private ids; for other files the " +
				"number of records comes from the file")
		}
		schema.Persons = o.n
	}
	// records of a pack in float32 differ from those that the model encodes
	schema.Store = cmp.Or(schema.Store, dataset.StoreFloat64)
	schema.Public = schema.Public && o.public // whether these records are public
	data, err := a.readTraining(from, &schema, c.options(dataset.Options{Persons: o.persons}), o.public)
	if err != nil {
		return nil, 0, err
	}
	all := lib.NewData(data)
	if c.Holdout == nil {
		return all, 0, nil
	}
	train, held, err := all.Split(*c.Holdout, c.SplitSeed)
	if err != nil {
		return nil, 0, err
	}
	return held, train.Records.Units(), nil
}

// readAs reads the records for private figures with the encoding of a model.
func (c *evaluatePrivateCmd) readAs(a *app, m *model, public bool) (*lib.Data, int, error) {
	return c.read(a, m, c.Data, reading{persons: dataset.KeepPersons, n: c.N, public: public})
}

// asks returns the options of package dyad for the figures of a model, or for its difference from another model.
func (c *evaluatePrivateCmd) asks(m, other *model) lib.FigureOptions {
	o := c.of(m, c.Epsilon, c.Delta)
	o.Threshold, o.Aim, o.Confidence, o.Compare = c.Threshold, c.aim, c.Confidence, other
	o.Names.Data, o.Names.Model, o.Names.Compare = c.Data.String(), c.Model, c.with
	return o
}

// private releases private figures, or prints their plan.
func (c *evaluatePrivateCmd) private(a *app, m, other *model, public bool) error {
	o := c.asks(m, other)
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
		o.Names.Ledger, _ = c.path() // opening it reports the error
	}
	var p *lib.FigurePlan
	var r *privateResult
	d := lib.FigureData{}
	k := charging{runFlags: c.runFlags, as: as, inputs: c.Data.and(c.Reference.and(c.Labels, c.Model)...),
		doing: "evaluating", page: c.pageFlag, track: c.trackFlag, outcome: &of}
	k.recovered = func(saved *lib.Outcome, _ *lib.Ledger) error {
		if err := k.noteReleased(a, saved, "report is"); c.Report != "" && err == nil {
			a.note("dyad: \"dyad report %s --figures %s\" makes the page of these figures", c.Model, saved.File)
		}
		return nil
	}
	k.plan = func() (planned, error) {
		if m.Task == taskMetric && c.Reference.given() && c.Data.shared(c.Reference) > 0 {
			return planned{}, badInput("%s is given both as the data and as the public reference", c.Reference)
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

// figureData reads the records of private figures.
func (c *evaluatePrivateCmd) figureData(a *app, m, other *model, public bool) (d lib.FigureData, err error) {
	if d.Data, d.Rest, err = c.readAs(a, m, public); err != nil {
		return d, err
	}
	if other != nil { // the same records, with the encoding of the other model
		d.Compared, _, err = c.readAs(a, other, public)
	}
	if err != nil || m.Task != taskMetric {
		return d, err
	}
	reference, err := a.readTraining(c.Reference, m.Encoder.Schema(),
		dataset.Options{Persons: dataset.IgnorePersons}, true)
	if err == nil {
		d.Reference = lib.NewData(reference)
	}
	return d, err
}

// writePage writes the page of released figures.
func (c *evaluatePrivateCmd) writePage(a *app, out *files.Output, m *model, r *privateResult) error {
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
		if len(d.charges.runs) == 0 { // the model was charged to another ledger
			d.charges, d.otherCharges = d.otherCharges, nil
		}
	}
	return a.writePage(out, d)
}

// units describes the number of evaluated records or persons.
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

// figures returns the figures of the task. Each line has the given format for label and text.
func figures(e *evaluation, format string) string {
	var b strings.Builder
	for _, k := range e.KNN {
		fmt.Fprintf(&b, format, fmt.Sprintf("%d-NN", k.K),
			fmt.Sprintf("accuracy %.4f with the metric, %.4f with the identity", k.Learned, k.Identity))
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
