package export

import (
	"fmt"

	"dyad/engine/embedding"
	"dyad/engine/layers"
)

// AddNetwork adds the layers and the output stage of a network. The network must be an MLP, whose hidden layers have
// the given activation, or a layers.Network, which comes from a file. AddNetwork returns an error for other networks.
func (f *Function) AddNetwork(net embedding.Model, hidden Activation, weights []float64) error {
	switch of := net.Network.(type) {
	case embedding.MLP:
	case *layers.Network:
		spec := of.Spec()
		f.Steps, f.Spec = of.Steps(), &spec
	default:
		return fmt.Errorf("export: cannot export network %s; use --model mlp or --model FILE.yaml", net.Network.Name())
	}
	all := net.Network.Layers()
	for i, l := range all {
		layer := Layer{Name: "output", Rows: l.Rows, Cols: l.Cols, W: weights[:l.Len()]}
		if f.Steps != nil {
			layer.Name = l.Name
		} else if i < len(all)-1 {
			layer.Name, layer.Activation = fmt.Sprintf("hidden%d", i+1), hidden
		}
		if l.Bias {
			layer.Cols--
			layer.W = make([]float64, 0, layer.Rows*layer.Cols)
			for r := range l.Rows {
				row := weights[r*l.Cols:][:l.Cols]
				layer.W, layer.Bias = append(layer.W, row[:layer.Cols]...), append(layer.Bias, row[layer.Cols])
			}
		}
		f.Layers, weights = append(f.Layers, layer), weights[l.Len():]
	}
	if net.Output.Unit {
		f.UnitFloor = embedding.SmallestNorm * embedding.SmallestNorm
	}
	f.Within = net.Output.Within
	return nil
}
