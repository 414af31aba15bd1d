package gorgonia_test

import (
	"syscall"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

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

// BenchmarkFloat32Graph is what a graph in float32 could save: the processor time for a record of a batch of 64 of values and derivatives of a
// dense layer (64 features, 32 tanh units) and of a convolution of 28 x 28 pixels as a product of its windows (8 filters of 5 x 5, stride 2).
func BenchmarkFloat32Graph(b *testing.B) {
	const batch = 64
	for _, c := range []struct {
		name              string
		rows, in, out, of int
	}{{"dense", batch, 64, 32, 1}, {"convolution", batch * 144, 25, 8, 144}} {
		for _, kind := range []tensor.Dtype{tensor.Float64, tensor.Float32} {
			b.Run(c.name+"-"+kind.String(), func(b *testing.B) {
				g := gorgonia.NewGraph()
				matrix := func(name string, rows, cols int) *gorgonia.Node {
					return gorgonia.NewMatrix(g, kind, gorgonia.WithName(name), gorgonia.WithShape(rows, cols), gorgonia.WithInit(gorgonia.Gaussian(0, 0.1)))
				}
				x, w := matrix("x", c.rows, c.in), matrix("w", c.in, c.out)
				cost := gorgonia.Must(gorgonia.Sum(gorgonia.Must(gorgonia.Tanh(gorgonia.Must(gorgonia.Mul(x, w))))))
				must.Get(gorgonia.Grad(cost, w))(b)
				machine := gorgonia.NewTapeMachine(g)
				defer machine.Close()
				before := usage()
				for b.Loop() {
					machine.Reset()
					must.Do(b, machine.RunAll())
				}
				b.ReportMetric((usage()-before)*1e9/float64(b.N*batch), "cpu-ns/record")
			})
		}
	}
}

// usage is the processor time of this process in seconds (Linux).
func usage() float64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}
