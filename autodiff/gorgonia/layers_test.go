package gorgonia_test

import (
	"testing"

	graphs "dyad/autodiff/gorgonia"
	"dyad/engine/layers"
)

// files has a network for every kind of layer.
var files = map[string]string{
	"dense":        "{layers: [dense: 5, activation: tanh, dense: 4, activation: softplus]}",
	"relu":         "{layers: [dense: 7, activation: relu]}",
	"silu":         "{layers: [dense: 7, activation: silu]}",
	"embedding":    "{layers: [embedding: [{columns: [2, 4], size: 2}, {columns: [7, 7], size: 3}], dense: 4, activation: tanh]}",
	"embedding 2":  "{layers: [dense: 6, embedding: [{columns: [1, 4], size: 2}], activation: tanh]}",
	"residual":     "{layers: [dense: 4, residual: [activation: tanh, dense: 4], activation: tanh]}",
	"layernorm":    "{layers: [dense: 6, layernorm: true, activation: tanh]}",
	"convolution":  "{input: [1, 4, 3], layers: [convolution: {channels: 2, size: 2, padding: 1}, activation: tanh, convolution: {channels: 3, size: 2, stride: 2}, activation: softplus]}",
	"colour":       "{input: [3, 2, 2], layers: [convolution: {channels: 2, size: 2}, activation: tanh, dense: 3]}",
	"mean pooling": "{input: [1, 4, 3], layers: [convolution: {channels: 2, size: 2, padding: 1}, activation: tanh, pooling: {kind: mean, size: 2}]}",
	"max pooling":  "{input: [1, 4, 3], layers: [convolution: {channels: 2, size: 2, padding: 1}, pooling: {kind: max, size: 2, stride: 1}, activation: tanh]}",
	"global":       "{input: [3, 2, 2], layers: [convolution: {channels: 2, size: 1}, activation: tanh, pooling: {kind: mean}]}",
	"image norm":   "{input: [3, 2, 2], layers: [convolution: {channels: 2, size: 1}, layernorm: true, activation: tanh]}",
	"set":          "{input: [4, 3], layers: [dense: 5, activation: tanh, pooling: {kind: mean}]}",
	"set max":      "{input: [4, 3], layers: [dense: 5, pooling: {kind: max}, activation: tanh]}",
	"set norm":     "{input: [4, 3], layers: [layernorm: true, dense: 5, activation: tanh]}",
	"attention":    "{input: [4, 3], layers: [attention: {size: 2}, pooling: {kind: mean}]}",
	"heads":        "{input: [4, 3], layers: [residual: [layernorm: true, attention: {size: 1, heads: 2}], pooling: {kind: mean}, dense: 3]}",
	"two of one":   "{input: [12, 1], layers: [attention: {size: 2}, residual: [dense: 1], pooling: {kind: max}]}",
}

func TestLayersAreThoseOfPlainGo(t *testing.T) {
	for name, text := range files {
		spec, err := layers.Parse([]byte(text))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, m := range []int{1, 3} {
			if _, err := graphs.NewLayers(spec, 12, m); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}
