package bench_test

import (
	"context"
	"math"
	"testing"

	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/engine/dataset"
	"dyad/internal/machine"
	"dyad/internal/must"
	"dyad/kernels"
)

// perCall calls f as often as b asks for and returns the processor time of a call in seconds,
// next to reference, which is measured right before and after. It reports the time, which other
// programs do not lengthen, in place of the elapsed one.
func perCall(b *testing.B, f func() error, reference func() float64) (seconds, next float64) {
	b.Helper()
	if err := f(); err != nil { // warms up
		b.Fatal(err)
	}
	before, calls := reference(), 0
	start := machine.ProcessorTime()
	for b.Loop() {
		must.Do(b, f())
		calls++
	}
	seconds = (machine.ProcessorTime() - start) / float64(calls)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(1e9*seconds, "cpu-ns/op")
	return seconds, (before + reference()) / 2
}

// eachVariant runs a benchmark for every variant of the kernels that this processor has.
func eachVariant(b *testing.B, run func(b *testing.B, set *kernels.Set)) {
	for _, v := range kernels.Variants() {
		b.Run(v.String(), func(b *testing.B) { run(b, selected(b, v)) })
	}
}

func selected(b *testing.B, v kernels.Variant) *kernels.Set {
	return must.Get(kernels.Select(v))(b)
}

// scores are records of dataset.SyntheticScores.
func scores(b *testing.B, n, d int) *engine.Records {
	return must.Get(dataset.SyntheticScores(n, d, 1))(b)
}

// library is a loss of engine.Library, for scores.
func library(b *testing.B, name string) (*engine.Expression, engine.Loss) {
	l, ok := engine.LibraryByName(name)
	if !ok {
		b.Fatalf("no loss %q", name)
	}
	e := must.Get(l.Expression(engine.ExpressionOptions{}))(b)
	return e, engine.Score{Of: e}
}

// gradient is a gradient sum over all pairs of r at some w, as a function, until b ends.
func gradient(b *testing.B, on cpu.Backend, loss engine.Loss, r *engine.Records, radius float64, nonZeros int) (engine.Kernel, func(context.Context) error) {
	n, d := r.Len(), r.Dim()
	kernel := must.Get(on.Plan(engine.Problem{N: n, D: d, Bounds: r.Bounds(), Loss: loss, Radius: radius, NonZerosPerRow: nonZeros}))(b)
	e := must.Get(kernel.Bind(r))(b)
	b.Cleanup(func() { e.Close() })
	w, sum := make([]float64, d), make([]float64, d)
	for i := range w {
		w[i] = 0.9 * radius / math.Sqrt(float64(d))
	}
	return kernel, func(ctx context.Context) error { return e.Sum(ctx, sum, engine.Gradient(w, engine.AllPairs{N: n})) }
}
