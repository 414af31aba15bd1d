package enginetest

import (
	"fmt"
	"math"
	"math/rand/v2"

	"dyad/engine"
)

// A weighting makes the Symmetric coordinates of a positive semidefinite d x d matrix of Frobenius norm at most
// r, up to rounding.
type weighting struct {
	name string
	make func(rng *rand.Rand, d int, r float64) []float64
}

var weightings = []weighting{
	{"random W", func(rng *rand.Rand, d int, r float64) []float64 { return semidefinite(rng, d, d, r) }},
	{"W = identity", func(_ *rand.Rand, d int, r float64) []float64 {
		w := make([]float64, engine.Symmetric{Dim: d}.Len())
		for a := range d {
			w[engine.Symmetric{Dim: d}.Index(a, a)] = r / math.Sqrt(float64(d))
		}
		return w
	}},
	{"W of rank one", func(rng *rand.Rand, d int, r float64) []float64 { return semidefinite(rng, d, 1, r) }},
	{"W = 0", func(_ *rand.Rand, d int, _ float64) []float64 {
		return make([]float64, engine.Symmetric{Dim: d}.Len())
	}},
}

// largestMetricSize bounds the time of the reference, which takes n^2 d^2 operations.
const largestMetricSize = 400

// metricLoss checks all cases of a loss and radius k; number counts cases.
func (s *suite) metricLoss(loss engine.MetricLoss, radius float64, k int, number *int) {
	s.Helper()
	for i, n := range s.opts.Sizes {
		if n > largestMetricSize || n > 129 && (s.opts.Short || radius != 1) || n <= 129 && s.thinned(i, k) {
			continue
		}
		for _, weights := range weightings {
			s.metricCase(loss, radius, n, weights, *number)
			*number++
		}
	}
	if s.opts.Persons {
		s.persons(loss, radius)
	}
	s.testBound(loss, radius, s.opts.PerPair/3*max(1, radius/8))
}

// metricCase checks one data set, dense and sparse.
func (s *suite) metricCase(loss engine.MetricLoss, radius float64, n int, weights weighting, number int) {
	s.Helper()
	rng := rand.New(rand.NewPCG(uint64(number), 18))
	d := []int{19, 8, 2, 1}[(number+number/len(weightings))%4]
	labels := labellings[number%len(labellings)]
	p := engine.Problem{N: n, D: d, Bounds: boundsOf[number%3], Loss: loss, Radius: radius, LabelValues: labels.values}
	dense, sparse, err := makeRecords(rng, p, labels)
	if err != nil {
		s.fail("%v", err)
		return
	}
	s.name = fmt.Sprintf("%s r=%g n=%d d=%d %s %s", loss.Name(), radius, n, d, labels.name, weights.name)
	kernels := s.plan(p)
	if kernels == nil {
		return
	}
	w := weights.make(rng, d, radius)
	first := s.testStorages(kernels, p, dense, sparse, w, pairsOf(rng, p))
	R, b := p.Bounds.FeatureNorm, p.Bounds.LabelAbs
	s.testDefinition(p, dense, w, first, b*b*(1+4*R*R*norm(w)))
}
