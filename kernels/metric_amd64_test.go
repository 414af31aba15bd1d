//go:build !purego

package kernels

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"dyad/internal/must"
	"dyad/internal/sizes"
)

// widths runs a test for the vector variants of this processor.
func widths(t *testing.T, test func(t *testing.T, wide bool)) {
	t.Helper()
	variants(t, func(t *testing.T, s *Set) {
		if s.Variant() == Generic {
			t.Skip("packed panels are for vectors")
		}
		test(t, s.Variant() == AVX512)
	})
}

func TestPanelMulAdd(t *testing.T) { widths(t, testPanelMulAdd) }

func testPanelMulAdd(t *testing.T, wide bool) {
	rng := rand.New(rand.NewPCG(15, 15))
	for m := range 68 {
		for _, k := range []int{0, 1, 2, 3, rng.IntN(68), 67} {
			for _, transposed := range []bool{false, true} {
				for _, add := range []bool{false, true} {
					ldd := panelCols + rng.IntN(3)
					rs, ls := k, 1
					if transposed {
						rs, ls = 1, m
					}
					a, b := newGuarded(normals(rng, m*k), m%4), newGuarded(normals(rng, k*panelCols), k%4)
					dst := newGuarded(normals(rng, max(m*ldd-(ldd-panelCols), 0)), rng.IntN(4))
					panelMulAdd(wide, dst.data, ldd, a.data, rs, ls, b.data, m, k, add)
					for at, got := range dst.data {
						i, j := at/ldd, at%ldd
						want, size := 0.0, 0.0
						for l := range k {
							if j < panelCols {
								v := a.data[i*rs+l*ls] * b.data[l*panelCols+j]
								want, size = want+v, size+math.Abs(v)
							}
						}
						if add || k == 0 || j >= panelCols {
							want, size = want+dst.copy[at], size+math.Abs(dst.copy[at])
						}
						if !(math.Abs(got-want) <= float64(2*k+2)*0x1p-53*size) {
							t.Fatalf("m=%d k=%d add=%v: element %d,%d is %v, want %v", m, k, add, i, j, got, want)
						}
					}
					kept(t, fmt.Sprintf("m=%d k=%d", m, k), []guard{dst}, a, b)
				}
			}
		}
	}
}

func TestPanelLogistic(t *testing.T) { widths(t, testPanelLogistic) }

func testPanelLogistic(t *testing.T, wide bool) {
	rng := rand.New(rand.NewPCG(16, 16))
	unit := new(big.Float).SetPrec(400)
	unit.SetString("0.693147180559945309417232121458176568075500134360255254120680009493393621969694715605863326996418687")
	if wide {
		unit.Quo(unit, big.NewFloat(16))
	}
	var worst float64
	for n := range 68 {
		scale := []float64{1e-3, 1, 20, MaxLogisticMargin - 1}[n%4] / logisticUnit(wide)
		label := func() float64 { return []float64{-1, 1, 0.5, -0.25}[rng.IntN(4)] }
		y, z := newGuarded(filled(panelCols, label), n%2), newGuarded(filled(n, label), 2)
		c := newGuarded(uniform(n*panelCols, -scale, scale), n%4)
		row, col := newGuarded(make([]float64, panelCols), n%4), newGuarded(make([]float64, n*lanes), 1)
		margins := append([]float64(nil), c.data...)
		panelLogistic(wide, c.data, n, y.data, z.data, row.data, col.data)
		rows, cols := make([]float64, panelCols), make([]float64, n)
		for at, got := range c.data {
			j, i := at/panelCols, at%panelCols
			if (at+n)%sizes.Of(51, 17) == 0 {
				// The margin in units is exact for these labels.
				v := new(big.Float).SetPrec(400).Mul(unit, big.NewFloat(margins[at]*z.data[j]))
				want := bigExpOf(v)
				want.Add(want, big.NewFloat(1)).Quo(big.NewFloat(z.data[j]).SetPrec(400), want)
				worst = max(worst, relativeError(got, want))
			}
			rows[i] += got
			cols[j] += got * y.data[i]
		}
		sums := make([]float64, n)
		for at, v := range col.data {
			sums[at/lanes] += v
		}
		name := fmt.Sprintf("n=%d", n)
		allNear(t, name+", rows", row.data, rows, float64(n), 1e-14)
		allNear(t, name+", columns", sums, cols, panelCols, 1e-14)
		kept(t, name, []guard{c, row, col}, y, z)
	}
	t.Logf("largest relative error %.3g u", worst)
	must.Within(t, worst, 0.5, 12, "relative error ... u")
	// A margin that is off in its last digits would be seen.
	if e := relativeError(1/(1+math.Exp(100*(1+0x1p-50))), new(big.Float).Quo(big.NewFloat(1).SetPrec(400), new(big.Float).Add(big.NewFloat(1), bigExp(100)))); e < 12 {
		t.Errorf("a margin off by 8 u changes the slope by %v u only", e)
	}
}
