package gorgonia_test

import (
	"testing"

	"dyad/engine/embedding"
	"dyad/internal/must"
	"dyad/kernels"
)

// BenchmarkLayers compares a dense network through Gorgonia with the built-in one, and has convolutions and attention: the
// processor time of an embedding, its Jacobian and J^T v for a record, which a gradient takes twice, with one output.
func BenchmarkLayers(b *testing.B) {
	mlp := must.Get(embedding.NewMLP(embedding.MLP{In: 64, Hidden: []int{32}, Out: 1}))(b)
	for _, c := range []struct {
		name string
		net  embedding.Network
	}{
		{"built-in", mlp},
		{"gorgonia", made(b, "{gain: 0.125, layers: [dense: 32, activation: tanh]}", 64, 1)},
		{"convolution-8x8", made(b, "{input: [1, 8, 8], layers: [convolution: {channels: 8, size: 3}, activation: tanh, pooling: {kind: mean, size: 2}]}", 64, 1)},
		{"convolution-28x28", made(b, "{input: [1, 28, 28], layers: [convolution: {channels: 8, size: 5, stride: 2}, activation: tanh, pooling: {kind: mean, size: 3}]}", 784, 1)},
		{"attention-8x8", made(b, "{input: [8, 8], layers: [residual: [attention: {size: 8}], pooling: {kind: mean}]}", 64, 1)},
	} {
		b.Run(c.name, func(b *testing.B) {
			set := must.Get(kernels.Select(kernels.Generic))(b)
			d, _ := c.net.Dims()
			p, theta := c.net.NewPass(set), c.net.Start(1)
			x, g, norms, grad := make([]float64, embedding.BlockRows*d), make([]float64, embedding.BlockRows), make([]float64, embedding.BlockRows), make([]float64, len(theta))
			for k := range x {
				x[k] = float64(k%7) / 20
			}
			p.Set(theta)
			before := usage()
			for b.Loop() {
				p.Embed(g, norms, x, embedding.BlockRows)
				for k := range g {
					g[k] = 1
				}
				p.Pull(grad, g, embedding.BlockRows)
			}
			b.ReportMetric((usage()-before)*1e9/float64(b.N*embedding.BlockRows), "cpu-ns/record")
		})
	}
}
