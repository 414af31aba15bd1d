package enginetest

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"dyad/engine"
	"dyad/internal/must"
)

// TestWide compares double-double arithmetic with 300-bit floats: relative error
// below 2^-100 of the operands.
func TestWide(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	random := func() wide {
		return twoSum(rng.NormFloat64()*math.Exp2(float64(rng.IntN(60)-30)), 0).
			add(wide{hi: rng.NormFloat64() * 0x1p-60})
	}
	exact := func(w wide) *big.Float {
		hi := new(big.Float).SetPrec(300).SetFloat64(w.hi)
		return hi.Add(hi, new(big.Float).SetFloat64(w.lo))
	}
	check := func(op string, got wide, want, size *big.Float) {
		t.Helper()
		diff := new(big.Float).Sub(exact(got), want)
		limit := new(big.Float).Mul(size.Abs(size), big.NewFloat(0x1p-100))
		if diff.Abs(diff).Cmp(limit) > 0 {
			t.Errorf("%s is off by %v, limit %v", op, diff, limit)
		}
	}
	for range 2000 {
		a, b := random(), random()
		x, y := exact(a), exact(b)
		size := new(big.Float).Add(new(big.Float).Abs(x), new(big.Float).Abs(y))
		check("add", a.add(b), new(big.Float).Add(x, y), size)
		product := new(big.Float).Mul(x, y)
		check("mul", a.mul(b), product, new(big.Float).Set(product))
	}
}

// byHand compares the reference and the definition with a sum done by hand, times a number.
func byHand(t *testing.T, reference, definition, want []float64, times float64) {
	t.Helper()
	for k, v := range want {
		if !(math.Abs(reference[k]-times*v) <= 1e-15 && math.Abs(definition[k]-times*v) <= 1e-15) {
			t.Errorf("%v by reference, %v by definition, want %v times %v", reference, definition, want, times)
		}
	}
}

// TestReferenceOnTwoRecords checks the reference against a sum done by hand.
func TestReferenceOnTwoRecords(t *testing.T) {
	r := must.Get(engine.NewRecords([]float64{0.5, 0, 0, 0.5}, []float64{1, -1}, 2, engine.UnitBounds()))(t)
	w := []float64{0.25, -0.75}
	// u = 2 (w.x0 - w.x1) = 2 (0.125 + 0.375) = 1; both ordered pairs give
	// phi'(1) 2 (x0 - x1).
	slope := -1 / (1 + math.E)
	want := []float64{2 * slope, -2 * slope}
	for _, c := range []struct {
		pairs engine.Pairs
		times float64
	}{{engine.AllPairs{N: 2}, 1}, {engine.PrefixPairs{T: 1}, 0.5}, {engine.PrefixPairs{T: 1, Order: []int32{1, 0}}, 0.5}} {
		byHand(t, reference(engine.Logistic{}, r, w, c.pairs), definition(engine.Logistic{}, r, w, c.pairs), want, c.times)
	}
}

// TestStripBound samples |phi'| on lines of the complex plane: below the bound,
// and above half of it near the branch points.
func TestStripBound(t *testing.T) {
	dphi := func(u complex128) complex128 { return u/sqrtC(1+u*u) - 1 }
	for _, h := range []float64{0, 0.3, 0.7, 0.9, 0.99} {
		bound := SmoothHinge{}.StripBound(0, h)
		var most float64
		for x := -50.0; x <= 50; x += 0.01 {
			v := dphi(complex(x, h))
			most = max(most, math.Hypot(real(v), imag(v)))
		}
		must.Within(t, most, 0, bound, "|phi'| reaches ... at height %v", h)
		if h > 0.9 && most < 0.5*bound {
			t.Errorf("StripBound(%v) = %v is far above %v", h, bound, most)
		}
	}
	if !math.IsInf(SmoothHinge{}.StripBound(0, 1), 1) {
		t.Error("StripBound(1) is finite at the branch point")
	}
}

// sqrtC is the branch with positive real part, which is analytic in the strip.
func sqrtC(z complex128) complex128 {
	r := math.Hypot(real(z), imag(z))
	return complex(math.Sqrt((r+real(z))/2), math.Copysign(math.Sqrt((r-real(z))/2), imag(z)))
}

// TestMetricReferenceOnTwoRecords checks the reference against a sum done by hand.
func TestMetricReferenceOnTwoRecords(t *testing.T) {
	r := must.Get(engine.NewRecords([]float64{0.5, 0, 0, 0.25}, []float64{1, -1}, 2, engine.UnitBounds()))(t)
	// W = [[1, 1/2], [1/2, 2]], v = (1/2, -1/4): v^T W v = 1/4 - 1/8 + 1/8 = 1/4, so
	// u = -(1 - 1/4) and the gradient is phi'(u) v v^T.
	w := []float64{1, 0.5 * math.Sqrt2, 2}
	slope := -1 / (1 + math.Exp(-0.75))
	want := []float64{slope / 4, -slope / 8 * math.Sqrt2, slope / 16}
	for _, c := range []struct {
		pairs engine.Pairs
		times float64
	}{{engine.AllPairs{N: 2}, 2}, {engine.PrefixPairs{T: 1}, 1}, {engine.PrefixPairs{T: 1, Order: []int32{1, 0}}, 1}} {
		byHand(t, metricReference(engine.MahalanobisLogistic{}, r, w, c.pairs), definition(engine.MahalanobisLogistic{}, r, w, c.pairs), want, c.times)
	}
}

// TestMetricReferenceIsWide compares one pair with 400-bit arithmetic, for a slope
// that is exact: the reference must be correctly rounded up to one unit. A sum in
// float64 is not.
func TestMetricReferenceIsWide(t *testing.T) {
	x := []float64{0.1, 0.7, -0.3, 0.5, -0.2, 0.6}
	r := must.Get(engine.NewRecords(x, []float64{0.3, 0.7}, 3, engine.UnitBounds()))(t)
	w := make([]float64, 6)
	got := metricReference(linear{}, r, w, engine.PrefixPairs{T: 1})
	plain := definition(linear{}, r, w, engine.PrefixPairs{T: 1})
	exact := func(v float64) *big.Float { return new(big.Float).SetPrec(400).SetFloat64(v) }
	root := new(big.Float).SetPrec(400).Sqrt(exact(2))
	worse := 0
	for a := range 3 {
		for b := a; b < 3; b++ {
			v := exact(0.3)
			v.Mul(v, exact(0.7)).Mul(v, new(big.Float).Sub(exact(x[3+a]), exact(x[a])))
			v.Mul(v, new(big.Float).Sub(exact(x[3+b]), exact(x[b])))
			if b > a {
				v.Mul(v, root)
			}
			want, _ := v.Float64()
			k := engine.Symmetric{Dim: 3}.Index(a, b)
			must.Equal(t, got[k], want, "coordinate %d", k)
			if plain[k] != want {
				worse++
			}
		}
	}
	if worse == 0 {
		t.Error("a sum in float64 is as accurate: this test shows nothing")
	}
}

// linear has phi(u) = -u.
type linear struct{ SmoothMetric }

func (linear) MetricDPhi(float64) float64 { return -1 }

func (linear) AddGrad(dst, _ []float64, z, zp engine.Record) {
	for k, v := range squareCoordinates(z, zp) {
		dst[k] += z.Y * zp.Y * v
	}
}
