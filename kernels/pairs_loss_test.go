package kernels

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

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
