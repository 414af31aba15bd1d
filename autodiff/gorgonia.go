package autodiff

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// maxSize limits the size of an expression that comes from a graph.
const maxSize = 4096

// graphs serialises the building of graphs. Gorgonia's constant nodes are
// package variables that cache their hash without a lock, so two graphs that are
// built at the same time race.
var graphs sync.Mutex

// Function is a loss phi(u) with its first derivative.
type Function struct {
	// Phi is the loss.
	Phi Expr
	// DPhi is phi' as gorgonia.Grad derived it, in our form. Check compares it
	// with Phi.Derivative().
	DPhi Expr
}

// DDPhi returns the second derivative of phi, from our own differentiation: gorgonia.Grad of a gradient
// is silently wrong.
func (f *Function) DDPhi() Expr { return f.Phi.Derivative().Derivative() }

// FromGorgonia reads phi from a Gorgonia graph. build gets an empty graph g and
// the scalar float64 input u, and returns the node of phi(u); it must use no
// other input, and must not call gorgonia.Grad. Supported are + - * / and Pow
// with a constant exponent, Neg, Exp, Log, Log1p, Expm1, Sqrt, Square, Cube,
// Inverse, Abs, Sin, Cos, Tanh, Sigmoid, Softplus, MaxBetween, MinBetween, the
// comparisons < <= > >=, and what is composed of these (Rectify, LeakyRelu,
// Mish).
//
// The result has not been checked: call Check before using it.
//
// build runs under a lock of this package, so it must not call FromGorgonia.
// Code that builds other Gorgonia graphs at the same time races with it inside
// Gorgonia. A panic in build becomes an error. An operation that cannot be used
// gives an *UnsupportedError; InverseSqrt, Log2 and LogSumExp are refused because Gorgonia
// v0.9.18 builds or differentiates them wrongly.
func FromGorgonia(build func(g *gorgonia.ExprGraph, u *gorgonia.Node) *gorgonia.Node) (*Function, error) {
	return fromGorgonia(build, false)
}

// fromGorgonia is FromGorgonia; trustAll accepts the operations whose derivative
// is wrong upstream, so that tests can show that Check catches them.
func fromGorgonia(build func(*gorgonia.ExprGraph, *gorgonia.Node) *gorgonia.Node, trustAll bool) (f *Function, err error) {
	if build == nil {
		return nil, errors.New("autodiff: FromGorgonia: build is nil")
	}
	graphs.Lock()
	defer graphs.Unlock()
	defer func() {
		if r := recover(); r != nil {
			f, err = nil, fmt.Errorf("autodiff: building the Gorgonia graph panicked: %v", r)
		}
	}()

	g := gorgonia.NewGraph()
	u := gorgonia.NewScalar(g, tensor.Float64, gorgonia.WithName("u"))
	root := build(g, u)
	switch {
	case root == nil:
		return nil, errors.New("autodiff: FromGorgonia: build returned no node")
	case root.Graph() != g:
		return nil, errors.New("autodiff: FromGorgonia: build returned a node that is not in the graph it was given (a constant phi is not a loss)")
	case !root.IsScalar() || root.Dtype() != tensor.Float64:
		return nil, fmt.Errorf("autodiff: FromGorgonia: phi has type %v, must be a float64 scalar", root.Type())
	}
	for _, n := range g.AllNodes() {
		if n.Deriv() != nil {
			return nil, &UnsupportedError{"Grad", "a gradient inside a loss would be differentiated twice, which Gorgonia does wrongly; write the derivative out"}
		}
	}

	phi, err := walk(g, u, root, walkOptions{trustAll: trustAll})
	if err != nil {
		return nil, err
	}
	grads, err := gorgonia.Grad(root, u)
	if err != nil {
		return nil, fmt.Errorf("autodiff: gorgonia.Grad: %w", err)
	}
	dphi, err := walk(g, u, grads[0], walkOptions{trustAll: trustAll, gradient: true})
	if err != nil {
		return nil, err
	}
	if phi.Size() > maxSize || dphi.Size() > maxSize {
		return nil, fmt.Errorf("autodiff: FromGorgonia: phi has %d operations and phi' %d, at most %d are supported", phi.Size(), dphi.Size(), maxSize)
	}
	return &Function{Phi: phi, DPhi: dphi}, nil
}

type walkOptions struct {
	trustAll bool
	gradient bool // the graph is a derivative, which may hold signs and "=="
}

type walker struct {
	walkOptions
	g    *gorgonia.ExprGraph
	u    *gorgonia.Node
	b    *builder
	seen map[int64]int // node id to instruction
}

// walk translates the part of g that root depends on.
func walk(g *gorgonia.ExprGraph, u, root *gorgonia.Node, opt walkOptions) (Expr, error) {
	w := &walker{opt, g, u, newBuilder(), make(map[int64]int)}
	id, err := w.node(root)
	if err != nil {
		return Expr{}, err
	}
	return w.b.expr(id), nil
}

func (w *walker) node(n *gorgonia.Node) (int, error) {
	if id, ok := w.seen[n.ID()]; ok {
		return id, nil
	}
	id, err := w.translate(n)
	if err != nil {
		return 0, err
	}
	w.seen[n.ID()] = id
	return id, nil
}

func (w *walker) translate(n *gorgonia.Node) (int, error) {
	switch {
	case n == w.u:
		return w.b.put(instr{op: opVar}), nil
	case n.Op() == nil:
		return 0, &UnsupportedError{"input " + n.Name(), "phi may depend on u and constants only; use gorgonia.NewConstant for a number"}
	}
	name := n.Op().String()
	var args []int
	if it := w.g.From(n.ID()); it != nil {
		for it.Next() {
			child, ok := it.Node().(*gorgonia.Node)
			if !ok {
				return 0, &UnsupportedError{name, "its operands are not Gorgonia nodes"}
			}
			id, err := w.node(child)
			if err != nil {
				return 0, err
			}
			args = append(args, id)
		}
	}
	switch len(args) {
	case 0:
		if !strings.HasPrefix(name, "const ") || n.Value() == nil {
			return 0, &UnsupportedError{name, "a node without operands must be u or a constant"}
		}
		c, ok := n.Value().Data().(float64)
		if !ok {
			return 0, &UnsupportedError{name, "constants must be float64 scalars"}
		}
		return w.b.constant(c), nil
	case 1:
		return w.unary(name, args[0])
	case 2:
		return w.binary(name, args[0], args[1])
	}
	return 0, &UnsupportedError{name, "it has more than two operands"}
}

func (w *walker) unary(name string, x int) (int, error) {
	b := w.b
	one := b.constant(1)
	switch name {
	case "neg":
		return b.neg(x), nil
	case "exp":
		return b.unary(opExp, x), nil
	case "ln":
		return b.unary(opLog, x), nil
	case "log1p":
		return b.unary(opLog1p, x), nil
	case "expm1":
		return b.unary(opExpm1, x), nil
	case "tanh":
		return b.unary(opTanh, x), nil
	case "sigmoid":
		return b.unary(opSigmoid, x), nil
	case "softplus":
		return b.unary(opSoftplus, x), nil
	case "sqrt":
		return b.unary(opSqrt, x), nil
	case "square":
		return b.unary(opSquare, x), nil
	case "cube":
		return b.binary(opMul, b.unary(opSquare, x), x), nil
	case "inv":
		return b.binary(opDiv, one, x), nil
	case "abs":
		return b.unary(opAbs, x), nil
	case "sin":
		return b.unary(opSin, x), nil
	case "cos":
		return b.unary(opCos, x), nil
	case "sign":
		if w.gradient {
			return b.diffUnary(opAbs, 0, x, 0), nil
		}
		return 0, &UnsupportedError{"Sign", "it jumps, so phi would have no Lipschitz constant"}
	case "invSqrt":
		if w.trustAll {
			return b.binary(opDiv, one, b.unary(opSqrt, x)), nil
		}
		return 0, &UnsupportedError{"InverseSqrt", "Gorgonia's derivative of it is wrong; write Inverse(Sqrt(x))"}
	case "log2":
		if w.trustAll {
			return b.log2(x), nil
		}
		return 0, &UnsupportedError{"Log2", "Gorgonia's derivative of it is wrong; write Log(x) divided by the constant log 2"}
	}
	return 0, &UnsupportedError{name, "use the operations listed at FromGorgonia"}
}

func (w *walker) binary(name string, x, y int) (int, error) {
	b := w.b
	// A comparison is named "<= true" if it returns a number, "<= false" if it
	// returns a truth value; arithmetic is always "false".
	symbol, number, _ := strings.Cut(name, " ")
	arithmetic := map[string]op{"+": opAdd, "-": opSub, "⊙": opMul, "÷": opDiv, "MaxBetween": opMax, "MinBetween": opMin}
	if _, constant := b.isConst(x); symbol == "-" && x == y && !constant && !w.gradient {
		// LogSumExp of a scalar builds log(a + exp(a-a)) instead of a.
		return 0, &UnsupportedError{"x - x", "it is 0, and comes from LogSumExp, which Gorgonia builds wrongly; write Log(Add(Exp(a), Exp(b)))"}
	}
	if o, ok := arithmetic[symbol]; ok {
		return b.binary(o, x, y), nil
	}
	if symbol == "^" {
		if c, ok := b.isConst(y); ok {
			return b.pow(x, c), nil
		}
		return 0, &UnsupportedError{"Pow", "the exponent must be a constant; write Exp(y log x)"}
	}
	if strings.Contains("< <= > >= == !=", symbol) && number != "true" {
		return 0, &UnsupportedError{name, "call the comparison with retSame = true, so that it returns 0 or 1"}
	}
	switch symbol {
	case ">=":
		return b.binary(opGe, x, y), nil
	case "<=":
		return b.binary(opGe, y, x), nil
	case ">":
		return b.binary(opGt, x, y), nil
	case "<":
		return b.binary(opGt, y, x), nil
	case "==":
		if w.gradient { // of MaxBetween and MinBetween
			return b.binary(opEq, x, y), nil
		}
	}
	return 0, &UnsupportedError{name, "use the operations listed at FromGorgonia"}
}
