package kernels

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"dyad/internal/must"
)

func bigSigmoid(x float64) *big.Float {
	one := big.NewFloat(1).SetPrec(400)
	return new(big.Float).Quo(one, bigExp(-x).Add(bigExp(-x), one))
}

func upSigmoid(dst, x []float64) { Sigmoid(dst, x, 1, 1) }

// TestSigmoidSigns: the four signs give the same bits as negations outside.
func TestSigmoidSigns(t *testing.T) {
	x := []float64{0, 1, -2, 300, -300, 0.3, 5, 1e-9, -1e-9, 2, 3}
	for _, in := range []float64{1, -1} {
		for _, out := range []float64{1, -1} {
			y, got, want := make([]float64, len(x)), make([]float64, len(x)), make([]float64, len(x))
			for i, v := range x {
				y[i] = in * v
			}
			Sigmoid(got, x, in, out)
			Sigmoid(want, y, 1, 1)
			for i := range x {
				must.Equal(t, got[i], out*want[i], "%v sigmoid(%v * %v)", out, in, x[i])
			}
		}
	}
}

// TestElementaryErrors: the stated bounds hold over the whole range of normal
// results, and half of them does not.
func TestElementaryErrors(t *testing.T) {
	n := 1500
	if testing.Short() {
		n = 400
	}
	for _, c := range []struct {
		name         string
		f            func(dst, x []float64)
		want         func(float64) *big.Float
		lo, hi       float64
		least, bound float64
	}{
		{"Exp", Exp, bigExp, -708, 709.7, 1, 3},
		{"Sigmoid", upSigmoid, bigSigmoid, -708, 740, 1.5, 6},
	} {
		rng := rand.New(rand.NewPCG(1, 2))
		x := make([]float64, n)
		for i := range x {
			switch i % 3 {
			case 0:
				x[i] = c.lo + (c.hi-c.lo)*rng.Float64()
			case 1:
				x[i] = 8*rng.Float64() - 4
			default:
				x[i] = math.Ldexp(2*rng.Float64()-1, -rng.IntN(60))
			}
		}
		dst := make([]float64, n)
		c.f(dst, x)
		worst := 0.0
		for i, v := range dst {
			worst = max(worst, relativeError(v, c.want(x[i])))
		}
		if !(worst < c.bound) || worst < c.least {
			t.Errorf("%s: largest error %.3g u, want in [%v, %v]", c.name, worst, c.least, c.bound)
		}
	}
}

// TestElementaryLimits: NaN, infinities, overflow and underflow, in every place of
// a group of four, next to ordinary values.
func TestElementaryLimits(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, c := range []struct {
		name string
		f    func(dst, x []float64)
		x, y float64
	}{
		{"Exp", Exp, inf, inf}, {"Exp", Exp, -inf, 0}, {"Exp", Exp, nan, nan}, {"Exp", Exp, 710, inf},
		{"Exp", Exp, -746, 0}, {"Exp", Exp, -745, 0x1p-1074}, {"Exp", Exp, 0, 1},
		{"Sigmoid", upSigmoid, inf, 1}, {"Sigmoid", upSigmoid, -inf, 0}, {"Sigmoid", upSigmoid, nan, nan},
		{"Sigmoid", upSigmoid, 710, 1}, {"Sigmoid", upSigmoid, -745, 0x1p-1074}, {"Sigmoid", upSigmoid, -1e300, 0}, {"Sigmoid", upSigmoid, 0, 0.5},
		{"Softplus", Softplus, inf, inf}, {"Softplus", Softplus, -inf, 0}, {"Softplus", Softplus, nan, nan},
		{"Softplus", Softplus, 1000, 1000}, {"Softplus", Softplus, 0, math.Ln2},
	} {
		for n := 1; n <= 9; n++ {
			for at := range n {
				x := make([]float64, n)
				x[at] = c.x
				dst := make([]float64, n)
				c.f(dst, x)
				for i, v := range dst {
					want := c.y
					if i != at {
						alone := []float64{0}
						c.f(alone, alone)
						want = alone[0]
					}
					if v != want && !(math.IsNaN(v) && math.IsNaN(want)) {
						t.Fatalf("%s(%v) at %d of %d is %v, want %v", c.name, x[i], i, n, v, want)
					}
				}
			}
		}
	}
}

func TestMasks(t *testing.T) {
	values := []float64{-1, 0, math.Copysign(0, -1), 1, math.Inf(1), math.NaN()}
	var a, b []float64
	for _, x := range values {
		for _, y := range values {
			a, b = append(a, x), append(b, y)
		}
	}
	ge, gt, pick := make([]float64, len(a)), make([]float64, len(a)), make([]float64, len(a))
	GreaterEqual(ge, a, b)
	Greater(gt, a, b)
	Choose(pick, ge, a, b)
	for i := range a {
		wantGe, wantGt, want := 0.0, 0.0, b[i]
		if a[i] >= b[i] {
			wantGe, want = 1, a[i]
		}
		if a[i] > b[i] {
			wantGt = 1
		}
		if ge[i] != wantGe || gt[i] != wantGt || math.Float64bits(pick[i]) != math.Float64bits(want) {
			t.Errorf("%v and %v: >= %v, > %v, selected %v", a[i], b[i], ge[i], gt[i], pick[i])
		}
	}
}
