package algorithms_test

import (
	"context"
	"math"
	"strings"
	"testing"

	"dyad/algorithms"
	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/engine/objective"
	"dyad/internal/must"
	"dyad/internal/sizes"
	"dyad/privacy"
)

func candidates(l2 float64) (all []algorithms.Candidate) {
	for _, a := range algorithms.Catalog() {
		c := algorithms.Candidate{Algorithm: a}
		if a.Info().NeedsL2 {
			c.L2 = l2
		}
		all = append(all, c)
	}
	return all
}

// Every algorithm of the catalogue is ranked or has a reason, the ranking is sorted, and
// the recommendation is the one that its criterion gives.
func TestCompareCoversTheCatalogue(t *testing.T) {
	for _, delta := range []float64{1e-5, 0} {
		s := newSpec(t, 300, 5, 0.1, 0, privacy.Budget{Epsilon: 1, Delta: delta}, algorithms.Certified)
		c := must.Get(algorithms.Compare(s, candidates(0.001)))(t)
		if len(c.Rows)+len(c.Excluded) != len(algorithms.Catalog()) || len(c.Rows) < 5 && delta > 0 {
			t.Errorf("%d ranked and %d excluded of %d", len(c.Rows), len(c.Excluded), len(algorithms.Catalog()))
		}
		for _, e := range c.Excluded {
			if e.Reason == "" || strings.HasPrefix(e.Why, e.Algorithm) || !strings.HasSuffix(e.Reason, e.Why) {
				t.Errorf("%s is excluded without a reason: %+v", e.Algorithm, e)
			}
		}
		least, recommended := math.Inf(1), algorithms.Compared{}
		for i, r := range c.Rows {
			a := must.Get(algorithms.ByName(r.Algorithm))(t)
			s.L2 = r.L2
			p, err := a.Plan(s)
			if err != nil || p.Guarantee.Epsilon > 1 || math.Abs(p.Report().Number("noise_to_radius")/r.NoiseToRadius-1) > 1e-12 {
				t.Errorf("%s: the row has noise %v radii, its plan %v with epsilon %v (%v)", r.Algorithm, r.NoiseToRadius, p.Report().Number("noise_to_radius"), p.Guarantee.Epsilon, err)
			}
			if i > 0 && r.Noise < c.Rows[i-1].Noise {
				t.Errorf("row %d has less noise than the one above", i+1)
			}
			least = min(least, r.NoiseToReach)
			if r.Algorithm == c.Recommended {
				recommended = r
			}
		}
		for _, r := range c.Rows {
			if r.NoiseToReach <= 1.05*least && r.Visits < recommended.Visits {
				t.Errorf("%s is recommended, %s has as little noise for fewer visits", recommended.Algorithm, r.Algorithm)
			}
		}
		must.AtMost(t, recommended.NoiseToReach, 1.05*least, "%s is recommended with %v of its reach, the least is %v", c.Recommended, recommended.NoiseToReach, least)
	}
	s := newSpec(t, 300, 5, 0.1, 0, privacy.Budget{Epsilon: 1, Delta: 1e-5}, algorithms.Paper)
	must.Fail(algorithms.Compare(s, candidates(0)))(t, "certified", "paper plans are compared")
}

// excess is the mean objective of the model over runs, above the minimum.
func excess(t *testing.T, r *engine.Records, a algorithms.Algorithm, p *algorithms.Plan, runs int) float64 {
	t.Helper()
	value := func(w []float64) float64 {
		v := must.Get(objective.Mean(context.Background(), engine.Logistic{}, w, r))(t)
		for _, x := range w {
			v += p.Spec.L2 / 2 * x * x
		}
		return v
	}
	train := func(a algorithms.Algorithm, p *algorithms.Plan, seed uint64) []float64 {
		result := must.Get(algorithms.Run(context.Background(), r, a, p, algorithms.Options{Public: true, Source: privacy.NewSeededSource(seed)}))(t)
		return result.Weights
	}
	best := p.Spec
	best.Mode = algorithms.NonPrivate
	b := must.Get(algorithms.ProjectedGradient{Steps: 400}.Plan(best))(t)
	sum := 0.0
	for i := range runs {
		sum += value(train(a, p, uint64(i)))
	}
	return sum/float64(runs) - value(train(algorithms.ProjectedGradient{Steps: 400}, b, 0))
}

// Measured excess objectives stay below the bounds, for small and large steps, and come
// within a factor of it somewhere, so a bound that anything satisfies would not pass.
func TestUtilityBounds(t *testing.T) {
	sizes.NotShort(t, "arithmetic on one goroutine")
	const n, d = 200, 4
	r := twoClasses(t, n, d, 1)
	tightest := 0.0
	for _, c := range []struct {
		a  algorithms.Algorithm
		l2 float64
	}{
		{algorithms.DPGDSC{Steps: 10, StepSize: 0.2}, 0.1}, {algorithms.DPGDSC{Steps: 40, StepSize: 0.4}, 0.1}, {algorithms.DPGDSC{Steps: 200, StepSize: 0.2}, 0.5},
		{algorithms.DPGDC{Steps: 5, StepSize: 0.2}, 0}, {algorithms.DPGDC{Steps: 50, StepSize: 0.45}, 0},
		{algorithms.DPGDC2{}, 0}, {algorithms.DPGDC2{Steps: 20}, 0.1},
		{algorithms.GradientPerturbation{Steps: 10, StepSize: 0.1}, 0}, {algorithms.GradientPerturbation{}, 0.1},
	} {
		for _, epsilon := range []float64{0.5, 20} {
			spec := must.Get(algorithms.NewSpec(cpu.Backend{}, engine.Problem{N: n, D: d, Bounds: engine.UnitBounds(), Loss: engine.Logistic{}, Radius: 2}, c.l2, privacy.Budget{Epsilon: epsilon, Delta: 1e-5}, algorithms.Certified))(t)
			p := must.Get(c.a.Plan(spec))(t)
			got := excess(t, r, c.a, p, 10)
			if p.Utility.Source == "" || !(got <= p.Utility.Excess) || got < -1e-6 {
				t.Errorf("%+v at epsilon %v: excess %.4g, bound %.4g (%s)", c.a, epsilon, got, p.Utility.Excess, p.Utility.Source)
			}
			tightest = max(tightest, got/p.Utility.Excess)
		}
	}
	must.AtLeast(t, tightest, 0.1, "the largest share of a bound that is measured")
	// The schedule of a single pass, and losses that are not convex, have none.
	s := newSpec(t, n, d, 1, 0, privacy.Budget{Epsilon: 1, Delta: 1e-5}, algorithms.Certified)
	p, err := algorithms.OffPairC{}.Plan(s)
	if err != nil || p.Utility.Source != "" {
		t.Errorf("offpairc: %+v, %v", p.Utility, err)
	}
	s.Constants.Convex = false
	if p, err = (algorithms.GradientPerturbation{}).Plan(s); err != nil || p.Utility.Source != "" {
		t.Errorf("not convex: %+v, %v", p.Utility, err)
	}
}
