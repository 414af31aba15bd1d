package gorgonia_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	graphs "dyad/autodiff/gorgonia"
	"dyad/engine/layers"
	"dyad/internal/must"
	"dyad/internal/sizes"
)

// Whatever layers fit together pass the gate: random ones, down to images of one pixel and sets of one item.
func TestRandomLayersPassTheGate(t *testing.T) {
	rng, passed := rand.New(rand.NewPCG(5, 5)), 0
	number := func(most int) int { return 1 + rng.IntN(most) }
	pick := func(s ...string) string { return s[rng.IntN(len(s))] }
	for passed < sizes.Of(25, 500) {
		shape := [][]int{{number(12)}, {number(4), number(4)}, {number(3), number(6), number(6)}}[rng.IntN(3)]
		text := ""
		for range number(4) {
			text += pick(
				fmt.Sprintf("dense: %d", number(4)), "activation: "+pick("tanh", "softplus", "relu", "silu"), "layernorm: true",
				"residual: ["+pick("layernorm: true", "activation: tanh", "attention: {size: 1}")+"]", fmt.Sprintf("attention: {size: %d, heads: %d}", number(3), number(2)),
				fmt.Sprintf("pooling: {kind: %s%s}", pick("mean", "max"), pick("", ", size: 1", ", size: 2", ", size: 2, stride: 1")),
				fmt.Sprintf("convolution: {channels: %d, size: %d, stride: %d, padding: %d}", number(3), number(3), number(2), rng.IntN(2)),
				fmt.Sprintf("embedding: [{columns: [%d, %d], size: %d}]", 1, number(3), number(3)),
			) + ", "
		}
		spec := must.Get(layers.Parse(fmt.Appendf(nil, "{layers: [%sactivation: tanh]}", text)))(t)
		spec.Input = shape
		m, d := number(3), layers.Size(shape)
		if _, err := spec.Network(d, m); err != nil {
			continue // they do not fit together
		}
		must.Check(graphs.NewLayers(spec, d, m))(t, fmt.Sprintf("%v %s", shape, text))
		passed++
	}
}
