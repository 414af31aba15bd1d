package autodiff

import (
	"errors"
	"math"
	"testing"

	"gorgonia.org/gorgonia"
)

// TestGateCatchesUpstream feeds the gate the derivatives that Gorgonia v0.9.18
// gets wrong, which FromGorgonia refuses outside tests.
func TestGateCatchesUpstream(t *testing.T) {
	for name, build := range map[string]func(graph, node) node{
		"InverseSqrt": func(_ graph, u node) node { return must(gorgonia.InverseSqrt(u)) },
		"Log2":        func(_ graph, u node) node { return must(gorgonia.Log2(u)) },
		// Wrong only beyond 1, behind a hinge.
		"hidden Log2": func(_ graph, u node) node {
			r := must(gorgonia.Rectify(must(gorgonia.Sub(u, num(1)))))
			return must(gorgonia.Log2(must(gorgonia.Add(num(1), r))))
		},
	} {
		f, err := fromGorgonia(build, true)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		err = f.Check(0.25, 4)
		var failed *CheckError
		if !errors.Is(err, ErrGradientsDisagree) || !errors.As(err, &failed) {
			t.Fatalf("%s: gate returned %v, want ErrGradientsDisagree", name, err)
		}
		if name == "InverseSqrt" && (failed.U != 0.25 || !near(failed.Got, -0.0625, 1e-12) || !near(failed.Want, -4, 1e-12)) {
			t.Errorf("%s: %v, want -0.0625 and -4 at 0.25", name, failed)
		}
		if name == "hidden Log2" && failed.U <= 1 {
			t.Errorf("%s: reported at %v, where both are right", name, failed.U)
		}
		right := Function{Phi: f.Phi, DPhi: f.Phi.Derivative()}
		if err := right.Check(0.25, 4); err != nil {
			t.Errorf("%s: the right derivative is rejected: %v", name, err)
		}
	}
}

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
		if err := differencesOnly(phi, wrong, 0.25, 8); !errors.Is(err, ErrDifferenceDisagrees) {
			t.Errorf("%s: got %v, want ErrDifferenceDisagrees", name, err)
		}
	}
	if err := differencesOnly(phi, d, 0.25, 8); err != nil {
		t.Errorf("the right derivative is rejected: %v", err)
	}
}

func differencesOnly(phi, dphi Expr, lo, hi float64) error {
	g := &gate{phi: phi, dphi: dphi, own: dphi, lo: lo, hi: hi, grid: grid(lo, hi)}
	if err := g.finite(); err != nil {
		return err
	}
	return g.differences()
}

// TestUserWrittenLogistic: the naive formula with the user's own constants
// overflows at u = -1000 in Gorgonia; in our form it does not.
func TestUserWrittenLogistic(t *testing.T) {
	naive := func(c float64) func(graph, node) node {
		return func(_ graph, u node) node {
			return must(gorgonia.Log(must(gorgonia.Add(num(c), must(gorgonia.Exp(must(gorgonia.Neg(u))))))))
		}
	}
	tape := newTape(t, naive(1))
	if phi, dphi := tape.run(t, -1000); finite(phi) && finite(dphi) {
		t.Fatalf("Gorgonia gives %v and %v at -1000: the test no longer shows the fault", phi, dphi)
	}
	f, err := FromGorgonia(naive(1))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Check(-1000, 1000); err != nil {
		t.Errorf("%v\nphi  = %v\nphi' = %v", err, f.Phi, f.DPhi)
	}
	if phi, dphi := f.Phi.Eval(-1000), f.DPhi.Eval(-1000); phi != 1000 || dphi != -1 {
		t.Errorf("phi(-1000) = %v, phi' = %v, want 1000 and -1", phi, dphi)
	}
	// log(2 + exp(-u)) has no stable form here, so the gate must see it.
	f, err = FromGorgonia(naive(2))
	if err != nil {
		t.Fatal(err)
	}
	var failed *CheckError
	if err := f.Check(-1000, 1000); !errors.Is(err, ErrNotFinite) || !errors.As(err, &failed) || failed.U != -1000 {
		t.Errorf("got %v, want ErrNotFinite at -1000", err)
	}
	if err := f.Check(-600, 600); err != nil {
		t.Errorf("rejected where it is finite: %v", err)
	}
}

// TestGompertzRange: exp(-exp(-u)) is finite everywhere, but phi' as Gorgonia
// writes it is 0 times infinity at u = -1000; in our form it is one exponential.
func TestGompertzRange(t *testing.T) {
	build := func(_ graph, u node) node {
		return must(gorgonia.Exp(must(gorgonia.Neg(must(gorgonia.Exp(must(gorgonia.Neg(u))))))))
	}
	if _, dphi := newTape(t, build).run(t, -1000); finite(dphi) {
		t.Fatalf("Gorgonia gives %v at -1000: the test no longer shows the fault", dphi)
	}
	f, err := FromGorgonia(build)
	if err != nil {
		t.Fatal(err)
	}
	if v := f.DPhi.Eval(-1000); v != 0 {
		t.Errorf("phi'(-1000) = %v, want 0", v)
	}
	if err := f.Check(-1000, 1000); err != nil {
		t.Errorf("%v; phi' = %v", err, f.DPhi)
	}
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
		{"wrong at the kink only", Function{Phi: Abs(u), DPhi: Add(Abs(u).Derivative(), Mul(Const(5), combine(opEq, u, Const(0))))}, -1, 1, ErrGradientsDisagree},
		{"hidden by rounding", self(Add(Const(1e12), Softplus(u))), -1, 1, ErrUnresolved},
		{"faster than any step", self(Sin(Mul(Const(1e12), u))), -1, 1, ErrDifferenceDisagrees},
	} {
		if err := c.f.Check(c.lo, c.hi); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, err, c.want)
		}
	}
	for _, bad := range [][2]float64{{1, 1}, {2, 1}, {math.NaN(), 1}, {0, math.Inf(1)}, {-math.MaxFloat64, math.MaxFloat64}} {
		f := self(u)
		if err := f.Check(bad[0], bad[1]); err == nil {
			t.Errorf("interval %v accepted", bad)
		}
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
		if err := f.Check(-30, 30); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
