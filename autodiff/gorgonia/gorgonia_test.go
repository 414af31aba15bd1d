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

	"dyad/internal/must"
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

func mustNode(n node, err error) node { return gorgonia.Must(n, err) }

// chain applies operations one after the other.
func chain(ops ...func(node) (node, error)) func(graph, node) node {
	return func(_ graph, u node) node {
		for _, op := range ops {
			u = mustNode(op(u))
		}
		return u
	}
}

// left and right are an operation with a constant as its left or right operand.
func left(op func(a, b node) (node, error), c float64) func(node) (node, error) {
	return func(u node) (node, error) { return op(num(c), u) }
}

func right(op func(a, b node) (node, error), c float64) func(node) (node, error) {
	return func(u node) (node, error) { return op(u, num(c)) }
}

var logistic = chain(gorgonia.Neg, gorgonia.Exp, gorgonia.Log1p)

// graphLoss is a Gorgonia graph and a range on which Gorgonia's own functions are accurate (its softplus is cut off at 16).
type graphLoss struct {
	name   string
	build  func(graph, node) node
	lo, hi float64
}

// graphLosses are those of handLosses that have a graph, and others.
func graphLosses() []graphLoss {
	all := []graphLoss{
		{"exponential, steeper", chain(gorgonia.Neg, gorgonia.Exp), -5, 5},
		{"Gompertz, increasing", chain(left(gorgonia.HadamardProd, -3), gorgonia.Exp, left(gorgonia.HadamardProd, -2), gorgonia.Exp), -1, 5},
		{"tanh, cube, inverse", func(_ graph, u node) node {
			q := mustNode(gorgonia.Inverse(mustNode(gorgonia.Add(num(2), mustNode(gorgonia.Square(u))))))
			return mustNode(gorgonia.Add(mustNode(gorgonia.Cube(mustNode(gorgonia.Tanh(u)))), q))
		}, -5, 5},
		{"quotient, sqrt, log, expm1", func(_ graph, u node) node {
			r := mustNode(gorgonia.Sqrt(mustNode(gorgonia.Add(num(3), mustNode(gorgonia.Sin(u))))))
			s := mustNode(gorgonia.Expm1(mustNode(gorgonia.HadamardDiv(mustNode(gorgonia.Cos(u)), r))))
			return mustNode(gorgonia.Add(s, mustNode(gorgonia.Log(r))))
		}, -5, 5},
		{"comparisons", func(_ graph, u node) node { // each mask times a factor that is 0 where it changes
			a := mustNode(gorgonia.HadamardProd(u, mustNode(gorgonia.Lt(u, num(0), true))))
			b := mustNode(gorgonia.Sub(u, num(1)))
			b = mustNode(gorgonia.HadamardProd(mustNode(gorgonia.Square(b)), mustNode(gorgonia.Gt(b, num(0), true))))
			c := mustNode(gorgonia.Sub(num(-2), u))
			c = mustNode(gorgonia.HadamardProd(mustNode(gorgonia.Cube(c)), mustNode(gorgonia.Lte(u, num(-2), true))))
			d := mustNode(gorgonia.Sub(u, num(4)))
			d = mustNode(gorgonia.HadamardProd(mustNode(gorgonia.Sin(d)), mustNode(gorgonia.Gte(u, num(4), true))))
			return mustNode(gorgonia.Add(mustNode(gorgonia.Add(a, b)), mustNode(gorgonia.Sub(c, d))))
		}, -9, 9},
		{"difference of logistics", func(g graph, u node) node {
			a := logistic(g, u)
			b := logistic(g, mustNode(gorgonia.Sub(u, num(2))))
			return mustNode(gorgonia.Sub(mustNode(gorgonia.HadamardProd(num(0.5), b)), a))
		}, -9, 9},
	}
	for _, l := range handLosses {
		reach, narrow := map[string]float64{"logistic, scaled": 3.9, "log-cosh": 7.9, "savage": 7.9}[l.name]
		if !narrow {
			reach = 12
		}
		if l.build != nil {
			all = append(all, graphLoss{l.name, l.build, -reach, reach})
		}
	}
	return all
}

// TestAgainstTapeMachine: our value and gradient are those that Gorgonia's own
// TapeMachine computes from the same graph.
func TestAgainstTapeMachine(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, l := range graphLosses() {
		f := must.Get(FromGraph(l.build))(t, l.name)
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
	grads := must.Get(gorgonia.Grad(phi, u))(t)
	vm := gorgonia.NewTapeMachine(g)
	t.Cleanup(func() { vm.Close() })
	return &tape{vm, u, phi, grads[0]}
}

func (m *tape) run(t *testing.T, at float64) (phi, dphi float64) {
	t.Helper()
	must.Do(t, gorgonia.Let(m.u, at))
	must.Do(t, m.vm.RunAll())
	phi, dphi = m.phi.Value().Data().(float64), m.dphi.Value().Data().(float64)
	m.vm.Reset()
	return phi, dphi
}

func TestLossesPassTheGate(t *testing.T) {
	for _, l := range graphLosses() {
		f := must.Get(FromGraph(l.build))(t, l.name)
		if err := f.Check(l.lo, l.hi); err != nil {
			t.Errorf("%s: %v\nphi  = %v\nphi' = %v", l.name, err, f.Phi, f.DPhi)
		}
	}
}

func TestMaxBetween(t *testing.T) {
	f := must.Get(FromGraph(func(_ graph, u node) node {
		a := mustNode(gorgonia.MaxBetween(u, mustNode(gorgonia.Square(u))))
		return mustNode(gorgonia.MinBetween(a, mustNode(gorgonia.Exp(u))))
	}))(t)
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
		{"InverseSqrt", chain(gorgonia.InverseSqrt), "InverseSqrt"},
		{"Log2", chain(gorgonia.Log2), "Log2"},
		{"Grad of Grad", func(_ graph, u node) node {
			grads, err := gorgonia.Grad(mustNode(gorgonia.Tanh(u)), u)
			if err != nil {
				panic(err)
			}
			return grads[0]
		}, "Grad"},
		{"jump", chain(gorgonia.Sign), "Sign"},
		{"floor", chain(gorgonia.Floor), "floor"},
		{"second input", func(g graph, u node) node {
			return mustNode(gorgonia.Add(u, gorgonia.NewScalar(g, tensor.Float64, gorgonia.WithName("v"))))
		}, "input v"},
		{"variable exponent", func(_ graph, u node) node { return mustNode(gorgonia.Pow(num(2), u)) }, "Pow"},
		{"equality", func(_ graph, u node) node {
			return mustNode(gorgonia.Add(u, mustNode(gorgonia.Eq(u, num(0), true))))
		}, "== true"},
		{"truth value", func(_ graph, u node) node {
			return mustNode(gorgonia.HadamardProd(u, mustNode(gorgonia.Gt(u, num(0), false))))
		}, ""},
		{"LogSumExp", func(_ graph, u node) node { return mustNode(gorgonia.LogSumExp(u, 0)) }, "x - x"},
		{"float32 constant", func(_ graph, u node) node { return mustNode(gorgonia.Add(u, gorgonia.NewConstant(float32(1)))) }, ""},
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
	must.Err(FromGraph(nil))(t, "nil build accepted")
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
