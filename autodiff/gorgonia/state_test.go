package gorgonia_test

import (
	"errors"
	"fmt"
	"hash"
	"math"
	"strings"
	"testing"

	graphs "dyad/autodiff/gorgonia"
	"dyad/engine/embedding"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// trap is tanh until it has had a number above 10, which no point of the gate has, and 0 from then on.
type trap struct {
	gorgonia.Op
	sprung *bool
}

func (trap) Hashcode() uint32      { return 2 }
func (trap) WriteHash(h hash.Hash) { fmt.Fprint(h, "trap") }
func (t trap) Do(in ...gorgonia.Value) (gorgonia.Value, error) {
	for _, v := range in[0].Data().([]float64) {
		*t.sprung = *t.sprung || v > 10
	}
	out, err := t.Op.Do(in...)
	if err == nil && *t.sprung {
		clear(out.Data().([]float64))
	}
	return out, err
}

func (trap) DiffWRT(int) []bool { return []bool{true} }
func (trap) SymDiff(_ gorgonia.Nodes, y, gradient *gorgonia.Node) (gorgonia.Nodes, error) {
	square := gorgonia.Must(gorgonia.Square(y))
	d, err := gorgonia.Sub(gradient, gorgonia.Must(gorgonia.HadamardProd(gradient, square)))
	return gorgonia.Nodes{d}, err
}

// A graph that passes the gate at its points and then depends on records before is refused, or has no values.
func TestGraphsThatRememberAreRefused(t *testing.T) {
	mustNode := gorgonia.Must
	with := func(change func(g *gorgonia.ExprGraph, z *gorgonia.Node) *gorgonia.Node) (embedding.Network, error) {
		n := perceptron(3, 4, 2, false)
		n.Layers = []embedding.Layer{n.Layers[0], n.Layers[2]}
		n.Build = func(g *gorgonia.ExprGraph, x *gorgonia.Node, theta []*gorgonia.Node) (*gorgonia.Node, error) {
			return gorgonia.Mul(theta[1], change(g, mustNode(gorgonia.Mul(theta[0], x))))
		}
		return graphs.NewNetwork(n)
	}
	var seen gorgonia.Value
	for want, change := range map[string]func(g *gorgonia.ExprGraph, z *gorgonia.Node) *gorgonia.Node{
		"not an operation of Gorgonia": func(_ *gorgonia.ExprGraph, z *gorgonia.Node) *gorgonia.Node {
			return mustNode(gorgonia.ApplyOp(trap{mustNode(gorgonia.Tanh(z)).Op(), new(bool)}, z))
		},
		"copies values": func(_ *gorgonia.ExprGraph, z *gorgonia.Node) *gorgonia.Node {
			gorgonia.Read(z, &seen)
			return mustNode(gorgonia.Tanh(z))
		},
	} {
		if _, err := with(change); !errors.Is(err, graphs.ErrNotAFunction) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	calls, shared := 0, tensor.New(tensor.WithShape(4), tensor.WithBacking([]float64{1, 1, 1, 1}))
	for name, change := range map[string]func(g *gorgonia.ExprGraph, z *gorgonia.Node) *gorgonia.Node{
		"another operation": func(_ *gorgonia.ExprGraph, z *gorgonia.Node) *gorgonia.Node {
			if calls > 2 {
				return mustNode(gorgonia.Cos(z))
			}
			return mustNode(gorgonia.Tanh(z))
		},
		"other operands": func(_ *gorgonia.ExprGraph, z *gorgonia.Node) *gorgonia.Node {
			y := mustNode(gorgonia.Tanh(z))
			of := []*gorgonia.Node{z, y}[min(1, calls/3)]
			return mustNode(gorgonia.HadamardProd(of, y))
		},
		"other numbers": func(g *gorgonia.ExprGraph, z *gorgonia.Node) *gorgonia.Node {
			if calls > 2 {
				shared.Data().([]float64)[2] = 1 + 0x1p-40
			}
			return mustNode(gorgonia.HadamardProd(z, gorgonia.NewVector(g, tensor.Float64, gorgonia.WithName("factors"), gorgonia.WithShape(4), gorgonia.WithValue(shared))))
		},
		"": func(_ *gorgonia.ExprGraph, z *gorgonia.Node) *gorgonia.Node { return mustNode(gorgonia.Tanh(z)) },
	} {
		calls = 0
		net, err := with(func(g *gorgonia.ExprGraph, z *gorgonia.Node) *gorgonia.Node {
			calls++
			return change(g, z)
		})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		norms := []float64{0}
		p := net.NewPass(nil)
		p.Set(net.Start(1))
		p.Embed(make([]float64, 2), norms, []float64{0.1, 0.2, 0.3}, 1)
		if math.IsInf(norms[0], 1) != (name != "") || calls != 3 {
			t.Errorf("%q: the third graph, %d, has a Jacobian of norm %v", name, calls, norms[0])
		}
	}
}
