package algorithms

import (
	"fmt"
	"math"
)

// OffPairStrC is offline pairwise private GIGA for strongly convex objectives
// ([Huai20] Algorithm 3 and Theorem 5).
//
// Guarantee: Certified mode, (epsilon, delta)-DP for replacing one record, or
// epsilon-DP if delta is 0, with
// the equalising schedule and the last iterate in place of the burn-in and the
// average (docs/theory.md#offpair).
type OffPairStrC struct {
	descends
	// TotalStep is H, about the sum of the step sizes; 0 means the public rule of
	// docs/theory.md#step-length. Ignored in Paper mode.
	TotalStep float64
}

// Info describes the algorithm.
func (OffPairStrC) Info() Info {
	return Described("offpairstrc", Info{Modes: []Mode{Certified, Paper}, PureModes: []Mode{Certified}, NeedsL2: true, DefaultL2: usualL2, NeedsSmooth: true, Withholds: true})
}

func (a OffPairStrC) pass(s Spec) onePass {
	return onePass{
		info: a.Info(), total: a.TotalStep, alpha: s.L2,
		lipschitz: s.Constants.Lipschitz, smoothness: s.Constants.Smoothness,
		theorem: "[Huai20] Theorem 5",
		remedy: func(n int, burnIn float64) string {
			text := fmt.Sprintf("it needs n >= %.0f at this alpha", burnIn+1)
			if n > 7 {
				text += fmt.Sprintf("; an alpha above %.6g would do at this n", 4*s.Constants.Smoothness/math.Sqrt(float64(n-1)))
			}
			return text
		},
	}
}

// Plan computes schedule, certificate and noise.
func (a OffPairStrC) Plan(s Spec) (*Plan, error) {
	if err := checkApplies(a.Info(), s); err != nil {
		return nil, err
	}
	return a.pass(s).plan(s)
}
