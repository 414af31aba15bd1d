package kernels

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestLogisticTile(t *testing.T) { variants(t, testLogisticTile) }

func testLogisticTile(t *testing.T, kernel *Set) {
	rng := rand.New(rand.NewPCG(3, 3))
	for rows := range 68 {
		for _, cols := range []int{0, 1, 2, 3, 4, 7, 33, 67} {
			for _, scale := range []float64{0.1, 3, MaxLogisticMargin / 2} {
				factor := func() float64 { return math.Exp(scale * (2*rng.Float64() - 1)) }
				a, b := newGuarded(filled(rows, factor), rows%4), newGuarded(filled(cols, factor), cols%4)
				row, col := newGuarded(normals(rng, rows), 1), newGuarded(normals(rng, cols), 2)
				wantRow, wantCol := slices.Clone(row.data), slices.Clone(col.data)
				kernel.LogisticTile(row.data, col.data, a.data, b.data)
				for i, ai := range a.data {
					for j, bj := range b.data {
						wantRow[i] += 1 / (1 + ai*bj)
						wantCol[j] += 1 / (1 + ai*bj)
					}
				}
				name := fmt.Sprintf("%dx%d scale %v", rows, cols, scale)
				allNear(t, name+", rows", row.data, wantRow, float64(cols), 1e-14)
				allNear(t, name+", columns", col.data, wantCol, float64(rows), 1e-14)
				kept(t, name, []guard{row, col}, a, b)
			}
		}
	}
}

// TestLogisticTileError checks the stated 9 u per pair with 200-bit arithmetic,
// out to the largest margin, for a vector of columns and for more.
func TestLogisticTileError(t *testing.T) { variants(t, testLogisticTileError) }

func testLogisticTileError(t *testing.T, kernel *Set) {
	rng := rand.New(rand.NewPCG(4, 4))
	for round := range 2000 {
		factor := func() float64 { return math.Exp(MaxLogisticMargin / 2 * (2*rng.Float64() - 1)) }
		a, b := filled(4, factor), filled(1+39*(round%10/9), factor)
		row, col := make([]float64, len(a)), make([]float64, len(b))
		kernel.LogisticTile(row, col, a, b)
		term := func(i, j int) *big.Float {
			p := new(big.Float).SetPrec(200).SetFloat64(a[i])
			p.Mul(p, big.NewFloat(b[j])).Add(p, big.NewFloat(1))
			return p.Quo(big.NewFloat(1), p)
		}
		check := func(got float64, roundings float64, terms ...*big.Float) {
			sum := new(big.Float).SetPrec(200)
			for _, x := range terms {
				sum.Add(sum, x)
			}
			rel, _ := sum.Quo(big.NewFloat(got), sum).Sub(sum, big.NewFloat(1)).Float64()
			if !(math.Abs(rel) <= (9+roundings)*0x1p-53) {
				t.Errorf("relative error %v of %d pairs exceeds 9 u", rel, len(terms))
			}
		}
		for i := range a {
			if len(b) == 1 {
				check(row[i], 0, term(i, 0))
			}
		}
		for j := range b {
			check(col[j], 1, term(0, j), term(1, j), term(2, j), term(3, j)) // a sum of two such
		}
	}
}

func TestPairTile(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	f := func(v float64) float64 { return v / (1 + v*v) }
	for _, rows := range []int{0, 1, 2, 5, 33, 67} {
		for _, cols := range []int{0, 1, 4, 31, 67} {
			for _, skip := range []int{-rows, 1, -3, 2} {
				s, tt := newGuarded(normals(rng, rows), 1), newGuarded(normals(rng, cols), 3)
				y, z := newGuarded(labels(rng, rows, 3), 0), newGuarded(labels(rng, cols, 3), 2)
				row, col := newGuarded(normals(rng, rows), 2), newGuarded(normals(rng, cols), 1)
				wantRow, wantCol := append([]float64(nil), row.data...), append([]float64(nil), col.data...)
				for i := range wantRow {
					for j := range wantCol {
						if d := y.data[i] - z.data[j]; j >= i+skip {
							wantRow[i] += f(d*(s.data[i]-tt.data[j])) * d
							wantCol[j] -= f(d*(s.data[i]-tt.data[j])) * d
						}
					}
				}
				PairTile(row.data, col.data, s.data, y.data, tt.data, z.data, skip, f)
				name := fmt.Sprintf("%dx%d skip %d", rows, cols, skip)
				allNear(t, name+", rows", row.data, wantRow, float64(cols), 1e-14)
				allNear(t, name+", columns", col.data, wantCol, float64(rows), 1e-14)
				kept(t, name, []guard{row, col}, s, tt, y, z)
			}
		}
	}
}

func TestLogisticSlope(t *testing.T) {
	for v := -800.0; v <= 800; v += 0.37 {
		for _, x := range []float64{v, v / 100, v * 1e-9} {
			// -1/(1+e^x) without cancellation, relative error below 8 u.
			want := -1 / (1 + math.Exp(x))
			if x > 0 {
				want = -math.Exp(-x) / (1 + math.Exp(-x))
			}
			if got := LogisticSlope(x); !(math.Abs(got-want) <= 12*0x1p-53) || got > 0 || got < -1 {
				t.Errorf("LogisticSlope(%v) = %v, want %v", x, got, want)
			}
		}
	}
	if LogisticSlope(0) != -0.5 || LogisticSlope(math.Inf(1)) != 0 || LogisticSlope(math.Inf(-1)) != -1 || !math.IsNaN(LogisticSlope(math.NaN())) {
		t.Error("LogisticSlope is wrong at 0, an infinity or NaN")
	}
}
