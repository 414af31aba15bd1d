package gorgonia_test

import (
	"fmt"
	"hash"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"dyad/algorithms/attack"
	"dyad/autodiff"
	graphs "dyad/autodiff/gorgonia"
	"dyad/engine"
	"dyad/engine/embedding"
	"dyad/internal/must"
	"dyad/internal/sizes"
	"dyad/kernels"

	"gorgonia.org/gorgonia"
)

// perceptron is W2 tanh(W1 x + b) without the bias of the output, as MLP has it: theta is W1 with its
// bias as the last column of MLP, here a matrix of its own.
func perceptron(d, hidden, m int, wrong bool) graphs.Network {
	layer := func(name string, rows, cols int) embedding.Layer {
		return embedding.Layer{Name: name, Rows: rows, Cols: cols, Radius: 20}
	}
	return graphs.Network{
		Name: "perceptron", In: d, Out: m, Layers: []embedding.Layer{layer("hidden", hidden, d), layer("bias", hidden, 1), layer("output", m, hidden)},
		Build: func(_ *gorgonia.ExprGraph, x *gorgonia.Node, theta []*gorgonia.Node) (*gorgonia.Node, error) {
			bias := gorgonia.Must(gorgonia.Reshape(theta[1], []int{hidden}))
			z := gorgonia.Must(gorgonia.Add(gorgonia.Must(gorgonia.Mul(theta[0], x)), bias))
			h := gorgonia.Must(gorgonia.Tanh(z))
			if wrong { // an operation of a user with a slope of 1
				h = gorgonia.Must(gorgonia.ApplyOp(wrongSlope{gorgonia.Must(gorgonia.Tanh(z)).Op()}, z))
			}
			return gorgonia.Mul(theta[2], h)
		},
	}
}

// wrongSlope is an operation with the derivative 1 whatever it is.
type wrongSlope struct{ gorgonia.Op }

func (wrongSlope) Hashcode() uint32      { return 1 }
func (wrongSlope) WriteHash(h hash.Hash) { fmt.Fprint(h, "wrong slope") }
func (wrongSlope) DiffWRT(int) []bool    { return []bool{true} }
func (wrongSlope) SymDiff(_ gorgonia.Nodes, _, gradient *gorgonia.Node) (gorgonia.Nodes, error) {
	return gorgonia.Nodes{gradient}, nil
}

// The graph of a perceptron has the values and gradients of the built-in one.
func TestGraphEqualsBuiltIn(t *testing.T) {
	const d, hidden, m, n = 3, 4, 2, 150
	net := must.Get(graphs.NewNetwork(perceptron(d, hidden, m, false)))(t)
	mlp := must.Get(embedding.NewMLP(embedding.MLP{In: d, Hidden: []int{hidden}, Out: m, Radii: []float64{30, 20}}))(t)
	r := attack.RandomRecords(n, d, engine.UnitBounds(), 3)
	graphTheta := net.Start(1)
	var theta []float64 // of the MLP
	for k := range hidden {
		theta = append(append(theta, graphTheta[k*d:][:d]...), graphTheta[hidden*d+k])
	}
	theta = append(theta, graphTheta[hidden*(d+1):]...)
	gradient := func(net embedding.Network, theta []float64) []float64 {
		loss := embedding.Loss{Model: embedding.Model{Network: net, Output: embedding.Output{Unit: true}}, Pair: embedding.Bilinear{Of: engine.Logistic{}}, Clip: 0.5}
		g, _ := summed(t, loss, r, theta)
		return g
	}
	got, own := gradient(net, graphTheta), gradient(mlp, theta)
	var want []float64
	for k := range hidden {
		want = append(want, own[k*(d+1):][:d]...)
	}
	for k := range hidden {
		want = append(want, own[k*(d+1)+d])
	}
	want = append(want, own[hidden*(d+1):]...)
	if off := farthest(got, want); !(off <= 1e-5) { // norms are bounds, each with a slack of its own
		t.Fatalf("an entry is %.2g off: %v from the graph, %v from the built-in network", off, got, want)
	}
}

// farthest is the largest difference of two entries, relatively to the largest entry.
func farthest(got, want []float64) (off float64) {
	size := 0.0
	for k, v := range want {
		size, off = max(size, math.Abs(v)), max(off, math.Abs(got[k]-v))
	}
	return off / size
}

// What a tape computes for a record does not depend on the records before it, their order, or the tape:
// the guarantee rests on it. A tape that remembers is caught.
func TestGraphIsAFunctionOfItsRecord(t *testing.T) {
	const d, m = 3, 2
	n := sizes.Of(1, 2)*embedding.BlockRows + 2
	net := must.Get(graphs.NewNetwork(perceptron(d, 4, m, false)))(t)
	if i := dependsOnOthers(t, net, d, m, n); i >= 0 {
		t.Errorf("record %d has other bits among other records", i)
	}
	if dependsOnOthers(t, remembers{net}, d, m, n) < 0 {
		t.Error("the control, whose output depends on the block, was not caught")
	}
}

// dependsOnOthers is a record whose embedding, norm or J^T v has other bits among others, or -1.
func dependsOnOthers(t *testing.T, net embedding.Network, d, m, n int) int {
	t.Helper()
	set := must.Get(kernels.Select(kernels.Generic))(t)
	r := rand.New(rand.NewPCG(2, 2))
	x := make([]float64, n*d)
	for k := range x {
		x[k] = r.NormFloat64()
	}
	theta := net.Start(9)
	size := embedding.Parameters(net)
	compute := func(p embedding.Pass, rows []int) (f, norms []float64, grads [][]float64) {
		f, norms = make([]float64, len(rows)*m), make([]float64, len(rows))
		for from := 0; from < len(rows); from += embedding.BlockRows {
			count := min(embedding.BlockRows, len(rows)-from)
			var block []float64
			for _, i := range rows[from : from+count] {
				block = append(block, x[i*d:][:d]...)
			}
			p.Embed(f[from*m:], norms[from:], block, count)
			for i := range count {
				v, g := make([]float64, count*m), make([]float64, size)
				v[i*m] = 1.5
				p.Pull(g, v, count)
				grads = append(grads, g)
			}
		}
		return f, norms, grads
	}
	all, reversed := make([]int, n), make([]int, n)
	for i := range all {
		all[i], reversed[n-1-i] = i, i
	}
	p := net.NewPass(set)
	p.Set(theta)
	f, norms, pulled := compute(p, all)
	g, others, turned := compute(p, reversed)
	for i := range n {
		q := net.NewPass(set)
		q.Set(theta)
		alone, norm, own := compute(q, []int{i})
		j := n - 1 - i
		if !slices.Equal(alone, f[i*m:][:m]) || !slices.Equal(alone, g[j*m:][:m]) || norm[0] != norms[i] || norm[0] != others[j] ||
			!slices.Equal(own[0], pulled[i]) || !slices.Equal(own[0], turned[j]) {
			return i
		}
	}
	return -1
}

// remembers adds something of the first record of a block to the others, as batch normalisation would.
type remembers struct{ embedding.Network }

type rememberingPass struct{ embedding.Pass }

func (r remembers) NewPass(set *kernels.Set) embedding.Pass {
	return rememberingPass{r.Network.NewPass(set)}
}

func (p rememberingPass) Embed(g, norms, x []float64, rows int) {
	p.Pass.Embed(g, norms, x, rows)
	for i := 1; i < len(norms) && i < rows; i++ {
		g[i] += 1e-9 * x[0]
	}
}

// A derivative that Gorgonia has wrong, and graphs that are no networks, are refused before anything is
// trained.
func TestNewNetworkRefuses(t *testing.T) {
	must.Fail(graphs.NewNetwork(perceptron(3, 4, 2, true)))(t, autodiff.ErrGradientsDisagree, "a wrong derivative")
	drawn := perceptron(3, 4, 2, false)
	build := drawn.Build
	drawn.Build = func(g *gorgonia.ExprGraph, x *gorgonia.Node, theta []*gorgonia.Node) (*gorgonia.Node, error) {
		mix := gorgonia.NewMatrix(g, gorgonia.Float64, gorgonia.WithName("mix"), gorgonia.WithShape(3, 3), gorgonia.WithInit(gorgonia.GlorotU(1)))
		return build(g, gorgonia.Must(gorgonia.Mul(mix, x)), theta)
	}
	dropped := perceptron(3, 4, 2, false)
	dropped.Build = func(g *gorgonia.ExprGraph, x *gorgonia.Node, theta []*gorgonia.Node) (*gorgonia.Node, error) {
		f, err := build(g, x, theta)
		if err != nil {
			return nil, err
		}
		noise := gorgonia.UniformRandomNode(g, gorgonia.Float64, 0, 1e-12, 2)
		return gorgonia.Add(f, noise)
	}
	for name, n := range map[string]graphs.Network{"drawn when it is built": drawn, "drawn at every run": dropped} {
		must.Fail(graphs.NewNetwork(n))(t, graphs.ErrNotAFunction, fmt.Sprintf("numbers %s", name))
	}
	for want, change := range map[string]func(*graphs.Network){
		"Build is nil":                     func(n *graphs.Network) { n.Build = nil },
		"not return a vector of 5 numbers": func(n *graphs.Network) { n.Out = 5 },
		"needs a Name":                     func(n *graphs.Network) { n.Name = "" },
		"panicked": func(n *graphs.Network) {
			n.Build = func(*gorgonia.ExprGraph, *gorgonia.Node, []*gorgonia.Node) (*gorgonia.Node, error) { panic("here") }
		},
		"StartAt returned 1 numbers": func(n *graphs.Network) { n.StartAt = func(uint64) []float64 { return []float64{1} } },
	} {
		n := perceptron(3, 4, 2, false)
		change(&n)
		must.Fail(graphs.NewNetwork(n))(t, want)
	}
}
