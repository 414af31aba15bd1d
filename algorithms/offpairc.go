package algorithms

import (
	"context"
	"fmt"
	"math"

	"dyad/engine"
	"dyad/privacy"
)

// OffPairC is offline pairwise private GIGA for convex objectives ([Huai20]
// Algorithm 4 and Theorem 5): the objective has no L2 term.
//
// Guarantee: Certified mode, (epsilon, delta)-DP for replacing one record, or
// epsilon-DP if delta is 0, with
// the linear (equalising, alpha = 0) schedule and the last iterate
// (docs/theory.md#offpair).
type OffPairC struct {
	// TotalStep is H, the sum of the step sizes; 0 means the public rule of
	// docs/theory.md#step-length. Ignored in Paper mode.
	TotalStep float64
	// PaperAlpha is the weight of the L2 term that Paper mode adds. 0 means
	// 1/sqrt(n), the order in the theorem.
	PaperAlpha float64 `flag:"-" within:"[0,)" called:"PaperAlpha"`
}

// Info describes the algorithm.
func (OffPairC) Info() Info {
	return Info{
		Name:      "offpairc",
		NoPersons: growingPairs,
		NoGroups:  "dpgdsc",
		NoL2:      map[Mode]string{Certified: "offpairstrc", Paper: "offpairstrc", NonPrivate: "offpairstrc"},
		Title:     "offline pairwise GIGA, convex: one pass over the records, output perturbation",
		Paper:     "[Huai20] Algorithm 4, Theorem 5",
		Assumptions: []string{
			"the pair loss is convex, G-Lipschitz and L-smooth on the ball of radius r",
			"no L2 term (alpha = 0)",
			"the order of the records is independent of the data (drawn at random)",
		},
		Released: "last iterate (paper: average iterate) plus noise",
		Claim:    "(epsilon, delta)-DP by OffPairStrC on the loss plus alpha/2 ||w||^2, alpha = O(1/sqrt n)",
		Verdict:  "never takes a step for any n unless alpha sqrt(n) > 4 (L + alpha); certified mode needs no added L2 term",
		Maths: `w_t = Pi_C[w_(t-1) - eta_t/(t-1) sum_(i<t) grad l(w_(t-1); z_t, z_i)],  t = 2..n
eta_t = 2 H (t-1)/(n(n-1)):  delta_n(k) = 2 Dg H/n for every k (optimal among schedules of length H)
release w_n + N(0, sigma^2 I), sigma = min(2 Dg H/n, diam C)/mu(epsilon, delta), then project
delta = 0: Z of density proportional to exp(-epsilon ||z||/Delta) in place of N(0, sigma^2 I)
paper: OffPairStrC with G~ = G + alpha ||C||, L~ = L + alpha, alpha = O(1/sqrt n)`,
		NeedsSmooth: true,
		Modes:       []Mode{Certified, Paper},
		Unsound:     noBurnIn,
		Withholds:   true,
		PureModes:   []Mode{Certified},
	}
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
	if err := ranged("offpairc", a); err != nil {
		return nil, err
	}
	return a.pass(s).plan(s)
}

// Train runs the pass and releases its result.
func (a OffPairC) Train(ctx context.Context, ev engine.Evaluator, p *Plan, s privacy.Session, t Tracker) ([]float64, error) {
	return a.pass(p.Spec).train(ctx, ev, p, s, t)
}
