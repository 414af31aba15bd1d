package algorithms

import (
	"context"
	"fmt"
	"math"

	"dyad/engine"
	"dyad/privacy"
)

// OffPairStrC is offline pairwise private GIGA for strongly convex objectives
// ([Huai20] Algorithm 3 and Theorem 5).
//
// Guarantee: Certified mode, (epsilon, delta)-DP for replacing one record, or
// epsilon-DP if delta is 0, with
// the equalising schedule and the last iterate in place of the burn-in and the
// average (docs/theory.md#offpair).
type OffPairStrC struct {
	// TotalStep is H, about the sum of the step sizes; 0 means the public rule of
	// docs/theory.md#step-length. Ignored in Paper mode.
	TotalStep float64
}

// Info describes the algorithm.
func (OffPairStrC) Info() Info {
	return Info{
		Name:      "offpairstrc",
		NoPersons: growingPairs,
		NoGroups:  "dpgdsc",
		Title:     "offline pairwise GIGA, strongly convex: one pass over the records, output perturbation",
		Paper:     "[Huai20] Algorithm 3, Theorem 5",
		Assumptions: []string{
			"the pair loss is convex, G-Lipschitz and L-smooth on the ball of radius r",
			"alpha > 0 (L2 term)",
			"the order of the records is independent of the data (drawn at random)",
		},
		Released: "last iterate (paper: average iterate) plus noise",
		Claim:    "(epsilon, delta)-DP with sensitivity 8G ln n/(alpha n) of the average iterate, classical Gaussian noise",
		Verdict:  "the sensitivity is right (2x loose), but the burn-in T1 = 16 L^2/alpha^2 exceeds n in the paper's own settings, where it returns random points; certified mode keeps the recursion, with an equalising schedule, the last iterate and exact noise",
		Maths: `w_t = Pi_C[w_(t-1) - eta_t (1/(t-1) sum_(i<t) grad l(w_(t-1); z_t, z_i) + alpha w_(t-1))],  t = 2..n
delta_t(k) = c_t delta_(t-1)(k) + Dg eta_t/(t-1),  delta_k(k) = Dg eta_k;  Delta = max_k delta_n(k), at most diam C
eta_t = (t-1)/(v + alpha (t^2-t-2)/2),  v = alpha n^2/(2 (e^(alpha H) - 1)):  delta_n(k) = Dg eta_n for every k
release w_n + N(0, sigma^2 I), sigma = Delta/mu(epsilon, delta), then project
delta = 0: Z of density proportional to exp(-epsilon ||z||/Delta) in place of N(0, sigma^2 I)
paper: eta_t = (t-1)/(t-2) 2/(alpha t) for t > T1 = max(ceil(16 L^2/alpha^2), 7), release (w_1+...+w_n)/n with
       sigma^2 = 128 G^2 ln^2 n ln(1.25/delta)/(alpha^2 n^2 epsilon^2)`,
		NeedsSmooth: true,
		Modes:       []Mode{Certified, Paper},
		Unsound:     noBurnIn,
		Withholds:   true,
		DefaultL2:   usualL2,
		PureModes:   []Mode{Certified},
		NeedsL2:     true,
	}
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

// Train runs the pass and releases its result.
func (a OffPairStrC) Train(ctx context.Context, ev engine.Evaluator, p *Plan, s privacy.Session, t Tracker) ([]float64, error) {
	return a.pass(p.Spec).train(ctx, ev, p, s, t)
}
