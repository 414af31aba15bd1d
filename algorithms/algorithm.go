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

// ErrAssumption is wrapped by Plan when an assumption of the algorithm, or in
// paper mode a condition of the paper, does not hold for a Spec. The message
// says which, with numbers, and what would work.
var ErrAssumption = errors.New("algorithms: assumption not met")

// Mode says where the noise comes from.
type Mode int

// The modes; Certified is the default.
const (
	Certified Mode = iota
	Paper
	NonPrivate
)

var modeNames = []string{"certified", "paper", "nonprivate"}

// String returns the word used on the command line.
func (m Mode) String() string {
	if m < Certified || m > NonPrivate {
		return "unknown"
	}
	return modeNames[m]
}

// ParseMode reads what String writes.
func ParseMode(s string) (Mode, error) {
	if m := Mode(slices.Index(modeNames, s)); m >= 0 {
		return m, nil
	}
	return 0, fmt.Errorf("algorithms: mode %q is unknown, want certified, paper or nonprivate", s)
}

// Spec is everything public that a plan depends on.
type Spec struct {
	Kernel    engine.Kernel    // method and roundoff, planned without data
	Backend   engine.Backend   // of Kernel, for algorithms that plan another kernel
	Constants engine.Constants // of the loss on the kernel's bounds and radius
	L2        float64          // alpha >= 0: the objective has alpha/2 ||w||^2
	Budget    privacy.Budget   // ignored in NonPrivate mode
	Mode      Mode
	// PaperUnsound, with Paper mode, changes a schedule that the paper's own conditions forbid or make
	// useless (Info.Unsound), to see what the algorithm would then do. No theorem of the paper covers it,
	// so only data declared public may be used (Options.Public).
	PaperUnsound bool
	Provenance
	StreamOptions // of online algorithms; zero for others
}

// Provenance holds public facts about the origin of records that weaken what a guarantee
// says.
type Provenance struct {
	// BoundsFromData marks bounds that were taken from the data: the guarantee
	// then carries a warning that voids it.
	BoundsFromData bool
	// DraftAway marks bounds of a schema that was made from the data, where what the draft took from them is not there to
	// compare with: the guarantee then carries the warning DraftAway.
	DraftAway bool
	// SelectedByLabel marks records that are those rows of a file that have one of two
	// labels: the guarantee then states that it does not hide who is among them.
	SelectedByLabel bool
	// RowsPerPerson is the number of rows that a person may have, where a record is a
	// row; 0 says nothing. A guarantee for one record then states its value for a person.
	RowsPerPerson int
}

// Qualify adds to a guarantee what it assumes about the records that exist, and what voids it.
func (p Provenance) Qualify(g *privacy.Guarantee) {
	g.Assumptions = append(g.Assumptions, wellFormed)
	if p.SelectedByLabel {
		g.Assumptions = append(g.Assumptions, SelectedByLabel)
	}
	g.Warnings = append(g.Warnings, p.Ranges()...)
}

// Ranges are the warnings about where bounds come from, none or one.
func (p Provenance) Ranges() []string {
	switch {
	case p.BoundsFromData:
		return []string{BoundsFromData}
	case p.DraftAway:
		return []string{DraftAway}
	}
	return nil
}

// Contribution is the assumption of a guarantee for one record about the records of a person.
func (p Provenance) Contribution() string {
	if p.RowsPerPerson > 1 {
		return fmt.Sprintf("a person contributes up to %d records", p.RowsPerPerson)
	}
	return "each person contributes one record"
}

// oneRow begins the warning that Persons adds.
const oneRow = "one row is protected, and a person may have up to "

// Persons adds to the guarantee of one record what it is for the rows of one person
// (docs/theory.md#groups), in place of what it said of another epsilon.
func (p Provenance) Persons(g *privacy.Guarantee) {
	g.Warnings = slices.DeleteFunc(slices.Clone(g.Warnings), func(w string) bool { return strings.HasPrefix(w, oneRow) })
	if p.RowsPerPerson < 2 || g.Unit != OneRecord || g.Kind != privacy.ApproxDP && g.Kind != privacy.PureDP {
		return
	}
	group, err := privacy.GroupBudget(privacy.Budget{Epsilon: g.Epsilon, Delta: g.Delta}, p.RowsPerPerson)
	if mu, e := privacy.GroupMu(g.Mu, p.RowsPerPerson); e == nil && mu > 0 {
		group, err = privacy.Budget{Epsilon: account.GDPEpsilon(mu, g.Delta), Delta: g.Delta}, nil
	}
	gives := fmt.Sprintf("it is (%s, %s)-differentially private", privacy.FormatUp(group.Epsilon), privacy.FormatUp(group.Delta))
	if err != nil {
		gives = "it promises nothing"
	}
	g.Warnings = append(g.Warnings, fmt.Sprintf(oneRow+"%d rows: for all rows of one person %s; role: person in the schema protects persons", p.RowsPerPerson, gives))
}

// wellFormed is the assumption of every guarantee about records that a schema refuses: the
// relation of neighbours is between data sets without any. What well-formed records have in
// common never ends a run (docs/theory.md#silence).
const wellFormed = "every record is one that the schema accepts, and so is a record that replaces it: a run ends with an error at a record that the schema refuses, which others can see"

// SelectedByLabel is the assumption of a guarantee for records that are those rows of a
// file that have one of two labels.
const SelectedByLabel = "public: which rows of the data have a label of one of the two classes; the others were left out, so a record is replaced by one of these classes, and whether somebody's label is among them is not protected"

// BoundsFromData is the warning of a guarantee whose bounds were taken from the data.
const BoundsFromData = "BOUNDS NOT PRIVATE: ranges were taken from the data, so this guarantee does not hold; declare public ranges in the schema"

// DraftAway is the warning of a guarantee whose bounds may have been taken from the data.
const DraftAway = "RANGES NOT COMPARED: the schema was made from the data and its draft is not here, so it is not known whether its ranges were replaced, nor whether this guarantee holds; put the file of the draft (.drafted) next to the schema, or draft it again"

// NewSpec plans the kernel on backend, within the problem's groups if it has any,
// and fills in the constants of the loss.
func NewSpec(backend engine.Backend, p engine.Problem, l2 float64, b privacy.Budget, m Mode) (Spec, error) {
	if err := p.Validate(); err != nil {
		return Spec{}, err
	}
	// The loss speaks before the backend: it knows better what is wrong with itself.
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

// Validate returns an error for the first field out of range.
func (s Spec) Validate() error {
	if s.Kernel == nil {
		return errors.New("algorithms: Spec.Kernel is nil, use NewSpec")
	}
	if s.Constants.Origin < engine.Proved || s.Constants.Origin > engine.Asserted {
		return fmt.Errorf("algorithms: the constants of loss %s have no Origin; set Proved, Derived, Clipped, ClippedTerms or Asserted", s.Kernel.Problem().Loss.Name())
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
	Paper       string // key of doc.go, with algorithm and theorem
	Assumptions []string
	Released    string // what an adversary sees
	Claim       string // the paper's claim
	Verdict     string // what is true of it, and what is done here
	Maths       string // recursion, sensitivity and noise, as text
	Modes       []Mode
	PureModes   []Mode // those of Modes that also run with delta = 0
	NeedsL2     bool   // requires Spec.L2 > 0
	// DefaultL2 is the weight of the L2 term where the user gives none.
	DefaultL2 float64
	// NeedsSmooth is true if the certificate compares whole descents, not single
	// gradients: it requires a convex and smooth loss.
	NeedsSmooth bool
	// Unsound describes the change by Spec.PaperUnsound; "" without one.
	Unsound string
	// NoPersons says why it does not learn from records that are persons with several rows;
	// "" if it does.
	NoPersons string
	// NoGroups and NoPaper say why it takes no query groups and why it has no paper mode, and NoL2 what to use instead where it takes no L2
	// term: certified mode, if paper mode alone takes none. "" if it does.
	NoGroups, NoPaper, NoL2 string
	// ScoresOnly is true if it learns linear scores, no metrics; MetricsOnly the opposite.
	ScoresOnly, MetricsOnly bool
	// Withholds promises that released values leave Train only in the weights that it
	// returns (Algorithm.Train). Only then can a run that was charged be resumed; others
	// end with their first attempt. A type that embeds an algorithm does not inherit the
	// promise.
	Withholds bool
}

// Learns says whether the algorithm learns what a loss is about, a score or a metric.
func (i Info) Learns(l engine.Loss) bool {
	_, score := l.(engine.ScoreLoss)
	return !(i.ScoresOnly && !score || i.MetricsOnly && score)
}

// Supports says whether m is one of Modes.
func (i Info) Supports(m Mode) bool { return slices.Contains(i.Modes, m) }

// Planner is the common part of batch and online algorithms.
type Planner interface {
	// Info describes it.
	Info() Info
	// Plan computes schedule, certificate, noise and guarantee from public
	// numbers. It is pure. It wraps ErrAssumption where the algorithm does not
	// apply.
	Plan(Spec) (*Plan, error)
}

// Algorithm is a batch training algorithm. Its exported fields are its options;
// they can change the guarantee and are part of the plan.
type Algorithm interface {
	Planner
	// Train runs p. What it returns depends on the data only through releases
	// of s, and nothing that depends on a release leaves Train by another way
	// or before it returns: a run that fails is continued without a new charge.
	// It calls t.Step between steps, and may leave its state with t.Keep, which is as private
	// as the records.
	Train(ctx context.Context, ev engine.Evaluator, p *Plan, s privacy.Session, t Tracker) ([]float64, error)
}

// Tracker is told how far a training is, and keeps its state. The zero value does neither.
type Tracker struct {
	// OnStep is called by Step; nil skips it.
	OnStep func(done, total int)
	// OnRestore and OnKeep are called by Restore and Keep; nil: there are no checkpoints.
	OnRestore func(order []int32, vectors ...[]float64) (done int, err error)
	OnKeep    func(done int, order []int32, vectors ...[]float64)
}

// Step reports that done of total steps are done. It must not depend on data.
func (t Tracker) Step(done, total int) {
	if t.OnStep != nil {
		t.OnStep(done, total)
	}
}

// Restore fills order and vectors with the state that the training continues from and
// returns the number of steps in it. It returns 0, and changes nothing, if the training is to
// start at its beginning. An algorithm whose state between two steps is a few vectors and an
// order of the records asks for it; one that does not is started again when a run is resumed.
func (t Tracker) Restore(order []int32, vectors ...[]float64) (done int, err error) {
	if t.OnRestore == nil {
		return 0, nil
	}
	return t.OnRestore(order, vectors...)
}

// Keep may save the state after done steps: all releases made so far are in it.
func (t Tracker) Keep(done int, order []int32, vectors ...[]float64) {
	if t.OnKeep != nil {
		t.OnKeep(done, order, vectors...)
	}
}
