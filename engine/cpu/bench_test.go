package cpu_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/internal/must"
)

// benchRecords are n binary records of d features in the unit ball.
func benchRecords(b testing.TB, n, d int) *engine.Records {
	b.Helper()
	rng := rand.New(rand.NewPCG(1, uint64(n)))
	x, y := make([]float64, n*d), make([]float64, n)
	for i := range x {
		x[i] = rng.NormFloat64()
	}
	for i := range y {
		y[i] = float64(2*rng.IntN(2) - 1)
	}
	return must.Get(engine.AdoptRecords(x, y, d, engine.UnitBounds()))(b)
}

func benchEvaluator(b testing.TB, backend cpu.Backend, r *engine.Records, radius float64) engine.Evaluator {
	b.Helper()
	k := must.Get(backend.Plan(engine.Problem{N: r.Len(), D: r.Dim(), Bounds: r.Bounds(), Loss: engine.Logistic{}, Radius: radius}))(b)
	return must.Get(k.Bind(r))(b)
}

func inBall(d int, radius float64) []float64 {
	w := make([]float64, d)
	w[0], w[d-1] = 0.6*radius, 0.7*radius
	return w
}

// BenchmarkPrefixPairs times one step of an online recursion.
func BenchmarkPrefixPairs(b *testing.B) {
	const n, d = 100001, 20
	r := benchRecords(b, n, d)
	order := permuted(rand.New(rand.NewPCG(3, 3)), n)
	for _, T := range []int{1, 10, 100, 1000, 10000, 100000} {
		for _, workers := range []int{1, 2} {
			b.Run(fmt.Sprintf("T=%d/d=%d/workers=%d", T, d, workers), func(b *testing.B) {
				e := benchEvaluator(b, cpu.Backend{Workers: workers}, r, 1)
				defer e.Close()
				w, dst := inBall(d, 1), make([]float64, d)
				var pairs engine.Pairs = engine.PrefixPairs{Order: order, T: T}
				b.ReportAllocs()
				for b.Loop() {
					must.Do(b, e.Sum(context.Background(), dst, engine.Gradient(w, pairs)))
				}
				b.ReportMetric(float64(T)*float64(b.N)/b.Elapsed().Seconds(), "pairs/s")
			})
		}
	}
}

// BenchmarkScalarLosses are sums over all pairs by the methods that visit pairs one by one, and
// by the chosen one, for losses with and without sigmoids in their slopes.
func BenchmarkScalarLosses(b *testing.B) {
	const n, d = 2000, 10
	r := benchRecords(b, n, d)
	losses := []engine.Loss{engine.Logistic{}, engine.MahalanobisLogistic{}}
	for _, name := range []string{"hinge", "logistic", "sigmoid", "gompertz", "max(0, sigmoid(2.8 - u) - sigmoid(2.8))"} {
		losses = append(losses, engine.Score{Of: expression(b, name, nil)})
	}
	losses = append(losses, engine.Metric{Of: expression(b, "sigmoid", nil)})
	for _, loss := range losses {
		for _, method := range []cpu.Method{cpu.Auto, cpu.Direct} {
			p := problem(n, d, 1)
			p.Loss = loss
			w := make([]float64, loss.ParamDim(d))
			w[0], w[1] = 0.3, -0.4
			b.Run(fmt.Sprintf("%s/%v", loss.Name(), method), func(b *testing.B) {
				e := mustBind(b, cpu.Backend{Workers: 1, Method: method}, p, r)
				defer e.Close()
				dst := make([]float64, len(w))
				for b.Loop() {
					must.Do(b, e.Sum(context.Background(), dst, engine.Gradient(w, p.Pairs())))
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(n*(n-1)/2), "ns/pair")
			})
		}
	}
}

func metricEvaluator(b testing.TB, backend cpu.Backend, r *engine.Records, radius float64) engine.Evaluator {
	b.Helper()
	return mustBind(b, backend, metricProblem(r.Len(), r.Dim(), radius), r)
}

func metricProblem(n, d int, radius float64) engine.Problem {
	return engine.Problem{N: n, D: d, Bounds: engine.UnitBounds(), Loss: engine.MahalanobisLogistic{}, Radius: radius}
}

// metricPoint is a member of the PSDBall of radius 1.
func metricPoint(d int) []float64 { return engine.PSDBall{Dim: d, B: 1}.Start() }

// BenchmarkMetricAllPairs times whole gradients, with pairs in float64 and float32. A Gflop counts 2 n^2 d: an addition and
// a multiplication for each feature of each unordered pair, twice.
func BenchmarkMetricAllPairs(b *testing.B) {
	for _, n := range []int{400, 4096} {
		for _, d := range []int{8, 32, 128} {
			for _, on := range []cpu.Backend{{Workers: 1}, {Workers: 2}, {Workers: 1, Float32: true}, {Workers: 2, Float32: true}} {
				b.Run(fmt.Sprintf("n=%d/d=%d/workers=%d/fp32=%v", n, d, on.Workers, on.Float32), func(b *testing.B) {
					e := metricEvaluator(b, on, benchRecords(b, n, d), 1)
					defer e.Close()
					w, pairs := metricPoint(d), engine.AllPairs{N: n}
					dst := make([]float64, len(w))
					b.ReportAllocs()
					for b.Loop() {
						must.Do(b, e.Sum(context.Background(), dst, engine.Gradient(w, pairs)))
					}
					b.ReportMetric(2*float64(n)*float64(n)*float64(d)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GF/s")
				})
			}
		}
	}
}

// BenchmarkMetricPrefixPairs times one step of an online recursion.
func BenchmarkMetricPrefixPairs(b *testing.B) {
	const n = 10001
	order := permuted(rand.New(rand.NewPCG(3, 3)), n)
	for _, d := range []int{8, 32} {
		r := benchRecords(b, n, d)
		for _, T := range []int{1, 10, 100, 1000, 10000} {
			for _, workers := range []int{1, 2} {
				b.Run(fmt.Sprintf("T=%d/d=%d/workers=%d", T, d, workers), func(b *testing.B) {
					e := metricEvaluator(b, cpu.Backend{Workers: workers}, r, 1)
					defer e.Close()
					w := metricPoint(d)
					dst := make([]float64, len(w))
					var pairs engine.Pairs = engine.PrefixPairs{Order: order, T: T}
					b.ReportAllocs()
					for b.Loop() {
						must.Do(b, e.Sum(context.Background(), dst, engine.Gradient(w, pairs)))
					}
					b.ReportMetric(float64(T)*float64(b.N)/b.Elapsed().Seconds(), "pairs/s")
				})
			}
		}
	}
}
