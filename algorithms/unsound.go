package algorithms

import (
	"errors"
	"math"
)

// ErrUnsound is the error of running a plan with Spec.PaperUnsound on data that are not declared public.
var ErrUnsound = errors.New("algorithms: a paper-unsound plan (--paper-unsound) needs data declared public")

// PaperUnsound is the warning of a plan with Spec.PaperUnsound. The guarantee that the plan states next to the
// claim is still proved, because certificates hold for every schedule; only their sensitivity grows.
const PaperUnsound = "PAPER-UNSOUND: the schedule is not the paper's, so the paper's claim does not cover it; " +
	"for public data only"

// printedBurnIn returns T1 of [Huai20] Algorithm 1, line 2, and Algorithm 3. With PaperUnsound the steps begin
// without this burn-in at t = 3, the first t for which the step size (t-1)/(t-2) 2/(alpha t) exists.
func (s Spec) printedBurnIn(smoothness, alpha float64) float64 {
	if s.PaperUnsound {
		return 2
	}
	return math.Max(math.Ceil(16*smoothness*smoothness/(alpha*alpha)), 7)
}

// unsoundly returns the rule of a changed schedule, marked as changed.
func (s Spec) unsoundly(rule, changed string) string {
	if s.PaperUnsound {
		return "paper-unsound: " + changed
	}
	return rule
}

func (s Spec) unsoundWarning() []string {
	if s.PaperUnsound {
		return []string{PaperUnsound}
	}
	return nil
}
