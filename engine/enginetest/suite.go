package enginetest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"

	"dyad/engine"
	"dyad/internal/sizes"
)

// T is the part of *testing.T that Run uses. A test of the suite can implement T to see the suite fail.
type T interface {
	Helper()
	Errorf(format string, args ...any)
	Logf(format string, args ...any)
}

// Options selects the cases of Run. The zero value selects all cases if the tests run at full power (sizes.Full).
// Otherwise Run tests each size with only one radius, and each case with only half of the labellings. The radius
// changes from size to size, and the half changes from case to case.
type Options struct {
	// Losses are the score losses. If it is nil, engine.Logistic{} and SmoothHinge{} are used. An empty list
	// that is not nil means no losses.
	Losses []engine.ScoreLoss
	// MetricLosses are the metric losses. If it is nil, engine.MahalanobisLogistic{} and SmoothMetric{} are
	// used. An empty list that is not nil means no losses.
	MetricLosses []engine.MetricLoss
	// Sizes are the numbers of records. The default is 2, 3, 17, 64, 129, 500, 1500. Metric losses use the
	// sizes up to 400, and the default for them is 2, 3, 17, 65, 129, 400.
	Sizes []int
	// Radii are the values of Problem.Radius that are tested. The default is 0.05, 1, 20 and 200.
	Radii []float64
	// Groups are the sizes of query groups for further tests of score losses, planned by engine.Grouped. The
	// default is one data set of groups from 1 to 70 records. An empty list that is not nil means no groups.
	Groups [][]int
	// Persons adds tests with data sets in which each record is a person with several rows.
	Persons bool
	// Short leaves out sizes above 129. If Sizes or Radii is nil, Short also uses fewer default values.
	Short bool
	// WithWorkers returns the backend with another number of workers. Results must have the same bits for 1, 2
	// and 7 workers. If the tests run at full power (sizes.Full), every problem is checked with each of these
	// numbers. Otherwise, every problem is checked with only one of these numbers, and the numbers take turns.
	// If WithWorkers is nil, this check is skipped.
	WithWorkers func(workers int) engine.Backend
	// PerPair determines the limit of Roundoff / Pairs.Len in units of the Lipschitz constant, for 64 records
	// or more. For score losses, the limit is PerPair max(1, V/8), where V = 4 LabelAbs FeatureNorm Radius is
	// the largest margin. For metric losses, it is PerPair/3 max(1, Radius/8). The default is 6e-13. Larger
	// bounds are useless.
	PerPair float64
	// KinkError is the error of margins, relative to the largest margin, and of slopes, relative to
	// the largest slope. It is for losses that are not smooth and backends less precise than float64.
	KinkError float64
	// Unsupported is called for a problem for which the backend returns engine.ErrUnsupported. If Unsupported
	// is nil, this error is a failure.
	Unsupported func(engine.Problem)
}

// thinned reports whether size i is skipped for radius k.
func (s *suite) thinned(i, k int) bool {
	return !sizes.Full() && i%len(s.opts.Radii) != k && k%len(s.opts.Sizes) != i
}

// labellings returns all labellings. At less than full power, if there are several cases, it returns every
// second labelling, in turn.
func (s *suite) labellings(cases int) (some []labelling) {
	if sizes.Full() || cases < 2 {
		return labellings
	}
	s.turn++
	for i, l := range labellings {
		if (i+s.turn)%2 == 0 {
			some = append(some, l)
		}
	}
	return some
}

type suite struct {
	T
	backend engine.Backend
	opts    Options
	worst   map[string]float64
	name    string
	planned int // the number of planned problems
	turn    int // the number of labellings so far
	// repeated counts the sums: every second sum is repeated.
	repeated int
}

func (s *suite) fail(format string, args ...any) {
	s.Helper()
	s.Errorf("%s: %s", s.name, fmt.Sprintf(format, args...))
}

// testStorages checks all kinds of pairs on the same records in dense and in sparse storage. It returns the reference
// for the first pairs.
func (s *suite) testStorages(kernels map[int]engine.Kernel, p engine.Problem, dense, sparse *engine.Records,
	w []float64, pairs []engine.Pairs) []float64 {
	s.Helper()
	want := make([]answer, len(pairs))
	for i, q := range pairs {
		want[i].slack = kinkSlack(p.Loss, p, dense, w, q, s.opts.KinkError)
		if loss, ok := p.Loss.(engine.MetricLoss); ok {
			want[i].sum = metricReference(loss, dense, w, q)
		} else {
			want[i].sum = reference(p.Loss.(engine.ScoreLoss), dense, w, q)
		}
	}
	name := s.name
	for _, r := range []*engine.Records{dense, sparse} {
		s.name = fmt.Sprintf("%s sparse=%v", name, r.IsSparse())
		s.testRecords(kernels, r, w, pairs, want)
	}
	s.name = name
	return want[0].sum
}

// testRecords checks all kinds of pairs on bound records.
func (s *suite) testRecords(kernels map[int]engine.Kernel, r *engine.Records, w []float64, pairs []engine.Pairs,
	want []answer) {
	s.Helper()
	bound := map[int]engine.Evaluator{}
	for workers, k := range kernels {
		e, err := k.Bind(r)
		if err != nil {
			s.fail("Bind: %v", err)
			return
		}
		defer e.Close()
		bound[workers] = e
	}
	e := bound[0]
	delete(bound, 0)
	before := snapshot(r, w)
	for i, q := range pairs {
		s.testPairs(e, bound, w, q, want[i], r.IsSparse())
	}
	if _, ok := e.Kernel().Problem().Loss.(engine.ScoreLoss); ok {
		s.testOtherPairs(e, w)
	}
	if !slices.Equal(before, snapshot(r, w)) {
		s.fail("Sum changed the records or w")
	}
}

// plan returns the kernels of the backend, under 0, and of its variants by number of workers. It returns nil if
// there is no kernel.
func (s *suite) plan(p engine.Problem) map[int]engine.Kernel {
	s.Helper()
	backends := map[int]engine.Backend{0: s.backend}
	if s.opts.WithWorkers != nil {
		for i, workers := range []int{1, 2, 7} {
			if sizes.Full() || s.planned%3 == i {
				backends[workers] = s.opts.WithWorkers(workers)
			}
		}
	}
	s.planned++
	kernels := map[int]engine.Kernel{}
	for workers, b := range backends {
		k, err := engine.Grouped{Backend: b}.Plan(p)
		if err != nil {
			s.declined(p, err)
			return nil
		}
		got := k.Problem()
		name := got.Loss.Name()
		if got.Loss = p.Loss; name != p.Loss.Name() || !reflect.DeepEqual(got, p) {
			s.fail("Kernel.Problem() is %+v with loss %q, want %+v", got, name, p)
		}
		kernels[workers] = k
	}
	return kernels
}

func (s *suite) testPairs(e engine.Evaluator, workers map[int]engine.Evaluator, w []float64, pairs engine.Pairs,
	want answer, sparse bool) {
	s.Helper()
	ctx := context.Background()
	got := fill(len(w), func(int) float64 { return math.NaN() }) // must be overwritten
	if err := e.Sum(ctx, got, engine.Gradient(w, pairs)); err != nil {
		s.fail("Sum over %T: %v", pairs, err)
		return
	}
	bound := e.Kernel().Bounds(engine.Query{Pairs: pairs}).Sum
	diff := max(0, distance(got, want.sum)-want.slack)
	if !(diff <= bound) || math.IsInf(bound, 0) || math.IsInf(want.slack, 0) {
		s.fail("%s: |error| = %.3g over %T, Roundoff says %.3g", e.Kernel().Method(), diff, pairs, bound)
	}
	key := fmt.Sprintf("%s %s %T", e.Kernel().Problem().Loss.Name(), e.Kernel().Method(), pairs)
	s.worst[key] = max(s.worst[key], diff/bound)

	cancelled := func() {
		done, cancel := context.WithCancel(ctx)
		cancel()
		if err := e.Sum(done, make([]float64, len(w)), engine.Gradient(w, pairs)); err != context.Canceled {
			s.fail("Sum over %T with a cancelled context returned %v, want %v", pairs, err, context.Canceled)
		}
	}
	// A repetition on dense records checks that the result is equal to the first result. A repetition on sparse
	// records checks that a call after a cancelled call is correct. At less than full power only one of the two
	// is made.
	again := fill(len(w), func(int) float64 { return 1e9 })
	if s.repeated++; sizes.Full() || s.repeated%2 == 0 {
		if sparse {
			cancelled()
		}
		if err := e.Sum(ctx, again, engine.Gradient(w, pairs)); err != nil || !sameBits(got, again) {
			s.fail("Sum over %T differs when repeated (after a cancelled call: %v, error %v)", pairs, sparse, err)
		}
		if !sparse {
			cancelled()
		}
	}
	for _, k := range []int{1, 2, 7} {
		if workers[k] == nil {
			continue
		}
		if err := workers[k].Sum(ctx, again, engine.Gradient(w, pairs)); err != nil || !sameBits(got, again) {
			s.fail("Sum over %T with %d workers differs in its bits from the first result (error %v)", pairs, k, err)
		}
	}
}

// testOtherPairs checks that pairs of another problem are refused.
func (s *suite) testOtherPairs(e engine.Evaluator, w []float64) {
	s.Helper()
	p := e.Kernel().Problem()
	other := []engine.Pairs{engine.GroupPairs{Sizes: []int{p.N - 1, 1}}}
	if len(p.Groups) > 0 {
		other = append(other, engine.AllPairs{N: p.N}, engine.PrefixPairs{T: 1})
	}
	dst := make([]float64, len(w))
	for _, q := range other {
		if err := e.Sum(context.Background(), dst, engine.Gradient(w, q)); err == nil ||
			!math.IsInf(e.Kernel().Bounds(engine.Query{Pairs: q}).Sum, 1) {
			s.fail("Sum or Bounds must refuse pairs (%T) of another problem", q)
		}
	}
}

// testDefinition compares the reference with Loss.AddGrad, to find losses whose DPhi contradicts their AddGrad.
// The precision is between float64 and twice float64, so the tolerance is a large multiple of the roundoff.
// margin is the largest |u|.
func (s *suite) testDefinition(p engine.Problem, r *engine.Records, w, want []float64, margin float64) {
	s.Helper()
	loss := p.Loss
	if r.Len() > 129 {
		return
	}
	c, err := loss.Constants(r.Bounds(), p.Radius) // Constants are proved only once
	if err != nil {
		s.fail("Constants: %v", err)
		return
	}
	n := float64(r.Len())
	tol := n * n * c.Lipschitz * (1 + margin) * (n*n + float64(len(w)) + 20) * 0x1p-52
	if diff := distance(definition(loss, r, w, p.Pairs()), want); !(diff <= tol) {
		s.fail("AddGrad and DPhi of the loss disagree: sums differ by %.3g", diff)
	}
}

// declined handles an error of Plan.
func (s *suite) declined(p engine.Problem, err error) {
	s.Helper()
	if s.opts.Unsupported != nil && errors.Is(err, engine.ErrUnsupported) {
		s.opts.Unsupported(p)
		return
	}
	s.fail("Plan: %v", err)
}
