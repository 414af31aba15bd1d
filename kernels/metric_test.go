package kernels

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"dyad/internal/sizes"
)

func TestMetricTile(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 11))
	f := func(v float64) float64 { return v / (1 + v*v) }
	for _, rows := range []int{0, 1, 2, 5, 33, 67} {
		for _, cols := range []int{0, 1, 4, 31, 67} {
			for _, skip := range []int{-rows, 1, -3, 2, 70} {
				s, y := newGuarded(normals(rng, rows), 1), newGuarded(normals(rng, rows), 0)
				tt, z := newGuarded(normals(rng, cols), 3), newGuarded(normals(rng, cols), 2)
				c := newGuarded(normals(rng, rows*cols), 1)
				row, col := newGuarded(normals(rng, rows), 2), newGuarded(normals(rng, cols), 1)
				wantRow, wantCol := append([]float64(nil), row.data...), append([]float64(nil), col.data...)
				want := make([]float64, rows*cols)
				for i := range rows {
					for j := range cols {
						if j < i+skip {
							continue
						}
						p := y.data[i] * z.data[j]
						v := -f(p*(1-(s.data[i]+tt.data[j]-2*c.data[i*cols+j]))) * p
						want[i*cols+j] = v
						wantRow[i] += v
						wantCol[j] += v
					}
				}
				metricTile(c.data, row.data, col.data, s.data, y.data, tt.data, z.data, skip, each(f))
				name := fmt.Sprintf("%dx%d skip %d", rows, cols, skip)
				allNear(t, name+", coefficients", c.data, want, 1, 1e-14)
				allNear(t, name+", rows", row.data, wantRow, float64(cols), 1e-14)
				allNear(t, name+", columns", col.data, wantCol, float64(rows), 1e-14)
				kept(t, name, []guard{c, row, col}, s, y, tt, z)
			}
		}
	}
}

// bigExp is exp(v) in 400 bits, for |v| <= 1000.
func bigExp(v float64) *big.Float { return bigExpOf(new(big.Float).SetPrec(400).SetFloat64(v)) }

func bigExpOf(v *big.Float) *big.Float {
	x := new(big.Float).SetPrec(400).Quo(v, new(big.Float).SetPrec(400).SetInt64(1024))
	sum, term := big.NewFloat(1).SetPrec(400), big.NewFloat(1).SetPrec(400)
	for k := 1; k < 90; k++ {
		term.Mul(term, x).Quo(term, new(big.Float).SetPrec(400).SetInt64(int64(k)))
		sum.Add(sum, term)
	}
	for range 10 {
		sum.Mul(sum, sum)
	}
	return sum
}

// relativeError is |got - want| / |want| in units of 2^-53.
func relativeError(got float64, want *big.Float) float64 {
	d := new(big.Float).SetPrec(400).SetFloat64(got)
	r, _ := d.Quo(d.Sub(d, want), want).Float64()
	return math.Abs(r) * 0x1p53
}

func TestExp2Table(t *testing.T) {
	root := new(big.Float).SetPrec(400).SetInt64(2)
	for range 5 {
		root.Sqrt(root)
	}
	power := big.NewFloat(1).SetPrec(400)
	for j, got := range exp2Table {
		if want, _ := power.Float64(); got != want {
			t.Errorf("2^(%d/32) is %x, want %x", j, got, want)
		}
		power.Mul(power, root)
	}
}

// TestExpUpTo checks the stated 3 u, near the ends of the reduced intervals and over
// the whole range.
func TestExpUpTo(t *testing.T) {
	rng := rand.New(rand.NewPCG(12, 12))
	var worst float64
	check := func(v float64) {
		worst = max(worst, relativeError(expUpTo(v), bigExp(v)))
	}
	for range sizes.Of(600, 3000) {
		check(MaxLogisticMargin * (2*rng.Float64() - 1))
		check((float64(rng.IntN(14000)-7000) + 0.5 + 1e-9*rng.NormFloat64()) * math.Ln2 / 32)
		check(rng.NormFloat64() * math.Exp2(-float64(rng.IntN(60))))
	}
	check(MaxLogisticMargin)
	check(-MaxLogisticMargin)
	if worst >= 3 {
		t.Errorf("relative error %.3g u, want below 3 u", worst)
	}
	if e := relativeError(expUpTo(1)*(1+0x1p-50), bigExp(1)); e < 3 {
		t.Error("an error of 8 u would not be noticed")
	}
}

func TestLogisticSlopes(t *testing.T) { variants(t, testLogisticSlopes) }

func testLogisticSlopes(t *testing.T, kernel *Set) {
	rng := rand.New(rand.NewPCG(13, 13))
	var worst float64
	for _, n := range append(lengths()[:20], 67, 300) {
		for _, scale := range []float64{1e-3, 1, 20, MaxLogisticMargin} {
			v := filled(n, func() float64 { return scale * (2*rng.Float64() - 1) })
			if n > 5 {
				v[0], v[1], v[2] = 0, MaxLogisticMargin, -MaxLogisticMargin
				v[3] = MaxLogisticMargin
			}
			g := newGuarded(v, n%4)
			kernel.LogisticSlopes(g.data)
			for i, got := range g.data {
				want := bigExp(v[i])
				want.Add(want, big.NewFloat(1)).Quo(big.NewFloat(-1).SetPrec(400), want)
				worst = max(worst, relativeError(got, want))
			}
			kept(t, "LogisticSlopes", []guard{g})
		}
	}
	if !(worst < 12) {
		t.Errorf("relative error %.3g u, want below 12 u", worst)
	}
	for n := 1; n < 20; n++ {
		v := uniform(n, -1, 1)
		v[n/2] = math.NaN()
		kernel.LogisticSlopes(v)
		if !math.IsNaN(v[n/2]) {
			t.Errorf("n=%d: the slope at NaN is a number", n)
		}
	}
}
