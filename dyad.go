// Package dyad trains pairwise models (AUC, ranking, metric learning, own losses) with
// differential privacy, from a file of records to a saved model:
//
//	data, err := dyad.Open("patients.csv", "patients.yaml")
//	plan, err := dyad.Plan(data.Shape(), dyad.Options{Epsilon: 1}, nil) // public numbers only
//	fmt.Print(plan.Report().Text())                                     // what will be guaranteed
//	book, err := dyad.OpenLedger("ledger.jsonl")
//	model, err := dyad.Train(ctx, data, plan, dyad.Run{Ledger: book, Out: "model.json"})
//	scores, err := model.Score(records)
//
// Options hold everything that changes the mechanism, and with it the guarantee. A Device and
// a Run say how it is carried out: on which hardware, with how many workers, checkpoints and
// progress.
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
// The guarantee is about everything that anybody sees of a private run (privacy/doc.go). Open,
// Plan, Train and their errors keep to that. A program that uses them must neither show nor
// let anything that is seen depend on
//
//   - Data.Records, and what is computed from them: counts of classes, means, extremes, and the
//     numbers of rows where persons are the records;
//   - figures of Model.Evaluate, Score and Transform on private records;
//   - how long steps and trainings of private data take;
//   - checkpoints and models that are kept and not released: only Train and Recover open them.
//
// Whoever owns the records may look at all of this. Public are Data.Shape, the plan, the
// model, its report, the ids of runs, the ledger's charges, and errors of Open (which name a
// row and a rule, never a value).
package dyad

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"dyad/algorithms"
	"dyad/autodiff"
	"dyad/docs/checker"
	"dyad/engine"
	"dyad/engine/dataset"
	"dyad/internal/input"
	"dyad/privacy"
)

// ErrInput is what errors are about a file, schema, option or plan that cannot be used:
// nothing was charged or changed.
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
	// IDs are the texts of the id column, in the order of Records, after Model.Open; nil
	// without such a column.
	IDs []string

	encoder  *dataset.Encoder
	groups   []int // number of the group of each record, ascending; nil without groups
	graded   bool  // labels in [-1, 1] instead of two classes
	labelled bool
	files    []string // that the records came from; parts of them have the rows
	parts    int
	pack     *dataset.Used // nil unless they came from one
}

// Open reads a data file by a schema file, for training and evaluation. The file may be several, by a
// folder or a pattern such as "part-*.parquet", which are read as one (dataset.Expand). What is wrong with
// the schema or a single record is an error with file, row, column and remedy; of data that
// the schema declares public also that there is nothing to compare. Nothing is charged.
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
	if slices.IsSorted(d.Groups) { // as in a pack: nothing is moved
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

// Shape is what is public about the data.
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
	// PersonRows is the most rows of a person; 0: each row is a record of its own.
	PersonRows int
	// LabelValues is the number of different labels, if it is known (engine.Problem).
	LabelValues int
	algorithms.Provenance
}

// graded reports whether labels have more than two values.
func (s Shape) graded() bool { return s.LabelValues == engine.AnyLabels || s.LabelValues > 2 }

// ProvenanceOf is what a schema says of where its records come from.
func ProvenanceOf(s *dataset.Schema) algorithms.Provenance {
	return algorithms.Provenance{BoundsFromData: s.RangesFromData(), DraftAway: s.Draft != "", SelectedByLabel: s.SelectsByLabel(), RowsPerPerson: s.RowsPerPerson}
}

// ShapeOf is what a schema's encoder makes public about n records without query groups, or n
// persons if the schema has a column for them.
func ShapeOf(e *dataset.Encoder, n int) Shape {
	s := Shape{
		Records: n, Features: e.Dim(), LabelValues: e.LabelValues(), PersonRows: e.Schema().PersonCap(),
		Provenance: ProvenanceOf(e.Schema()),
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

// of are the given rows of data with groups, in that order.
func (d *Data) of(rows []int, group func(row int) int) *Data {
	out := d.with(d.Records.Subset(rows))
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
	AUC    = "auc"    // linear scores w.x that rank positives above negatives
	Metric = "metric" // a Mahalanobis metric in which equal labels are close
)

// Loss is the definition of a pair loss phi(u); u is the margin of a pair, positive if the
// pair is right. The zero value is the logistic loss.
type Loss struct {
	Name    string             `json:"name"`
	Formula string             `json:"formula,omitempty"` // of phi(u)
	Params  map[string]float64 `json:"params,omitempty"`
	Clip    float64            `json:"clip,omitempty"` // phi' is clamped to [-Clip, Clip]; 0: not
}

const (
	logistic = "logistic"
	custom   = "custom"
	square   = "square"
)

// lossName is what a name of a loss looks like; anything else is a formula.
var lossName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]*(-[A-Za-z][A-Za-z0-9]*)*$`)

// NewLoss is the built-in loss of a name, or that of a formula such as "log1p(exp(-u))".
// params are the values of the names in it.
func NewLoss(text string, params map[string]float64, clip float64) (Loss, error) {
	s := Loss{Name: text, Params: params, Clip: clip}
	if l, ok := engine.LibraryByName(text); ok {
		e, err := l.Expression(engine.ExpressionOptions{Params: params, Clip: clip})
		if err != nil {
			return s, input.As(err)
		}
		s.Formula, s.Params = e.Formula(), e.Params()
		return s, nil
	}
	if lossName.MatchString(text) && text != "u" {
		var names []string
		for _, l := range engine.Library() {
			names = append(names, l.Name)
		}
		return s, input.Errorf("dyad: loss %q is neither a built-in loss (%s) nor a formula in u", text, strings.Join(names, ", "))
	}
	s.Name, s.Formula = custom, text
	_, err := s.Scalar()
	return s, err
}

// named says that the caller chose a loss.
func (s Loss) named() bool { return s.Name != "" || s.Params != nil || s.Clip != 0 }

// defined is the loss with its formula.
func (s Loss) defined() (Loss, error) {
	if s.Formula != "" {
		return s, nil
	}
	return NewLoss(cmp.Or(s.Name, logistic), s.Params, s.Clip)
}

// Scalar is phi.
func (s Loss) Scalar() (*engine.Expression, error) {
	s, err := s.defined()
	if err != nil {
		return nil, err
	}
	e, err := engine.NewExpression(s.Name, s.Formula, engine.ExpressionOptions{Params: s.Params, Clip: s.Clip})
	var parse *autodiff.ParseError
	if errors.As(err, &parse) {
		return nil, input.Errorf("dyad: loss: column %d: %s\n%s", parse.Column, parse.Reason, parse.Caret())
	}
	return e, input.As(err)
}

// Of is the pair loss of a task. The logistic loss has kernels of its own.
func (s Loss) Of(task string) (engine.Loss, error) {
	if task != AUC && task != Metric {
		return nil, input.Errorf("dyad: the task %q is not known here; it is %q or %q", task, AUC, Metric)
	}
	switch own := (s.Name == logistic || s.Name == "") && s.Clip == 0; {
	case own && task == AUC:
		return engine.Logistic{}, nil
	case own:
		return engine.MahalanobisLogistic{}, nil
	}
	e, err := s.Scalar()
	switch {
	case err != nil:
		return nil, err
	case task == AUC:
		return engine.Score{Of: e}, nil
	}
	return engine.Metric{Of: e}, nil
}

// NotChecked is the verdict of a file whose check would take longer than a command that scores with it; dyad verify has no limit.
const NotChecked = "not checked"

// Verdict is what the checker says of a file (docs/verify.md): checker.Verified, checker.NotCovered, checker.Refused or NotChecked.
type Verdict = checker.Verdict

// What a check in passing may cost, by public numbers of the file: some milliseconds.
const (
	quickBytes = 1 << 18
	quickSteps = 3000 // of a recursion, 1 to 3 microseconds each
	quickShift = 12   // epsilon over mu: digits of the normal law
)

// origin is the file that a model or clusters were read from.
type origin struct {
	sum  string // its checksum, "" without one
	text []byte // nil if it has more than quickBytes
	kind privacy.Kind
	plan json.RawMessage
	said *Verdict
}

// head keeps a text of at most quickBytes.
type head struct{ text []byte }

// Write implements io.Writer.
func (h *head) Write(text []byte) (int, error) {
	h.text = append(h.text, text[:min(len(text), quickBytes+1-len(h.text))]...)
	return len(text), nil
}

// whole is nil for a longer text.
func (h *head) whole() []byte {
	if len(h.text) > quickBytes {
		return nil
	}
	return h.text
}

// verdict is evaluated once.
func (o *origin) verdict() Verdict {
	if o.said == nil {
		o.said = &Verdict{Verdict: NotChecked, Why: "that takes longer than this command may"}
		switch {
		case o.kind == privacy.Public:
			*o.said = Verdict{Verdict: checker.NotCovered, Why: "its data were declared public"}
		case o.text != nil && quick(o.plan):
			*o.said = checker.Check(o.text)
		}
		o.text = nil
	}
	return *o.said
}

// quick says that the checker takes some milliseconds for a plan. A plan that cannot be read costs nothing.
func quick(plan json.RawMessage) bool {
	var p struct {
		Problem struct {
			Loss struct{ Form, Formula string }
		}
		Schedule struct{ Steps float64 }
		Budget   struct{ Epsilon, Delta float64 }
		Releases []struct {
			Certificate struct {
				Theorem     string
				Sensitivity float64
				Numbers     struct{ Horizon float64 } // of a stream
			}
			Noise struct{ Scale float64 }
		}
	}
	if len(plan) == 0 || json.Unmarshal(plan, &p) != nil {
		return true
	}
	var squares float64
	for _, r := range p.Releases {
		if t := r.Certificate.Theorem; r.Certificate.Numbers.Horizon > quickSteps || p.Schedule.Steps > quickSteps && (t == "recursion" || t == "average" || t == "hidden-iterates") {
			return false
		}
		ratio := r.Certificate.Sensitivity / r.Noise.Scale
		squares += ratio * ratio
	}
	cover := p.Problem.Loss.Form == "metric" && p.Problem.Loss.Formula == "log1p(exp(-u))" // of the cube of docs/theory.md#metric-diameter
	return !cover && (p.Budget.Delta == 0 || p.Budget.Epsilon*p.Budget.Epsilon < quickShift*quickShift*squares) && len(p.Releases) <= quickSteps
}

// Verdict is what the checker says of the file that the model was read from. It is evaluated at the first call, in some
// milliseconds; a file for which that is not enough, by its size and its plan, is NotChecked. Of public data nothing is
// claimed, and nothing checked. A model that was not read has the verdict of its Text.
func (m *Model) Verdict() Verdict { return verdict(&m.read, m.Size, m.Guarantee, m.Plan) }

// Verdict is Model.Verdict for clusters.
func (c *Clusters) Verdict() Verdict { return verdict(&c.read, c.size, c.Guarantee, c.Plan) }

func verdict(read **origin, text func() ([]byte, int, error), g privacy.Guarantee, plan json.RawMessage) Verdict {
	if *read == nil {
		t, _, err := text()
		if err != nil {
			return Verdict{Verdict: checker.Refused, Why: err.Error()}
		}
		*read = &origin{text: t, kind: g.Kind, plan: plan}
	}
	return (*read).verdict()
}
