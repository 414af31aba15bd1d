package gorgonia

import (
	"slices"
	"testing"

	"dyad/engine/embedding"
	"dyad/engine/layers"
	"dyad/internal/must"
)

// A device that computes dense layers sees those of a file through its graph, and none where another layer is among them.
func TestLayersThatAreDense(t *testing.T) {
	for text, want := range map[string][]string{
		"layers: [dense: 4, activation: relu, dense: 3]":   {"relu", ""},
		"layers: [dense: 4, layernorm: true, dense: 3]":    nil,
		"layers: [residual: [dense: 6, activation: tanh]]": nil,
	} {
		spec := must.Get(layers.Parse([]byte(text)))(t)
		net := must.Get(NewLayers(spec, 6, 2))(t)
		if got, ok := net.(embedding.Dense).Activations(); ok != (want != nil) || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v", text, got, ok)
		}
	}
}
