package gorgonia

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"

	"dyad/autodiff"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// graphs serialises the building of graphs. Gorgonia's constant nodes are package variables that cache their
// hash without a lock. So two graphs that are built at the same time cause a data race.
var graphs sync.Mutex

// FromGraph reads phi from a Gorgonia graph. build gets an empty graph g and the scalar float64 input u, and
// returns the node of phi(u). It must use no other input, and must not call gorgonia.Grad. The supported
// operations are + - * / and Pow with a constant exponent, Neg, Exp, Log, Log1p, Expm1, Sqrt, Square, Cube,
// Inverse, Abs, Sin, Cos, Tanh, Sigmoid, Softplus, MaxBetween, MinBetween, the comparisons < <= > >=, and
// compositions of these (Rectify, LeakyRelu, Mish).
//
// The result is not checked: call Function.Check before using it.
//
// build runs under a lock of this package, so it must not call FromGraph. If other code builds Gorgonia
// graphs at the same time, there is a data race inside Gorgonia. FromGraph returns an error if build panics.
// It returns an *UnsupportedError if the graph has an operation that is not supported. InverseSqrt, Log2 and
// LogSumExp are not supported because Gorgonia v0.9.18 builds or differentiates them wrongly.
func FromGraph(build func(g *gorgonia.ExprGraph, u *gorgonia.Node) *gorgonia.Node) (*autodiff.Function, error) {
	return fromGraph(build, false)
}

// fromGraph is FromGraph. If trustAll is true, it accepts the operations whose derivatives are wrong in
// Gorgonia, so that tests can show that Check detects them.
func fromGraph(build func(*gorgonia.ExprGraph, *gorgonia.Node) *gorgonia.Node,
	trustAll bool) (f *autodiff.Function, err error) {
	if build == nil {
		return nil, errors.New("gorgonia: FromGraph: build is nil")
	}
	graphs.Lock()
	defer graphs.Unlock()
	defer recovered(&err, "building the Gorgonia graph")

	g := gorgonia.NewGraph()
	u := gorgonia.NewScalar(g, tensor.Float64, gorgonia.WithName("u"))
	root := build(g, u)
	switch {
	case root == nil:
		return nil, errors.New("gorgonia: FromGraph: build returned no node")
	case root.Graph() != g:
		return nil, errors.New("gorgonia: FromGraph: build returned a node of another graph; return a node of g, " +
			"computed from u")
	case !root.IsScalar() || root.Dtype() != tensor.Float64:
		return nil, fmt.Errorf("gorgonia: FromGraph: phi has type %v, but it must be a float64 scalar", root.Type())
	}
	for _, n := range g.AllNodes() {
		if n.Deriv() != nil {
			return nil, &UnsupportedError{"Grad",
				"Gorgonia returns a wrong gradient if the loss contains a gradient; write the inner gradient as a formula"}
		}
	}

	phi, err := walk(g, u, root, walkOptions{trustAll: trustAll})
	if err != nil {
		return nil, err
	}
	grads, err := gorgonia.Grad(root, u)
	if err != nil {
		return nil, fmt.Errorf("gorgonia: gorgonia.Grad: %w", err)
	}
	dphi, err := walk(g, u, grads[0], walkOptions{trustAll: trustAll, gradient: true})
	if err != nil {
		return nil, err
	}
	return &autodiff.Function{Phi: phi, DPhi: dphi}, nil
}

// UnsupportedError is the error for a Gorgonia graph with an operation that cannot be
// used in a loss or in a network.
type UnsupportedError struct {
	// Op is the name of the operation in Gorgonia.
	Op string
	// Reason explains why the operation cannot be used and, if there is a replacement, names it.
	Reason string
}

// Error returns a text with the operation and the remedy.
func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("gorgonia: %s is not supported: %s", e.Op, e.Reason)
}

type walkOptions struct {
	trustAll bool
	gradient bool // the graph is a derivative, which may contain signs and "=="
}

type walker struct {
	walkOptions
	g    *gorgonia.ExprGraph
	u    *gorgonia.Node
	seen map[int64]autodiff.Expr // translated expressions by node id
}

// walk translates the part of g that root depends on.
func walk(g *gorgonia.ExprGraph, u, root *gorgonia.Node, opt walkOptions) (autodiff.Expr, error) {
	w := &walker{opt, g, u, make(map[int64]autodiff.Expr)}
	return w.node(root)
}

func (w *walker) node(n *gorgonia.Node) (autodiff.Expr, error) {
	if e, ok := w.seen[n.ID()]; ok {
		return e, nil
	}
	e, err := w.translate(n)
	if err == nil && e.Size() > autodiff.MaxSize {
		err = fmt.Errorf("gorgonia: FromGraph: the loss phi or its slope has more than %d operations", autodiff.MaxSize)
	}
	if err != nil {
		return autodiff.Expr{}, err
	}
	w.seen[n.ID()] = e
	return e, nil
}

func (w *walker) translate(n *gorgonia.Node) (e autodiff.Expr, err error) {
	switch {
	case n == w.u:
		return autodiff.U(), nil
	case n.Op() == nil:
		return e, &UnsupportedError{"input " + n.Name(),
			"the loss phi(u) may contain only u and constants; make a constant with gorgonia.NewConstant"}
	}
	name := n.Op().String()
	nodes, args := operands(w.g, n), []autodiff.Expr(nil)
	for _, child := range nodes {
		x, err := w.node(child)
		if err != nil {
			return e, err
		}
		args = append(args, x)
	}
	switch len(args) {
	case 0:
		if !strings.HasPrefix(name, "const ") || n.Value() == nil {
			return e, &UnsupportedError{name, "a node without operands must be the variable u or a constant"}
		}
		c, ok := n.Value().Data().(float64)
		if !ok {
			return e, &UnsupportedError{name, "constants must be float64 scalars"}
		}
		return autodiff.Const(c), nil
	case 1:
		return w.unary(name, args[0])
	case 2:
		_, constant := args[0].Constant()
		if strings.HasPrefix(name, "- ") && nodes[0] == nodes[1] && !constant && !w.gradient {
			// LogSumExp of a scalar builds log(a + exp(a-a)) instead of a.
			return e, &UnsupportedError{"x - x",
				"this difference is 0; Gorgonia's LogSumExp builds it by mistake, so write Log(Add(Exp(a), Exp(b)))"}
		}
		return w.binary(name, args[0], args[1])
	}
	return e, &UnsupportedError{name, "the operation has more than two operands"}
}

// unaryOps has the supported operations on one number, by Gorgonia's names.
var unaryOps = map[string]func(autodiff.Expr) autodiff.Expr{
	"neg": autodiff.Neg, "exp": autodiff.Exp, "ln": autodiff.Log, "log1p": autodiff.Log1p, "expm1": autodiff.Expm1,
	"tanh": autodiff.Tanh, "sigmoid": autodiff.Sigmoid, "softplus": autodiff.Softplus, "sqrt": autodiff.Sqrt,
	"square": autodiff.Square, "abs": autodiff.Abs, "sin": autodiff.Sin, "cos": autodiff.Cos,
	"cube": func(x autodiff.Expr) autodiff.Expr { return autodiff.Mul(autodiff.Square(x), x) },
	"inv":  func(x autodiff.Expr) autodiff.Expr { return autodiff.Div(autodiff.Const(1), x) },
}

func (w *walker) unary(name string, x autodiff.Expr) (autodiff.Expr, error) {
	if build, ok := unaryOps[name]; ok {
		return build(x), nil
	}
	switch {
	case name == "sign" && w.gradient: // derivative of Abs: 2 [x >= 0] - 1
		return autodiff.Sub(autodiff.Mul(autodiff.Const(2), autodiff.Ge(x, autodiff.Const(0))), autodiff.Const(1)), nil
	case name == "sign":
		return x, &UnsupportedError{"Sign", "the function jumps, so the slope of the loss phi would have no bound"}
	case name == "invSqrt" && w.trustAll:
		return autodiff.Div(autodiff.Const(1), autodiff.Sqrt(x)), nil
	case name == "log2" && w.trustAll:
		return autodiff.Div(autodiff.Log(x), autodiff.Const(math.Ln2)), nil
	case wrongDerivatives[name] != nil:
		return x, wrongDerivatives[name]
	}
	return x, &UnsupportedError{name, "use the operations listed at FromGraph"}
}

// binaryOps has the supported operations on two numbers, by Gorgonia's symbols.
var binaryOps = map[string]func(x, y autodiff.Expr) autodiff.Expr{
	"+": autodiff.Add, "-": autodiff.Sub, "⊙": autodiff.Mul, "÷": autodiff.Div,
	"MaxBetween": autodiff.Max, "MinBetween": autodiff.Min,
	">=": autodiff.Ge, ">": autodiff.Gt, "==": autodiff.Eq,
	"<=": func(x, y autodiff.Expr) autodiff.Expr { return autodiff.Ge(y, x) },
	"<":  func(x, y autodiff.Expr) autodiff.Expr { return autodiff.Gt(y, x) },
}

func (w *walker) binary(name string, x, y autodiff.Expr) (autodiff.Expr, error) {
	// The name of a comparison is "<= true" if it returns a number, and "<= false" if it returns a truth
	// value. The name of arithmetic always has "false".
	symbol, number, _ := strings.Cut(name, " ")
	build, ok := binaryOps[symbol]
	switch {
	case symbol == "^":
		c, constant := y.Constant()
		if !constant {
			return x, &UnsupportedError{"Pow", "the exponent must be a constant; for x^y, write Exp(y log x)"}
		}
		return autodiff.Pow(x, c), nil
	case strings.Contains("< <= > >= == !=", symbol) && number != "true":
		return x, &UnsupportedError{name, "call the comparison with retSame = true; it then returns 0 or 1"}
	case !ok, symbol == "==" && !w.gradient: // "==" is part of the derivatives of MaxBetween and MinBetween
		return x, &UnsupportedError{name, "use the operations listed at FromGraph"}
	}
	return build(x, y), nil
}
