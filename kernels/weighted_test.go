package kernels

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"dyad/internal/must"
)

// TestWeightedKernels compares with the definitions, and steps of numbers with whole weights
// with steps of numbers that are repeated as often.
func TestWeightedKernels(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	random := func(n int) []float64 { return filled(n, func() float64 { return 2*rng.Float64() - 1 }) }
	near := func(what string, got, want float64) {
		must.Near(t, got, want, 1e-12*(1+math.Abs(want)), "%s", what)
	}
	for _, n := range []int{1, 3, 8, 77, 1024} {
		x, w := random(n), random(n)
		sum := make([]float64, 8*16)
		total := WeightedPowerSums(sum, x, w)
		for i := -1; i < 16; i++ {
			var got, want float64
			if got = total; i >= 0 {
				got = 0
				for _, v := range sum[8*i:][:8] {
					got += v
				}
			}
			for j, v := range x {
				want += w[j] * math.Pow(v, float64(i+1))
			}
			near("power sum", got, want)
		}
	}
	slope := func(v float64) float64 { return v*v - v }
	for _, from := range []int{0, 4, 9} {
		m, n := 7, 11
		s, y, a, z, u, b := random(m), random(m), random(m), random(n), random(n), random(n)
		next := []int32{2, 2, 5, 5, 5, 20, 20}
		row, col, wantRow, wantCol := make([]float64, m), make([]float64, n), make([]float64, m), make([]float64, n)
		WeightedTile(row, col, s, y, a, next, z, u, b, from, make([]float64, n), each(slope))
		for i := range s {
			for j := max(int(next[i])-from, 0); j < n; j++ {
				d := y[i] - u[j]
				v := slope(d*(s[i]-z[j])) * d
				wantRow[i] += b[j] * v
				wantCol[j] -= a[i] * v
			}
		}
		for i, got := range slices.Concat(row, col) {
			near("row or column", got, slices.Concat(wantRow, wantCol)[i])
		}
	}
	for _, low := range []bool{false, true} {
		for _, p := range []Step{{0.1, 0.7, 0}, {-0.2, 0.3, 1.5}, {math.Inf(-1), 0.4, -0.6}} {
			weightedSteps(t, rng, p, low)
		}
	}
}

// weightedSteps compares 1500 and 3100 numbers with weights 1, 2, 3 with repeated numbers.
func weightedSteps(t *testing.T, rng *rand.Rand, p Step, low bool) {
	t.Helper()
	ordered := func(n int) (few, many Ordered) {
		for range n {
			few.Value = append(few.Value, rng.NormFloat64())
		}
		slices.Sort(few.Value)
		for _, v := range few.Value {
			w := 1 + rng.IntN(3)
			few.Weight = append(few.Weight, float64(w))
			for range w {
				many.Value = append(many.Value, v)
			}
		}
		few.Count, few.Before = make([]float64, n+1), make([]float64, n+1)
		many.Before = make([]float64, len(many.Value)+1)
		few.AddBefore()
		many.AddBefore()
		return few, many
	}
	s, sMany := ordered(1500)
	r, rMany := ordered(3100)
	run := func(s, t Ordered) (row, col []float64) {
		row, col = make([]float64, len(s.Value)), make([]float64, len(t.Value))
		rs, cs := Sums{High: row}, Sums{High: col}
		if low {
			rs.Low, cs.Low = make([]float64, len(row)), make([]float64, len(col))
		}
		var m Merge
		for k := 0; k < len(row)+len(col); k += MergeSteps {
			if math.IsInf(p.Shift, -1) {
				AddAll(rs, cs, s, t, 1.25, p, k)
			} else {
				m.AddSteps(rs, cs, s, t, 1.25, p, k)
			}
		}
		return row, col
	}
	row, col := run(s, r)
	rowMany, colMany := run(sMany, rMany)
	check := func(few Ordered, got, many []float64) {
		t.Helper()
		k := 0
		for i, v := range got {
			if !(math.Abs(v-many[k]) <= 1e-9*(1+math.Abs(v))) {
				t.Fatalf("%+v, low %v: number %d has %v with its weight and %v repeated", p, low, i, v, many[k])
			}
			k += int(few.Weight[i])
		}
	}
	check(s, row, rowMany)
	check(r, col, colMany)
}
