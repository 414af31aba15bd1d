package engine

import (
	"math"
	"math/rand/v2"
	"testing"

	"dyad/internal/must"
	"dyad/internal/sizes"
)

// metricCase is a setting in which the constants are attacked.
type metricCase struct {
	bounds Bounds
	radius float64
	reach  float64 // share of Dg that the structured search must find
}

func metricCases() []metricCase {
	return []metricCase{
		{UnitBounds(), 1, 0.99},
		{UnitBounds(), 0.0125, 0.99},
		{UnitBounds(), 0.25, 0.99},
		{UnitBounds(), 0.5, 0.99},
		{UnitBounds(), 4, 0.99},
		{UnitBounds(), 16, 0.99},
		{Bounds{FeatureNorm: 3, LabelAbs: 1}, 1.0 / 9, 0.99},
		{Bounds{FeatureNorm: 0.5, LabelAbs: 1}, 4, 0.99},
		{Bounds{FeatureNorm: 1, LabelAbs: 0.5}, 1, 0.99},
		{Bounds{FeatureNorm: 1, LabelAbs: 3}, 0.1, 0.95}, // labels between 0 and 3 reach more
	}
}

// pairInstance is a fixed record z', two records z and z~ that replace each other,
// and W, in two dimensions: with R e1 = -x', x - x' and x~ - x' end on the circle of
// radius R around R e1, at the polar angles a and b, and W = B e e^T, e at angle o.
type pairInstance struct {
	w            []float64
	z, other, at Record
}

func structuredPair(c metricCase, angles [3]float64, y, yOther float64) pairInstance {
	R := c.bounds.FeatureNorm
	record := func(angle, label float64) Record {
		length := 2 * R * math.Cos(angle)
		x := []float64{length*math.Cos(angle) - R, length * math.Sin(angle)}
		ProjectBall(x, R)
		return Record{X: x, Y: label * c.bounds.LabelAbs}
	}
	s, cs := math.Sincos(angles[2])
	w := []float64{c.radius * cs * cs, c.radius * math.Sqrt2 * cs * s, c.radius * s * s}
	ProjectBall(w, c.radius)
	return pairInstance{w, record(angles[0], y), record(angles[1], yOther), Record{X: []float64{-R, 0}, Y: c.bounds.LabelAbs}}
}

// gap is ||grad l(W; z, z') - grad l(W; z~, z')||.
func (p pairInstance) gap() float64 { return p.gapOf(MahalanobisLogistic{}) }

func (p pairInstance) gapOf(l Loss) float64 {
	g, h := make([]float64, len(p.w)), make([]float64, len(p.w))
	l.AddGrad(g, p.w, p.z, p.at)
	l.AddGrad(h, p.w, p.other, p.at)
	return distance(g, h)
}

// worstPair maximises gap over the angles, by a grid and then by halving steps.
func worstPair(c metricCase, y, yOther float64) (best pairInstance, found float64, angles [3]float64) {
	return worstPairOf(MahalanobisLogistic{}, c, y, yOther)
}

func worstPairOf(l Loss, c metricCase, y, yOther float64) (best pairInstance, found float64, angles [3]float64) {
	try := func(a [3]float64) bool {
		p := structuredPair(c, a, y, yOther)
		g := p.gapOf(l)
		if g > found {
			best, found, angles = p, g, a
			return true
		}
		return false
	}
	const cells = 12
	for i := range cells {
		for j := range cells {
			for k := range cells {
				try([3]float64{float64(i)/cells*math.Pi - math.Pi/2, float64(j)/cells*math.Pi - math.Pi/2, float64(k) / cells * math.Pi})
			}
		}
	}
	for step := math.Pi / cells; step > 1e-7; {
		moved := false
		for k := range 3 {
			for _, s := range []float64{step, -step} {
				a := angles
				a[k] += s
				moved = try(a) || moved
			}
		}
		if !moved {
			step /= 2
		}
	}
	return best, found, angles
}

// reached returns the largest gradient norm, gradient difference and slope of the
// gradient in W that random pairs and structured ones show.
func reached(t *testing.T, rng *rand.Rand, c metricCase) (norm, gap, slope float64) {
	l := MahalanobisLogistic{}
	visit := func(p pairInstance, w2 []float64) {
		g, h := make([]float64, len(p.w)), make([]float64, len(p.w))
		l.AddGrad(g, p.w, p.z, p.at)
		l.AddGrad(h, w2, p.z, p.at)
		norm, gap = max(norm, frobenius(g)), max(gap, p.gap())
		if apart := distance(p.w, w2); apart > 1e-3*c.radius {
			slope = max(slope, distance(g, h)/apart)
		}
	}
	for range 4000 {
		d := 1 + rng.IntN(3)
		z := randomRecords(rng, 3, d, c.bounds)
		visit(pairInstance{randomMember(t, rng, d, c.radius), z[0], z[1], z[2]}, randomMember(t, rng, d, c.radius))
	}
	for _, labels := range [][2]float64{{1, -1}, {-1, 1}, {1, 1}, {-1, -1}, {1, 0}, {-1, 0}, {0.5, -1}} {
		p, _, _ := worstPair(c, labels[0], labels[1])
		visit(p, p.w)
	}
	// x = -x': along e e^T, M runs from 0 to A, and y is of any size.
	for _, y := range []float64{1, -1, 0.7, 0.5, 0.45} {
		for k := 0; k < 400; k++ {
			p := structuredPair(c, [3]float64{}, y, y)
			q := append([]float64(nil), p.w...)
			for i := range q {
				p.w[i] *= float64(k) / 400
				q[i] *= float64(k+1) / 400
			}
			visit(p, q)
			visit(pairInstance{q, p.z, p.other, p.at}, p.w)
		}
	}
	return norm, gap, slope
}

func TestMahalanobisConstantsBruteForce(t *testing.T) {
	sizes.NotShort(t, "arithmetic on one goroutine")
	rng := rand.New(rand.NewPCG(21, 22))
	for _, c := range metricCases() {
		k := must.Get(MahalanobisLogistic{}.Constants(c.bounds, c.radius))(t)
		norm, gap, slope := reached(t, rng, c)
		A := 4 * c.bounds.FeatureNorm * c.bounds.FeatureNorm * c.radius
		t.Logf("%+v, radius %.4g (A = %.3g): norm %.4f of G = %.4f, gap %.4f of Dg = %.4f, slope %.4f of L = %.4f", c.bounds, c.radius, A, norm, k.Lipschitz, gap, k.PairDiameter, slope, k.Smoothness)
		for _, v := range []struct {
			name            string
			found, constant float64
			reach           float64
		}{
			{"G", norm, k.Lipschitz, 0.99},
			{"Dg", gap, k.PairDiameter, c.reach},
			{"L", slope, k.Smoothness, 0.95},
		} {
			if v.found > v.constant {
				t.Errorf("%+v: %s = %v, found %v", c, v.name, v.constant, v.found)
			}
			if v.found < v.reach*v.constant {
				t.Errorf("%+v: %s = %v, found only %v", c, v.name, v.constant, v.found)
			}
		}
		if k.PairDiameter > 2*k.Lipschitz {
			t.Errorf("%+v: Dg = %v is above 2 G = %v", c, k.PairDiameter, 2*k.Lipschitz)
		}
		if A >= 1 && gap <= k.Lipschitz { // the search would refute Dg = G
			t.Errorf("%+v: no difference above G = %v found", c, k.Lipschitz)
		}
	}
}

// The lemma of docs/theory.md#metric-losses: in a ball of radius R that contains
// 0, ||u u^T - v v^T||_F is at most 4 R^2, and comes near it.
func TestMetricLemma(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 24))
	var most, outside float64
	for range 200000 {
		d := 2 + rng.IntN(2)
		z := randomRecords(rng, 3, d, UnitBounds())
		spread := func(u, v []float64) float64 {
			uu, vv, uv := dot(u, u), dot(v, v), dot(u, v)
			return math.Sqrt(max(0, uu*uu+vv*vv-2*uv*uv))
		}
		most = max(most, spread(difference(z[0].X, z[2].X), difference(z[1].X, z[2].X)))
		// The claim is false if the centre may be farther away.
		far := append([]float64(nil), z[2].X...)
		for k := range far {
			far[k] *= 2
		}
		outside = max(outside, spread(difference(z[0].X, far), difference(z[1].X, far)))
	}
	if most > 4 || most < 3.8 || outside <= 4 {
		t.Errorf("largest %v (want just below 4); %v with centres outside", most, outside)
	}
}

// The slack for callers that round: W may have eigenvalues down to -2^-30 B and a
// norm up to B (1 + 2^-30).
func TestMahalanobisConstantsCoverRounding(t *testing.T) {
	for _, c := range metricCases() {
		k := must.Get(MahalanobisLogistic{}.Constants(c.bounds, c.radius))(t)
		for _, y := range []float64{1, -1} {
			p := structuredPair(c, [3]float64{}, y, y)
			p.w = []float64{c.radius * (1 + 0x1p-30), 0, 0}
			if y < 0 {
				p.w[0] = -c.radius * 0x1p-30
			}
			g := make([]float64, 3)
			MahalanobisLogistic{}.AddGrad(g, p.w, p.z, p.at)
			if frobenius(g) > k.Lipschitz {
				t.Errorf("%+v, label %v: norm %v, G = %v", c, y, frobenius(g), k.Lipschitz)
			}
		}
		if c.radius > 4 {
			continue // sigm is 1 in float64
		}
		// An indefinite W of norm B is not covered.
		p := structuredPair(c, [3]float64{}, -1, -1)
		p.w = []float64{-c.radius, 0, 0}
		g := make([]float64, 3)
		MahalanobisLogistic{}.AddGrad(g, p.w, p.z, p.at)
		if frobenius(g) <= k.Lipschitz {
			t.Errorf("%+v: an indefinite W stays within G", c)
		}
	}
}

// meanGradient is the mean of grad l over all ordered pairs.
func meanGradient(w []float64, z []Record) []float64 {
	g := make([]float64, len(w))
	for i := range z {
		for j := range z {
			if i != j {
				MahalanobisLogistic{}.AddGrad(g, w, z[i], z[j])
			}
		}
	}
	for k := range g {
		g[k] /= float64(len(z) * (len(z) - 1))
	}
	return g
}

// Certificate: replacing one of n records moves the full-batch gradient by at most
// 2 Dg / n (docs/theory.md#mean-gradient). The structured instance has n - 1 equal records z', so
// that every pair of the replaced record shows the worst pair difference: at
// R = B = b = 1, z' = (-e1, +1), W = e e^T with e at angle 0.757, and z of label +1 with
// x - x' at angle 0.114 replaced by label -1 at angle -0.365, both with ||x|| = 1.
func TestMetricGradientCertificate(t *testing.T) {
	rng := rand.New(rand.NewPCG(25, 26))
	const n = 8
	for _, c := range metricCases() {
		k := must.Get(MahalanobisLogistic{}.Constants(c.bounds, c.radius))(t)
		p, _, angles := worstPair(c, 1, -1)
		z := make([]Record, n)
		for i := range z {
			z[i] = p.at
		}
		z[0] = p.z
		before := meanGradient(p.w, z)
		z[0] = p.other
		structured := n * distance(before, meanGradient(p.w, z))

		var random float64
		for range 200 {
			d := 1 + rng.IntN(3)
			w, z := randomMember(t, rng, d, c.radius), randomRecords(rng, n, d, c.bounds)
			if rng.IntN(2) == 0 {
				for i := 2; i < n; i++ {
					z[i] = z[1]
				}
			}
			before := meanGradient(w, z)
			z[0] = randomRecords(rng, 1, d, c.bounds)[0]
			random = max(random, n*distance(before, meanGradient(w, z)))
		}
		t.Logf("%+v, radius %.4g: n gap %.4f structured (angles %.4f), %.4f random, of 2 Dg = %.4f", c.bounds, c.radius, structured, angles, random, 2*k.PairDiameter)
		if max(structured, random) > 2*k.PairDiameter {
			t.Errorf("%+v: n gap = %v, 2 Dg = %v", c, max(structured, random), 2*k.PairDiameter)
		}
		if structured < 2*c.reach*k.PairDiameter {
			t.Errorf("%+v: n gap = %v, want %v of 2 Dg = %v", c, structured, c.reach, 2*k.PairDiameter)
		}
	}
}
