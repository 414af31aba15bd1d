package kernels

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"dyad/internal/must"
)

// positions are n numbers in [-1, 1], the first of them special.
func positions(rng *rand.Rand, n int) []float64 {
	x := filled(n, func() float64 { return 2*rng.Float64() - 1 })
	copy(x, []float64{1, -1, 0})
	return x
}

func TestPowerSums(t *testing.T) { variants(t, testPowerSums) }

func testPowerSums(t *testing.T, kernel *Set) {
	rng := rand.New(rand.NewPCG(6, 6))
	const most = 40
	// sums of the powers of the first numbers, and of their absolute values
	x := positions(rng, 67)
	var want, size [most + 1][68]float64
	for i := 1; i <= most; i++ {
		total := new(big.Float).SetPrec(200)
		for j, v := range x {
			power := big.NewFloat(1).SetPrec(200)
			for range i {
				power.Mul(power, big.NewFloat(v))
			}
			f, _ := power.Float64()
			want[i][j+1], _ = total.Add(total, power).Float64()
			size[i][j+1] = size[i][j] + math.Abs(f)
		}
	}
	for _, powers := range []int{0, 4, 8, 28, 32, most} {
		for n := range 68 {
			x, sum := newGuarded(x[:n], n%4), newGuarded(make([]float64, 8*powers), n%3)
			kernel.PowerSums(sum.data, x.data)
			for i := 1; i <= powers; i++ {
				var got float64
				for _, v := range sum.data[8*(i-1):][:8] {
					got += v
				}
				if err := math.Abs(got - want[i][n]); !(err <= float64(i+n/8+4+9)*size[i][n]*0x1p-53) {
					t.Errorf("n=%d: sum of powers %d of %d is off by %v of %v", n, i, powers, err, size[i][n])
				}
			}
			kept(t, fmt.Sprintf("n=%d, %d powers", n, powers), []guard{sum}, x)
		}
	}
}

// TestPowerSumsDepth: equal terms, whose roundings all go one way, add up as the doc
// comment says.
func TestPowerSumsDepth(t *testing.T) {
	variants(t, func(t *testing.T, kernel *Set) {
		const n = 1 << 16
		x, sum := make([]float64, n), make([]float64, 32)
		for j := range x {
			x[j] = 1 - 0x1p-40
		}
		kernel.PowerSums(sum, x)
		exact := n * (1 - 0x1p-40)
		var got float64
		for _, v := range sum[:8] {
			got += v
		}
		if limit := (n/8 + 4 + 8) * 0x1p-53; math.Abs(got-exact) > limit*exact {
			t.Errorf("relative error %v, limit %v", math.Abs(got-exact)/exact, limit)
		}
	})
}

func TestPolynomial(t *testing.T) { variants(t, testPolynomial) }

func testPolynomial(t *testing.T, kernel *Set) {
	rng := rand.New(rand.NewPCG(7, 7))
	for _, terms := range []int{1, 3, 29, 41} {
		for n := range 68 {
			if n > 20 && n%8 > 1 && terms != 29 {
				continue // the same loops as for 29 terms
			}
			x, coef := newGuarded(positions(rng, n), n%4), newGuarded(normals(rng, terms), n%3)
			dst, same := newGuarded(make([]float64, n), 1), newGuarded(x.data, n%4)
			kernel.Polynomial(dst.data, coef.data, x.data)
			kernel.Polynomial(same.data, coef.data, same.data)
			if !slices.Equal(dst.data, same.data) || !same.intact() {
				t.Fatalf("%d terms, n=%d: other values in place", terms, n)
			}
			for j, v := range x.data {
				want, size := new(big.Float).SetPrec(200), 0.0
				for i := terms - 1; i >= 0; i-- {
					want.Mul(want, big.NewFloat(v))
					want.Add(want, big.NewFloat(coef.data[i]))
					size += math.Abs(coef.data[i] * math.Pow(v, float64(i)))
				}
				must.Within(t, offBy(dst.data[j], want), 0, float64(2*terms+2)*size*0x1.01p-53, "%d terms: value at %v is off by ... of %v", terms, v, size)
			}
			kept(t, fmt.Sprintf("%d terms, n=%d", terms, n), []guard{dst}, x, coef)
		}
	}
}

func TestSumLanes(t *testing.T) { variants(t, testSumLanes) }

func testSumLanes(t *testing.T, kernel *Set) {
	rng := rand.New(rand.NewPCG(8, 8))
	for n := range 68 {
		for offset := range 4 {
			lanes, sum := newGuarded(normals(rng, 8*n), offset), newGuarded(normals(rng, n), 3-offset)
			kernel.SumLanes(sum.data, lanes.data)
			for i, got := range sum.data {
				want, size := new(big.Float).SetPrec(200), math.Abs(sum.copy[i])
				want.SetFloat64(sum.copy[i])
				for _, v := range lanes.copy[8*i:][:8] {
					want.Add(want, big.NewFloat(v))
					size += math.Abs(v)
				}
				must.Within(t, offBy(got, want), 0, 4*size*0x1.01p-53, "n=%d offset=%d: sum %d is off by ... of %v", n, offset, i, size)
			}
			if slices.ContainsFunc(lanes.data, func(v float64) bool { return v != 0 }) {
				t.Errorf("n=%d offset=%d: lanes are not cleared", n, offset)
			}
			kept(t, fmt.Sprintf("n=%d offset=%d", n, offset), []guard{sum, lanes})
		}
	}
}
