package kernels

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestLogisticTile32: sums are exactly those of the terms of single pairs, so terms do not
// depend on their place or on others, and terms have the stated error.
func TestLogisticTile32(t *testing.T) {
	rng := rand.New(rand.NewPCG(32, 1))
	variants(t, func(t *testing.T, set *Set) {
		var worst float64
		for m := range 68 {
			for _, n := range []int{0, 1, 15, 16, 17, rng.IntN(68), 67} {
				worst = max(worst, checkTile32(t, rng, set, m, n))
				if t.Failed() {
					return
				}
			}
		}
		worst = max(worst, checkTile32(t, rng, set, 258, 5), checkTile32(t, rng, set, 3, 1043))
		t.Logf("largest relative error %.2g w", worst)
		if worst < 0.5 {
			t.Errorf("largest relative error %v w", worst)
		}
	})
}

func checkTile32(t *testing.T, rng *rand.Rand, set *Set, m, n int) (worst float64) {
	t.Helper()
	scale := []float64{0.1, 3, 40, 0}[(m+n)%4]
	factors := func(n int) *guardedOf[float32] {
		x := make([]float32, n)
		for i := range x {
			x[i] = float32(math.Exp(scale * (2*rng.Float64() - 1)))
			if scale == 0 {
				x[i] = 0x1p-58 // all terms are the largest
			}
		}
		return newGuarded(x, rng.IntN(4))
	}
	a, b := factors(m), factors(n)
	row, col := newGuarded(make([]float64, m), rng.IntN(4)), newGuarded(make([]float64, n), rng.IntN(4))
	for i := range row.data {
		row.data[i] = float64(rng.IntN(100))
	}
	wantRow, wantCol := append([]float64(nil), row.data...), append([]float64(nil), col.data...)
	set.LogisticTile32(row.data, col.data, a.data, b.data)
	for i, ai := range a.data {
		for j, bj := range b.data {
			var one, other [1]float64
			set.LogisticTile32(one[:], other[:], []float32{ai}, []float32{bj})
			want := 1 / (1 + float64(ai)*float64(bj)) / LogisticUnit32
			if one != other || 2*one[0] != math.Trunc(2*one[0]) {
				t.Fatalf("a term is %v in its row and %v in its column", one, other)
			}
			e := max(math.Abs(one[0]-want)-0.5, 0) / want / w32
			if worst = max(worst, e); !(e < 6) {
				t.Fatalf("a = %v, b = %v: the term is %v, want %v: %v w", ai, bj, one[0], want, e)
			}
			wantRow[i] += one[0]
			wantCol[j] += one[0]
		}
	}
	for i, want := range wantRow {
		if row.data[i] != want {
			t.Fatalf("m=%d n=%d: row %d is %v, its terms add up to %v", m, n, i, row.data[i], want)
		}
	}
	for j, want := range wantCol {
		if col.data[j] != want {
			t.Fatalf("m=%d n=%d: column %d is %v, its terms add up to %v", m, n, j, col.data[j], want)
		}
	}
	if !a.unchanged() || !b.unchanged() || !row.intact() || !col.intact() {
		t.Fatalf("m=%d n=%d: wrote outside the sums", m, n)
	}
	return worst
}

func BenchmarkLogisticTile32(b *testing.B) { benchVariants(b, benchLogisticTile32) }

func benchLogisticTile32(b *testing.B, kernel *Set) {
	const rows, cols = 256, 1024
	a, c := narrow(uniform(rows, 0.1, 7)), narrow(uniform(cols, 0.1, 7))
	row, col := make([]float64, rows), make([]float64, cols)
	for b.Loop() {
		kernel.LogisticTile32(row, col, a, c)
	}
	b.ReportMetric(rows*cols*float64(b.N)/b.Elapsed().Seconds(), "pairs/s")
}
