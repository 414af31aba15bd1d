package algorithms

import (
	"context"
	"math"

	"dyad/engine"
	"dyad/privacy"
)

// OnGIGA is pairwise GIGA [Kar13] without noise: online pairwise gradient descent on
// a stream, every iterate released exactly. It is the non-private baseline of
// OnPairStrC and OnPairC (docs/theory.md#nonprivate).
//
// Guarantee: none.
type OnGIGA struct{}

// Info describes the algorithm.
func (OnGIGA) Info() Info {
	return Info{
		Name:        "ongiga",
		Title:       "non-private baseline: online pairwise GIGA, an iterate released after every batch",
		Paper:       "[Huai20] equation 3 (pairwise GIGA of [Kar13])",
		Assumptions: []string{"none for privacy: there is none"},
		Released:    "every iterate, exactly",
		Claim:       "none",
		Verdict:     "not private",
		Maths: `w_b = Pi_C[w_(b-1) - eta_b (q_b + alpha w_(b-1))],  q_b = 1/m sum_(t in b) 1/D_t sum_(i in B_t) grad l(w_(b-1); z_t, z_i)
eta_b = ||C||/(G~ sqrt b), at most 1/(alpha b);  regret <= 1.5 ||C|| G~ sqrt T over T updates, G~ = G + alpha r`,
		Modes: []Mode{NonPrivate},
	}
}

// Plan computes the step sizes; there is no certificate and no noise.
func (a OnGIGA) Plan(s Spec) (*Plan, error) {
	if err := checkStream(a.Info(), s, NoiseFedBack); err != nil {
		return nil, err
	}
	p := newStreamPlan(a.Info(), s, streamRule{release: (*Online).exact})
	p.descend(0, true)
	p.addUp()
	p.PromiseNothing("every iterate, exactly", revealsRecords)
	return p, nil
}

// exact makes a step and releases the iterate as it is.
func (o *Online) exact() ([]float64, error) {
	if err := o.update.apply(o.w, o.query, o.plan.stream().eta(o.updates), 1); err != nil {
		return nil, err
	}
	if err := o.session.ReleaseExact(o.w); err != nil {
		return nil, err
	}
	return append([]float64(nil), o.w...), nil
}

// OffGIGA is one pass of pairwise GIGA over the records in a random order, without
// noise: the baseline of OffPairStrC and OffPairC, and the "Non-private" one of
// [Xue21].
//
// Guarantee: none.
type OffGIGA struct{}

// Info describes the algorithm.
func (OffGIGA) Info() Info {
	return Info{
		Name:        "offgiga",
		NoPersons:   growingPairs,
		NoGroups:    "dpgdsc",
		Title:       "non-private baseline: one pass of pairwise GIGA over the records, average iterate",
		Paper:       "[Huai20] Algorithms 3 and 4 without noise; [Xue21] Section 6 (\"Non-private\")",
		Assumptions: []string{"none for privacy: there is none"},
		Released:    "exact average iterate",
		Claim:       "none",
		Verdict:     "not private",
		Maths: `w_t = Pi_C[w_(t-1) - eta_t (1/(t-1) sum_(i<t) grad l(w_(t-1); z_t, z_i) + alpha w_(t-1))],  t = 2..n
eta_t = ||C||/(G~ sqrt(t-1)), at most 1/(alpha (t-1)), G~ = G + alpha r;  release (w_1 + ... + w_n)/n`,
		Modes:     []Mode{NonPrivate},
		Withholds: true,
		DefaultL2: usualL2,
	}
}

// Plan computes the schedule; there is no certificate and no noise.
func (a OffGIGA) Plan(s Spec) (*Plan, error) {
	if err := checkApplies(a.Info(), s); err != nil {
		return nil, err
	}
	problem := s.Kernel.Problem()
	n := problem.N
	schedule := Schedule{Name: "eta_t = ||C||/(G~ sqrt(t-1)), at most 1/(alpha (t-1))", Steps: n - 1, Eta: make([]float64, n+1), Average: true}
	for t := 2; t <= n; t++ {
		b := float64(t - 1)
		eta := problem.Domain().Diameter() / ((s.Constants.Lipschitz + s.L2*problem.Radius) * math.Sqrt(b))
		if s.L2 > 0 {
			eta = min(eta, 1/(s.L2*b))
		}
		schedule.Eta[t] = eta
		schedule.TotalStep += eta
	}
	p := &Plan{
		Algorithm: a.Info().Name, Mode: s.Mode, Spec: s, Schedule: schedule,
		Work: Work{Gradients: float64(n) * float64(n-1) / 2},
	}
	p.PromiseNothing("exact iterate", revealsRecords)
	return p, nil
}

// Train runs the pass and releases its result exactly.
func (OffGIGA) Train(ctx context.Context, ev engine.Evaluator, p *Plan, s privacy.Session, t Tracker) ([]float64, error) {
	w, err := runPass(ctx, ev, p, s, t)
	if err != nil {
		return nil, err
	}
	return w, s.ReleaseExact(w)
}
