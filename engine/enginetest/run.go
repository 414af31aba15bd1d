package enginetest

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"dyad/engine"
)

// Run checks that a backend conforms to package engine, for every loss, radius, size, labelling and storage.
// Gradient sums over all pairs and over prefixes must be within Roundoff of a sum in twice the precision. For
// losses that are not smooth, pairs at a kink may differ more: see kinkSlack. The sums must overwrite dst,
// leave their inputs unchanged and honour the context. They must have the same bits when repeated and for any
// number of workers.
func Run(t T, b engine.Backend, opts Options) {
	t.Helper()
	if opts.Losses == nil {
		opts.Losses = []engine.ScoreLoss{engine.Logistic{}, SmoothHinge{}}
	}
	if opts.MetricLosses == nil {
		opts.MetricLosses = []engine.MetricLoss{engine.MahalanobisLogistic{}, SmoothMetric{}}
	}
	metricSizes := opts.Sizes
	switch {
	case opts.Sizes == nil && opts.Short:
		opts.Sizes, metricSizes = []int{3, 64}, []int{3, 65}
	case opts.Sizes == nil:
		opts.Sizes = []int{2, 3, 17, 64, 129, 500, 1500}
		metricSizes = []int{2, 3, 17, 65, 129, 400}
	}
	if opts.Groups == nil {
		opts.Groups = [][]int{{3, 1, 70, 2, 2, 1, 30}}
	}
	switch {
	case opts.Radii == nil && opts.Short:
		opts.Radii = []float64{1, 20}
	case opts.Radii == nil:
		opts.Radii = []float64{0.05, 1, 20, 200}
	}
	if opts.PerPair == 0 {
		opts.PerPair = 6e-13
	}
	s := &suite{T: t, backend: b, opts: opts, worst: map[string]float64{}}
	number := 0
	for _, loss := range opts.Losses {
		for k, radius := range opts.Radii {
			for i, n := range opts.Sizes {
				if opts.Short && n > 129 || n <= 500 && s.thinned(i, k) {
					continue
				}
				for _, labels := range s.labellings(len(opts.Sizes) * len(opts.Radii)) {
					if n > 500 && (radius != 1 || labels.name == "one class") {
						continue // the reference is slow, and the smaller sizes cover these cases
					}
					s.testCase(engine.Problem{N: n, Loss: loss, Radius: radius}, labels, number)
					number++
				}
			}
			for i, sizes := range opts.Groups {
				n := 0
				for _, size := range sizes {
					n += size
				}
				for k, labels := range s.labellings(len(opts.Groups) * len(opts.Radii)) {
					s.testCase(engine.Problem{N: n, Loss: loss, Radius: radius, Groups: sizes}, labels, i+k)
				}
			}
			if opts.Persons {
				s.persons(loss, radius)
			}
			s.testBound(loss, radius, opts.PerPair*max(1, radius/2))
			if len(opts.Groups) > 0 {
				s.testGroupBound(loss, radius, opts.PerPair*max(1, radius/2))
			}
		}
	}
	number, s.opts.Sizes = 0, metricSizes
	for _, loss := range opts.MetricLosses {
		for k, radius := range opts.Radii {
			s.metricLoss(loss, radius, k, &number)
		}
	}
	methods := make([]string, 0, len(s.worst))
	for m := range s.worst {
		methods = append(methods, m)
	}
	slices.Sort(methods)
	for _, m := range methods {
		t.Logf("%s, %s: largest |error| / Roundoff = %.2g", b.Name(), m, s.worst[m])
	}
}

// testCase sets the remaining fields of a problem and checks one data set, dense and sparse.
func (s *suite) testCase(p engine.Problem, labels labelling, number int) {
	s.Helper()
	rng := rand.New(rand.NewPCG(uint64(number), 17))
	p.D = []int{1, 3, 8, 21, 300}[number%5]
	if p.N > 129 || len(p.Groups) > 0 {
		p.D = 5
	}
	p.Bounds, p.LabelValues = boundsOf[number%3], labels.values
	dense, sparse, err := makeRecords(rng, p, labels)
	if err != nil {
		s.fail("%v", err)
		return
	}
	s.name = fmt.Sprintf("%s r=%g n=%d d=%d %s", p.Loss.Name(), p.Radius, p.N, p.D, labels.name)
	if len(p.Groups) > 0 {
		s.name += fmt.Sprintf(" groups=%d", len(p.Groups))
	}
	kernels := s.plan(p)
	if kernels == nil {
		return
	}
	w := make([]float64, p.D)
	for k := range w {
		w[k] = rng.NormFloat64()
	}
	scaleTo(w, p.Radius)
	first := s.testStorages(kernels, p, dense, sparse, w, pairsOf(rng, p))
	s.testDefinition(p, dense, w, first, 4*p.Bounds.LabelAbs*p.Bounds.FeatureNorm*norm(w))
}
