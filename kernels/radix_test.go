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

func TestSortPairs(t *testing.T) {
	for name, x := range sortCases() {
		n := len(x)
		key, index := slices.Clone(x), make([]int32, n)
		for i := range index {
			index[i] = int32(i)
		}
		SortPairs(key, index, make([]float64, n), make([]int32, n), nil)
		want := make([]int32, n)
		for i := range want {
			want[i] = int32(i)
		}
		slices.SortStableFunc(want, func(a, b int32) int {
			switch {
			case x[a] < x[b]:
				return -1
			case x[a] > x[b]:
				return 1
			}
			return 0
		})
		if !slices.Equal(index, want) || !slices.IsSorted(key) {
			t.Errorf("%s: %d pairs are not in order", name, n)
		}
		for i, k := range index {
			if math.Float64bits(key[i]) != math.Float64bits(x[k]) {
				t.Fatalf("%s: key %d is %v, its index points to %v", name, i, key[i], x[k])
			}
		}
	}
}

func TestPrefixSums(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 9))
	x := make([]float64, 3000)
	for i := range x {
		x[i] = rng.NormFloat64() * math.Exp(10*rng.Float64())
	}
	sum := make([]float64, len(x)+1)
	PrefixSums(sum, x)
	exact, size := new(big.Float).SetPrec(300), 0.0
	naive, worst := 0.0, 0.0
	for k, v := range x {
		exact.Add(exact, big.NewFloat(v))
		size += math.Abs(v)
		naive += v
		diff, _ := new(big.Float).Sub(exact, big.NewFloat(sum[k+1])).Float64()
		if math.Abs(diff) > 0x1p-52*size {
			t.Fatalf("sum of %d terms is off by %v of %v", k+1, diff, size)
		}
		off, _ := new(big.Float).Sub(exact, big.NewFloat(naive)).Float64()
		worst = max(worst, math.Abs(off)/size)
	}
	if worst < 0x1p-52 {
		t.Errorf("a plain sum has the same accuracy, %v", worst)
	}
}

func TestSteps(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 9))
	for trial := range 200 {
		s, y := make([]float64, rng.IntN(20)), make([]float64, rng.IntN(20))
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
		sumS, sumT := make([]float64, len(s)+1), make([]float64, len(y)+1)
		PrefixSums(sumS, s)
		PrefixSums(sumT, y)
		row, rowLow, col, colLow := make([]float64, len(s)), make([]float64, len(s)), make([]float64, len(y)), make([]float64, len(y))
		StepRows(row, rowLow, s, y, sumT, shift, d, a, b)
		StepColumns(col, colLow, s, y, sumS, shift, d, a, b)
		wantRow, wantCol, other := make([]float64, len(s)), make([]float64, len(y)), 0
		for i := range s {
			for j := range y {
				if y[j] <= s[i]-shift {
					wantRow[i] += d * (a + b*d*(s[i]-y[j]))
					wantCol[j] -= d * (a + b*d*(s[i]-y[j]))
				} else {
					other++
				}
			}
		}
		limit := 1e-13 * float64(len(s)+len(y))
		for i := range row {
			if math.Abs(row[i]+rowLow[i]-wantRow[i]) > limit {
				t.Fatalf("trial %d: row %d is %v, want %v", trial, i, row[i]+rowLow[i], wantRow[i])
			}
		}
		for j := range col {
			if math.Abs(col[j]+colLow[j]-wantCol[j]) > limit {
				t.Fatalf("trial %d: column %d is %v, want %v", trial, j, col[j]+colLow[j], wantCol[j])
			}
		}
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

func BenchmarkSortPairs(b *testing.B) {
	rng := rand.New(rand.NewPCG(5, 9))
	const n = 1_000_000
	x := make([]float64, n)
	for i := range x {
		x[i] = rng.NormFloat64()
	}
	key, index, key2, index2 := make([]float64, n), make([]int32, n), make([]float64, n), make([]int32, n)
	for b.Loop() {
		copy(key, x)
		SortPairs(key, index, key2, index2, nil)
	}
}
