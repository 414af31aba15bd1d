package gorgonia_test

import (
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"dyad/internal/must"
)

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
