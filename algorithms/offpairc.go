package algorithms

import (
	"fmt"
	"math"
)

// OffPairC is offline pairwise private GIGA for convex objectives ([Huai20]
// Algorithm 4 and Theorem 5): the objective has no L2 term.
//
// Guarantee: Certified mode, (epsilon, delta)-DP for replacing one record, or
// epsilon-DP if delta is 0, with
// the linear (equalising, alpha = 0) schedule and the last iterate
// (docs/theory.md#offpair).
type OffPairC struct {
	descends
	// TotalStep is H, the sum of the step sizes; 0 means the public rule of
	// docs/theory.md#step-length. Ignored in Paper mode.
	TotalStep float64
	// PaperAlpha is the weight of the L2 term that Paper mode adds. 0 means
	// 1/sqrt(n), the order in the theorem.
	PaperAlpha float64 `flag:"-"`
}

// Info describes the algorithm.
func (OffPairC) Info() Info {
	return Described("offpairc", Info{Modes: []Mode{Certified, Paper}, PureModes: []Mode{Certified}, NeedsSmooth: true, Withholds: true})
}

func (a OffPairC) pass(s Spec) onePass {
	o := onePass{info: a.Info(), total: a.TotalStep, theorem: "[Huai20] Theorem 5"}
	if s.Mode == Paper {
		p := s.Kernel.Problem()
		o.alpha = a.PaperAlpha
		if o.alpha == 0 {
			o.alpha = 1 / math.Sqrt(float64(p.N))
		}
		o.lipschitz = s.Constants.Lipschitz + o.alpha*2*p.Radius
		o.smoothness = s.Constants.Smoothness + o.alpha
		o.remedy = func(n int, burnIn float64) string {
			return a.remedy(s.Constants.Smoothness, n, burnIn)
		}
	}
	return o
}

// remedy says for which n or alpha the burn-in 16 (L+alpha)^2/alpha^2 ends. With
// alpha = c/sqrt(n) it is 16 (L+alpha)^2/c^2 n: never, for any n, unless
// c > 4 (L + alpha) (docs/theory.md#offpair).
func (a OffPairC) remedy(smoothness float64, n int, burnIn float64) string {
	text := "no n works with alpha = 1/sqrt(n)"
	if a.PaperAlpha != 0 {
		text = fmt.Sprintf("it needs n >= %.0f at this alpha", burnIn+1)
	}
	if root := math.Sqrt(float64(n - 1)); root > 4 {
		text += fmt.Sprintf("; an alpha above %.6g would do at this n", 4*smoothness/(root-4))
	}
	return text
}

// Plan computes schedule, certificate and noise.
func (a OffPairC) Plan(s Spec) (*Plan, error) {
	if err := checkApplies(a.Info(), s); err != nil {
		return nil, err
	}
	if s.L2 != 0 {
		return nil, fmt.Errorf("%w: offpairc is for objectives without an L2 term and alpha is %.6g; set it to 0 or use offpairstrc", ErrAssumption, s.L2)
	}
	if !(a.PaperAlpha >= 0) || math.IsInf(a.PaperAlpha, 0) {
		return nil, fmt.Errorf("%w: offpairc: PaperAlpha is %v, must be finite and not negative", ErrAssumption, a.PaperAlpha)
	}
	return a.pass(s).plan(s)
}
