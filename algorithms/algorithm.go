package algorithms

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"dyad/engine"
	"dyad/privacy"
)

// ErrAssumption is wrapped by Plan if an assumption of the algorithm does not hold for a Spec or, in paper
// mode, if a condition of the paper does not hold. The message names the assumption, with numbers, and a Spec
// that would work.
var ErrAssumption = errors.New("algorithms: assumption not met")

// errOption is wrapped by the Refusal of an option.
var errOption = errors.New("algorithms")

// Refusal is the error about a Spec or an option that an algorithm, or another kind of run, does not take. It wraps
// ErrAssumption if an assumption does not hold.
type Refusal struct {
	Of   string // Of is the name of the algorithm, of the kind of run or of the part of the schema that is refused.
	Why  error  // Why is the assumption that fails, with a remedy. Its text continues a sentence that begins with Of.
	rule error  // ErrAssumption or errOption
}

// Error returns the text with the prefix of the package.
func (r *Refusal) Error() string { return r.rule.Error() + ": " + r.Of + r.Why.Error() }

// Unwrap returns Why and, unless an option is refused, ErrAssumption.
func (r *Refusal) Unwrap() []error { return []error{r.rule, r.Why} }

// Refused returns the Refusal of a Spec for which an assumption of an algorithm does not hold.
func Refused(of, why string, args ...any) error {
	return &Refusal{of, fmt.Errorf(why, args...), ErrAssumption}
}

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
	// PaperUnsound applies to Paper mode only. It changes a schedule that the paper's own conditions forbid
	// or make useless (Info.Unsound). The run then shows what the algorithm does with the changed schedule.
	// No theorem of the paper covers this schedule, so only data declared public may be used
	// (Options.Public).
	PaperUnsound bool
	Provenance
	StreamOptions // the options of online algorithms; zero for other algorithms
}

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
		return fmt.Errorf("algorithms: the L2 weight is %v, but must be finite and not negative", s.L2)
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
	// NoPersons is the reason why the algorithm cannot learn if each record is a person with several rows. It
	// is "" if the algorithm can learn from such records.
	NoPersons string
	// NoGroups is the reason why the algorithm takes no query groups. NoPaper is the reason why it has no paper mode.
	// NoL2 names an alternative if the algorithm takes no L2 term. It is "certified mode" if only paper mode takes no
	// L2 term. Each field is "" if the algorithm has no such limit.
	NoGroups, NoPaper, NoL2 string
	// ScoresOnly is true if the algorithm learns linear scores only. MetricsOnly is true if it learns metrics only.
	ScoresOnly, MetricsOnly bool
	// Withholds promises that Algorithm.Train reveals released values only through the weights that it
	// returns. A charged run can be resumed only with this promise. Without the promise, a run ends with its
	// first attempt. A type that embeds an algorithm does not inherit the promise.
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

// Algorithm is a batch training algorithm. Its exported fields are its options, which can change the
// guarantee and are part of the plan.
type Algorithm interface {
	Planner
	// Train runs the plan p and returns the weights. The weights depend on the data only through releases of s.
	// No value that depends on a release may leave Train in another way, or before Train returns, because a
	// failed run is continued without a new charge. Train calls t.Step between steps. It may save its state
	// with t.Keep; the state is as private as the records.
	Train(ctx context.Context, ev engine.Evaluator, p *Plan, s privacy.Session, t Tracker) ([]float64, error)
}

// Tracker reports the progress of a training, and restores and saves the state of the training.
// The zero value does nothing.
type Tracker struct {
	// OnStep is called by Step. It may be nil.
	OnStep func(done, total int)
	// OnRestore and OnKeep are called by Restore and Keep. If they are nil there are no checkpoints.
	OnRestore func(order []int32, vectors ...[]float64) (done int, err error)
	OnKeep    func(done int, order []int32, vectors ...[]float64)
}

// Step reports progress: done is the number of finished steps, and total is the number of
// all steps. Both numbers must not depend on data.
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

// Keep calls OnKeep with the state of the training and with done, the number of steps that the state includes. OnKeep
// may save the state. The state must include all releases made so far.
func (t Tracker) Keep(done int, order []int32, vectors ...[]float64) {
	if t.OnKeep != nil {
		t.OnKeep(done, order, vectors...)
	}
}

// Plan describes a run and its guarantee. It is computed from public numbers, so it can be printed and charged
// before any data is read. Every kind of run has a Plan; packages with their own specifications embed it
// (pairs, local).
type Plan struct {
	Algorithm string
	Choice    string // why auto chose the algorithm; "" if the user named it
	Mode      Mode
	Releases  Releases // all releases of the run; the guarantee follows from them
	Guarantee privacy.Guarantee
	// Facts holds further lines of the report. It is empty for plans whose report is made from Spec and
	// Schedule.
	Facts Facts
	// Objective describes the minimised function in the ledger, so that a run is resumed only with the plan of
	// its first attempt. If it is "", the objective of Spec applies.
	Objective string
	// Cautions are warnings that a package such as algorithms/cluster adds, for example about noise that drowns
	// the signal. They depend on public numbers alone. Warnings returns them first.
	Cautions []string

	// Spec and the fields after it are used by batch and online algorithms.
	Spec     Spec
	Schedule Schedule
	Work     Work
	Aim      Aim
	// ModelNoise is the root mean square norm of the noise in the model, computed as if nothing were
	// projected. If it is 0, the norm of Noise is used.
	ModelNoise float64

	// Utility is the proved utility bound. It is the zero value if no theorem gives a bound.
	Utility Utility

	// Regret bounds the regret for convex losses, in expectation over the noise. The regret is the sum of the
	// losses of all updates, each at its iterate, minus the sum of these losses at any fixed w in C. The loss
	// of an update is the mean over its pairs plus alpha/2 ||w||^2. Regret is 0 if no bound is known.
	Regret float64
	// own holds data that the algorithm needs for its training: a *MomentsPlan or a *streamRule.
	own any
}

// Epoch is a part of a run. The epochs of a run read disjoint records.
type Epoch struct {
	Records  int
	Steps    int
	StepSize float64
}

// Aim is the goal of a run if it differs from the loss of its Spec.
type Aim struct {
	Loss  string  // "" for the loss of Spec, the name of another loss that is minimised instead, or "no loss"
	apart string  // why the noise cannot be compared with the noise of other algorithms; "" if it can
	least float64 // smallest n mu/sqrt d for linear scores that are better than chance; 0 if not known
}

// Schedule describes the steps of a run.
type Schedule struct {
	Name string // name of the rule, for reports
	// Steps is the number of updates.
	Steps int
	// Eta[t] is the step size of update t. If all step sizes are equal, Constant is used instead.
	Eta      []float64 `json:"-"`
	Constant float64   // step size of every update, 0 if they differ
	// BurnIn is the number of leading iterates drawn at random (paper mode).
	BurnIn int
	// TotalStep is the sum of the step sizes.
	TotalStep float64 `json:"Path"` // the name in checkpoints
	// Epochs has one entry for each disjoint set of records that has its own release. It is nil for other runs.
	Epochs []Epoch `json:"-"`
	// Average is true if the average iterate is released instead of the last iterate.
	Average bool
	// Update is the rule by which gradients become steps (Optimizer). If it is "", the rule is plain descent
	// with equal steps. With a decay, Constant is the first step size.
	Update string `json:",omitempty"`
}
