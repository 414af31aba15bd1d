package gorgonia

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"dyad/autodiff"
	"dyad/engine/embedding"
)

// Network is a network f_theta that the user builds as a Gorgonia graph. NewNetwork checks it and makes an
// embedding.Network from it, which trains like a built-in network. The tape machine computes f. With one
// backward pass for each output of f, it computes the Jacobian of each record separately.
type Network struct {
	// Name identifies the architecture in reports and checkpoints. A different graph needs a different name.
	Name string
	// In and Out are the numbers d of inputs and m of outputs.
	In, Out int
	// Layers describes the parameters. Each layer is projected to its ball.
	Layers []embedding.Layer
	// Build adds f_theta(x) to the graph g and returns it as a vector of Out numbers. x is a vector of In
	// numbers, and theta has a matrix (Rows x Cols) for each layer of Layers. Build is called several times,
	// never by two goroutines at once. It must build the same function each time.
	Build func(g *gorgonia.ExprGraph, x *gorgonia.Node, theta []*gorgonia.Node) (*gorgonia.Node, error)
	// StartAt returns theta before training, for a public seed. If it is nil, each entry is drawn from N(0,
	// 1/Cols).
	StartAt func(seed uint64) []float64
}

// NewNetwork builds the graph twice. It compares the Jacobian of the graph with difference quotients of f at
// random points of the balls, because Gorgonia computes some derivatives wrongly and returns no error. If
// they differ, the error wraps autodiff.ErrGradientsDisagree. The error wraps ErrNotAFunction in two cases.
// In the first, the graph's numbers at these points depend on more than the record and theta. For example,
// the graph draws random numbers. In the second, an operation of the graph can remember a record: a random
// operation, BatchNorm, Let, Read, or an operation from outside Gorgonia. If a later call of Build makes a
// different graph, this graph has no values. The range of f has no proved bound, so a Model needs Output.Unit
// or Output.Within.
func NewNetwork(n Network) (embedding.Network, error) {
	switch {
	case n.Build == nil:
		return nil, errors.New("gorgonia: Network.Build is nil; it must be a function that adds f_theta(x) to a graph")
	case n.Name == "" || len(n.Layers) == 0:
		return nil, errors.New("gorgonia: a Network needs a Name and at least one layer in Layers")
	}
	g := userGraph{n, new(uint64)}
	net := embedding.NewGraph(g)
	if err := (embedding.Model{Network: net, Output: embedding.Output{Unit: true}}).Validate(); err != nil {
		return nil, err
	}
	return net, g.check()
}

// ErrNotAFunction is wrapped by the error about a graph whose result for the same record and theta changes,
// when it runs again or when it is built again. No guarantee holds for such a graph.
var ErrNotAFunction = errors.New("gorgonia: the network depends on more than a record and theta")

// userGraph implements embedding.Graph.
type userGraph struct {
	n    Network
	made *uint64 // hash of the structure of the first graph; the lock graphs guards it
}

func (g userGraph) Name() string              { return "gorgonia " + g.n.Name }
func (g userGraph) Dims() (d, m int)          { return g.n.In, g.n.Out }
func (g userGraph) Layers() []embedding.Layer { return g.n.Layers }

func (g userGraph) Start(seed uint64) []float64 {
	if g.n.StartAt != nil {
		return g.n.StartAt(seed)
	}
	r := rand.New(rand.NewPCG(seed, 0x676f72676f6e6961))
	var theta []float64
	for _, l := range g.n.Layers {
		for range l.Len() {
			theta = append(theta, r.NormFloat64()/math.Sqrt(float64(l.Cols)))
		}
	}
	return theta
}

// userTape is the tape machine of one graph. Inputs keep their backing slices, which are written between
// runs.
type userTape struct {
	n         Network
	x, picked []float64   // gradients are of the inner product of f and picked
	theta     [][]float64 // parameters of each layer
	f         *gorgonia.Node
	gradients gorgonia.Nodes
	machine   gorgonia.VM
	// operations is the error about operations that can remember a record. It is computed before derivatives
	// are added, because derivatives add operations.
	operations error
}

// NewTape implements embedding.Graph.
func (g userGraph) NewTape() (made embedding.Tape, err error) {
	graphs.Lock()
	defer graphs.Unlock()
	defer recovered(&err, "network "+g.n.Name)
	return g.tape()
}

// recovered turns a panic of Gorgonia or of the user's graph into an error.
func recovered(err *error, what string) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("gorgonia: %s panicked: %v", what, r)
	}
}

// tape builds the graph. The caller must hold the lock graphs.
func (g userGraph) tape() (*userTape, error) {
	n := g.n
	t := &userTape{n: n, x: make([]float64, n.In), picked: make([]float64, n.Out)}
	made := gorgonia.NewGraph()
	vector := func(name string, of []float64) *gorgonia.Node {
		return gorgonia.NewVector(made, tensor.Float64, gorgonia.WithName(name), gorgonia.WithShape(len(of)),
			gorgonia.WithValue(tensor.New(tensor.WithShape(len(of)), tensor.WithBacking(of))))
	}
	var theta []*gorgonia.Node
	for i, l := range n.Layers {
		t.theta = append(t.theta, make([]float64, l.Len()))
		theta = append(theta, gorgonia.NewMatrix(made, tensor.Float64, gorgonia.WithName(fmt.Sprintf("theta %d", i)),
			gorgonia.WithShape(l.Rows, l.Cols),
			gorgonia.WithValue(tensor.New(tensor.WithShape(l.Rows, l.Cols), tensor.WithBacking(t.theta[i])))))
	}
	x := vector("x", t.x)
	var err error
	if t.f, err = n.Build(made, x, theta); err != nil {
		return nil, fmt.Errorf("gorgonia: network %s: %w", n.Name, err)
	}
	if t.f == nil || !t.f.Shape().Eq(tensor.Shape{n.Out}) {
		return nil, fmt.Errorf("gorgonia: network %s does not return a vector of %d numbers", n.Name, n.Out)
	}
	if err := wrongOperation(made); err != nil {
		return nil, err
	}
	t.operations = remembers(made)
	if now := structure(made, append(theta, x)); *g.made == 0 {
		*g.made = now
	} else if now != *g.made {
		return nil, fmt.Errorf("%w: network %s: Build did not make the same graph as the first time", ErrNotAFunction, n.Name)
	}
	product, err := gorgonia.HadamardProd(t.f, vector("picked", t.picked))
	if err != nil {
		return nil, fmt.Errorf("gorgonia: network %s: %w", n.Name, err)
	}
	cost, err := gorgonia.Sum(product)
	if err != nil {
		return nil, fmt.Errorf("gorgonia: network %s: %w", n.Name, err)
	}
	if t.gradients, err = gorgonia.Grad(cost, theta...); err != nil {
		return nil, fmt.Errorf("gorgonia: network %s has no gradient: %w", n.Name, err)
	}
	t.machine = gorgonia.NewTapeMachine(made)
	return t, nil
}

// Set implements embedding.Tape.
func (t *userTape) Set(theta []float64) error {
	for _, to := range t.theta {
		theta = theta[copy(to, theta):]
	}
	return nil
}

// Jacobian implements embedding.Tape. It runs Gorgonia's machine once for each number in f.
//
// The result is a function of x and theta alone, bit for bit. Every run reads the inputs, which hold this
// record and theta, and writes all values of the graph again, in the order of one program
// (TestGraphIsAFunctionOfItsRecord).
func (t *userTape) Jacobian(f, jac, x []float64) (err error) {
	defer recovered(&err, "network "+t.n.Name)
	copy(t.x, x)
	for k := range t.n.Out {
		clear(t.picked)
		t.picked[k] = 1
		t.machine.Reset()
		if err := t.machine.RunAll(); err != nil {
			return fmt.Errorf("gorgonia: network %s: %w", t.n.Name, err)
		}
		if k == 0 {
			if err := read(f, t.f.Value()); err != nil {
				return err
			}
		}
		for i, g := range t.gradients {
			l := t.n.Layers[i].Len()
			if err := read(jac[:l], g.Value()); err != nil {
				return err
			}
			jac = jac[l:]
		}
	}
	return nil
}

// read copies a value.
func read(dst []float64, of gorgonia.Value) error {
	v, err := numbers(of, len(dst))
	copy(dst, v)
	return err
}

// numbers returns the count numbers of a value.
func numbers(of gorgonia.Value, count int) ([]float64, error) {
	switch v := of.Data().(type) {
	case []float64:
		if len(v) == count {
			return v, nil
		}
	case float64:
		if count == 1 {
			return []float64{v}, nil
		}
	}
	return nil, fmt.Errorf("gorgonia: a value has shape %v, but it must have %d numbers", of.Shape(), count)
}

// The parameters of check: the number of points, the step of difference quotients, and the largest difference
// between a difference quotient and the Jacobian, relative to the norm of the Jacobian.
const (
	gatePoints    = 3
	gateStep      = 0x1p-18
	gateTolerance = 1e-6
)

// check compares the Jacobian with central differences of f in all parameters. It also compares the bits of
// the Jacobian with the Jacobian of another tape, which has not seen other points.
func (g userGraph) check() error {
	n := g.n
	made, err := g.NewTape()
	if err != nil {
		return err
	}
	other, err := g.NewTape()
	if err != nil {
		return err
	}
	r := rand.New(rand.NewPCG(1, 1))
	size := embedding.Parameters(embedding.NewGraph(g))
	x, f, scratch := make([]float64, n.In), make([]float64, n.Out), make([]float64, n.Out*size)
	above, below, jac := make([]float64, n.Out), make([]float64, n.Out), make([]float64, n.Out*size)
	for point := range gatePoints {
		for k := range x {
			x[k] = r.NormFloat64() / math.Sqrt(float64(n.In))
		}
		theta := g.Start(uint64(point))
		if len(theta) != size {
			return fmt.Errorf("gorgonia: network %s: StartAt returned %d numbers for %d parameters", n.Name, len(theta), size)
		}
		at := func(dst, jac []float64) error { return errors.Join(made.Set(theta), made.Jacobian(dst, jac, x)) }
		if err := at(f, jac); err != nil {
			return err
		}
		var norm, off float64
		for k := range theta {
			was := theta[k]
			theta[k] = was + gateStep
			err := at(above, scratch)
			theta[k] = was - gateStep
			err = errors.Join(err, at(below, scratch))
			theta[k] = was
			if err != nil {
				return err
			}
			for i := range f {
				j := jac[i*size+k]
				norm, off = norm+j*j, max(off, math.Abs(j-(above[i]-below[i])/(2*gateStep)))
			}
		}
		if norm = math.Sqrt(norm); !(off <= gateTolerance*max(norm, 1)) {
			return fmt.Errorf("%w: network %s: the Jacobian differs from difference quotients by %.3g; its norm is "+
				"%.3g", autodiff.ErrGradientsDisagree, n.Name, off, norm)
		}
		for _, again := range []embedding.Tape{made, other} {
			if err := errors.Join(again.Set(theta), again.Jacobian(above, scratch, x)); err != nil {
				return err
			}
			if !slices.EqualFunc(f, above, sameBits) || !slices.EqualFunc(jac, scratch, sameBits) {
				return fmt.Errorf("%w: network %s gives different numbers in a second run; remove dropout, batch "+
					"normalisation, random nodes and state", ErrNotAFunction, n.Name)
			}
		}
	}
	return made.(*userTape).operations
}

func sameBits(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }
