package kernels

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
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
				y, z := labels(rng, rows, 4), labels(rng, cols, 4)
				score := func() float64 { return scale * rng.NormFloat64() }
				s, tt := newGuarded(filled(rows, score), rows%4), newGuarded(filled(cols, score), cols%3)
				yy, zz := newGuarded(y, 1), newGuarded(z, 2)
				row, col := newGuarded(normals(rng, rows), 2), newGuarded(normals(rng, cols), 1)
				wantRow, wantCol := append([]float64(nil), row.data...), append([]float64(nil), col.data...)
				PairTile(wantRow, wantCol, s.data, y, tt.data, z, skip, LogisticSlope)
				kernel.LogisticPairTile(row.data, col.data, s.data, yy.data, tt.data, zz.data, skip)
				// Slopes within 4 u each, times |D| <= 3, and the sums of both.
				limit := func(n int) float64 { return float64(n) * (2*(6+float64(n)) + 8) * 3 * 0x1p-53 }
				name := fmt.Sprintf("%dx%d skip %d", rows, cols, skip)
				allNear(t, name+", rows", row.data, wantRow, 1, limit(cols))
				allNear(t, name+", columns", col.data, wantCol, 1, limit(rows))
				kept(t, name, []guard{row, col}, s, tt, yy, zz)
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

// lossOf is the sum of log(1 + a_i b_j), within 3 u of it.
func lossOf(a, b []float64) float64 {
	var hi, lo float64
	for _, ai := range a {
		for _, bj := range b {
			hi, lo = compensated(hi, lo, math.Log1p(ai*bj))
		}
	}
	return hi + lo
}

// lossBound is the stated error of LogisticLossTile, and that of lossOf.
func lossBound(pairs int, loss float64) float64 {
	return (4*(float64(pairs)+8+loss) + 3*loss) * 0x1p-53
}

// TestLogisticLossTile: the loss has the stated error and the sums are those of
// logisticTile, bit for bit, up to the largest margins, on either side of those that two
// products of four in one bear.
func TestLogisticLossTile(t *testing.T) { variants(t, testLogisticLossTile) }

func testLogisticLossTile(t *testing.T, kernel *Set) {
	rng := rand.New(rand.NewPCG(21, 21))
	factors := func(n int, f func() float64) *guarded {
		return newGuarded(filled(n, func() float64 { return math.Exp(f()) }), rng.IntN(4))
	}
	for rows := range 68 {
		for _, cols := range []int{0, 1, 7, 8, 9, 15, 16, 17, 31, 32, 33, 48, 63, 64, 67} {
			for name, f := range map[string]func() float64{
				"near 0":   func() float64 { return 0.1 * rng.NormFloat64() },
				"usual":    func() float64 { return 1.5 * rng.NormFloat64() },
				"wide":     func() float64 { return MaxLogisticMargin / 2 * (2*rng.Float64() - 1) },
				"largest":  func() float64 { return MaxLogisticMargin / 2 },
				"smallest": func() float64 { return -MaxLogisticMargin / 2 },
				"limit":    func() float64 { return 63.5*math.Ln2 + 0.1*rng.NormFloat64() },
			} {
				a, b := factors(rows, f), factors(cols, f)
				row, col := newGuarded(normals(rng, rows), 1), newGuarded(normals(rng, cols), 2)
				got := kernel.LogisticLossTile(row.data, col.data, a.data, b.data)
				want := lossOf(a.data, b.data)
				if !(math.Abs(got-want) <= lossBound(rows*cols, want)) {
					t.Fatalf("%dx%d %s: the loss is %v, want %v", rows, cols, name, got, want)
				}
				if !slices.Equal(row.data, sumsOf(kernel.LogisticTile, row, col, a, b)) && !slices.Equal(row.data, sumsOf(logisticTile, row, col, a, b)) {
					t.Fatalf("%dx%d %s: other sums than those of LogisticTile", rows, cols, name)
				}
				kept(t, name, []guard{row, col}, a, b)
			}
		}
	}
}

// sumsOf are the sums that a tile adds to the first values of row; it fails to equal any if
// those of col differ from what col holds.
func sumsOf(tile func(row, col, a, b []float64), row, col, a, b *guarded) []float64 {
	r, c := slices.Clone(row.copy), slices.Clone(col.copy)
	tile(r, c, a.data, b.data)
	if !slices.Equal(c, col.data) {
		return []float64{math.NaN()}
	}
	return r
}

// TestLossBoundCatches: the bound is narrow enough to see one pair too many in a full tile,
// a factor 2 that is lost with an exponent, and a margin that is wrong by 1e-11.
func TestLossBoundCatches(t *testing.T) {
	rng := rand.New(rand.NewPCG(22, 22))
	factor := func() float64 { return math.Exp(rng.NormFloat64()) }
	a, b := filled(64, factor), filled(64, factor)
	want := lossOf(a, b)
	for name, wrong := range map[string]float64{
		"a pair":    want + math.Log1p(slices.Min(a)*slices.Min(b)),
		"a factor":  want - math.Ln2,
		"a margin":  want + 1e-11/(1+1/(a[0]*b[0])),
		"not a sum": math.NaN(),
	} {
		if math.Abs(wrong-want) <= lossBound(len(a)*len(b), want) {
			t.Errorf("%s: %v passes for %v", name, wrong, want)
		}
	}
}
