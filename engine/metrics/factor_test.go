package metrics

import (
	"math"
	"math/rand/v2"
	"testing"

	"dyad/engine"
	"dyad/internal/must"
)

func TestFactorMetric(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 1))
	for range 60 {
		d := 1 + r.IntN(12)
		rank := r.IntN(d + 1)
		w := randomPSD(r, d, rank)
		scale := math.Ldexp(1, r.IntN(401)-200) // odd and even powers of 2
		for i := range w {
			w[i] *= scale
		}
		f, err := FactorMetric(w, d)
		if err != nil || f.Dim != d || f.Rank != rank || len(f.L) != rank*d {
			t.Fatalf("%v: rank %d of %d, want %d", err, f.Rank, d, rank)
		}
		for i := range d {
			for j := range d {
				var got float64
				for k := range rank {
					got += f.L[k*d+i] * f.L[k*d+j]
				}
				if math.Abs(got-w[i*d+j]) > 1e-13*f.Norm {
					t.Fatalf("L^T L is %v at (%d, %d), want %v", got, i, j, w[i*d+j])
				}
			}
		}
		for k := range rank { // orthogonal rows of descending norm, the first Norm
			for l := range k + 1 {
				var dot, norm float64
				for c := range d {
					dot += f.L[k*d+c] * f.L[l*d+c]
					norm += f.L[l*d+c] * f.L[l*d+c]
				}
				if l < k && math.Abs(dot) > 1e-12*f.Norm || l == k && dot > norm*(1+1e-12) {
					t.Fatalf("rows %d and %d: %v", k, l, dot)
				}
				if l == 0 && math.Abs(norm-f.Norm) > 1e-12*f.Norm {
					t.Fatalf("largest row %v, Norm %v", norm, f.Norm)
				}
			}
		}
	}
}

func TestTransformKeepsDistances(t *testing.T) {
	r := rand.New(rand.NewPCG(32, 1))
	const n, d = 30, 7
	x, y := make([]float64, n*d), make([]float64, n)
	for i := range x {
		x[i] = r.NormFloat64()
	}
	rec := records(t, x, y, d)
	for _, rank := range []int{0, 1, 3, d} {
		// From the coordinates that a metric loss trains.
		s := engine.Symmetric{Dim: d}
		packed, w := make([]float64, s.Len()), make([]float64, d*d)
		s.Pack(packed, randomPSD(r, d, rank))
		s.Unpack(w, packed)
		f := must.Get(FactorMetric(w, d))(t)
		for _, source := range []*engine.Records{rec, sparseCopy(t, rec)} {
			z := must.Get(Transform(source, f))(t)
			must.Equal(t, len(z), n*f.Rank, "numbers")
			for i := range n {
				for j := range n {
					var want, got float64
					for a := range d {
						for b := range d {
							want += (x[i*d+a] - x[j*d+a]) * w[a*d+b] * (x[i*d+b] - x[j*d+b])
						}
					}
					for k := range f.Rank {
						v := z[i*f.Rank+k] - z[j*f.Rank+k]
						got += v * v
					}
					if math.Abs(got-want) > 1e-12*f.Norm {
						t.Fatalf("distance %v, want %v", got, want)
					}
				}
			}
		}
	}
}

func TestFactorErrors(t *testing.T) {
	// A little negative, as projections in float64 leave it: accepted, as rank 1.
	must.Equal(t, must.Get(FactorMetric([]float64{1, 0, 0, -0x1p-30}, 2))(t).Rank, 1, "rank")
	for name, w := range map[string][]float64{
		"negative":   {1, 0, 0, -0x1p-19},
		"asymmetric": {1, 0x1p-39, 0, 1},
		"infinite":   {1, 0, 0, math.Inf(1)},
		"size":       {1, 0, 0},
	} {
		must.Err(FactorMetric(w, 2))(t, "%s: accepted", name)
	}
	must.Err(FactorMetric(nil, 0))(t, "no features: accepted")
	rec := records(t, []float64{900, 1}, []float64{1}, 2)
	must.Err(Transform(rec, MetricFactor{Dim: 3, Rank: 1, L: make([]float64, 3)}))(t, "a factor of another dimension was accepted")
	must.Err(Transform(rec, MetricFactor{Dim: 2, Rank: 2, L: make([]float64, 2)}))(t, "a factor without all its entries was accepted")
	must.Err(Transform(rec, MetricFactor{Dim: 2, Rank: 1, L: []float64{1e308, 0}}))(t, "an overflow was accepted")
}
