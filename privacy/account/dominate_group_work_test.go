package account

import (
	"math"
	"testing"

	"dyad/internal/must"
	"dyad/internal/sizes"
)

func groupPair(k int, m, rate float64, relation Relation) dominatingPair {
	return PoissonEvent{Event: GaussianEvent{Sensitivity: m, Sigma: 1}, Rate: rate, Relation: relation, Group: k}.pair()
}

// Losses and probabilities of mixtures, which look at the parts next to the largest one,
// against the sums over all parts. The control leaves out one part of a thousandth.
func TestGroupSumsMissNothing(t *testing.T) {
	const tolerance = 1e-11
	control := 0.0
	for _, c := range []struct {
		k       int
		m, rate float64
	}{{2, 0.6, 0.3}, {8, 0.1, 0.01}, {256, 0.4, 0.01}, {256, 0.01, 0.5}, {256, 2, 1e-4}, {100, 1e-3, 1 - 0x1p-30}, {256, 0.3, 0.999}} {
		d := groupPair(c.k, c.m, c.rate, ReplaceOne)
		far := d.m * float64(c.k)
		for _, share := range []float64{-2, -0.7, -0.1, 0, 0.02, 0.3, 0.8, 1, 1.5} {
			x := share * (far + 8)
			top := math.Inf(-1)
			for j, b := range d.logWeights {
				e := float64(j) * d.m
				top = max(top, b+e*(x-e/2))
			}
			sum, rest := 0.0, 0.0
			for j, b := range d.logWeights {
				e := float64(j) * d.m
				part := math.Exp(b + e*(x-e/2) - top)
				sum += part
				if part > 1e-4 && part < 1e-2 {
					rest = part
				}
			}
			want := top + math.Log(sum)
			got, _ := d.groupMixLoss(x)
			must.Near(t, got, want, tolerance*(1+math.Abs(want)+far*far), "%+v, x = %g: loss", c, x)
			if without := top + math.Log(sum-rest); rest > 0 && math.Abs(without-want) > control {
				control = math.Abs(without - want)
			}
			for _, width := range []float64{1e-6, 0.01, 3, math.Inf(1)} {
				mass := func(a, b float64) (p float64) {
					for j, w := range d.weights {
						p += w * d.mass(a-float64(j)*d.m, b-float64(j)*d.m)
					}
					return p
				}
				p, q := d.groupMasses(x, x+width)
				wantP, wantQ := mass(x, x+width), mass(-x-width, -x)
				if math.Abs(p-wantP) > massMargin*wantP || math.Abs(q-wantQ) > massMargin*wantQ {
					t.Errorf("%+v, (%g, %g]: %.17g and %.17g, all parts %.17g and %.17g", c, x, x+width, p, q, wantP, wantQ)
				}
			}
		}
	}
	must.AtLeast(t, control, 1e-5, "a part left out changes a loss by")
}

// The grid ends where an owner's records are hardly ever in the batch together, and what
// is beyond it is counted as an infinite loss. Without that the losses reach to 100 000 here.
func TestGroupWorkIsBounded(t *testing.T) {
	sizes.NotShort(t, "arithmetic on one goroutine")
	for _, relation := range []Relation{ReplaceOne, AddRemove} {
		law := releaseLaw{pair: groupPair(MaxGroup, 2, 0.01, relation)}
		if lo, hi := law.span(); hi > 4000 || lo < -4000 {
			t.Errorf("%s: losses from %g to %g", relation, lo, hi)
		}
		must.AtLeast(t, law.pair.loss(2*MaxGroup+gaussianReach), 1e5, "%s: the control, all records at once, has loss", relation)
		for _, reversed := range []bool{false, true} {
			out := law.discretise(0.5, reversed)
			sum := out.inf
			for _, p := range out.p {
				sum += p
			}
			if sum < 1 || sum > 1+1e-9 || out.inf > 1e-30 {
				t.Errorf("%s, reversed %t: probability %.17g in all, %g of an infinite loss", relation, reversed, sum, out.inf)
			}
		}
	}
	// A probability that is not negligible is not left out.
	d := groupPair(MaxGroup, 1, 0.5, ReplaceOne)
	if at := d.farthest(); !(at > 200 && at < 256) {
		t.Errorf("half of %d records are in a batch, and the farthest centre is %g", MaxGroup, at)
	}
	beyond := 0.0
	for j := int(d.farthest()) + 1; j <= MaxGroup; j++ {
		beyond += d.weights[j]
	}
	if beyond > smallestParts || beyond+d.weights[int(d.farthest())] < smallestParts {
		t.Errorf("parts of probability %g are left out, and one more is %g", beyond, d.weights[int(d.farthest())])
	}
}
