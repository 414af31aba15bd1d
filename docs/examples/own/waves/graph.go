package main

import (
	"dyad"
	graphs "dyad/autodiff/gorgonia"
	"dyad/engine/embedding"

	"gorgonia.org/gorgonia"
)

// waves is a network of cosines, W_2 cos(W_1 x), as a Gorgonia graph. It is checked when it is built: its Jacobian
// is compared with differences, and its bits with those of the same graph built again.
func waves(n dyad.Network) (embedding.Network, error) {
	const count = 6
	return graphs.NewNetwork(graphs.Network{
		Name: "waves", In: n.Features, Out: n.Dim,
		Layers: []embedding.Layer{{Name: "frequencies", Rows: count, Cols: n.Features, Radius: 20},
			{Name: "output", Rows: n.Dim, Cols: count, Radius: 4}},
		Build: func(_ *gorgonia.ExprGraph, x *gorgonia.Node, theta []*gorgonia.Node) (*gorgonia.Node, error) {
			inner, err := gorgonia.Mul(theta[0], x)
			if err != nil {
				return nil, err
			}
			outer, err := gorgonia.Cos(inner)
			if err != nil {
				return nil, err
			}
			return gorgonia.Mul(theta[1], outer)
		},
	})
}
