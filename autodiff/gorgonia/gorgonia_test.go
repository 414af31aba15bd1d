package gorgonia

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

type (
	graph = *gorgonia.ExprGraph
	node  = *gorgonia.Node
)

func num(c float64) node { return gorgonia.NewConstant(c) }

func near(a, b, tol float64) bool {
	return math.Abs(a-b) <= tol*math.Max(1, math.Max(math.Abs(a), math.Abs(b)))
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

func must(n node, err error) node { return gorgonia.Must(n, err) }

func logistic(_ graph, u node) node {
	return must(gorgonia.Log1p(must(gorgonia.Exp(must(gorgonia.Neg(u))))))
}

// losses are Gorgonia graphs, each with a range on which Gorgonia's own
// functions are accurate (its softplus is cut off at 16).
var losses = []struct {
	name   string
	build  func(graph, node) node
	lo, hi float64
}{
	{"logistic", logistic, -12, 12},
	{"logistic, user's constants", func(_ graph, u node) node {
		return must(gorgonia.Log(must(gorgonia.Add(num(1), must(gorgonia.Exp(must(gorgonia.Neg(u))))))))
	}, -12, 12},
	{"softplus", func(_ graph, u node) node {
		return must(gorgonia.Softplus(must(gorgonia.Neg(u))))
	}, -12, 12},
	{"hinge", func(_ graph, u node) node {
		return must(gorgonia.Rectify(must(gorgonia.Sub(num(1), u))))
	}, -9, 9},
	{"squared hinge", func(_ graph, u node) node {
		return must(gorgonia.Square(must(gorgonia.Rectify(must(gorgonia.Sub(num(1), u))))))
	}, -9, 9},
	{"huberised hinge", func(_ graph, u node) node { // softened below the kink at 1
		a := must(gorgonia.Rectify(must(gorgonia.Sub(num(1), u))))
		b := must(gorgonia.Rectify(must(gorgonia.Neg(u))))
		s := must(gorgonia.Sub(must(gorgonia.Square(a)), must(gorgonia.Square(b))))
		return must(gorgonia.HadamardProd(num(0.5), s))
	}, -9, 9},
	{"ramp", func(_ graph, u node) node {
		a := must(gorgonia.Rectify(must(gorgonia.Sub(num(1), u))))
		b := must(gorgonia.Rectify(must(gorgonia.Neg(u))))
		return must(gorgonia.Sub(a, b))
	}, -9, 9},
	{"sigmoid", func(_ graph, u node) node {
		return must(gorgonia.Sigmoid(must(gorgonia.Neg(u))))
	}, -12, 12},
	{"square", func(_ graph, u node) node {
		return must(gorgonia.Square(must(gorgonia.Sub(num(1), u))))
	}, -9, 9},
	{"exponential", func(_ graph, u node) node {
		return must(gorgonia.Exp(must(gorgonia.Neg(u))))
	}, -5, 5},
	{"Gompertz", func(_ graph, u node) node { // exp(-2 exp(-3u))
		e := must(gorgonia.Exp(must(gorgonia.HadamardProd(num(-3), u))))
		return must(gorgonia.Exp(must(gorgonia.HadamardProd(num(-2), e))))
	}, -1, 5},
	{"tanh, cube, inverse", func(_ graph, u node) node {
		q := must(gorgonia.Inverse(must(gorgonia.Add(num(2), must(gorgonia.Square(u))))))
		return must(gorgonia.Add(must(gorgonia.Cube(must(gorgonia.Tanh(u)))), q))
	}, -5, 5},
	{"power", func(_ graph, u node) node {
		return must(gorgonia.Pow(must(gorgonia.Add(num(1), must(gorgonia.Square(u)))), num(0.75)))
	}, -5, 5},
	{"quotient, sqrt, log, expm1", func(_ graph, u node) node {
		r := must(gorgonia.Sqrt(must(gorgonia.Add(num(3), must(gorgonia.Sin(u))))))
		s := must(gorgonia.Expm1(must(gorgonia.HadamardDiv(must(gorgonia.Cos(u)), r))))
		return must(gorgonia.Add(s, must(gorgonia.Log(r))))
	}, -5, 5},
	{"absolute", func(_ graph, u node) node {
		return must(gorgonia.Abs(must(gorgonia.Sub(num(1), u))))
	}, -9, 9},
	{"leaky relu", func(_ graph, u node) node {
		return must(gorgonia.LeakyRelu(must(gorgonia.Neg(u)), 0.1))
	}, -9, 9},
	{"comparisons", func(_ graph, u node) node { // each mask times a factor that is 0 where it changes
		a := must(gorgonia.HadamardProd(u, must(gorgonia.Lt(u, num(0), true))))
		b := must(gorgonia.Sub(u, num(1)))
		b = must(gorgonia.HadamardProd(must(gorgonia.Square(b)), must(gorgonia.Gt(b, num(0), true))))
		c := must(gorgonia.Sub(num(-2), u))
		c = must(gorgonia.HadamardProd(must(gorgonia.Cube(c)), must(gorgonia.Lte(u, num(-2), true))))
		d := must(gorgonia.Sub(u, num(4)))
		d = must(gorgonia.HadamardProd(must(gorgonia.Sin(d)), must(gorgonia.Gte(u, num(4), true))))
		return must(gorgonia.Add(must(gorgonia.Add(a, b)), must(gorgonia.Sub(c, d))))
	}, -9, 9},
	{"mish", func(_ graph, u node) node { return must(gorgonia.Mish(u)) }, -9, 9},
	{"difference of logistics", func(g graph, u node) node {
		a := logistic(g, u)
		b := logistic(g, must(gorgonia.Sub(u, num(2))))
		return must(gorgonia.Sub(must(gorgonia.HadamardProd(num(0.5), b)), a))
	}, -9, 9},
}

// TestAgainstTapeMachine: our value and gradient are those that Gorgonia's own
// TapeMachine computes from the same graph.
func TestAgainstTapeMachine(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, l := range losses {
		f, err := FromGraph(l.build)
		if err != nil {
			t.Fatalf("%s: %v", l.name, err)
		}
		own := f.Phi.Derivative()
		tape := newTape(t, l.build)
		for range 100 {
			u := l.lo + (l.hi-l.lo)*rng.Float64()
			phi, dphi := tape.run(t, u)
			for _, c := range []struct {
				what      string
				got, want float64
			}{
				{"phi", f.Phi.Eval(u), phi},
				{"phi'", f.DPhi.Eval(u), dphi},
				{"own phi'", own.Eval(u), dphi},
			} {
				if !near(c.got, c.want, 1e-12) {
					t.Fatalf("%s: %s(%v) = %v, TapeMachine %v\nphi  = %v\nphi' = %v", l.name, c.what, u, c.got, c.want, f.Phi, f.DPhi)
				}
			}
		}
	}
}

// tape evaluates a graph with Gorgonia's TapeMachine.
type tape struct {
	vm   gorgonia.VM
	u    node
	phi  node
	dphi node
}

func newTape(t *testing.T, build func(graph, node) node) *tape {
	t.Helper()
	graphs.Lock()
	defer graphs.Unlock()
	g := gorgonia.NewGraph()
	u := gorgonia.NewScalar(g, tensor.Float64, gorgonia.WithName("u"))
	phi := build(g, u)
	grads, err := gorgonia.Grad(phi, u)
	if err != nil {
		t.Fatal(err)
	}
	vm := gorgonia.NewTapeMachine(g)
	t.Cleanup(func() { vm.Close() })
	return &tape{vm, u, phi, grads[0]}
}

func (m *tape) run(t *testing.T, at float64) (phi, dphi float64) {
	t.Helper()
	if err := gorgonia.Let(m.u, at); err != nil {
		t.Fatal(err)
	}
	if err := m.vm.RunAll(); err != nil {
		t.Fatal(err)
	}
	phi, dphi = m.phi.Value().Data().(float64), m.dphi.Value().Data().(float64)
	m.vm.Reset()
	return phi, dphi
}

func TestLossesPassTheGate(t *testing.T) {
	for _, l := range losses {
		f, err := FromGraph(l.build)
		if err != nil {
			t.Fatalf("%s: %v", l.name, err)
		}
		if err := f.Check(l.lo, l.hi); err != nil {
			t.Errorf("%s: %v\nphi  = %v\nphi' = %v", l.name, err, f.Phi, f.DPhi)
		}
	}
}

func TestMaxBetween(t *testing.T) {
	f, err := FromGraph(func(_ graph, u node) node {
		a := must(gorgonia.MaxBetween(u, must(gorgonia.Square(u))))
		return must(gorgonia.MinBetween(a, must(gorgonia.Exp(u))))
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range []float64{-3, -0.5, 0.5, 1.5, 4} {
		if got, want := f.Phi.Eval(u), math.Min(math.Max(u, u*u), math.Exp(u)); got != want {
			t.Errorf("phi(%v) = %v, want %v", u, got, want)
		}
	}
	if err := f.Check(-3, 3); err != nil {
		t.Errorf("%v\nphi' = %v\nown  = %v", err, f.DPhi, f.Phi.Derivative())
	}
}

func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		name  string
		build func(graph, node) node
		op    string // expected UnsupportedError.Op, or empty for another error
	}{
		{"InverseSqrt", func(_ graph, u node) node { return must(gorgonia.InverseSqrt(u)) }, "InverseSqrt"},
		{"Log2", func(_ graph, u node) node { return must(gorgonia.Log2(u)) }, "Log2"},
		{"Grad of Grad", func(_ graph, u node) node {
			grads, err := gorgonia.Grad(must(gorgonia.Tanh(u)), u)
			if err != nil {
				panic(err)
			}
			return grads[0]
		}, "Grad"},
		{"jump", func(_ graph, u node) node { return must(gorgonia.Sign(u)) }, "Sign"},
		{"floor", func(_ graph, u node) node { return must(gorgonia.Floor(u)) }, "floor"},
		{"second input", func(g graph, u node) node {
			return must(gorgonia.Add(u, gorgonia.NewScalar(g, tensor.Float64, gorgonia.WithName("v"))))
		}, "input v"},
		{"variable exponent", func(_ graph, u node) node { return must(gorgonia.Pow(num(2), u)) }, "Pow"},
		{"equality", func(_ graph, u node) node {
			return must(gorgonia.Add(u, must(gorgonia.Eq(u, num(0), true))))
		}, "== true"},
		{"truth value", func(_ graph, u node) node {
			return must(gorgonia.HadamardProd(u, must(gorgonia.Gt(u, num(0), false))))
		}, ""},
		{"LogSumExp", func(_ graph, u node) node { return must(gorgonia.LogSumExp(u, 0)) }, "x - x"},
		{"float32 constant", func(_ graph, u node) node { return must(gorgonia.Add(u, gorgonia.NewConstant(float32(1)))) }, ""},
		{"no node", func(graph, node) node { return nil }, ""},
		{"panic", func(graph, node) node { panic("boom") }, ""},
		{"constant", func(graph, node) node { return num(1) }, ""},
		{"vector", func(g graph, u node) node {
			return gorgonia.NewVector(g, tensor.Float64, gorgonia.WithShape(2))
		}, ""},
	} {
		f, err := FromGraph(c.build)
		var unsupported *UnsupportedError
		switch {
		case err == nil:
			t.Errorf("%s: accepted as %v", c.name, f.Phi)
		case !strings.HasPrefix(err.Error(), "gorgonia: "):
			t.Errorf("%s: %v has no prefix", c.name, err)
		case c.op != "" && (!errors.As(err, &unsupported) || unsupported.Op != c.op):
			t.Errorf("%s: got %v, want an UnsupportedError for %q", c.name, err, c.op)
		}
	}
	if _, err := FromGraph(nil); err == nil {
		t.Error("nil build accepted")
	}
}

// TestConcurrent builds graphs in parallel, which is a data race in Gorgonia
// without the lock (seen with -race).
func TestConcurrent(t *testing.T) {
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 20 {
				f, err := FromGraph(logistic)
				if err != nil || f.DPhi.Eval(0) != -0.5 {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}
