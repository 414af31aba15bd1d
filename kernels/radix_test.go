package kernels

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
)

func sortCases() map[string][]float64 {
	rng := rand.New(rand.NewPCG(1, 9))
	cases := map[string][]float64{"empty": {}, "one": {3}, "zeros": {0, math.Copysign(0, -1), 0, -1, 1}}
	for _, n := range []int{2, 64, 65, 67, 300, 5000, 60_000} {
		random, few, wide := make([]float64, n), make([]float64, n), make([]float64, n)
		crowded := make([]float64, n) // in few parts of the range
		for i := range n {
			random[i], few[i] = rng.NormFloat64(), float64(rng.IntN(3)-1)
			crowded[i] = 1 + 1e-14*rng.Float64()
			wide[i] = math.Ldexp(rng.NormFloat64(), rng.IntN(2000)-1000)
		}
		cases["random"+string(rune('a'+n%26))], cases["few"+string(rune('a'+n%26))], cases["wide"+string(rune('a'+n%26))] = slices.Clone(random), few, wide
		crowded[0] = 3
		cases["crowded"+string(rune('a'+n%26))] = crowded
		for i := range n / 2 { // few groups of many keys, most keys in groups of their own
			random[i] = float64(i%3) + 1e-15*random[i]
		}
		cases["clusters"+string(rune('a'+n%26))] = slices.Clone(random)
		sorted := slices.Clone(random)
		slices.Sort(sorted)
		cases["sorted"+string(rune('a'+n%26))] = sorted
	}
	return cases
}

func TestSorting(t *testing.T) {
	sorting := NewSorting(60_000) // of one slice after the other
	for name, x := range sortCases() {
		n := len(x)
		key, work := slices.Clone(x), make([]float64, n)
		if !sorting.Sort(key, work, nil) {
			t.Fatalf("%s: stopped", name)
		}
		want := slices.Clone(x)
		slices.SortStableFunc(want, func(a, b float64) int {
			switch {
			case a < b:
				return -1
			case a > b:
				return 1
			}
			return 0
		})
		for i := range want {
			if math.Float64bits(key[i]) != math.Float64bits(want[i]) && want[i] != 0 {
				t.Fatalf("%s: number %d of %d is %v, want %v", name, i, n, key[i], want[i])
			}
		}
		// Each number finds its way back, and equal ones stay in their order.
		rank := make([]float64, n)
		for i := range rank {
			rank[i] = float64(i)
		}
		sorting.Restore(rank, rank, work)
		seen := make([]bool, n)
		last := map[float64]float64{}
		for i, k := range rank {
			if seen[int(k)] || key[int(k)] != x[i] {
				t.Fatalf("%s: number %d is said to be in place %v", name, i, k)
			}
			seen[int(k)] = true
			if before, ok := last[x[i]]; ok && before > k && x[i] != 0 {
				t.Fatalf("%s: equal numbers in places %v and %v are exchanged", name, before, k)
			}
			last[x[i]] = k
		}
	}
}

func TestCompensatedSum(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 9))
	exact, size := new(big.Float).SetPrec(300), 0.0
	var hi, lo, naive, worst float64
	for k := range 3000 {
		v := rng.NormFloat64() * math.Exp(10*rng.Float64())
		exact.Add(exact, big.NewFloat(v))
		size += math.Abs(v)
		naive += v
		hi, lo = compensated(hi, lo, v)
		if diff := offBy(hi+lo, exact); diff > 0x1p-52*size {
			t.Fatalf("sum of %d terms is off by %v of %v", k+1, diff, size)
		}
		worst = max(worst, offBy(naive, exact)/size)
	}
	if worst < 0x1p-52 {
		t.Errorf("a plain sum has the same accuracy, %v", worst)
	}
}

func TestSteps(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 9))
	skipped := 0
	for trial := range 200 {
		s, y := make([]float64, rng.IntN(20)), make([]float64, rng.IntN(20))
		if trial%50 == 49 { // several blocks
			s, y = make([]float64, stepBlock+rng.IntN(300)), make([]float64, 2*stepBlock)
		}
		for _, x := range [][]float64{s, y} {
			for i := range x {
				x[i] = rng.NormFloat64()
				if trial%2 == 0 { // ties at the shift
					x[i] = float64(rng.IntN(9)-4) / 10
				}
			}
			slices.Sort(x)
		}
		shift, d, a, b := float64(rng.IntN(9)-4)/10, 0.5+rng.Float64(), rng.NormFloat64(), rng.NormFloat64()
		if trial%7 == 0 {
			shift = math.Inf(-1)
		}
		row, rowLow, col, colLow := make([]float64, len(s)), make([]float64, len(s)), make([]float64, len(y)), make([]float64, len(y))
		steps := []Step{{shift, a, b}, {math.Inf(-1), -a, b / 2}}
		for range 2 { // the second time adds
			StepRows(row, rowLow, s, y, d, steps)
			StepColumns(col, colLow, s, y, d, steps)
		}
		rowOnce, colOnce := slices.Repeat([]float64{7}, len(s)), slices.Repeat([]float64{7}, len(y)) // set, not added to
		StepRows(rowOnce, nil, s, y, d, steps)
		StepColumns(colOnce, nil, s, y, d, steps)
		wantRow, wantCol, other := make([]float64, len(s)), make([]float64, len(y)), 0
		for i := range s {
			for j := range y {
				for _, p := range steps {
					if y[j] > s[i]-p.Shift {
						other++
						continue
					}
					v := d * (p.Slope + p.Rise*d*(s[i]-y[j]))
					wantRow[i] += v
					wantCol[j] -= v
				}
			}
		}
		limit := 1e-13 * float64(len(s)+len(y))
		near := func(name string, got, low, once, want []float64) {
			for i := range want {
				if math.Abs(got[i]+low[i]-2*want[i]) > limit || math.Abs(once[i]-want[i]) > limit {
					t.Fatalf("trial %d: %s %d is %v and twice %v, want %v", trial, name, i, once[i], got[i]+low[i], want[i])
				}
			}
		}
		near("row", row, rowLow, rowOnce, wantRow)
		near("column", col, colLow, colOnce, wantCol)
		skipped += other
	}
	if skipped == 0 {
		t.Error("every pair takes every step")
	}
}

// TestSlopeTile: the same numbers as PairTile.
func TestSlopeTile(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 9))
	f := func(u float64) float64 { return math.Atan(u) - 1 }
	for n := range 20 {
		for m := range 20 {
			for _, skip := range []int{-n, 1, 3} {
				s, y, u, z := make([]float64, n), make([]float64, n), make([]float64, m), make([]float64, m)
				for _, x := range [][]float64{s, u} {
					for i := range x {
						x[i] = rng.NormFloat64()
					}
				}
				for _, x := range [][]float64{y, z} {
					for i := range x {
						x[i] = float64(rng.IntN(3))
					}
				}
				row, col, wantRow, wantCol := make([]float64, n), make([]float64, m), make([]float64, n), make([]float64, m)
				PairTile(wantRow, wantCol, s, y, u, z, skip, f)
				SlopeTile(row, col, s, y, u, z, skip, make([]float64, m), func(v []float64) {
					for i := range v {
						v[i] = f(v[i])
					}
				})
				if !slices.Equal(row, wantRow) || !slices.Equal(col, wantCol) {
					t.Fatalf("%d x %d, skip %d: %v %v, want %v %v", n, m, skip, row, col, wantRow, wantCol)
				}
			}
		}
	}
}

func TestClamp(t *testing.T) {
	for _, c := range [][2]float64{{-2, -1}, {-1, -1}, {0.25, 0.25}, {0.5, 0.5}, {7, 0.5}, {math.NaN(), -1}, {math.Inf(1), 0.5}} {
		if got := Clamp(c[0], -1, 0.5); got != c[1] {
			t.Errorf("Clamp(%v, -1, 0.5) = %v, want %v", c[0], got, c[1])
		}
	}
	v := []float64{3, math.NaN(), 0}
	ClampedSlopes(func([]float64) {}, -1, 1)(v)
	if !slices.Equal(v, []float64{1, -1, 0}) {
		t.Errorf("ClampedSlopes gives %v", v)
	}
}

func BenchmarkSorting(b *testing.B) {
	rng := rand.New(rand.NewPCG(5, 9))
	const n = 1_000_000
	x := make([]float64, n)
	for i := range x {
		x[i] = rng.NormFloat64()
	}
	key, work, s := make([]float64, n), make([]float64, n), NewSorting(n)
	for b.Loop() {
		copy(key, x)
		s.Sort(key, work, nil)
		s.Restore(key, key, work)
	}
}
