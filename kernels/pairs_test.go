package kernels

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

func TestLogisticTile(t *testing.T) { variants(t, testLogisticTile) }

func testLogisticTile(t *testing.T, kernel *Set) {
	rng := rand.New(rand.NewPCG(3, 3))
	for rows := range 68 {
		for _, cols := range []int{0, 1, 2, 3, 4, 7, 33, 67} {
			for _, scale := range []float64{0.1, 3, MaxLogisticMargin / 2} {
				a, b := newGuarded(make([]float64, rows), rows%4), newGuarded(make([]float64, cols), cols%4)
				for i := range a.data {
					a.data[i] = math.Exp(scale * (2*rng.Float64() - 1))
				}
				for j := range b.data {
					b.data[j] = math.Exp(scale * (2*rng.Float64() - 1))
				}
				a.copy, b.copy = append([]float64(nil), a.data...), append([]float64(nil), b.data...)
				row, col := newGuarded(normals(rng, rows), 1), newGuarded(normals(rng, cols), 2)
				kernel.LogisticTile(row.data, col.data, a.data, b.data)
				for i, ai := range a.data {
					want := row.copy[i]
					for _, bj := range b.data {
						want += 1 / (1 + ai*bj)
					}
					if !near(row.data[i], want, float64(cols), 1e-14) {
						t.Errorf("%dx%d scale %v: row %d is %v, want %v", rows, cols, scale, i, row.data[i], want)
					}
				}
				for j, bj := range b.data {
					want := col.copy[j]
					for _, ai := range a.data {
						want += 1 / (1 + ai*bj)
					}
					if !near(col.data[j], want, float64(rows), 1e-14) {
						t.Errorf("%dx%d scale %v: column %d is %v, want %v", rows, cols, scale, j, col.data[j], want)
					}
				}
				if !a.unchanged() || !b.unchanged() || !row.intact() || !col.intact() {
					t.Fatalf("%dx%d: wrote outside row and col", rows, cols)
				}
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
		a, b := make([]float64, 4), make([]float64, 1+39*(round%10/9))
		for _, x := range [][]float64{a, b} {
			for i := range x {
				x[i] = math.Exp(MaxLogisticMargin / 2 * (2*rng.Float64() - 1))
			}
		}
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
				y, z := newGuarded(make([]float64, rows), 0), newGuarded(make([]float64, cols), 2)
				for i := range y.data {
					y.data[i] = float64(rng.IntN(3))
				}
				for j := range z.data {
					z.data[j] = float64(rng.IntN(3))
				}
				y.copy, z.copy = append([]float64(nil), y.data...), append([]float64(nil), z.data...)
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
				for i := range wantRow {
					if !near(row.data[i], wantRow[i], float64(cols), 1e-14) {
						t.Errorf("%dx%d skip %d: row %d is %v, want %v", rows, cols, skip, i, row.data[i], wantRow[i])
					}
				}
				for j := range wantCol {
					if !near(col.data[j], wantCol[j], float64(rows), 1e-14) {
						t.Errorf("%dx%d skip %d: column %d is %v, want %v", rows, cols, skip, j, col.data[j], wantCol[j])
					}
				}
				if !s.unchanged() || !tt.unchanged() || !y.unchanged() || !z.unchanged() || !row.intact() || !col.intact() {
					t.Fatalf("%dx%d: wrote outside row and col", rows, cols)
				}
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
