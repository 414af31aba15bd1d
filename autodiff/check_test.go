package autodiff

import (
	"math"
	"testing"

	"dyad/internal/must"
)

// TestDifferencesCatch runs the comparison with differences alone on wrong
// derivatives, as if our own differentiation had the same fault.
func TestDifferencesCatch(t *testing.T) {
	phi := Softplus(Neg(U()))
	d := phi.Derivative()
	for name, wrong := range map[string]Expr{
		"sign":          Neg(d),
		"factor":        Mul(Const(1+1e-5), d),
		"offset":        Add(d, Const(1e-4)),
		"second":        d.Derivative(),
		"wrong tail":    Mul(d, Add(Const(1), Mul(Const(1e-3), Ge(U(), Const(7))))),
		"InverseSqrt's": Div(Const(-0.5), Pow(U(), -1.5)),
	} {
		must.FailDo(t, differencesOnly(phi, wrong, 0.25, 8), ErrDifferenceDisagrees, name)
	}
	must.CheckDo(t, differencesOnly(phi, d, 0.25, 8), "the right derivative is rejected")
}

func differencesOnly(phi, dphi Expr, lo, hi float64) error {
	g := &gate{phi: phi, dphi: dphi, own: dphi, lo: lo, hi: hi, grid: grid(lo, hi)}
	if err := g.finite(); err != nil {
		return err
	}
	return g.differences()
}

func TestGateCatches(t *testing.T) {
	u := U()
	self := func(phi Expr) Function { return Function{Phi: phi, DPhi: phi.Derivative()} }
	for _, c := range []struct {
		name   string
		f      Function
		lo, hi float64
		want   error
	}{
		{"pole between grid points", self(Abs(Div(Const(1), Sub(u, Const(0.123456789))))), -1, 1, ErrNotFinite},
		{"pole on the grid", self(Div(Const(1), u)), -1, 1, ErrNotFinite},
		{"infinite slope", self(Sqrt(Abs(u))), -1, 1, ErrNotFinite},
		{"0-1 loss", self(Ge(Const(0.3), u)), -1, 1, ErrDiscontinuous},
		{"small jump", self(Add(u, Mul(Const(1e-6), Gt(u, Const(math.Pi/4))))), -1, 1, ErrDiscontinuous},
		{"domain", self(Log(u)), -1, 1, ErrNotFinite},
		{"NaN constant", self(Add(u, Const(math.NaN()))), -1, 1, ErrNotFinite},
		{"wrong side of a kink", Function{Phi: Max(Const(0), u), DPhi: Add(Mul(Const(2), Ge(u, Const(0))), Const(0))}, -1, 1, ErrGradientsDisagree},
		{"wrong at the kink only", Function{Phi: Abs(u), DPhi: Add(Abs(u).Derivative(), Mul(Const(5), Eq(u, Const(0))))}, -1, 1, ErrGradientsDisagree},
		{"hidden by rounding", self(Add(Const(1e12), Softplus(u))), -1, 1, ErrUnresolved},
		{"faster than any step", self(Sin(Mul(Const(1e12), u))), -1, 1, ErrDifferenceDisagrees},
	} {
		must.FailDo(t, c.f.Check(c.lo, c.hi), c.want, c.name)
	}
	for _, bad := range [][2]float64{{1, 1}, {2, 1}, {math.NaN(), 1}, {0, math.Inf(1)}, {-math.MaxFloat64, math.MaxFloat64}} {
		f := self(u)
		must.ErrDo(t, f.Check(bad[0], bad[1]), "interval %v accepted", bad)
	}
}

// TestGateAccepts: right functions whose values, slopes or kinks are hard for a
// check with fixed absolute tolerances.
func TestGateAccepts(t *testing.T) {
	u := U()
	for name, phi := range map[string]Expr{
		"tiny":      Mul(Const(1e-200), Softplus(u)),
		"huge":      Mul(Const(1e200), Softplus(u)),
		"steep":     Sigmoid(Mul(Const(300), u)),
		"flat tail": Tanh(u),
		"growing":   Exp(u),
		"kinks":     Abs(Sub(Abs(Sub(Abs(u), Const(5))), Const(1.1))),
		"polygon":   Max(Max(Mul(Const(-3), u), Const(0.1)), Mul(Const(0.7), Sub(u, Const(1)))),
	} {
		f := Function{Phi: phi, DPhi: phi.Derivative()}
		must.CheckDo(t, f.Check(-30, 30), name)
	}
}
