package export

import (
	"fmt"

	"dyad/engine/embedding"
)

// AddNetwork adds the layers and the output stage of an MLP with the activation of its hidden layers, and refuses other networks.
func (f *Function) AddNetwork(net embedding.Model, hidden Activation, weights []float64) error {
	if _, known := net.Network.(embedding.MLP); !known {
		return fmt.Errorf("export: other programs compute the layers of --model mlp, and not network %s; dyad predict and dyad transform compute it", net.Network.Name())
	}
	layers := net.Network.Layers()
	for i, l := range layers {
		layer := Layer{Name: "output", Rows: l.Rows, Cols: l.Cols, W: weights[:l.Len()]}
		if i < len(layers)-1 {
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
