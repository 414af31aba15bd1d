package account

import (
	"fmt"
	"math"
	"os"
	"slices"
	"testing"

	"dyad/internal/must"
)

// inserted is an order of scores that prefers what the other neighbour makes more likely, but for what is above cut, which has the
// score of place.
func inserted(cut, place float64) func(z float64) float64 {
	return func(z float64) float64 {
		if z > cut {
			return -place
		}
		return -z
	}
}

// rankSums are cells of a run that releases z, which is mu_t-GDP, and a rank sum of sensitivity mu_s standard
// deviations of its noise, a share of the square of mu, worst first. The rank sum is a step function of z with the order of inserted: its
// steps are those of many equal negatives (docs/theory.md#stopping-profile).
func rankSums(mu, share, cut, place float64) selectionCells {
	muS, muT := mu*math.Sqrt(share), mu*math.Sqrt(1-share)
	var all []scoredCell
	const wide, narrow = 360, 120
	masses := func(mu float64, cells int) (p, q, at []float64) {
		for i := range cells {
			a, b := -9+(18+mu)*float64(i)/float64(cells), -9+(18+mu)*float64(i+1)/float64(cells)
			p, q, at = append(p, normalMass(a-mu, b-mu)), append(q, normalMass(a, b)), append(at, (a+b)/2)
		}
		return p, q, at
	}
	score := inserted(cut, place)
	p, q, z := masses(muT, wide)
	pS, qS, noise := masses(muS, narrow)
	for i := range z {
		steps := math.Round(muT*score(z[i])/(muS*muS)) * muS * muS
		for j := range noise {
			all = append(all, scoredCell{p[i] * pS[j], q[i] * qS[j], steps - muS*noise[j]})
		}
	}
	return byScore(all)
}

// The committed table has what is claimed, before by Renyi divergences and now by the profile, and what attacks reach of it: by any score, by rank sums whose noise
// is a twentieth or a third of mu^2, as the least and the most of a search, and by a score that prefers the likelier.
func TestTableOfRandomStopping(t *testing.T) {
	text := "mu,runs,delta,before,claimed,any_score,rank_sum_twentieth,rank_sum_third,monotone\n"
	type order struct{ cut, place float64 }
	for _, c := range []struct {
		mu                    float64
		runs                  int
		delta                 float64
		any, twentieth, third order
	}{
		{0.32, 32, 1e-8, order{2, -1}, order{4.5, -1.5}, order{5, -2}},
		{0.15, 20, 1e-6, order{2, -1}, order{4, -1}, order{3.5, -2}},
		{0.3, 32, 1e-3, order{2, -1}, order{3, -1}, order{2.5, -2}},
		{0.1, 10, 1e-5, order{2, -0.5}, order{3, -1}, order{2.5, -2}},
	} {
		var claim Total
		must.Do(t, claim.Compose(RandomStoppingEvent{Mu: c.mu, Runs: c.runs}))
		weights := uniformRuns(c.runs)
		reached := func(s selectionCells) float64 { return lossOf(best(s.p, weights), best(s.q, weights), c.delta) }
		before, now := claim.renyi(0).Epsilon(c.delta), claim.Epsilon(c.delta)
		attacks := []float64{
			reached(scored(c.mu, inserted(c.any.cut, c.any.place))),
			reached(rankSums(c.mu, 0.05, c.twentieth.cut, c.twentieth.place)), reached(rankSums(c.mu, 1./3, c.third.cut, c.third.place)),
			reached(scored(c.mu, func(z float64) float64 { return z })),
		}
		if worst := slices.Max(attacks); worst > now || now >= before {
			t.Errorf("mu %v, 1 to %d runs: epsilon %v is reached, %v claimed, %v before", c.mu, c.runs, worst, now, before)
		}
		text += fmt.Sprintf("%v,%d,%v,%.4g,%.4g,%.4g,%.4g,%.4g,%.4g\n", c.mu, c.runs, c.delta, before, now, attacks[0], attacks[1], attacks[2], attacks[3])
	}
	if committed, err := os.ReadFile("../../bench/results/stopping.csv"); err != nil || string(committed) != text {
		t.Errorf("bench/results/stopping.csv (%v) is not\n%s", err, text)
	}
}

// With another release beside it a selection reaches nearly what the two are said to cost, and never more: the law of the
// selection times the pair of Gaussian laws.
func TestRandomStoppingBesideOthers(t *testing.T) {
	const mu, runs, delta = 0.3, 20, 1e-6
	s := scored(mu, inserted(2, -1))
	p, q := best(s.p, uniformRuns(runs)), best(s.q, uniformRuns(runs))
	for other, share := range map[float64]float64{0.1: 0.97, 0.5: 0.95, 2: 0.9} {
		var claim Total
		for _, e := range []Event{GaussianEvent{Sensitivity: other, Sigma: 1}, RandomStoppingEvent{Mu: mu, Runs: runs}} {
			must.Do(t, claim.Compose(e))
		}
		says := claim.Epsilon(delta)
		reached := func(epsilon float64) (sum float64) {
			for i := range p {
				if p[i] == 0 {
					continue
				}
				if at := epsilon + math.Log(q[i]/p[i]); at >= 0 {
					sum += p[i] * GDPDelta(at, other)
				} else {
					sum += p[i] * (-math.Expm1(at) + math.Exp(at)*GDPDelta(-at, other))
				}
			}
			return sum
		}
		if reached(says) > delta || reached(share*says) < delta {
			t.Errorf("beside mu %v: epsilon %v is claimed; delta %v there and %v at %v of it", other, says, reached(says), reached(share*says), share)
		}
		must.Near(t, claim.Delta(says)/delta, 1, 1e-6, "beside mu %v: delta ... at the epsilon of %v", other, delta)
	}
}

// Selections that an event repeats cost what they cost one after the other: the profile is for one.
func TestRandomStoppingRepeated(t *testing.T) {
	e := RandomStoppingEvent{Mu: 0.5, Runs: 4}
	var repeated, each Total
	must.Do(t, repeated.Compose(RepeatedEvent{Event: e, Count: 3}))
	for range 3 {
		must.Do(t, each.Compose(e))
	}
	if a, b := repeated.Epsilon(1e-6), each.Epsilon(1e-6); math.Abs(a/b-1) > 1e-9 {
		t.Errorf("epsilon %v of three at once, %v of one after the other", a, b)
	}
	if a, b := repeated.Delta(1), each.Delta(1); math.Abs(a/b-1) > 1e-9 {
		t.Errorf("delta %v of three at once, %v of one after the other", a, b)
	}
	for _, count := range []int{math.MaxInt, math.MaxInt, 1} { // with the 2 that are remembered, 1 in 64 bits
		must.Do(t, repeated.Compose(RepeatedEvent{Event: e, Count: count}))
	}
	if epsilon, delta := repeated.Epsilon(1e-6), repeated.Delta(1); epsilon < 1e6 || delta < 1 {
		t.Errorf("epsilon %v and delta %v of as many as there are numbers", epsilon, delta)
	}
}

// The polygon is nowhere below the curve, for every mu and number of runs, and hardly above it; its parts are concave.
func TestPolygonIsAboveTheCurve(t *testing.T) {
	for _, mu := range []float64{1e-9, 0.01, 0.3, 2, widestProfile} {
		for _, runs := range []int{2, 3, 32, MaxRuns} {
			e := RandomStoppingEvent{Mu: mu, Runs: runs}
			hull, at, above := e.polygon(mu), 1, 0.0
			for z := -8.5; z < 8; z += 0.00137 {
				x, _ := e.weights(math.Erfc(-z/math.Sqrt2) / 2)
				y, _ := e.weights(math.Erfc(-(z+mu)/math.Sqrt2) / 2)
				for at < len(hull)-1 && hull[at].x < x {
					at++
				}
				a, b := hull[at-1], hull[at]
				high := b.y
				if x < b.x {
					high = a.y + (b.y-a.y)*(x-a.x)/(b.x-a.x)
				}
				if high*(1+2e-10) < y {
					t.Fatalf("mu %v, %d runs, z %v: the polygon is at %v, the curve at %v", mu, runs, z, high, y)
				}
				if slope := (b.y - a.y) * x / (b.x - a.x); at > 1 && slope < y { // not the first edge, which bridges what is not concave
					above = max(above, high/y-1)
				}
			}
			must.AtMost(t, above, 1e-3, "mu %v, %d runs: the polygon is above the curve by", mu, runs)
		}
	}
}
