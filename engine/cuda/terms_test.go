package cuda

import (
	"context"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"dyad/engine"
	"dyad/engine/cuda/driver"
)

// termSum is the sum of the terms of NeighbourRoundoff over all pairs: the slope that the GPU
// computes for two records alone, moved into the range that Constants rests on.
func termSum(t *testing.T, b Backend, p engine.Problem, x, y, w []float64) []float64 {
	t.Helper()
	sum := make([]float64, p.D)
	for i := range y {
		for j := range i {
			two := p
			two.N = 2
			k, err := b.Plan(two)
			if err != nil {
				t.Fatal(err)
			}
			a, c := x[i*p.D:(i+1)*p.D], x[j*p.D:(j+1)*p.D]
			r, err := engine.NewRecords(append(append([]float64(nil), a...), c...), []float64{y[i], y[j]}, p.D, p.Bounds)
			if err != nil {
				t.Fatal(err)
			}
			e, err := k.Bind(r)
			if err != nil {
				t.Fatal(err)
			}
			if err := e.GradSum(context.Background(), make([]float64, p.D), w, engine.AllPairs{N: 2}); err != nil {
				t.Fatal(err)
			}
			var v float64 // of both orders: 2 phi' D
			err = b.Device.gpu.Do(context.Background(), func(c driver.Context) error {
				one := make([]float64, 1)
				err := copyOut(c, one, e.(*evaluator).c)
				v = one[0]
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			if err := e.Close(); err != nil {
				t.Fatal(err)
			}
			lo, hi := k.(*kernel).slopeRange()
			d := y[i] - y[j]
			if d == 0 {
				if v != 0 {
					t.Errorf("records with the same label have the term %v", v)
				}
				continue
			}
			q := max(lo, min(hi, v/2/d))
			for m := range sum {
				sum[m] += 2 * q * d * (a[m] - c[m])
			}
		}
	}
	return sum
}

// TestNeighbourRoundoff: sums are within NeighbourRoundoff of the sum of terms whatever the code
// for phi' computes, and so also where it is wrong by far more than Roundoff. The control:
// without the clamp they are not.
func TestNeighbourRoundoff(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	const n, d = 7, 3
	x, y, w := make([]float64, n*d), make([]float64, n), make([]float64, d)
	for i := range x {
		x[i] = rng.NormFloat64()
	}
	for i := range y {
		y[i] = 2*rng.Float64() - 1
	}
	y[3], y[4], y[5] = y[2], -1, 1
	w[0], w[1] = 0.6, -0.8
	p := engine.Problem{N: n, D: d, Bounds: engine.UnitBounds(), Loss: library(t)["logistic"], Radius: 1, LabelValues: engine.AnyLabels}
	records, err := engine.NewRecords(append([]float64(nil), x...), append([]float64(nil), y...), d, p.Bounds)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n { // as projected
		records.Row(i, x[i*d:(i+1)*d])
	}
	for _, c := range []struct {
		name     string
		old, new string
		bad      bool
	}{
		{"as it is", "", "", false},
		{"log2 e 2 % off", "BFB8AA3B;", "BFBCAA3B;", false},
		{"slopes of any size", "rcp.approx.ftz.f32", "mov.f32", false},
		{"slopes of any sign", "neg.f32", "mov.f32", false},
		{"no clamp", "max.f32 %phi_out, %phi_out, 0fBF7", "mov.f32 %phi_out, 0fC00", true},
	} {
		if testing.Short() && c.name != "as it is" && !c.bad {
			continue
		}
		f := newFake()
		edited := c.old == ""
		f.edit = func(ptx string) string {
			if c.old == "" || !strings.Contains(ptx, "%phi_out") {
				return ptx
			}
			edited = strings.Contains(ptx, c.old)
			ptx = strings.ReplaceAll(ptx, c.old, c.new)
			if c.bad {
				ptx = strings.ReplaceAll(ptx, "%phi_out, 0f80000000;", "%phi_out, 0f3F800000;")
			}
			return ptx
		}
		b := openFake(t, f)
		b.Method = Direct
		k, err := b.Plan(p)
		if err != nil {
			t.Fatal(err)
		}
		e, err := k.Bind(records)
		if err != nil {
			t.Fatal(err)
		}
		got := make([]float64, d)
		if err := e.GradSum(context.Background(), got, w, engine.AllPairs{N: n}); err != nil {
			t.Fatal(err)
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		bound, exact := k.(engine.NeighbourKernel).NeighbourRoundoff(engine.AllPairs{N: n}), k.Roundoff(engine.AllPairs{N: n})
		diff := 0.0
		for m, v := range termSum(t, b, p, x, y, w) {
			diff = math.Hypot(diff, v-got[m])
		}
		if !edited || (diff <= bound) == c.bad || !(bound < 0.7*exact) {
			t.Errorf("%s: %g from the sum of terms; NeighbourRoundoff %g, Roundoff %g", c.name, diff, bound, exact)
		}
		t.Logf("%s: %.2g from the sum of terms; NeighbourRoundoff %.2g, Roundoff %.2g", c.name, diff, bound, exact)
		if !math.IsInf(k.(engine.NeighbourKernel).NeighbourRoundoff(engine.PrefixPairs{T: 1}), 1) {
			t.Error("a bound for prefix pairs")
		}
	}
}
