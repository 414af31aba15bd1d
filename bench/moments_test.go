package bench_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"dyad/algorithms"
	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/engine/dataset"
	"dyad/internal/machine"
	"dyad/internal/must"
	"dyad/kernels"
	"dyad/privacy"
)

// BenchmarkMoments times the sums that algorithm moments releases, on one worker: of_copy is the bytes of records over those that a
// copy reads and writes in the same time, of_peak the multiply-adds of the full second moments over the peak of the processor.
func BenchmarkMoments(b *testing.B) {
	clipped := func(second engine.SecondMoments) func(int) engine.Query {
		return func(d int) engine.Query {
			return engine.Query{Centre: make([]float64, d), Radius: 0.5, Signed: true, Offset: 0.2, Second: second}
		}
	}
	passes := []struct {
		name string
		of   func(d int) engine.Query
	}{
		{"count-and-centre", func(int) engine.Query { return engine.Query{Radius: 1} }},
		{"signed-sum", clipped(engine.NoSecond)},
		{"signed-sum-diagonal", clipped(engine.DiagonalSecond)},
		{"signed-sum-full", clipped(engine.FullSecond)},
		{"logistic-gradient", func(d int) engine.Query {
			m := clipped(engine.NoSecond)(d)
			m.Signed, m.W = false, even(d, 1)
			return m
		}},
	}
	copied := machine.CopyPeak()
	for _, shape := range [][2]int{{1_000_000, 8}, {1_000_000, 20}, {400_000, 48}, {150_000, 128}, {20_000, 512}} {
		n, d := shape[0], shape[1]
		r := clippable(b, n, d)
		for _, variant := range []kernels.Variant{kernels.Generic, kernels.Best} {
			set := selected(b, variant)
			k := must.Get(cpu.Backend{Workers: 1, Variant: variant}.PlanMoments(engine.Problem{N: n, D: d, Bounds: engine.UnitBounds(), Loss: engine.Logistic{}, Radius: 1}))(b)
			e := must.Get(k.Bind(r))(b)
			for _, pass := range passes {
				b.Run(fmt.Sprintf("n=%d/d=%d/%s/%v", n, d, pass.name, set.Variant()), func(b *testing.B) {
					m := pass.of(d)
					dst := engine.NewMoments(d, m.Second)
					reference, work := copied, 8*float64(n)*float64(d)
					unit := "of_copy"
					if m.Second == engine.FullSecond { // two operations for each product
						reference, work, unit = func() float64 { return machine.FMAPeak(set) }, float64(n)*float64(d)*float64(d+1), "of_peak"
					}
					seconds, peak := perCall(b, func() error {
						return e.Sum(context.Background(), dst.All, m)
					}, reference)
					b.ReportMetric(work/seconds/peak, unit)
				})
			}
			must.Do(b, e.Close())
		}
	}
}

// clippable are records of which some are longer than the radius of the sums.
func clippable(b *testing.B, n, d int) *engine.Records {
	rng := rand.New(rand.NewPCG(1, uint64(d)))
	x, y := make([]float64, n*d), make([]float64, n)
	for i := range y {
		y[i] = float64(2*rng.IntN(2) - 1)
		for j := range d {
			x[i*d+j] = (2*rng.Float64() - 1) * float64(1+i%16) / float64(d)
		}
	}
	return must.Get(engine.AdoptRecords(x, y, d, engine.UnitBounds()))(b)
}

// BenchmarkMomentsTrain times algorithm moments from records in memory to the model, with and without logistic steps; cpu-s counts
// all cores. What the models are worth is in plans synthetic and moments-steps.
func BenchmarkMomentsTrain(b *testing.B) {
	r := must.Get(dataset.SyntheticAR1(*large, 20, 1))(b)
	budget := privacy.Budget{Epsilon: 1, Delta: 1e-6}
	for _, steps := range []int{0, 2} {
		b.Run(fmt.Sprintf("n=%d/steps=%d", r.Len(), steps), func(b *testing.B) {
			a := algorithms.Moments{Steps: steps}
			s := must.Get(algorithms.NewSpec(cpu.Backend{}, engine.Problem{N: r.Len(), D: r.Dim(), Bounds: r.Bounds(), Loss: engine.Logistic{}, Radius: 1}, 0, budget, algorithms.Certified))(b)
			p := must.Get(a.Plan(s))(b)
			start, runs := machine.ProcessorTime(), 0
			for b.Loop() {
				must.Get(algorithms.Run(context.Background(), r, a, p, algorithms.Options{Public: true, Source: privacy.NewSeededSource(1)}))(b)
				runs++
			}
			b.ReportMetric((machine.ProcessorTime()-start)/float64(runs), "cpu-s")
		})
	}
}
