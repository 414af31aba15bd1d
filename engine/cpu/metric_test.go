package cpu_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/engine/enginetest"
	"dyad/internal/must"
)

// roughMetric has no smoothness constant, clippedMetric clipped constants, wideMetric
// another number of parameters.
type (
	roughMetric struct{ engine.MahalanobisLogistic }
	wideMetric  struct{ engine.MahalanobisLogistic }
)

func (roughMetric) Constants(engine.Bounds, float64) (engine.Constants, error) {
	return engine.Constants{Lipschitz: 4, Smoothness: math.Inf(1), PairDiameter: 8}, nil
}

func (wideMetric) ParamDim(d int) int { return d * d }

func TestPlanMetric(t *testing.T) {
	for name, c := range map[string]struct {
		method      cpu.Method
		change      func(*engine.Problem)
		ok          bool
		unsupported bool
	}{
		"auto":             {cpu.Auto, func(*engine.Problem) {}, true, false},
		"direct":           {cpu.Direct, func(*engine.Problem) {}, true, false},
		"a million":        {cpu.Auto, func(p *engine.Problem) { p.N = 1000000 }, true, false},
		"near-linear":      {cpu.NearLinear, func(*engine.Problem) {}, false, true},
		"not smooth":       {cpu.Auto, func(p *engine.Problem) { p.Loss = roughMetric{} }, false, true},
		"not a matrix":     {cpu.Auto, func(p *engine.Problem) { p.Loss = wideMetric{} }, false, false},
		"huge margins":     {cpu.Auto, func(p *engine.Problem) { p.Radius = 1e12 }, false, true},
		"too many records": {cpu.Auto, func(p *engine.Problem) { p.N = math.MaxInt }, false, true},
		"overflow":         {cpu.Auto, func(p *engine.Problem) { p.Radius, p.Bounds.FeatureNorm = 1e300, 1e30 }, false, false},
		"underflow":        {cpu.Auto, func(p *engine.Problem) { p.Radius, p.Bounds.FeatureNorm = 1e-300, 1e-20 }, false, false},
		"tiny features":    {cpu.Auto, func(p *engine.Problem) { p.Bounds.FeatureNorm = 1e-160 }, false, false},
		"negative radius":  {cpu.Auto, func(p *engine.Problem) { p.Radius = -1 }, false, false},
	} {
		p := metricProblem(100, 5, 1)
		c.change(&p)
		k, err := cpu.Backend{Method: c.method}.Plan(p)
		if (err == nil) != c.ok || errors.Is(err, engine.ErrUnsupported) != c.unsupported {
			t.Errorf("%s: error %v", name, err)
		}
		if err == nil && k.Method() != "direct" {
			t.Errorf("%s: method %q", name, k.Method())
		}
	}
}

// TestMetricRoundoffIsSmall holds the bound to 1e-12 per pair for unit bounds.
func TestMetricRoundoffIsSmall(t *testing.T) {
	for _, n := range []int{2, 100, 4096, 1000000} {
		for _, d := range []int{1, 8, 128, 1000} {
			k := must.Get(cpu.Backend{}.Plan(metricProblem(n, d, 1)))(t)
			for _, pairs := range []engine.Pairs{engine.AllPairs{N: n}, engine.PrefixPairs{T: 1}, engine.PrefixPairs{T: n - 1}} {
				must.Within(t, k.Bounds(engine.Query{Pairs: pairs}).Sum/float64(pairs.Len()), 1e-16, 1e-12, "n=%d d=%d: Roundoff per pair of %T", n, d, pairs)
			}
			if !math.IsInf(k.Bounds(engine.Query{Pairs: otherPairs{engine.AllPairs{N: n}}}).Sum, 1) {
				t.Error("Roundoff of unknown pairs is finite")
			}
		}
	}
}

func TestMetricChecksArguments(t *testing.T) {
	const n, d, p = 20, 5, 15
	e := mustBind(t, cpu.Backend{}, metricProblem(n, d, 1), benchRecords(t, n, d))
	defer e.Close()
	dst, w := make([]float64, p), metricPoint(d)
	outside := append([]float64(nil), w...)
	outside[1] = 0.01
	bad := make([]int32, n)
	bad[1] = n
	for name, c := range map[string]struct {
		dst, w []float64
		pairs  engine.Pairs
		want   string
	}{
		"short dst":        {dst[:d], w, engine.AllPairs{N: n}, "lengths"},
		"short w":          {dst, w[:d], engine.AllPairs{N: n}, "lengths"},
		"outside the ball": {dst, outside, engine.AllPairs{N: n}, "Radius"},
		"other N":          {dst, w, engine.AllPairs{N: n + 1}, "AllPairs.N"},
		"T too large":      {dst, w, engine.PrefixPairs{T: n}, "T is 20"},
		"bad current":      {dst, w, engine.PrefixPairs{T: 1, Order: bad}, "Order[1]"},
		"bad entry":        {dst, w, engine.PrefixPairs{T: 3, Order: bad}, "Order has an entry"},
		"other pairs":      {dst, w, otherPairs{engine.AllPairs{N: n}}, "not supported"},
	} {
		must.FailDo(t, e.Sum(context.Background(), c.dst, engine.Gradient(c.w, c.pairs)), c.want, name)
	}
	for _, pairs := range []engine.Pairs{engine.AllPairs{N: n}, engine.PrefixPairs{T: 3}} {
		must.CheckDo(t, e.Sum(context.Background(), dst, engine.Gradient(w, pairs)), "after the errors")
	}
	k := e.Kernel()
	for name, r := range map[string]*engine.Records{"no records": nil, "other n": benchRecords(t, n+1, d), "other d": benchRecords(t, n, d+1)} {
		must.Err(k.Bind(r))(t, "%s: Bind accepts them", name)
	}
	few := metricProblem(n, d, 1)
	few.NonZerosPerRow = d - 1
	must.Err(must.Get((cpu.Backend{}).Plan(few))(t).Bind(benchRecords(t, n, d)))(t, "Bind accepts more features per row than declared")
}

// TestMetricSparseWide compares sparse and dense records at a d above the longest run
// of a dot product: the same numbers in the same order.
func TestMetricSparseWide(t *testing.T) {
	const n, d, nnz = 130, 300, 3
	rng := rand.New(rand.NewPCG(19, 19))
	x, y := make([]float64, n*d), make([]float64, n)
	for i := range n {
		for k := range nnz {
			x[i*d+k*d/nnz+rng.IntN(d/nnz)] = 0.5 * rng.Float64()
		}
		y[i] = float64(2*rng.IntN(2) - 1)
	}
	sparse := sparsely(t, x, y, d, engine.UnitBounds())
	dense := must.Get(engine.NewRecords(x, y, d, engine.UnitBounds()))(t)
	w := metricPoint(d)
	for _, pairs := range []engine.Pairs{engine.AllPairs{N: n}, engine.PrefixPairs{T: n - 1}} {
		one, _ := sumOver(t, cpu.Backend{Workers: 2}, metricProblem(n, d, 1), dense, w, pairs)
		other, _ := sumOver(t, cpu.Backend{Workers: 2}, metricProblem(n, d, 1), sparse, w, pairs)
		if !slices.Equal(one, other) {
			t.Fatalf("%T: %v dense and %v sparse", pairs, one, other)
		}
	}
}

// slowMetric cancels its context during the sum.
type slowMetric struct {
	enginetest.SmoothMetric
	calls  *int
	cancel context.CancelFunc
}

func (l slowMetric) MetricDPhi(u float64) float64 {
	if *l.calls++; *l.calls == 1000 {
		l.cancel()
	}
	return l.SmoothMetric.MetricDPhi(u)
}

// TestCancelDuringMetricSum checks that a cancelled sum stops after the current tile.
func TestCancelDuringMetricSum(t *testing.T) {
	const n = 20000
	for _, pairs := range []engine.Pairs{engine.AllPairs{N: n}, engine.PrefixPairs{T: n - 1}} {
		ctx, cancel := context.WithCancel(context.Background())
		calls := 0
		p := metricProblem(n, 1, 1)
		p.Loss = slowMetric{calls: &calls, cancel: cancel}
		e := mustBind(t, cpu.Backend{Workers: 1}, p, benchRecords(t, n, 1))
		begin := time.Now()
		err := e.Sum(ctx, make([]float64, 1), engine.Gradient([]float64{1}, pairs))
		if !errors.Is(err, context.Canceled) || calls > 10000 {
			t.Errorf("%T: error %v after %d pairs (%v)", pairs, err, calls, time.Since(begin))
		}
		e.Close()
		cancel()
	}
}

// TestMetricPrefixDoesNotAllocate guards the inner loop of the online recursion.
func TestMetricPrefixDoesNotAllocate(t *testing.T) {
	const n, d = 1000, 7
	e := mustBind(t, cpu.Backend{}, metricProblem(n, d, 1), benchRecords(t, n, d))
	defer e.Close()
	w, ctx := metricPoint(d), context.Background()
	dst := make([]float64, len(w))
	var pairs engine.Pairs = engine.PrefixPairs{T: n - 1}
	if got := testing.AllocsPerRun(20, func() {
		must.CheckDo(t, e.Sum(ctx, dst, engine.Gradient(w, pairs)))
	}); got > 0 {
		t.Errorf("%v allocations per call", got)
	}
}
