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

func metricConstants(t *testing.T, text string, params map[string]float64, b Bounds, radius float64) Constants {
	t.Helper()
	of := must.Get(NewExpression("edge", text, ExpressionOptions{Params: params}))(t)
	return must.Get(Metric{Of: of}.Constants(b, radius))(t)
}

// A loss that is the logistic loss on all margins, and constant just beyond them, has the
// diameter of the logistic loss: nothing is known of phi beyond the margins, least of all
// that it is convex.
func TestMetricDiameterUsesMarginsOnly(t *testing.T) {
	sizes.NotShort(t, "slow")
	b := UnitBounds()
	for _, radius := range sizes.Of([]float64{1.25}, []float64{0.25, 1.25, 4}) {
		_, top := Metric{}.MarginRange(b, radius)
		largest := 4 * radius
		want := metricConstants(t, "log1p(exp(-u))", nil, b, radius)
		for _, beyond := range sizes.Of([]float64{0x1p-30}, []float64{0x1p-30, 0x1p-19}) {
			cut := map[string]float64{"c": top + beyond*largest}
			got := metricConstants(t, "min(log1p(exp(-u)), log1p(exp(c)))", cut, b, radius)
			if !(got.PairDiameter >= 0.99*want.PairDiameter) {
				t.Errorf("radius %v, constant %v A beyond the margins: Dg = %v, that of the same loss on all margins is %v", radius, beyond, got.PairDiameter, want.PairDiameter)
			}
		}
	}
}

// Dg of s phi is s times that of phi, also where s^2 underflows.
func TestMetricDiameterScales(t *testing.T) {
	sizes.NotShort(t, "slow")
	want := metricConstants(t, "log1p(exp(-u))", nil, UnitBounds(), 1).PairDiameter
	for _, s := range sizes.Of([]float64{1e-170}, []float64{1e-155, 1e-170, 1e-290}) {
		k := metricConstants(t, "s*log1p(exp(-u))", map[string]float64{"s": s}, UnitBounds(), 1)
		if got := k.PairDiameter / s; !(got >= want*(1-1e-9)) {
			t.Errorf("s = %v: Dg/s = %v, want %v", s, got, want)
		}
	}
	for _, label := range []float64{1e-40, 1e-76, 1e-79} { // q^2 underflows, 4 R^2 q does not
		const full = 1e40
		k := must.Get(MahalanobisLogistic{}.Constants(Bounds{FeatureNorm: math.Sqrt(full / 4), LabelAbs: label}, 1/full))(t)
		q := label * label
		// phi' is -1/2 at every margin: D is q/2 times sup || p p^T + r r^T ||, (1 + cos^2) attained.
		if got := k.PairDiameter / full / q; got < 0.999999 {
			t.Errorf("labels within %v: Dg/(4 R^2 q) = %v, attained is 1", label, got)
		}
	}
}

// wobbly has a slope that is within slack of the monotone function -1, and convexity
// is that of this function.
type wobbly struct{ Scalar }

const wobble = 0.125

func (wobbly) slope(u float64) float64 { return -1 - wobble*math.Sin(40*u) }

func (w wobbly) Bounds(lo, hi float64) (ScalarBounds, error) {
	b := ScalarBounds{SlopeMin: -1 - wobble, SlopeMax: -1 + wobble, Convex: true, SlopeError: wobble}
	if hi-lo < 0.01 { // the derivative of the slope is at most 5
		b.SlopeMin, b.SlopeMax = w.slope(lo)-5.1*(hi-lo)-1e-7, w.slope(lo)+5.1*(hi-lo)+1e-7
	}
	return b, nil
}

// slopeReach is above -t phi'(-t x) for every t, even if phi is convex only up to SlopeError.
func TestSlopeReachOfNearlyConvex(t *testing.T) {
	var w wobbly
	const q, top = 2, 3
	r := must.Get(newSlopeReach(w, q, top, q*top, wobble))(t)
	for i := range 601 {
		x := -top + 2*top*float64(i)/600
		for j := range 501 {
			m := q * float64(j) / 500
			if v := -m * w.slope(-m*x); v > r.slope(x) {
				t.Fatalf("x = %v, t = %v: %v is above the bound %v", x, m, v, r.slope(x))
			}
		}
	}
}
