package algorithms

import "math"

// OnGIGA is pairwise GIGA [Kar13] without noise: online pairwise gradient descent on a stream that releases
// every iterate exactly. It is the non-private baseline of OnPairStrC and OnPairC (docs/theory.md#nonprivate).
//
// It has no privacy guarantee.
type OnGIGA struct{}

// Info describes the algorithm.
func (OnGIGA) Info() Info { return Described("ongiga", Info{Modes: []Mode{NonPrivate}}) }

// Plan computes the step sizes. The plan has no certificate and no noise.
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

// exact makes a step and releases the iterate without noise.
func (o *Online) exact() ([]float64, error) {
	if err := o.update.apply(o.w, o.query, o.plan.stream().eta(o.updates), 1); err != nil {
		return nil, err
	}
	if err := o.session.ReleaseExact(o.w); err != nil {
		return nil, err
	}
	return append([]float64(nil), o.w...), nil
}

// OffGIGA is one pass of pairwise GIGA over the records in a random order, without noise. It is the baseline of
// OffPairStrC and OffPairC, and the "Non-private" baseline of [Xue21].
//
// It has no privacy guarantee.
type OffGIGA struct{ descends }

// Info describes the algorithm.
func (OffGIGA) Info() Info {
	return Described("offgiga", Info{Modes: []Mode{NonPrivate}, DefaultL2: usualL2, Withholds: true})
}

// Plan computes the schedule. The plan has no certificate and no noise.
func (a OffGIGA) Plan(s Spec) (*Plan, error) {
	if err := checkApplies(a.Info(), s); err != nil {
		return nil, err
	}
	problem := s.Kernel.Problem()
	n := problem.N
	schedule := Schedule{Name: "eta_t = ||C||/(G~ sqrt(t-1)), at most 1/(alpha (t-1))", Steps: n - 1,
		Eta: make([]float64, n+1), Average: true}
	for t := 2; t <= n; t++ {
		b := float64(t - 1)
		eta := problem.Domain().Diameter() / ((s.Constants.Lipschitz + s.L2*problem.Radius) * math.Sqrt(b))
		if s.L2 > 0 {
			eta = min(eta, 1/(s.L2*b))
		}
		schedule.Eta[t] = eta
		schedule.TotalStep += eta
	}
	p := descent{noise: nowhere, pass: true}.newPlan(a.Info(), s, schedule)
	p.PromiseNothing("exact iterate", revealsRecords)
	return p, nil
}
