package algorithms

import (
	"errors"
	"math"
)

// ErrUnsound is the error of a run of a plan with Spec.PaperUnsound on data that are not declared public.
var ErrUnsound = errors.New("algorithms: a paper-unsound plan (--paper-unsound) is for data declared public: the paper proves nothing about its schedule")

// PaperUnsound is the warning of a plan with Spec.PaperUnsound. What the plan states next to the claim
// is still proved: certificates hold for every schedule, they only grow.
const PaperUnsound = "PAPER-UNSOUND: this is not the paper's algorithm. Its schedule was changed so that it takes steps, and the claim of the paper does not cover it; for public data only"

// printedBurnIn is T1 of [Huai20] Algorithm 1 line 2 and Algorithm 3. Without it steps begin at t = 3,
// the first for which the step size (t-1)/(t-2) 2/(alpha t) exists.
func (s Spec) printedBurnIn(smoothness, alpha float64) float64 {
	if s.PaperUnsound {
		return 2
	}
	return math.Max(math.Ceil(16*smoothness*smoothness/(alpha*alpha)), 7)
}

// unsoundly marks the rule of a changed schedule.
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
