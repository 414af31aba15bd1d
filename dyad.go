// Package dyad trains pairwise models with differential privacy: AUC, ranking, metric learning and losses of your own.
// It takes a file of records and ends with a saved model:
//
//	data, err := dyad.Open("patients.csv", "patients.yaml")
//	plan, err := dyad.Plan(data.Shape(), dyad.Options{Epsilon: 1}) // public numbers only
//	fmt.Print(plan.Report().Text())                                     // what will be guaranteed
//	book, err := dyad.OpenLedger("ledger.jsonl")
//	model, err := plan.Run(ctx, data, dyad.Run{Ledger: book, Out: "model.json"})
//	scores, err := model.Score(records)
//
// Options holds everything that changes the mechanism, and with it the guarantee. Options.On is the hardware; its
// rounding error is part of the mechanism. Run configures the execution: ledger, files, checkpoints and observers.
// Every kind of run has a function PlanX, which makes a plan from a shape and options, and the plan has a method Run.
//
// The packages below do one thing each: algorithms (arrays, algorithms and losses of your own), algorithms/pairs
// (labelled pairs), algorithms/local (local differential privacy), engine (records and sums over pairs), privacy (noise
// and certificates), privacy/ledger (the record of charges).
//
// # Private and public data
//
// Data are private unless their schema or Run.Public declares them public. A run on private data needs a ledger and a
// data id. The ledger is charged, durably, before a record is used, and the charge stays whatever happens. All runs on
// the same people must use one data id in one ledger. All ranges in the schema and all options must be public.
//
// # What a caller must not print
//
// The guarantee covers everything that anybody sees of a private run (privacy/doc.go). Open, Plan, Run and their errors
// release only what the guarantee covers. A program that uses them must not show any of the following, and nothing that
// is seen may depend on it:
//
//   - Data.Records, and everything computed from them: counts of classes, means, extremes, and the number of rows if a
//     record is a person with several rows;
//   - the figures of Model.Evaluate, and the outputs of Score and Transform, on private records;
//   - the duration of steps and trainings on private data;
//   - checkpoints and models that are stored but not released: only Run and Recover open them.
//
// The owner of the records may look at all of this. Data.Shape, the plan, the model, its report, the ids of runs, the
// charges in the ledger, and the errors of Open are public. Errors of Open name a row and a rule, never a value.
package dyad

import (
	"cmp"
	"fmt"
	"slices"

	"dyad/algorithms"
	"dyad/docs/checker"
	"dyad/engine"
	"dyad/engine/dataset"
	"dyad/internal/input"
	"dyad/privacy"
)

// ErrInput is wrapped by every error about an unusable file, schema, option or plan, before any charge or change.
var ErrInput = input.Err

// prefixed adds the prefix of this package to an error of a package whose errors have no prefix.
func prefixed(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("dyad: %w", err)
}

// Data holds the records of a file, encoded by its schema. If the data are private, only Shape may be printed; see
// "What a caller must not print" in the comment of the package.
type Data struct {
	// Records holds the encoded records; do not change them. Query groups are contiguous, except after Model.Open.
	Records *engine.Records
	// IDs holds the texts of the id column in the order of Records. It is nil unless Model.Open read an id column.
	IDs []string

	encoder  *dataset.Encoder
	groups   []int // the number of the group or person of each record, ascending; nil without groups
	graded   bool  // the labels are grades in [-1, 1] instead of two classes
	labelled bool
	files    []string // the files that the records came from; the first parts of them hold the rows
	parts    int
	pack     *dataset.Used // nil unless the records came from a pack
}

// Open reads a data file for training and evaluation. A schema file describes the data. If path is a folder or a
// pattern such as "part-*.parquet", its files are read as one (dataset.Expand). If the schema or a record has a
// fault, the error names file, row, column and remedy. Open also returns an error if no two records of public data
// can be compared. Open makes no charge.
func Open(path, schema string) (*Data, error) {
	s, err := dataset.LoadSchema(schema)
	if err != nil {
		return nil, input.As(err)
	}
	d, err := load(path, s, dataset.Options{Persons: dataset.KeepPersons})
	if err != nil {
		return nil, err
	}
	return NewData(d), nil
}

// load reads records. Public records whose labels are read must have something to compare.
func load(path string, s *dataset.Schema, o dataset.Options) (*dataset.Dataset, error) {
	d, err := dataset.Load(path, s, o)
	if err == nil && s.Public && o.Labels == dataset.LabelsRequired {
		err = d.CheckPairs()
	}
	return d, input.As(err)
}

// NewData returns the labelled records of a data set. The ledger compares the files of the data set with the files of
// earlier runs on the same data id.
func NewData(d *dataset.Dataset) *Data {
	all := &Data{Records: d.Records, encoder: d.Encoder, graded: d.Schema().IsGraded(), labelled: d.HasLabels,
		files: d.Files, parts: d.DataFiles, pack: d.Pack}
	if d.Groups == nil {
		return all
	}
	if slices.IsSorted(d.Groups) { // the rows of a pack are sorted already
		for _, g := range d.Groups {
			all.groups = append(all.groups, int(g))
		}
		return all
	}
	rows := make([]int, len(d.Groups))
	for i := range rows {
		rows[i] = i
	}
	slices.SortStableFunc(rows, func(a, b int) int { return int(d.Groups[a]) - int(d.Groups[b]) })
	return all.of(rows, func(row int) int { return int(d.Groups[row]) })
}

// Schema returns the schema that the data were read by; do not change it.
func (d *Data) Schema() *dataset.Schema { return d.encoder.Schema() }

// Shape returns the public facts about the data.
func (d *Data) Shape() Shape {
	s := ShapeOf(d.encoder, d.Records.Total())
	s.Groups = d.sizes()
	return s
}

// Shape holds everything about the records that a plan depends on. It is public.
type Shape struct {
	Records  int   // number of records, or of persons if PersonRows is not 0
	Features int   // number of features after encoding
	NonZeros int   // largest number of non-zero features of a record; 0 means Features
	Groups   []int // sizes of the query groups; nil without groups
	// PersonRows is the largest number of rows of a person. If it is 0, each row is a record of its own. Candidates are
	// the products of features that training can choose from.
	PersonRows int
	Candidates engine.Candidates
	// LabelValues is the number of distinct labels, if it is known (engine.Problem).
	LabelValues int
	algorithms.Provenance
}

// graded reports whether labels have more than two values.
func (s Shape) graded() bool { return s.LabelValues == engine.AnyLabels || s.LabelValues > 2 }

// provenanceOf returns the statements of a schema about the origin of its records.
func provenanceOf(s *dataset.Schema) algorithms.Provenance {
	return algorithms.Provenance{BoundsFromData: s.RangesFromData(), DraftAway: s.Draft != "",
		SelectedByLabel: s.SelectsByLabel(), RowsPerPerson: s.RowsPerPerson}
}

// ShapeOf returns the facts that a schema's encoder makes public about n records without query groups. If the schema
// has a column for persons, n is the number of persons.
func ShapeOf(e *dataset.Encoder, n int) Shape {
	s := Shape{
		Records: n, Features: e.Dim(), LabelValues: e.LabelValues(), PersonRows: e.Schema().PersonCap(),
		Candidates: e.Candidates(),
		Provenance: provenanceOf(e.Schema()),
	}
	if nz := e.NonZerosPerRow(); nz < s.Features {
		s.NonZeros = nz
	}
	return s
}

// with returns a copy of d with the records r, without groups and ids.
func (d *Data) with(r *engine.Records) *Data {
	out := *d
	out.Records, out.groups, out.IDs = r, nil, nil
	return &out
}

// as returns d as the encoder of a model encodes it, and refuses data whose features are others.
func (d *Data) as(model *dataset.Encoder) (*Data, error) {
	out := *d
	var err error
	out.Records, err = d.encoder.Records(d.Records, model)
	return &out, input.As(err)
}

// of returns the given rows of data with groups or persons, in the given order.
func (d *Data) of(rows []int, group func(row int) int) *Data {
	out := d.with(d.Records.UnitSubset(rows))
	out.groups = make([]int, len(rows))
	for i, row := range rows {
		out.groups[i] = group(row)
	}
	return out
}

// sizes returns the sizes of the groups in order, nil without groups.
func (d *Data) sizes() []int {
	var out []int
	for i, g := range d.groups {
		if i == 0 || g != d.groups[i-1] {
			out = append(out, 0)
		}
		out[len(out)-1]++
	}
	return out
}

// Split holds out a fraction of the records, chosen by a public seed. All rows of a person are held out together. If
// there are query groups, Split holds out whole groups, and fraction is the fraction of the groups.
func (d *Data) Split(fraction float64, seed uint64) (train, held *Data, err error) {
	units, part := len(d.sizes()), d.ofGroups
	if d.groups == nil {
		units, part = d.Records.Units(), func(rows []int) *Data { return d.with(d.Records.UnitSubset(rows)) }
	}
	keep, out, err := dataset.Split(units, 1-fraction, seed)
	if err != nil {
		return nil, nil, input.As(err)
	}
	return part(keep), part(out), nil
}

// Balanced returns equally many records of both classes. The seed chooses which records are left out. The choice of
// records reveals their labels.
func (d *Data) Balanced(seed uint64) *Data {
	var rows [2][]int
	for _, i := range privacy.NewSeededSource(seed).Permutation(d.Records.Len()) {
		class := 0
		if d.Records.Label(int(i)) > 0 {
			class = 1
		}
		rows[class] = append(rows[class], int(i))
	}
	m := min(len(rows[0]), len(rows[1]))
	return d.with(d.Records.Subset(append(rows[0][:m:m], rows[1][:m]...)))
}

// ofGroups returns the records of the groups at these positions.
func (d *Data) ofGroups(positions []int) *Data {
	wanted := make(map[int]bool)
	for _, p := range positions {
		wanted[p] = true
	}
	var rows []int
	position := -1
	for i, g := range d.groups {
		if i == 0 || g != d.groups[i-1] {
			position++
		}
		if wanted[position] {
			rows = append(rows, i)
		}
	}
	return d.of(rows, func(row int) int { return d.groups[row] })
}

// The tasks of a model.
const (
	AUC    = engine.TaskAUC    // linear scores w.x that rank positives above negatives
	Metric = engine.TaskMetric // a Mahalanobis metric in which equal labels are close
)

// Loss is the definition of a pair loss phi(u), where u is the margin of a pair: u is positive if the model orders or
// classifies the pair correctly. The zero value is the logistic loss.
type Loss = engine.Definition

// NewLoss returns the built-in loss with this name, or the loss of a formula such as "log1p(exp(-u))". params holds the
// values of the parameters of the formula.
func NewLoss(text string, params map[string]float64, clip float64) (Loss, error) {
	return engine.Define(text, params, clip)
}

const (
	logistic = engine.LogisticName
	square   = "square"
)

// Verdict returns the checker's verdict on the file that the model was read from. The first call runs the check, which
// takes a few milliseconds. If the check would take longer because of the size or the plan of the file, the verdict is
// checker.NotChecked. A model of public data makes no claim and is not checked. If the model was not read from a file,
// its Text is checked.
func (m *Model) Verdict() checker.Verdict {
	return cmp.Or(m.read, &origin{}).verdict.Of(m.Guarantee.Kind == privacy.Public, m.Text, m.Plan)
}

// Verdict returns the checker's verdict on the file of the clusters, as Model.Verdict does for models.
func (c *Clusters) Verdict() checker.Verdict {
	text := func() ([]byte, error) { text, _, err := c.size(); return text, err }
	return c.verdict.Of(c.Guarantee.Kind == privacy.Public, text, c.Plan)
}
