package kernels

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"dyad/internal/sizes"
)

func TestLogisticPairTile(t *testing.T) { variants(t, testLogisticPairTile) }

func testLogisticPairTile(t *testing.T, kernel *Set) {
	rng := rand.New(rand.NewPCG(15, 15))
	for rows := range 68 {
		for _, cols := range []int{0, 1, 3, 4, 7, 8, 9, 31, 67} {
			for _, skip := range []int{-rows, 1, 2 - cols, 3} {
				scale := math.Exp2(float64(rng.IntN(12)))
				y, z := make([]float64, rows), make([]float64, cols)
				for i := range y {
					y[i] = float64(rng.IntN(4))
				}
				for j := range z {
					z[j] = float64(rng.IntN(4))
				}
				s, tt := newGuarded(normals(rng, rows), rows%4), newGuarded(normals(rng, cols), cols%3)
				for _, g := range []*guarded{s, tt} {
					for i := range g.data {
						g.data[i] *= scale
						g.copy[i] = g.data[i]
					}
				}
				yy, zz := newGuarded(y, 1), newGuarded(z, 2)
				row, col := newGuarded(normals(rng, rows), 2), newGuarded(normals(rng, cols), 1)
				wantRow, wantCol := append([]float64(nil), row.data...), append([]float64(nil), col.data...)
				PairTile(wantRow, wantCol, s.data, y, tt.data, z, skip, LogisticSlope)
				kernel.LogisticPairTile(row.data, col.data, s.data, yy.data, tt.data, zz.data, skip)
				// Slopes within 4 u each, times |D| <= 3, and the sums of both.
				for i := range wantRow {
					if limit := float64(cols) * (2*(6+float64(cols)) + 8) * 3 * 0x1p-53; !(math.Abs(row.data[i]-wantRow[i]) <= limit) {
						t.Errorf("%dx%d skip %d: row %d is %v, want %v", rows, cols, skip, i, row.data[i], wantRow[i])
					}
				}
				for j := range wantCol {
					if limit := float64(rows) * (2*(6+float64(rows)) + 8) * 3 * 0x1p-53; !(math.Abs(col.data[j]-wantCol[j]) <= limit) {
						t.Errorf("%dx%d skip %d: column %d is %v, want %v", rows, cols, skip, j, col.data[j], wantCol[j])
					}
				}
				if !s.unchanged() || !tt.unchanged() || !yy.unchanged() || !zz.unchanged() || !row.intact() || !col.intact() {
					t.Fatalf("%dx%d: wrote outside row and col", rows, cols)
				}
			}
		}
	}
}

// slopeOf is the slope of one pair with labels 1 and 0, in each place of a vector.
func slopeOf(kernel *Set, v float64) []float64 {
	const lanes = 9
	row, col, t, z := make([]float64, 1), make([]float64, lanes), make([]float64, lanes), make([]float64, lanes)
	kernel.LogisticPairTile(row, col, []float64{v}, []float64{1}, t, z, -1)
	for j := range col {
		col[j] = -col[j]
	}
	return col
}

// TestLogisticPairSlope checks the stated 4 u with 400 bits, and the ends.
func TestLogisticPairSlope(t *testing.T) { variants(t, testLogisticPairSlope) }

func testLogisticPairSlope(t *testing.T, kernel *Set) {
	sizes.NotShort(t, "slow")
	rng := rand.New(rand.NewPCG(16, 16))
	var worst float64
	for range sizes.Of(300, 1500) {
		for _, v := range []float64{rng.NormFloat64(), 40 * rng.NormFloat64(), (float64(rng.IntN(60)-30) + 0.5 + 1e-9*rng.NormFloat64()) * math.Ln2} {
			want := bigExp(v)
			want.Add(want, big.NewFloat(1)).Quo(big.NewFloat(-1).SetPrec(400), want)
			for _, got := range slopeOf(kernel, v) {
				worst = max(worst, offBy(got, want)/0x1p-53)
			}
		}
	}
	t.Logf("largest error %.2f u", worst)
	if !(worst < 4) {
		t.Errorf("error of a slope %.3g u, want below 4 u", worst)
	}
	for _, c := range [][2]float64{{0, -0.5}, {math.Copysign(0, -1), -0.5}, {750, 0}, {-750, -1}, {1e300, 0}, {-1e300, -1},
		{math.Inf(1), 0}, {math.Inf(-1), -1}, {math.NaN(), math.NaN()}} {
		for j, got := range slopeOf(kernel, c[0]) {
			if !(math.Abs(got-c[1]) < 1e-300) && !(math.IsNaN(got) && math.IsNaN(c[1])) {
				t.Errorf("slope at %v in place %d is %v, want %v", c[0], j, got, c[1])
			}
		}
	}
	// A pair of equal labels is skipped, whatever its scores are.
	row, col := []float64{2}, []float64{3, 3}
	kernel.LogisticPairTile(row, col, []float64{math.NaN()}, []float64{1}, []float64{0, math.Inf(1)}, []float64{1, 1}, -1)
	if row[0] != 2 || col[0] != 3 || col[1] != 3 {
		t.Errorf("pairs of equal labels change sums to %v and %v", row, col)
	}
}
