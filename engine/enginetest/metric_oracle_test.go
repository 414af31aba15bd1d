package enginetest

import (
	"math"
	"math/big"
	"testing"

	"dyad/engine"
	"dyad/internal/must"
)

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
			if got[k] != want {
				t.Errorf("coordinate %d is %v, want %v", k, got[k], want)
			}
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
