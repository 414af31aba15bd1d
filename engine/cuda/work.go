package cuda

import "slices"

// planned is what a kernel of this package says of the work of a sum over all its pairs.
type planned interface {
	// programs are the names of the embedded PTX that it runs.
	programs() []string
	// visited is the number of unordered pairs that the kernels compute for records with these
	// labels; 0 for the near-linear method.
	visited(labels []float64) int64
}

var (
	_ planned = (*kernel)(nil)
	_ planned = (*metricKernel)(nil)
)

func (k *kernel) programs() []string {
	names := []string{"rows"}
	if k.nearLinear() {
		names = append(names, "nearlinear")
	}
	if k.direct {
		names = append(names, "score")
	}
	return names
}

func (k *kernel) visited(labels []float64) (pairs int64) {
	if !k.direct {
		return 0
	}
	if k.factored { // the pairs of the smallest label and the other one
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

func (k *metricKernel) programs() []string { return []string{"metric", k.file} }

func (k *metricKernel) visited([]float64) int64 {
	return int64(k.problem.N) * int64(k.problem.N-1) / 2
}
