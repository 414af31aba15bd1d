package gorgonia

import (
	"errors"
	"math"
	"testing"

	"dyad/autodiff"
	"dyad/internal/must"

	"gorgonia.org/gorgonia"
)

// TestGateCatchesUpstream feeds the gate the derivatives that Gorgonia v0.9.18
// gets wrong, which FromGraph refuses outside tests.
func TestGateCatchesUpstream(t *testing.T) {
	for name, build := range map[string]func(graph, node) node{
		"InverseSqrt": chain(gorgonia.InverseSqrt),
		"Log2":        chain(gorgonia.Log2),
		// Wrong only beyond 1, behind a hinge.
		"hidden Log2": func(_ graph, u node) node {
			r := mustNode(gorgonia.Rectify(mustNode(gorgonia.Sub(u, num(1)))))
			return mustNode(gorgonia.Log2(mustNode(gorgonia.Add(num(1), r))))
		},
	} {
		f := must.Get(fromGraph(build, true))(t, name)
		err := f.Check(0.25, 4)
		var failed *autodiff.CheckError
		if !errors.Is(err, autodiff.ErrGradientsDisagree) || !errors.As(err, &failed) {
			t.Fatalf("%s: gate returned %v, want ErrGradientsDisagree", name, err)
		}
		if name == "InverseSqrt" && (failed.U != 0.25 || !near(failed.Got, -0.0625, 1e-12) || !near(failed.Want, -4, 1e-12)) {
			t.Errorf("%s: %v, want -0.0625 and -4 at 0.25", name, failed)
		}
		if name == "hidden Log2" && failed.U <= 1 {
			t.Errorf("%s: reported at %v, where both are right", name, failed.U)
		}
		right := autodiff.Function{Phi: f.Phi, DPhi: f.Phi.Derivative()}
		if err := right.Check(0.25, 4); err != nil {
			t.Errorf("%s: the right derivative is rejected: %v", name, err)
		}
	}
}

// TestUserWrittenLogistic: the naive formula with the user's own constants
// overflows at u = -1000 in Gorgonia; in our form it does not.
func TestUserWrittenLogistic(t *testing.T) {
	naive := func(c float64) func(graph, node) node {
		return chain(gorgonia.Neg, gorgonia.Exp, left(gorgonia.Add, c), gorgonia.Log)
	}
	tape := newTape(t, naive(1))
	if phi, dphi := tape.run(t, -1000); finite(phi) && finite(dphi) {
		t.Fatalf("Gorgonia gives %v and %v at -1000: the test no longer shows the fault", phi, dphi)
	}
	f := must.Get(FromGraph(naive(1)))(t)
	if err := f.Check(-1000, 1000); err != nil {
		t.Errorf("%v\nphi  = %v\nphi' = %v", err, f.Phi, f.DPhi)
	}
	if phi, dphi := f.Phi.Eval(-1000), f.DPhi.Eval(-1000); phi != 1000 || dphi != -1 {
		t.Errorf("phi(-1000) = %v, phi' = %v, want 1000 and -1", phi, dphi)
	}
	// log(2 + exp(-u)) has no stable form here, so the gate must see it.
	f = must.Get(FromGraph(naive(2)))(t)
	var failed *autodiff.CheckError
	if err := f.Check(-1000, 1000); !errors.Is(err, autodiff.ErrNotFinite) || !errors.As(err, &failed) || failed.U != -1000 {
		t.Errorf("got %v, want ErrNotFinite at -1000", err)
	}
	must.CheckDo(t, f.Check(-600, 600), "rejected where it is finite")
}

// TestGompertzRange: exp(-exp(-u)) is finite everywhere, but phi' as Gorgonia
// writes it is 0 times infinity at u = -1000; in our form it is one exponential.
func TestGompertzRange(t *testing.T) {
	build := chain(gorgonia.Neg, gorgonia.Exp, gorgonia.Neg, gorgonia.Exp)
	if _, dphi := newTape(t, build).run(t, -1000); finite(dphi) {
		t.Fatalf("Gorgonia gives %v at -1000: the test no longer shows the fault", dphi)
	}
	f := must.Get(FromGraph(build))(t)
	must.Equal(t, f.DPhi.Eval(-1000), 0, "phi'(-1000)")
	if err := f.Check(-1000, 1000); err != nil {
		t.Errorf("%v; phi' = %v", err, f.DPhi)
	}
}

// TestKnownWrong goes through what Gorgonia v0.9.18 is known to do wrong with
// scalar losses: each is refused, or rewritten to a form that is right where
// Gorgonia's is not.
func TestKnownWrong(t *testing.T) {
	for _, c := range []struct {
		name  string
		build func(graph, node) node
		at    float64 // where Gorgonia is wrong
		phi   float64
		dphi  float64
	}{
		{"InverseSqrt: wrong derivative", func(_ graph, u node) node { return mustNode(gorgonia.InverseSqrt(u)) }, 0.25, math.NaN(), math.NaN()},
		{"Log2: wrong derivative", func(_ graph, u node) node { return mustNode(gorgonia.Log2(u)) }, 0.25, math.NaN(), math.NaN()},
		{"LogSumExp: wrong value", func(_ graph, u node) node { return mustNode(gorgonia.LogSumExp(u, 0)) }, 1, math.NaN(), math.NaN()},
		{"Grad in the loss: wrong second derivative", func(_ graph, u node) node {
			g, err := gorgonia.Grad(mustNode(gorgonia.Tanh(u)), u)
			if err != nil {
				panic(err)
			}
			return g[0]
		}, 0.7, math.NaN(), math.NaN()},
		{"Softplus: cut off at 16", func(_ graph, u node) node { return mustNode(gorgonia.Softplus(u)) }, 20, 20 + math.Log1p(math.Exp(-20)), 1 / (1 + math.Exp(-20))},
		{"log(1 + exp(-u)): overflow", chain(gorgonia.Neg, gorgonia.Exp, left(gorgonia.Add, 1), gorgonia.Log), -1000, 1000, -1},
		{"Gompertz: 0 times infinity", chain(gorgonia.Neg, gorgonia.Exp, gorgonia.Neg, gorgonia.Exp), -1000, 0, 0},
	} {
		f, err := FromGraph(c.build)
		if math.IsNaN(c.phi) {
			if err == nil {
				t.Errorf("%s: accepted", c.name)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if phi, dphi := newTape(t, c.build).run(t, c.at); phi == c.phi && dphi == c.dphi {
			t.Errorf("%s: Gorgonia is right at %v, the test shows nothing", c.name, c.at)
		}
		if f.Phi.Eval(c.at) != c.phi || f.DPhi.Eval(c.at) != c.dphi || f.Phi.Derivative().Eval(c.at) != c.dphi {
			t.Errorf("%s: %v and %v at %v, want %v and %v", c.name, f.Phi.Eval(c.at), f.DPhi.Eval(c.at), c.at, c.phi, c.dphi)
		}
	}
}
