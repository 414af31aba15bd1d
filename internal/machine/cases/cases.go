package cases

import (
	"context"
	"errors"
	"math/rand/v2"

	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/engine/dataset"
	"dyad/engine/metrics"
	"dyad/internal/machine"
	"dyad/kernels"
)

// prepare makes a case ready for a target. It returns nil if one earlier target was
// sufficient for the case, or if the target has no kernel for the case.
type prepare func(ctx context.Context, o Options, t target) (*prepared, error)

// defaultRadius is the default radius of training with many records. With this radius the scores lie in
// more than one bin.
const defaultRadius = 10

// cases are the lines of a measurement.
func cases(o Options) []prepare {
	size := func(full, quick int) int {
		switch {
		case o.Records > 0:
			return o.Records
		case o.Quick:
			return quick
		}
		return full
	}
	var all []prepare
	// Scores: margins lie in [-2, 2].
	all = append(all,
		gradient("logistic direct", engine.Logistic{}, cpu.Backend{Method: cpu.Direct}, size(8192, 4096), 1, 1, nil),
		onCPU(gradient("logistic direct fp32", engine.Logistic{}, cpu.Backend{Method: cpu.Direct, Float32: true},
			size(8192, 4096), 1, 1, nil)))
	for _, radius := range []float64{1, defaultRadius} {
		all = append(all, gradient("logistic near-linear", engine.Logistic{}, cpu.Backend{Method: cpu.NearLinear},
			size(1_000_000, 200_000), 20, radius,
			// X is read for the scores and for the sums.
			func(n, d float64) float64 { return 16 * n * d }))
	}
	all = append(all,
		sums(size(1_000_000, 200_000)))
	for _, d := range []int{8, 32, 128} {
		all = append(all, mahalanobis(false, size(16384, 2048), d), mahalanobis(true, size(16384, 2048), d))
	}
	return append(all, knn(size(100_000, 20_000), 32), auc(size(10_000_000, 1_000_000)))
}

// mahalanobis is the gradient of a Mahalanobis metric, on the CPU with pairs in float64 or
// float32. A GPU has one line, with the precision of its backend.
func mahalanobis(single bool, n, d int) prepare {
	// A multiplication and an addition, for each feature of each unordered pair, twice.
	count := func(n, d float64) float64 { return 2 * n * n * d }
	if single {
		return onCPU(gradient("mahalanobis fp32", engine.MahalanobisLogistic{}, cpu.Backend{Float32: true}, n, d, 1, count))
	}
	return gradient("mahalanobis", engine.MahalanobisLogistic{}, cpu.Backend{}, n, d, 1, count)
}

// onCPU leaves a case out on other devices.
func onCPU(c prepare) prepare {
	return func(ctx context.Context, o Options, t target) (*prepared, error) {
		if t.Backend != nil {
			return nil, nil
		}
		return c(ctx, o, t)
	}
}

// gradient is the sum over all pairs at weights on the boundary of a ball of this radius. count is the number of
// operations for a metric loss, and of bytes for a score loss. The unit is an unordered pair that contributes. on
// sets the method and the precision of the CPU.
func gradient(name string, loss engine.Loss, on cpu.Backend, n, d int, radius float64,
	count func(n, d float64) float64) prepare {
	method := on.Method
	return func(ctx context.Context, o Options, t target) (*prepared, error) {
		r, err := dataset.SyntheticScores(n, d, 1)
		if err != nil {
			return nil, err
		}
		backend := t.Backend
		if backend == nil {
			own := on
			own.Workers, own.Variant = o.Workers, t.variant
			backend = own
		}
		kernel, err := backend.Plan(engine.Problem{N: n, D: d, Bounds: r.Bounds(), Loss: loss, Radius: radius})
		if t.Backend != nil && (errors.Is(err, engine.ErrUnsupported) ||
			err == nil && method != cpu.Auto && kernel.Method() != method.String()) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		e, err := kernel.Bind(r)
		if err != nil {
			return nil, err
		}
		b := &prepared{line: Line{Method: name, N: n, D: d, Radius: radius, Unit: "pairs"}, close: func() { e.Close() }}
		if t.Backend == nil {
			b.line.Variant = t.variant.String()
		}
		var w []float64
		_, metric := loss.(engine.MetricLoss)
		if metric {
			w = engine.PSDBall{Dim: d, B: 1}.Start()
			b.work = float64(n) * float64(n-1) / 2
		} else {
			w = make([]float64, d)
			w[0] = radius
			positive := 0
			for _, y := range r.Labels() {
				if y > 0 {
					positive++
				}
			}
			b.work = float64(positive) * float64(n-positive)
		}
		if count != nil && t.Backend == nil {
			b.count = count(float64(n), float64(d))
			b.line.Of = "copy"
			if metric {
				b.line.Of = "FMA"
			}
			if metric && on.Float32 {
				b.line.Of = "FMA fp32"
			}
		}
		dst := make([]float64, len(w))
		b.run = func() error { return e.Sum(ctx, dst, engine.Gradient(w, engine.AllPairs{N: n})) }
		return b, nil
	}
}

// sums runs the near-linear method alone, from n scores of two labels to their coefficients, with one worker.
func sums(n int) prepare {
	return func(_ context.Context, _ Options, t target) (*prepared, error) {
		if t.Backend != nil {
			return nil, nil
		}
		set, err := kernels.Select(t.variant)
		if err != nil {
			return nil, err
		}
		const terms = 33
		sums := machine.NearLinear(set, n, terms)
		return &prepared{
			line: Line{Method: "logistic sums only", N: n, Unit: "scores", Variant: t.variant.String(), Of: "FMA"},
			work: float64(n),
			// A multiplication and an addition for each term of both.
			count: float64(n) * 4 * terms, close: func() {},
			run: func() error { sums(); return nil },
		}, nil
	}
}

// knn classifies records by their nearest neighbours. It classifies a tenth as many records as it searches.
func knn(n, d int) prepare {
	return once(func(ctx context.Context, o Options) (*prepared, error) {
		train, err := dataset.SyntheticScores(n, d, 1)
		if err != nil {
			return nil, err
		}
		queries := max(n/10, 2)
		test, err := dataset.SyntheticScores(queries, d, 2)
		if err != nil {
			return nil, err
		}
		return &prepared{
			line: Line{Method: "k-NN", N: n, D: d, Unit: "pairs"}, work: float64(n) * float64(queries),
			run: func() error {
				_, err := metrics.KNN(ctx, train, test, metrics.KNNOptions{K: min(3, n), Workers: o.Workers})
				return err
			},
		}, nil
	})
}

// auc is the exact AUC of normal scores of two classes. It sorts the classes on two goroutines whatever
// Options.Workers is.
func auc(n int) prepare {
	return once(func(context.Context, Options) (*prepared, error) {
		rng := rand.New(rand.NewPCG(1, 1))
		scores, labels := make([]float64, n), make([]float64, n)
		for i := range scores {
			labels[i] = float64(2*(i&1) - 1)
			scores[i] = rng.NormFloat64() + labels[i]
		}
		return &prepared{
			line: Line{Method: "exact AUC", N: n, Unit: "scores"}, work: float64(n),
			run: func() error { _, err := metrics.AUC(scores, labels); return err },
		}, nil
	})
}

// once returns a case that is measured only once, on the CPU, because its code chooses the kernel variant itself.
func once(make func(context.Context, Options) (*prepared, error)) prepare {
	done := false
	return func(ctx context.Context, o Options, t target) (*prepared, error) {
		if done || t.Backend != nil {
			return nil, nil
		}
		done = true
		b, err := make(ctx, o)
		if err != nil {
			return nil, err
		}
		b.line.Variant, b.close = kernels.Best.String(), func() {}
		return b, nil
	}
}
