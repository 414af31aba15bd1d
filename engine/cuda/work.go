package cuda

import (
	"slices"

	"dyad/engine"
)

// planned is a kernel of this package, with methods that describe the work of a sum over all its pairs.
type planned interface {
	engine.Kernel
	on() Backend
	// programs returns the names of the embedded PTX programs that the kernel runs.
	programs() []string
	// visited returns the number of unordered pairs that the kernel computes for records with these labels. It
	// is 0 for the near-linear method.
	visited(labels []float64) int64
	// work returns the counts for time models and the name of the method in time models. The name is "" if
	// there is no time model for the kernel.
	work() (w work, method string)
	// bytes returns the number of bytes that the kernel needs on the GPU, including memory for the driver.
	bytes() uint64
}

var (
	_ planned = (*kernel)(nil)
	_ planned = (*metricKernel)(nil)
	_ planned = (*momentsKernel)(nil)
)

func (k *kernel) on() Backend       { return k.backend }
func (k *metricKernel) on() Backend { return k.backend }

// Bounds implements engine.Kernel. Seconds is the time on the GPU of the plan.
func (k *kernel) Bounds(q engine.Query) engine.QueryBounds { return boundsOf(k, q) }

// Bounds implements engine.Kernel. Seconds is the time on the GPU of the plan.
func (k *metricKernel) Bounds(q engine.Query) engine.QueryBounds { return boundsOf(k, q) }

func boundsOf(k interface {
	planned
	roundoff(engine.Pairs) float64
	neighbourRoundoff(engine.Pairs) float64
	sharers() string
}, q engine.Query) engine.QueryBounds {
	if !q.IsPlain() {
		return engine.Unanswered()
	}
	return engine.QueryBounds{Sum: k.roundoff(q.Pairs), Neighbour: k.neighbourRoundoff(q.Pairs),
		Seconds: secondsOf(k, q.Pairs), Make: k.sharers()}
}

func (k *kernel) programs() []string {
	names := []string{"rows"}
	if k.nearLinear() {
		names = append(names, "nearlinear")
	}
	if k.direct {
		names = append(names, "score")
		if !k.factored {
			names = append(names, k.splicedName())
		}
	}
	return names
}

func (k *kernel) visited(labels []float64) (pairs int64) {
	if !k.direct {
		return 0
	}
	if k.factored { // the pairs of a record with the smallest label and a record with the other label
		least := slices.Min(labels)
		for _, y := range labels {
			if y == least {
				pairs++
			}
		}
		return pairs * (int64(len(labels)) - pairs)
	}
	for _, size := range k.groups() {
		if size < k.nearFrom {
			pairs += int64(size) * int64(size-1) / 2
		}
	}
	return pairs
}

// work returns the name "" for query groups, for persons and for losses other than the logistic loss, because
// there is no time model for these kernels.
func (k *kernel) work() (work, string) {
	n := float64(k.problem.N)
	w := work{records: n, numbers: n * float64(k.problem.D)}
	_, logistic := k.loss.(engine.Logistic)
	switch {
	case len(k.problem.Groups) > 0 || k.problem.ByPerson() || !logistic:
		return w, ""
	case k.factored:
		w.pairs = n * n / 4 // upper bound
	case k.direct:
		w.pairs = n * (n - 1) / 2
	}
	return w, k.Method()
}

func (k *kernel) bytes() uint64 {
	return k.grid.bytes(k.columnBytes())
}

func (k *metricKernel) programs() []string { return []string{"metric", k.file} }

func (k *metricKernel) visited([]float64) int64 {
	return int64(k.problem.N) * int64(k.problem.N-1) / 2
}

func (k *metricKernel) work() (work, string) {
	if k.problem.ByPerson() {
		return metricWork(k.problem), "" // no time model
	}
	return metricWork(k.problem), k.Method()
}

// metricWork returns the work for metric losses. A pair counts as often as it has features, rounded up to whole tiles.
func metricWork(p engine.Problem) work {
	n, d := float64(p.N), float64(p.D)
	return work{records: n, numbers: n * d, pairs: n * (n - 1) / 2 * float64(roundUp(p.D, 64))}
}

func (k *metricKernel) bytes() uint64 { return k.memory() }
