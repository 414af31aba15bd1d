package engine

import (
	"math"
	"math/rand/v2"
	"testing"

	"dyad/internal/must"
	"dyad/internal/sizes"
)

// Library losses that are smooth, convex and nonincreasing on their margins: the pair
// diameter is the one of metricDiameter, and attained.
func TestMetricDiameterIsAttained(t *testing.T) {
	sizes.NotShort(t, "arithmetic on one goroutine")
	for i, l := range Library() {
		of := must.Get(l.Expression(ExpressionOptions{}))(t)
		loss := Metric{Of: of}
		for j, c := range metricCases()[:5] {
			if (i+j)%5 != 0 && !sizes.Full() {
				continue
			}
			k := must.Get(loss.Constants(c.bounds, c.radius))(t)
			b := must.Get(of.Bounds(loss.MarginRange(c.bounds, c.radius)))(t)
			if !b.Smooth() || !b.Convex || b.rising() > 0 {
				continue
			}
			var found float64
			var angles [3]float64
			for _, y := range []float64{1, 0.87, 0.75, 0.5, 0.25} { // labels of any size
				for _, yOther := range []float64{1, 0.87, 0.75, 0.5, 0.25} {
					if found >= 0.98*k.PairDiameter {
						continue
					}
					if _, v, at := worstPairOf(loss, c, y, -yOther); v > found {
						found, angles = v, at
					}
				}
			}
			t.Logf("%s, radius %v: %.5f of Dg = %.5f at %.3f", l.Name, c.radius, found, k.PairDiameter, angles)
			if found > k.PairDiameter || found < 0.975*k.PairDiameter {
				t.Errorf("%s, radius %v: Dg = %v, found %v at %v", l.Name, c.radius, k.PairDiameter, found, angles)
			}
		}
	}
}

// The reduction to three angles: hill climbing over all of z, z~, z' in three dimensions
// and semidefinite matrices of any rank and norm finds nothing above the bound, and nothing
// much above what the angles give.
func TestMetricDiameterHillClimbing(t *testing.T) {
	rng := rand.New(rand.NewPCG(27, 28))
	rounds := sizes.Of(10, 30)
	if testing.Short() {
		rounds = 3
	}
	for _, c := range metricCases() {
		k := must.Get(MahalanobisLogistic{}.Constants(c.bounds, c.radius))(t)
		_, angles, _ := worstPair(c, 1, -1)
		var found float64
		for range rounds {
			const d = 3
			z := randomRecords(rng, 3, d, c.bounds)
			for i := range z {
				z[i].Y = math.Copysign(c.bounds.LabelAbs, z[i].Y)
			}
			z[0].Y, z[1].Y = z[2].Y, -z[2].Y
			p := pairInstance{randomMember(t, rng, d, c.radius), z[0], z[1], z[2]}
			best := p.gap()
			for step := 1.0; step > 1e-4; {
				q := pairInstance{append([]float64(nil), p.w...), z[0], z[1], z[2]}
				for _, r := range []*Record{&q.z, &q.other, &q.at} {
					x := append([]float64(nil), r.X...)
					for i := range x {
						x[i] += step * c.bounds.FeatureNorm * rng.NormFloat64()
					}
					ProjectBall(x, c.bounds.FeatureNorm)
					r.X = x
				}
				for i := range q.w {
					q.w[i] += step * c.radius * rng.NormFloat64()
				}
				must.Do(t, (PSDBall{Dim: d, B: c.radius}).Project(q.w, frobenius(q.w)))
				if g := q.gap(); g > best {
					p, best, z = q, g, []Record{q.z, q.other, q.at}
				} else {
					step *= 0.985
				}
			}
			found = max(found, best)
		}
		t.Logf("%+v, radius %v: hill climbing %.5f, angles %.5f, Dg = %.5f", c.bounds, c.radius, found, angles, k.PairDiameter)
		if found > k.PairDiameter || found > angles*(1+1e-9) {
			t.Errorf("%+v, radius %v: found %v, with angles %v, Dg = %v", c.bounds, c.radius, found, angles, k.PairDiameter)
		}
		if !testing.Short() && found < 0.95*angles {
			t.Errorf("%+v, radius %v: hill climbing finds only %v of %v", c.bounds, c.radius, found, angles)
		}
	}
}
