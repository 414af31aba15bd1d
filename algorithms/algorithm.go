package algorithms

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"dyad/engine"
	"dyad/privacy"
	"dyad/privacy/account"
)

// ErrAssumption is wrapped by Plan if an assumption of the algorithm does not hold for a Spec or, in paper
// mode, if a condition of the paper does not hold. The message names the assumption, with numbers, and a Spec
// that would work.
var ErrAssumption = errors.New("algorithms: assumption not met")

// Mode selects how noise is scaled: by a certificate, by the formula of a paper, or not at all.
type Mode int

// These are the modes. Certified is the default.
const (
	Certified Mode = iota
	Paper
	NonPrivate
)

var modeNames = []string{"certified", "paper", "nonprivate"}

// String returns the name of the mode on the command line.
func (m Mode) String() string {
	if m < Certified || m > NonPrivate {
		return "unknown"
	}
	return modeNames[m]
}

// ParseMode returns the mode whose String is s.
func ParseMode(s string) (Mode, error) {
	if m := Mode(slices.Index(modeNames, s)); m >= 0 {
		return m, nil
	}
	return 0, fmt.Errorf("algorithms: mode %q is unknown, want certified, paper or nonprivate", s)
}

// Spec holds all public values that a plan depends on.
type Spec struct {
	Kernel    engine.Kernel    // method and roundoff, planned without data
	Backend   engine.Backend   // the backend of Kernel, for algorithms that plan another kernel
	Constants engine.Constants // constants of the loss on the kernel's bounds and radius
	L2        float64          // alpha >= 0: the objective has alpha/2 ||w||^2
	Budget    privacy.Budget   // ignored in NonPrivate mode
	Mode      Mode
	// PaperUnsound changes, in Paper mode, a schedule that the paper's own conditions forbid or make useless
	// (Info.Unsound). The run then shows what the algorithm does with the changed schedule. No theorem of the
	// paper covers this schedule, so only data declared public may be used (Options.Public).
	PaperUnsound bool
	Provenance
	StreamOptions // the options of online algorithms; zero for other algorithms
}

// Provenance holds public facts about the origin of records that weaken a guarantee.
type Provenance struct {
	// BoundsFromData is true if the bounds were taken from the data. The guarantee then carries a warning that
	// voids the guarantee.
	BoundsFromData bool
	// DraftAway is true if the schema was drafted from the data and the draft is missing, so that the ranges of schema
	// and draft cannot be compared. The guarantee then carries the warning DraftAway.
	DraftAway bool
	// SelectedByLabel is true if the records are the rows of a file that have one of two labels. The guarantee
	// then states that it does not hide whose rows were selected.
	SelectedByLabel bool
	// RowsPerPerson is the largest number of rows that a person may have, if a record is a row. A guarantee for
	// one record then also states its value for a person. 0 means that the number is not known.
	RowsPerPerson int
}

// Qualify adds to a guarantee its assumptions about the existing records, and the warnings that void the guarantee.
func (p Provenance) Qualify(g *privacy.Guarantee) {
	g.Assumptions = append(g.Assumptions, wellFormed)
	if p.SelectedByLabel {
		g.Assumptions = append(g.Assumptions, SelectedByLabel)
	}
	g.Warnings = append(g.Warnings, p.Ranges()...)
}

// Ranges returns the warning about the origin of the bounds, or nil if there is none.
func (p Provenance) Ranges() []string {
	switch {
	case p.BoundsFromData:
		return []string{BoundsFromData}
	case p.DraftAway:
		return []string{DraftAway}
	}
	return nil
}

// Contribution returns the assumption of a per-record guarantee about the number of records of a person.
func (p Provenance) Contribution() string {
	if p.RowsPerPerson > 1 {
		return fmt.Sprintf("a person contributes up to %d records", p.RowsPerPerson)
	}
	return "each person contributes one record"
}

// oneRow is the beginning of the warning that Persons adds.
const oneRow = "one row is protected, and a person may have up to "

// Persons adds to the guarantee of one record a warning that states the guarantee for all rows of one person
// (docs/theory.md#groups). The warning replaces an earlier one of this kind, which was for another epsilon.
func (p Provenance) Persons(g *privacy.Guarantee) {
	g.Warnings = slices.DeleteFunc(slices.Clone(g.Warnings), func(w string) bool { return strings.HasPrefix(w, oneRow) })
	if p.RowsPerPerson < 2 || g.Unit != OneRecord || g.Kind != privacy.ApproxDP && g.Kind != privacy.PureDP {
		return
	}
	group, err := privacy.GroupBudget(privacy.Budget{Epsilon: g.Epsilon, Delta: g.Delta}, p.RowsPerPerson)
	if mu, e := privacy.GroupMu(g.Mu, p.RowsPerPerson); e == nil && mu > 0 {
		group, err = privacy.Budget{Epsilon: account.GDPEpsilon(mu, g.Delta), Delta: g.Delta}, nil
	}
	gives := fmt.Sprintf("it is (%s, %s)-differentially private", privacy.FormatUp(group.Epsilon),
		privacy.FormatUp(group.Delta))
	if err != nil {
		gives = "it promises nothing"
	}
	g.Warnings = append(g.Warnings, fmt.Sprintf(oneRow+
		"%d rows: for all rows of one person %s; role: person in the schema protects persons", p.RowsPerPerson, gives))
}

// wellFormed is an assumption of every guarantee. The neighbour relation is between data sets without records
// that the schema refuses. A run never ends because of what well-formed records have in common
// (docs/theory.md#silence).
const wellFormed = "every record is one that the schema accepts, and so is a record that replaces it: a run ends with " +
	"an error at a record that the schema refuses, which others can see"

// SelectedByLabel is an assumption of the guarantee if the records are the rows of a file that have one of two
// labels.
const SelectedByLabel = "public: which rows of the data have a label of one of the two classes; the others were left " +
	"out, so a record is replaced by one of these classes, and whether somebody's label is among them is not protected"

// BoundsFromData is the warning of a guarantee if its bounds were taken from the data.
const BoundsFromData = "BOUNDS NOT PRIVATE: ranges were taken from the data, so this guarantee does not hold; declare " +
	"public ranges in the schema"

// DraftAway is the warning of a guarantee if its bounds may have been taken from the data.
const DraftAway = "RANGES NOT COMPARED: the schema was made from the data and its draft is not here, so it is not " +
	"known whether its ranges were replaced, nor whether this guarantee holds; put the file of the draft (.drafted) next " +
	"to the schema, or draft it again"

// NewSpec plans the kernel on the backend, within the problem's query groups if it has any, and fills in the
// constants of the loss.
func NewSpec(backend engine.Backend, p engine.Problem, l2 float64, b privacy.Budget, m Mode) (Spec, error) {
	if err := p.Validate(); err != nil {
		return Spec{}, err
	}
	// The loss is checked before the backend because its error message is more specific.
	c, err := p.Loss.Constants(p.Bounds, p.Radius)
	if err != nil {
		return Spec{}, err
	}
	k, err := engine.Grouped{Backend: backend}.Plan(p)
	if err != nil {
		return Spec{}, err
	}
	s := Spec{Kernel: k, Backend: backend, Constants: c, L2: l2, Budget: b, Mode: m}
	return s, s.Validate()
}

// Validate returns an error for the first field that is out of range.
func (s Spec) Validate() error {
	if s.Kernel == nil {
		return errors.New("algorithms: Spec.Kernel is nil, use NewSpec")
	}
	if s.Constants.Origin < engine.Proved || s.Constants.Origin > engine.Asserted {
		return fmt.Errorf("algorithms: the constants of loss %s have no Origin; set Proved, Derived, Clipped, ClippedTerms "+
			"or Asserted", s.Kernel.Problem().Loss.Name())
	}
	if err := s.Constants.Validate(); err != nil {
		return fmt.Errorf("algorithms: loss %s: %w", s.Kernel.Problem().Loss.Name(), err)
	}
	if !(s.L2 >= 0) || s.L2 > 1e300 {
		return fmt.Errorf("algorithms: the L2 weight is %v, must be finite and not negative", s.L2)
	}
	if s.Mode < Certified || s.Mode > NonPrivate {
		return fmt.Errorf("algorithms: mode %d is unknown", s.Mode)
	}
	if s.Mode == NonPrivate {
		return nil
	}
	return s.Budget.Validate()
}

// Info describes an algorithm for the catalogue.
type Info struct {
	Name        string // on the command line
	Title       string
	Paper       string // a key of the list in doc.go, with algorithm and theorem
	Assumptions []string
	Released    string // the released values, which an adversary sees
	Claim       string // the paper's claim
	Verdict     string // the part of the claim that is true, and what this package does
	Maths       string // recursion, sensitivity and noise, as text
	Modes       []Mode
	PureModes   []Mode // the elements of Modes that also run with delta = 0
	NeedsL2     bool   // requires Spec.L2 > 0
	// DefaultL2 is the weight of the L2 term if the user gives no weight.
	DefaultL2 float64
	// NeedsSmooth is true if the loss must be convex and smooth, because the certificate compares whole
	// descents and not single gradients.
	NeedsSmooth bool
	// Unsound describes the change that Spec.PaperUnsound makes. It is "" if there is no such change.
	Unsound string
	// NoPersons is the reason why the algorithm does not learn from records that are persons with several rows.
	// It is "" if the algorithm does.
	NoPersons string
	// NoGroups is the reason why the algorithm takes no query groups, NoPaper the reason why it has no paper mode. NoL2
	// names an alternative if the algorithm takes no L2 term; it is "certified mode" if only paper mode takes none.
	// Each field is "" if the algorithm has no such limit.
	NoGroups, NoPaper, NoL2 string
	// ScoresOnly is true if the algorithm learns linear scores only. MetricsOnly is true if it learns metrics only.
	ScoresOnly, MetricsOnly bool
	// Withholds promises that released values leave Train only in the weights that Train returns
	// (Algorithm.Train). Only then can a charged run be resumed; a run of another algorithm ends with its first
	// attempt. A type that embeds an algorithm does not inherit the promise.
	Withholds bool
}

// Learns reports whether the algorithm learns the kind of model that the loss scores: linear scores or a metric.
func (i Info) Learns(l engine.Loss) bool {
	_, score := l.(engine.ScoreLoss)
	return !(i.ScoresOnly && !score || i.MetricsOnly && score)
}

// Supports reports whether m is one of i.Modes.
func (i Info) Supports(m Mode) bool { return slices.Contains(i.Modes, m) }

// Planner is the common part of batch and online algorithms.
type Planner interface {
	// Info describes the algorithm.
	Info() Info
	// Plan computes the schedule, certificate, noise and guarantee from public numbers. It is a pure function.
	// It returns an error wrapping ErrAssumption if the algorithm does not apply.
	Plan(Spec) (*Plan, error)
}

// Algorithm is a batch training algorithm. Its exported fields are its options. The options can change the
// guarantee and are part of the plan.
type Algorithm interface {
	Planner
	// Train runs the plan p and returns the weights. The weights depend on the data only through releases of s.
	// No value that depends on a release may leave Train in another way, or before Train returns, because a
	// failed run is continued without a new charge. Train calls t.Step between steps. It may save its state
	// with t.Keep; the state is as private as the records.
	Train(ctx context.Context, ev engine.Evaluator, p *Plan, s privacy.Session, t Tracker) ([]float64, error)
}

// Tracker receives the progress of a training and keeps its state. The zero value ignores both.
type Tracker struct {
	// OnStep is called by Step. It may be nil.
	OnStep func(done, total int)
	// OnRestore and OnKeep are called by Restore and Keep. If they are nil there are no checkpoints.
	OnRestore func(order []int32, vectors ...[]float64) (done int, err error)
	OnKeep    func(done int, order []int32, vectors ...[]float64)
}

// Step reports that done of total steps are finished. Its arguments must not depend on data.
func (t Tracker) Step(done, total int) {
	if t.OnStep != nil {
		t.OnStep(done, total)
	}
}

// Restore fills order and vectors with the state from which the training continues, and returns the number of
// steps that the state includes. If the training is to start at its beginning, Restore returns 0 and changes
// nothing. An algorithm calls Restore if its state between two steps is a few vectors and an order of the
// records. The training of any other algorithm starts again when a run is resumed.
func (t Tracker) Restore(order []int32, vectors ...[]float64) (done int, err error) {
	if t.OnRestore == nil {
		return 0, nil
	}
	return t.OnRestore(order, vectors...)
}

// Keep may save the state after done steps. The state must include all releases made so far.
func (t Tracker) Keep(done int, order []int32, vectors ...[]float64) {
	if t.OnKeep != nil {
		t.OnKeep(done, order, vectors...)
	}
}
