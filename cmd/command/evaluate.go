package command

import (
	"cmp"
	"errors"
	"fmt"
	"math"

	lib "dyad"
	"dyad/engine/dataset"
	"dyad/internal/input"
)

// evaluatedFlags are the flags for the records of an evaluation.
type evaluatedFlags struct {
	measuredFlags
	pageFlag
	trackFlag
}

// measuredFlags are flags of dyad evaluate and dyad threshold.
type measuredFlags struct {
	Model      string   `arg:"" help:"Model file."`
	PublicData bool     `help:"The data are public: no budget is charged, and the report says so."`
	Holdout    *float64 `within:"(0,1)" placeholder:"F" help:"Use only the records that \"dyad train\" held out with the same --holdout and --split-seed."`
	SplitSeed  uint64   `default:"1" help:"Seed of the split into training and held-out records."`
	Confidence float64  `within:"(0,1)" default:"0.95" help:"Level of the intervals."`
	labelsFlag
}

type evaluateExactCmd struct {
	evaluatedFlags
	Data         dataFiles `required:"" placeholder:"FILE" help:"As in train, with labels, in the format of the training data."`
	ExactFigures bool      `not:"report track" why:"a page or a run folder is a release, and must not have exact figures of private records; --epsilon draws private figures" help:"Exact figures of private records. No guarantee covers them; do not publish them."`
	Threshold    float64   `default:"0" help:"Score at or above which a record counts as positive, for the accuracy."`
	Neighbours   dataFiles `placeholder:"FILE" help:"For a metric: file of labelled records to search for nearest neighbours, such as the training file."`
	Top          int       `positive:"" default:"10" help:"Number of top ranks in NDCG and precision, for graded labels or query groups."`
	Force        bool
	Yes          bool   `short:"y" hidden:""` // accepted; there is no charge to confirm
	DataID       string `hidden:"" placeholder:"ID"`
	ledgerFlag
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
		return badInput("--neighbours and --data share some files, but not all; name the same files in both, or " +
			"different files")
	}
	page, err := c.output(c.Force, c.Data.and(c.Neighbours.and(c.Labels, c.Model, c.Ledger)...)...)
	if err != nil {
		return err
	}
	if err := c.checkTrack(); err != nil {
		return err
	}
	o := exactReading(m, c.Holdout == nil)
	if c.Holdout == nil && c.Data.shared(c.Neighbours) > 0 && m.Encoder.Schema().ByPerson() {
		o.leftOut = true
	}
	held, rest, err := c.read(a, m, c.Data, o)
	if err != nil {
		return err
	}
	noteOtherSplit(a, m, rest)
	why := input.Needs{Scores: "a metric is evaluated by nearest neighbours; name their file with --neighbours FILE"}
	if c.Neighbours.given() {
		why = input.Needs{Metric: fmt.Sprintf("--neighbours is only for a metric, but %s is a model of task %s",
			c.Model, m.Task)}
	}
	if err := needs(m, why); err != nil {
		return err
	}
	among := held.Records
	if m.Task == taskMetric && c.Data.shared(c.Neighbours) == 0 {
		neighbours, err := a.readTraining(c.Neighbours, m.Encoder.Schema(),
			dataset.Options{Persons: dataset.IgnorePersons}, true)
		if err != nil {
			return err
		}
		among = neighbours.Records
	}
	e, err := m.Evaluate(a.ctx, held, lib.EvaluateOptions{Threshold: c.Threshold, Confidence: c.Confidence,
		Top: c.Top, Among: among})
	if err != nil {
		return err
	}
	unit := pick(held.Records.ByPerson(), "persons", "records")
	on := fmt.Sprintf("%d %s%s", e.Records, unit, pick(held.Records.ByPerson(), ", by their rows",
		pick(e.AUC != nil && m.Encoder.Schema().ByPerson(), " of unknown persons, so without an interval", "")))
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

// noteOtherSplit warns if a split leaves a number of records or persons that is not that of the training. Private figures
// have their own warning, which knows the training from the ledger.
func noteOtherSplit(a *app, m *model, rest int) {
	unit := pick(m.Encoder.Schema().ByPerson(), "persons", "records")
	if trained := int(m.Report.Number(unit)); rest != 0 && trained != 0 && trained != rest {
		a.note("dyad: warning: the model was trained on %d %s, but this --holdout leaves %d; repeat the --holdout of the "+
			"training, because otherwise these figures may be too good", trained, unit, rest)
	}
}

// exactReading returns the options for exact figures of a whole file, or of a part of it. Exact figures count rows, and the
// interval of an AUC takes the rows of a person together.
func exactReading(m *model, whole bool) reading {
	if m.Task == taskAUC && m.Encoder.GroupColumn == nil {
		return reading{persons: dataset.KeepPersons, any: whole, public: true}
	}
	return reading{persons: dataset.IgnorePersons, public: true}
}

// reading holds the options for reading the records of an evaluation.
type reading struct {
	persons dataset.PersonMode
	n       int  // number of persons instead of the number in the schema; 0 for the latter
	public  bool // the schema's declaration as public may apply to these records
	any     bool // dataset.Options.AnyPersons
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
			return nil, 0, badInput("-n is only for --plan and for persons with private ids; leave -n out")
		}
		schema.Persons = o.n
	}
	// records of a pack in float32 differ from those that the model encodes
	schema.Store = cmp.Or(schema.Store, dataset.StoreFloat64)
	schema.Public = schema.Public && o.public // whether these records are public
	data, err := a.readTraining(from, &schema, c.options(dataset.Options{Persons: o.persons, AnyPersons: o.any}), o.public)
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
