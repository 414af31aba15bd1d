package cpu_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/engine/enginetest"
	"dyad/internal/must"
)

func problem(n, d int, radius float64) engine.Problem {
	return engine.Problem{N: n, D: d, Bounds: engine.UnitBounds(), Loss: engine.Logistic{}, Radius: radius}
}

// scoreOnly is a loss without StripBound; rough has no smoothness constant.
type scoreOnly struct{ engine.ScoreLoss }

type rough struct{ engine.Logistic }

func (rough) Constants(engine.Bounds, float64) (engine.Constants, error) {
	return engine.Constants{Lipschitz: 4, Smoothness: math.Inf(1), PairDiameter: 8}, nil
}

func TestPlanChoosesByPublicNumbers(t *testing.T) {
	for _, c := range []struct {
		method cpu.Method
		n      int
		radius float64
		want   string
	}{
		{cpu.Auto, 32, 1, "direct"},
		{cpu.Auto, 100, 1, "direct"},
		{cpu.Auto, 1000, 1, "near-linear"},
		{cpu.Auto, 1000, 200, "direct"},
		{cpu.Auto, 1000000, 200, "near-linear"},
		{cpu.Direct, 1000000, 1, "direct"},
		{cpu.NearLinear, 3, 1, "near-linear"},
	} {
		must.Equal(t, must.Get(cpu.Backend{Method: c.method}.Plan(problem(c.n, 5, c.radius)))(t).Method(), c.want, "%v n=%d r=%v", c.method, c.n, c.radius)
	}
	p := problem(100000, 5, 1)
	p.Loss = scoreOnly{engine.Logistic{}}
	must.Equal(t, must.Get((cpu.Backend{}).Plan(p))(t).Method(), "direct", "a loss without StripBound")
}

func TestPlanDeclines(t *testing.T) {
	base := problem(100, 5, 1)
	for name, c := range map[string]struct {
		method cpu.Method
		change func(*engine.Problem)
	}{
		"no strip":         {cpu.NearLinear, func(p *engine.Problem) { p.Loss = scoreOnly{engine.Logistic{}} }},
		"no convergence":   {cpu.NearLinear, func(p *engine.Problem) { p.Radius = 1e6 }},
		"not smooth":       {cpu.Auto, func(p *engine.Problem) { p.Loss = rough{} }},
		"huge margins":     {cpu.Direct, func(p *engine.Problem) { p.Radius = 1e12 }},
		"too many records": {cpu.Auto, func(p *engine.Problem) { p.N = math.MaxInt }},
	} {
		p := base
		c.change(&p)
		must.Fail((cpu.Backend{Method: c.method}).Plan(p))(t, engine.ErrUnsupported, name)
	}
	must.Err((cpu.Backend{Method: 9}).Plan(base))(t, "Method 9 is accepted")
	base.D = 0
	must.Err((cpu.Backend{}).Plan(base))(t, "an invalid problem is accepted")
}

func mustBind(t testing.TB, b cpu.Backend, p engine.Problem, r *engine.Records) engine.Evaluator {
	t.Helper()
	k := must.Get(b.Plan(p))(t)
	return must.Get(k.Bind(r))(t)
}

// sumOver is the gradient sum over pairs, and its Roundoff.
func sumOver(t testing.TB, b cpu.Backend, p engine.Problem, r *engine.Records, w []float64, pairs engine.Pairs) ([]float64, float64) {
	t.Helper()
	e, sum := mustBind(t, b, p, r), make([]float64, len(w))
	must.Do(t, errors.Join(e.Sum(context.Background(), sum, engine.Gradient(w, pairs)), e.Close()))
	return sum, e.Kernel().Bounds(engine.Query{Pairs: pairs}).Sum
}

// permuted are the places of n records in a random order.
func permuted(rng *rand.Rand, n int) []int32 {
	order := make([]int32, n)
	for k, i := range rng.Perm(n) {
		order[k] = int32(i)
	}
	return order
}

func TestBindChecksShape(t *testing.T) {
	r := benchRecords(t, 20, 5)
	sparse := must.Get(engine.NewSparseRecords([]int64{0, 1, 4}, []int32{0, 0, 1, 2}, []float64{1, .1, .1, .1}, []float64{1, -1}, 5, engine.UnitBounds()))(t)
	for name, c := range map[string]struct {
		r      *engine.Records
		change func(*engine.Problem)
		ok     bool
	}{
		"same":            {r, func(*engine.Problem) {}, true},
		"no records":      {nil, func(*engine.Problem) {}, false},
		"other n":         {r, func(p *engine.Problem) { p.N = 21 }, false},
		"other d":         {r, func(p *engine.Problem) { p.D = 4 }, false},
		"other bounds":    {r, func(p *engine.Problem) { p.Bounds.LabelAbs = 2 }, false},
		"dense but few":   {r, func(p *engine.Problem) { p.NonZerosPerRow = 4 }, false},
		"sparse":          {sparse, func(p *engine.Problem) { p.N, p.NonZerosPerRow = 2, 3 }, true},
		"sparse too many": {sparse, func(p *engine.Problem) { p.N, p.NonZerosPerRow = 2, 2 }, false},
	} {
		p := problem(20, 5, 1)
		c.change(&p)
		k := must.Get((cpu.Backend{}).Plan(p))(t)
		if _, err := k.Bind(c.r); (err == nil) != c.ok {
			t.Errorf("%s: Bind says %v", name, err)
		}
	}
}

// otherPairs is a kind of pairs that no backend knows.
type otherPairs struct{ engine.Pairs }

func TestGradSumChecksArguments(t *testing.T) {
	const n, d = 20, 5
	e := mustBind(t, cpu.Backend{}, problem(n, d, 1), benchRecords(t, n, d))
	defer e.Close()
	dst, w := make([]float64, d), inBall(d, 1)
	order := func(at int, v int32) []int32 {
		o := make([]int32, n)
		for i := range o {
			o[i] = int32(i)
		}
		o[at] = v
		return o
	}
	for name, c := range map[string]struct {
		dst, w []float64
		pairs  engine.Pairs
		want   string
	}{
		"short dst":        {dst[:4], w, engine.AllPairs{N: n}, "lengths"},
		"short w":          {dst, w[:4], engine.AllPairs{N: n}, "lengths"},
		"outside the ball": {dst, []float64{1, 0.01, 0, 0, 0}, engine.AllPairs{N: n}, "Radius"},
		"NaN":              {dst, []float64{math.NaN(), 0, 0, 0, 0}, engine.AllPairs{N: n}, "Radius"},
		"other N":          {dst, w, engine.AllPairs{N: n + 1}, "AllPairs.N"},
		"T zero":           {dst, w, engine.PrefixPairs{}, "T is 0"},
		"T too large":      {dst, w, engine.PrefixPairs{T: n}, "T is 20"},
		"short order":      {dst, w, engine.PrefixPairs{T: 3, Order: []int32{1, 2, 3}}, "entries in Order"},
		"bad current":      {dst, w, engine.PrefixPairs{T: 3, Order: order(3, n)}, "Order"},
		"bad entry":        {dst, w, engine.PrefixPairs{T: 3, Order: order(1, -1)}, "Order"},
		"other pairs":      {dst, w, otherPairs{engine.AllPairs{N: n}}, "not supported"},
	} {
		must.FailDo(t, e.Sum(context.Background(), c.dst, engine.Gradient(c.w, c.pairs)), c.want, name)
	}
	for _, pairs := range []engine.Pairs{engine.AllPairs{N: n}, engine.PrefixPairs{T: 3, Order: order(1, 1)}} {
		must.CheckDo(t, e.Sum(context.Background(), dst, engine.Gradient(w, pairs)), "after the errors")
	}
	if !math.IsInf(e.Kernel().Bounds(engine.Query{Pairs: otherPairs{engine.AllPairs{N: n}}}).Sum, 1) {
		t.Error("Roundoff of unknown pairs is finite")
	}
}

// TestManyChunks covers sizes at which the grid has many chunks, stripes, panels
// and prefix jobs: same bits for any number of workers, both methods and the
// parallel and serial prefix within their bounds of each other.
func TestManyChunks(t *testing.T) {
	const n, d = 20011, 3
	r := benchRecords(t, n, d)
	p, w := problem(n, d, 1), inBall(d, 1)
	for _, pairs := range []engine.Pairs{engine.AllPairs{N: n}, engine.PrefixPairs{T: n - 1}} {
		var results [][]float64
		var bounds float64
		for _, method := range []cpu.Method{cpu.NearLinear, cpu.Direct} {
			if testing.Short() && method == cpu.Direct {
				continue
			}
			var first []float64
			for _, workers := range []int{1, 2, 7} {
				dst, bound := sumOver(t, cpu.Backend{Method: method, Workers: workers}, p, r, w, pairs)
				if first == nil {
					first = dst
					bounds += bound
				}
				must.Same(t, dst, first, "%v over %T: %d workers give", method, pairs, workers)
			}
			results = append(results, first)
		}
		if len(results) == 2 {
			must.Within(t, distance(results[0], results[1]), 0, bounds, "%T: the methods differ by", pairs)
		}
	}
}

// TestSparseWideRows covers the longer blocks of rows with few of many features.
func TestSparseWideRows(t *testing.T) {
	const n, d, nnz = 3000, 5000, 4
	rng := rand.New(rand.NewPCG(9, 9))
	start, index, value, y := []int64{0}, []int32{}, []float64{}, []float64{}
	for range n {
		for k := range nnz {
			index = append(index, int32(k*d/nnz+rng.IntN(d/nnz)))
			value = append(value, rng.NormFloat64())
		}
		start, y = append(start, int64(len(value))), append(y, float64(2*rng.IntN(2)-1))
	}
	sparse := must.Get(engine.NewSparseRecords(start, index, value, y, d, engine.UnitBounds()))(t)
	p := problem(n, d, 1)
	p.NonZerosPerRow = nnz
	w := inBall(d, 1)
	for _, pairs := range []engine.Pairs{engine.AllPairs{N: n}, engine.PrefixPairs{T: n - 1}} {
		near, one := sumOver(t, cpu.Backend{Method: cpu.NearLinear, Workers: 2}, p, sparse, w, pairs)
		direct, other := sumOver(t, cpu.Backend{Method: cpu.Direct, Workers: 2}, p, sparse, w, pairs)
		bounds, diff, size := one+other, distance(near, direct), distance(near, make([]float64, d))
		if diff > bounds || size < 1e6*bounds {
			t.Errorf("%T: the methods differ by %v, bounds add up to %v, size %v", pairs, diff, bounds, size)
		}
	}
}

// slowLoss takes a while per pair and cancels its context during the sum.
type slowLoss struct {
	enginetest.SmoothHinge
	calls  *int
	cancel context.CancelFunc
}

func (l slowLoss) DPhi(u float64) float64 {
	if *l.calls++; *l.calls == 1000 {
		l.cancel()
	}
	return l.SmoothHinge.DPhi(u)
}

// TestCancelDuringSum checks that a cancelled sum stops after a tile of 256 x 512 pairs,
// which takes a few milliseconds with the slowest of losses.
func TestCancelDuringSum(t *testing.T) {
	const n = 100000
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	calls := 0
	p := problem(n, 1, 1)
	p.Loss = slowLoss{calls: &calls, cancel: cancel}
	e := mustBind(t, cpu.Backend{Method: cpu.Direct, Workers: 1}, p, benchRecords(t, n, 1))
	defer e.Close()
	begin := time.Now()
	err := e.Sum(ctx, make([]float64, 1), engine.Gradient([]float64{1}, engine.AllPairs{N: n}))
	if !errors.Is(err, context.Canceled) || calls > 1000+256*512 {
		t.Errorf("error %v after %d of about %d pairs (%v)", err, calls, n*n/4, time.Since(begin))
	}
}

// TestPrefixDoesNotAllocate guards the inner loop of the online recursion.
func TestPrefixDoesNotAllocate(t *testing.T) {
	const n, d = 1000, 7
	e := mustBind(t, cpu.Backend{}, problem(n, d, 1), benchRecords(t, n, d))
	defer e.Close()
	dst, w, ctx := make([]float64, d), inBall(d, 1), context.Background()
	var pairs engine.Pairs = engine.PrefixPairs{T: n - 1}
	if got := testing.AllocsPerRun(20, func() {
		must.CheckDo(t, e.Sum(ctx, dst, engine.Gradient(w, pairs)))
	}); got > 0 {
		t.Errorf("%v allocations per call", got)
	}
}

func BenchmarkPlan(b *testing.B) {
	for b.Loop() {
		must.Get((cpu.Backend{}).Plan(problem(1000000, 20, 20)))(b)
	}
}
