// Package dyad trains pairwise models (AUC, ranking, metric learning, own losses) with
// differential privacy, from a file of records to a saved model:
//
//	data, err := dyad.Open("patients.csv", "patients.yaml")
//	plan, err := dyad.Plan(data.Shape(), dyad.Options{Epsilon: 1}) // public numbers only
//	fmt.Print(plan.Report().Text())                                     // what will be guaranteed
//	book, err := dyad.OpenLedger("ledger.jsonl")
//	model, err := plan.Run(ctx, data, dyad.Run{Ledger: book, Out: "model.json"})
//	scores, err := model.Score(records)
//
// Options hold everything that changes the mechanism, and with it the guarantee; Options.On is the
// hardware whose rounding is part of it. A Run configures its execution: ledger, files, checkpoints
// and observers. Every kind of run is a plan of a shape and options, PlanX, with a method Run.
//
// The packages below do one thing each: algorithms (own arrays, algorithms and losses of your
// own), algorithms/pairs (labelled pairs), algorithms/local (users who trust nobody), engine
// (records and sums over pairs), privacy (noise and certificates), privacy/ledger.
//
// # Private and public data
//
// Data are private unless their schema or Run.Public declares them public. A run on private
// data needs a ledger and a data id; it is charged, durably, before a record is used, and the
// charge stays whatever happens. All runs on the same people belong to one data id in one
// ledger. Ranges in the schema must be public knowledge, and so must every option.
//
// # What a caller must not print
//
// The guarantee is about everything that anybody sees of a private run (privacy/doc.go). Open, Plan, Run and their
// errors keep to that. A program that uses them must neither show nor let anything that is seen depend on
//
//   - Data.Records, and what is computed from them: counts of classes, means, extremes, and the
//     numbers of rows where persons are the records;
//   - figures of Model.Evaluate, Score and Transform on private records;
//   - how long steps and trainings of private data take;
//   - checkpoints and models that are kept and not released: only Run and Recover open them.
//
// Whoever owns the records may look at all of this. Public are Data.Shape, the plan, the model, its report, the ids
// of runs, the ledger's charges, and errors of Open (which name a row and a rule, never a value).
package dyad

import (
	"encoding/json"
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

// prefixed gives an error of a package without a prefix this one's.
func prefixed(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("dyad: %w", err)
}

// Data are the records of a file, encoded by its schema. Nothing of private data may be
// printed but what Shape says: see "What a caller must not print" in the package's comment.
type Data struct {
	// Records are n encoded records; do not change them. Those of a query group are
	// consecutive, except after Model.Open.
	Records *engine.Records
	// IDs are the texts of the id column, in the order of Records, after Model.Open; nil without such a column.
	IDs []string

	encoder  *dataset.Encoder
	groups   []int // number of the group of each record or person, ascending; nil without groups
	graded   bool  // labels in [-1, 1] instead of two classes
	labelled bool
	files    []string // that the records came from; parts of them have the rows
	parts    int
	pack     *dataset.Used // nil unless they came from one
}

// Open reads a data file by a schema file, for training and evaluation. The file may be several, by a
// folder or a pattern such as "part-*.parquet", which are read as one (dataset.Expand). Faults of the
// schema or a single record are errors with file, row, column and remedy; for data that the schema
// declares public also the lack of anything to compare. There is no charge.
func Open(path, schema string) (*Data, error) {
	s, err := dataset.LoadSchema(schema)
	if err != nil {
		return nil, input.As(err)
	}
	return open(path, s)
}

func open(path string, s *dataset.Schema) (*Data, error) {
	d, err := dataset.Load(path, s, dataset.Options{Persons: dataset.KeepPersons})
	if err == nil && s.Public {
		err = d.CheckPairs()
	}
	if err != nil {
		return nil, input.As(err)
	}
	return NewData(d), nil
}

// NewData are the labelled records of a data set. The files that it was read from are those that
// the ledger compares with earlier runs on the same data id.
func NewData(d *dataset.Dataset) *Data {
	all := &Data{Records: d.Records, encoder: d.Encoder, graded: d.Schema().IsGraded(), labelled: d.HasLabels, files: d.Files, parts: d.DataFiles, pack: d.Pack}
	if d.Groups == nil {
		return all
	}
	if slices.IsSorted(d.Groups) { // as in a pack, without a move
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

// Schema is the schema that the data were read by; do not change it.
func (d *Data) Schema() *dataset.Schema { return d.encoder.Schema() }

// Shape holds the public facts about the data.
func (d *Data) Shape() Shape {
	s := ShapeOf(d.encoder, d.Records.Total())
	s.Groups = d.sizes()
	return s
}

// Shape is everything about records that a plan depends on. It is public.
type Shape struct {
	Records  int   // or persons, if PersonRows is not 0
	Features int   // after encoding
	NonZeros int   // most of a record that are not 0; 0 means Features
	Groups   []int // sizes of query groups; nil without
	// PersonRows is the most rows of a person; 0: each row is a record of its own. Candidates are products that training chooses among.
	PersonRows int
	Candidates engine.Candidates
	// LabelValues is the number of different labels, if it is known (engine.Problem).
	LabelValues int
	algorithms.Provenance
}

// graded reports whether labels have more than two values.
func (s Shape) graded() bool { return s.LabelValues == engine.AnyLabels || s.LabelValues > 2 }

// provenanceOf is what a schema says of where its records come from.
func provenanceOf(s *dataset.Schema) algorithms.Provenance {
	return algorithms.Provenance{BoundsFromData: s.RangesFromData(), DraftAway: s.Draft != "", SelectedByLabel: s.SelectsByLabel(), RowsPerPerson: s.RowsPerPerson}
}

// ShapeOf returns the facts that a schema's encoder makes public about n records without
// query groups, or n persons if the schema has a column for them.
func ShapeOf(e *dataset.Encoder, n int) Shape {
	s := Shape{
		Records: n, Features: e.Dim(), LabelValues: e.LabelValues(), PersonRows: e.Schema().PersonCap(), Candidates: e.Candidates(),
		Provenance: provenanceOf(e.Schema()),
	}
	if nz := e.NonZerosPerRow(); nz < s.Features {
		s.NonZeros = nz
	}
	return s
}

// with are other records of the same data, without groups.
func (d *Data) with(r *engine.Records) *Data {
	out := *d
	out.Records, out.groups, out.IDs = r, nil, nil
	return &out
}

// of are the given records of data with groups, or persons, in that order.
func (d *Data) of(rows []int, group func(row int) int) *Data {
	out := d.with(d.Records.UnitSubset(rows))
	out.groups = make([]int, len(rows))
	for i, row := range rows {
		out.groups[i] = group(row)
	}
	return out
}

// sizes are the sizes of the groups in order, nil without groups.
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

// Split holds out a fraction of the records, persons with all their rows, or of the query
// groups if there are any, chosen by a public seed.
func (d *Data) Split(fraction float64, seed uint64) (train, held *Data, err error) {
	if d.groups == nil {
		keep, out, err := dataset.Split(d.Records.Units(), 1-fraction, seed)
		if err != nil {
			return nil, nil, input.As(err)
		}
		return d.with(d.Records.UnitSubset(keep)), d.with(d.Records.UnitSubset(out)), nil
	}
	keep, out, err := dataset.Split(len(d.sizes()), 1-fraction, seed)
	if err != nil {
		return nil, nil, input.As(err)
	}
	return d.ofGroups(keep), d.ofGroups(out), nil
}

// Balanced are as many records of both classes, those that are left out chosen at random by seed. Whose record stays tells its label.
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

// ofGroups are the records of the groups with these positions.
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

// Loss is the definition of a pair loss phi(u); u is the margin of a pair, positive if the
// pair is right. The zero value is the logistic loss.
type Loss = engine.Definition

// NewLoss is the built-in loss of a name, or that of a formula such as "log1p(exp(-u))".
// params are the values of the names in it.
func NewLoss(text string, params map[string]float64, clip float64) (Loss, error) {
	return engine.Define(text, params, clip)
}

const (
	logistic = engine.LogisticName
	square   = "square"
)

// Verdict returns the checker's verdict on the file that the model was read from. It is evaluated at the first call, in
// some milliseconds; a file for which that is not enough, by its size and its plan, is checker.NotChecked. Public data
// have no claim, and no check. A model that was not read has the verdict of its Text.
func (m *Model) Verdict() checker.Verdict {
	if m.read == nil {
		m.read = &origin{}
	}
	return verdict(&m.read.text, m.Text, m.Guarantee, m.Plan)
}

// Verdict is Model.Verdict for clusters.
func (c *Clusters) Verdict() checker.Verdict {
	return verdict(&c.read, func() ([]byte, error) { text, _, err := c.size(); return text, err }, c.Guarantee, c.Plan)
}

// verdict is evaluated on the text that read has, or on another one where a file was not read.
func verdict(read *checker.Passing, text func() ([]byte, error), g privacy.Guarantee, plan json.RawMessage) checker.Verdict {
	if g.Kind == privacy.Public {
		return checker.Verdict{Verdict: checker.NotCovered, Why: "its data were declared public"}
	}
	if read.Empty() {
		t, err := text()
		if err != nil {
			return checker.Verdict{Verdict: checker.Refused, Why: err.Error()}
		}
		read.Write(t) // to memory
		read.Plan = plan
	}
	return read.Verdict()
}
