package engine

import (
	"math"
	"math/rand/v2"
	"testing"

	"dyad/internal/must"
)

// randomRecords are n records within b; half of the labels are +-b.LabelAbs.
func randomRecords(rng *rand.Rand, n, d int, b Bounds) []Record {
	z := make([]Record, n)
	for i := range z {
		x := scaledBy(normals(rng, d), 2*b.FeatureNorm)
		ProjectBall(x, b.FeatureNorm)
		y := b.LabelAbs * (2*rng.Float64() - 1)
		if rng.IntN(2) == 0 {
			y = math.Copysign(b.LabelAbs, y)
		}
		z[i] = Record{X: x, Y: y}
	}
	return z
}

// randomMember is a point of PSDBall{d, radius}, often on its boundary.
func randomMember(t *testing.T, rng *rand.Rand, d int, radius float64) []float64 {
	t.Helper()
	w := scaledBy(normals(rng, Symmetric{Dim: d}.Len()), 2*radius)
	w, _ = must.Get2(projected(PSDBall{Dim: d, B: radius}, w))(t)
	return w
}

func TestMahalanobisGradientMatchesDifferences(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	l := MahalanobisLogistic{}
	for _, b := range []Bounds{{1, 1}, {2, 0.5}, {0.3, 3}} {
		for d := 1; d <= 5; d++ {
			w := randomMember(t, rng, d, 1.5)
			z := randomRecords(rng, 2, d, b)
			g := make([]float64, l.ParamDim(d))
			l.AddGrad(g, w, z[0], z[1])
			wrong := false // the gradient in entries instead of coordinates
			const h = 1e-5
			for k := range w {
				at := w[k]
				w[k] = at + h
				hi := l.Value(w, z[0], z[1])
				w[k] = at - h
				lo := l.Value(w, z[0], z[1])
				w[k] = at
				if diff := (hi - lo) / (2 * h); math.Abs(diff-g[k]) > 1e-8 {
					t.Errorf("%+v, d = %d: gradient %d is %v, difference quotient %v", b, d, k, g[k], diff)
				} else if math.Abs(diff-g[k]*math.Sqrt2) > 1e-8 {
					wrong = true
				}
			}
			if !wrong {
				t.Errorf("%+v, d = %d: a factor sqrt 2 is not noticed", b, d)
			}
		}
	}
}

// The value agrees with the quadratic form of the unpacked matrix.
func TestMahalanobisValueIsQuadraticForm(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	l := MahalanobisLogistic{}
	for d := 1; d <= 6; d++ {
		w := randomMember(t, rng, d, 2)
		m := make([]float64, d*d)
		Symmetric{Dim: d}.Unpack(m, w)
		z := randomRecords(rng, 2, d, UnitBounds())
		var form float64
		for i := range d {
			for j := range d {
				form += (z[0].X[i] - z[1].X[i]) * m[i*d+j] * (z[0].X[j] - z[1].X[j])
			}
		}
		want := math.Log1p(math.Exp(-z[0].Y * z[1].Y * (1 - form)))
		if got := l.Value(w, z[0], z[1]); math.Abs(got-want) > 1e-14 {
			t.Errorf("d = %d: %v, want %v", d, got, want)
		}
		if got := l.Value(w, z[1], z[0]); math.Abs(got-want) > 1e-14 {
			t.Errorf("d = %d: not symmetric: %v and %v", d, got, want)
		}
	}
}

// The formula that MetricLoss promises to backends.
func TestMetricLossMatrixForm(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	var l MetricLoss = MahalanobisLogistic{}
	const n, d = 9, 4
	w, z := randomMember(t, rng, d, 1), randomRecords(rng, n, d, UnitBounds())
	want := make([]float64, l.ParamDim(d))
	m, sum := make([]float64, d*d), make([]float64, d*d)
	Symmetric{Dim: d}.Unpack(m, w)
	for i := range z {
		for j := range z {
			if i == j {
				continue
			}
			l.AddGrad(want, w, z[i], z[j])
			v := difference(z[i].X, z[j].X)
			var form float64
			for k := range d {
				form += v[k] * dot(m[k*d:(k+1)*d], v)
			}
			y := z[i].Y * z[j].Y
			c := -l.MetricDPhi(y*(1-form)) * y
			for a := range d {
				for b := range d {
					sum[a*d+b] += 2 * c * (z[i].X[a]*z[i].X[b] - z[i].X[a]*z[j].X[b])
				}
			}
		}
	}
	got := make([]float64, l.ParamDim(d))
	Symmetric{Dim: d}.Pack(got, sum)
	if distance(got, want) > 1e-13 {
		t.Errorf("matrix form differs by %v", distance(got, want))
	}
}

func TestMahalanobisTypes(t *testing.T) {
	if _, ok := any(MahalanobisLogistic{}).(ScoreLoss); ok {
		t.Error("a metric loss would be taken for a score loss")
	}
	if _, ok := any(Logistic{}).(MetricLoss); ok {
		t.Error("a score loss would be taken for a metric loss")
	}
	p := Problem{N: 5, D: 3, Bounds: UnitBounds(), Loss: MahalanobisLogistic{}, Radius: 2}
	if got := p.Domain(); got != (PSDBall{Dim: 3, B: 2}) {
		t.Errorf("Problem.Domain is %#v", got)
	}
	if got := len(p.Domain().Start()); got != p.Loss.ParamDim(3) {
		t.Errorf("Start has %d coordinates, ParamDim is %d", got, p.Loss.ParamDim(3))
	}
}

func TestMahalanobisConstantsAtUnitBounds(t *testing.T) {
	c := must.Get(MahalanobisLogistic{}.Constants(UnitBounds(), 1))(t)
	s := func(v float64) float64 { return 1 / (1 + math.Exp(-v)) }
	for _, v := range []struct {
		name      string
		got, want float64
	}{{"G", c.Lipschitz, 4 * s(3)}, {"L", c.Smoothness, 4}} {
		if v.got < v.want || v.got > v.want*(1+2e-9) { // the slack is 2^-30
			t.Errorf("%s = %.17g, want %.17g rounded up", v.name, v.got, v.want)
		}
	}
	// TestMahalanobisConstantsBruteForce attains 5.0130.
	if c.PairDiameter < 5.0130 || c.PairDiameter > 5.0130*(1+1.1*diameterTolerance) {
		t.Errorf("Dg = %v, want 5.0130 to within %v", c.PairDiameter, diameterTolerance)
	}
	if !c.Convex || c.Origin != Proved {
		t.Errorf("constants are %+v", c)
	}
}

func TestMahalanobisConstantsErrors(t *testing.T) {
	for _, v := range []struct {
		b Bounds
		r float64
	}{{Bounds{0, 1}, 1}, {Bounds{1, math.NaN()}, 1}, {UnitBounds(), 0}, {UnitBounds(), math.Inf(1)}, {UnitBounds(), -1}, {Bounds{1e100, 1}, 1}, {Bounds{1, 1e100}, 1}, {Bounds{1e-200, 1}, 1}, {Bounds{1, 1e-200}, 1}, {Bounds{1e10, 1}, 1e300}} {
		must.Err((MahalanobisLogistic{}).Constants(v.b, v.r))(t, "%+v: no error", v)
	}
}

// metricSlope and metricCurvature against a fine grid of t.
func TestMetricSuprema(t *testing.T) {
	for _, q := range []float64{0.01, 0.25, 1, 1.3, 2.5, 4, 100} {
		for _, A := range []float64{1e-6, 0.05, 0.3, 0.9, 0.9999, 1, 1.5, 4, 40} {
			var slope, curvature float64
			for k := 1; k <= 20000; k++ {
				x := q * float64(k) / 20000
				slope = max(slope, x/(1+math.Exp(x*(1-A))))
				s := 1 / (1 + math.Exp(x*max(0, 1-A)))
				curvature = max(curvature, x*x*s*(1-s))
			}
			if got := metricSlope(q, A-1); got < slope || got > slope*(1+1e-5) {
				t.Errorf("slope at q = %v, A = %v: %v, found %v", q, A, got, slope)
			}
			if got := metricCurvature(q, A); got < curvature || got > curvature*(1+1e-4) {
				t.Errorf("curvature at q = %v, A = %v: %v, found %v", q, A, got, curvature)
			}
		}
	}
}
