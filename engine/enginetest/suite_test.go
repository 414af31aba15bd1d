package enginetest_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/engine/enginetest"
	"dyad/internal/must"
	"dyad/internal/sizes"
)

// watcher is an enginetest.T that collects failures.
type watcher struct{ failures []string }

func (*watcher) Helper()             {}
func (*watcher) Logf(string, ...any) {}
func (w *watcher) Errorf(format string, args ...any) {
	w.failures = append(w.failures, fmt.Sprintf(format, args...))
}

// broken is the CPU backend with one defect; nil hooks change nothing.
type broken struct {
	cpu.Backend
	// roundoff replaces the bound.
	roundoff func(bound float64) float64
	// pairs and ctx change what the correct backend is asked.
	pairs func(engine.Pairs) engine.Pairs
	ctx   func(context.Context) context.Context
	// after changes the result; before holds dst as the caller passed it.
	after func(k engine.Kernel, dst, before, w []float64, pairs engine.Pairs)
	// records changes what is bound.
	records func(*engine.Records) *engine.Records
}

func (b broken) backend() engine.Backend {
	a := enginetest.Altered{Backend: b.Backend, Records: b.records}
	a.Bounds = func(k engine.Kernel, q engine.Query) engine.QueryBounds {
		c := k.Bounds(q)
		if b.roundoff != nil {
			c.Sum = b.roundoff(c.Sum)
		}
		return c
	}
	a.Sum = func(ctx context.Context, e engine.Evaluator, _ *engine.Records, dst []float64, q engine.Query) error {
		before, inner := append([]float64(nil), dst...), q
		if b.ctx != nil {
			ctx = b.ctx(ctx)
		}
		if b.pairs != nil {
			inner.Pairs = b.pairs(q.Pairs)
		}
		if err := e.Sum(ctx, dst, inner); err != nil {
			return err
		}
		if b.after != nil {
			b.after(e.Kernel(), dst, before, q.W, q.Pairs)
		}
		return nil
	}
	return a
}

// small keeps the control runs short.
var small = enginetest.Options{MetricLosses: []engine.MetricLoss{}, Sizes: []int{3, 17, 64}, Radii: []float64{1}}

func TestSuitePassesCorrectBackend(t *testing.T) {
	opts := small
	opts.WithWorkers = func(k int) engine.Backend { return broken{Backend: cpu.Backend{Workers: k}}.backend() }
	suiteSays(t, broken{}.backend(), opts, "")
}

// TestSuiteCatchesDefects is the positive control of the suite.
func TestSuiteCatchesDefects(t *testing.T) {
	var calls int
	var left bool
	defects := map[string]struct {
		b    broken
		want string
	}{
		"drops the last record": {broken{records: func(r *engine.Records) *engine.Records {
			// The last record takes the place of the first: its pairs are lost.
			rows := make([]int, r.Len())
			for i := range rows {
				rows[i] = i
			}
			rows[len(rows)-1] = 0
			return r.Subset(rows)
		}}, "Roundoff says"},
		"drops the last prefix pair": {broken{pairs: func(p engine.Pairs) engine.Pairs {
			if q, ok := p.(engine.PrefixPairs); ok && q.T > 1 && q.Order == nil {
				order := make([]int32, q.T)
				for i := range order {
					order[i] = int32(i)
				}
				order[q.T-1] = int32(q.T)
				return engine.PrefixPairs{Order: order, T: q.T - 1}
			}
			return p
		}}, "Roundoff says"},
		"ignores the order": {broken{pairs: func(p engine.Pairs) engine.Pairs {
			if q, ok := p.(engine.PrefixPairs); ok {
				return engine.PrefixPairs{T: q.T}
			}
			return p
		}}, "Roundoff says"},
		"single precision": {broken{after: func(_ engine.Kernel, dst, _, _ []float64, _ engine.Pairs) {
			for k, v := range dst {
				dst[k] = float64(float32(v))
			}
		}}, "Roundoff says"},
		"half of the ordered pairs": {broken{after: func(_ engine.Kernel, dst, _, _ []float64, p engine.Pairs) {
			if _, ok := p.(engine.AllPairs); ok {
				for k := range dst {
					dst[k] /= 2
				}
			}
		}}, "Roundoff says"},
		"error of twice the bound": {broken{after: func(k engine.Kernel, dst, _, _ []float64, p engine.Pairs) {
			dst[0] += 2 * k.Bounds(engine.Query{Pairs: p}).Sum
		}}, "Roundoff says"},
		"accumulates": {broken{after: func(_ engine.Kernel, dst, before, _ []float64, _ engine.Pairs) {
			for k := range dst {
				dst[k] += before[k]
			}
		}}, "Roundoff says"},
		"not reproducible": {broken{after: func(_ engine.Kernel, dst, _, _ []float64, _ engine.Pairs) {
			if calls++; calls%2 == 0 {
				dst[0] = math.Nextafter(dst[0], 1e9)
			}
		}}, "differs when repeated"},
		"a cancelled call leaves something": {broken{
			ctx: func(ctx context.Context) context.Context {
				left = left || ctx.Err() != nil
				return ctx
			},
			after: func(_ engine.Kernel, dst, _, _ []float64, _ engine.Pairs) {
				if left {
					dst[0], left = math.Nextafter(dst[0], 1e9), false
				}
			},
		}, "differs when repeated (after a cancelled call: true"},
		"writes w": {broken{after: func(_ engine.Kernel, _, _, w []float64, _ engine.Pairs) {
			w[0] = math.Nextafter(w[0], 0)
		}}, "changed the records or w"},
		"writes labels": {broken{records: func(r *engine.Records) *engine.Records {
			y := r.Labels()
			y[0] = -y[0]
			return r
		}}, "Roundoff says"},
		"ignores the context": {broken{ctx: func(context.Context) context.Context { return context.Background() }},
			"cancelled context"},
		"vacuous bound":  {broken{roundoff: func(b float64) float64 { return 1e6 * b }}, "Roundoff per pair"},
		"infinite bound": {broken{roundoff: func(float64) float64 { return math.Inf(1) }}, "Roundoff says"},
		"zero bound":     {broken{roundoff: func(float64) float64 { return 0 }}, "Roundoff says"},
		"bound for other pairs": {broken{roundoff: func(b float64) float64 {
			return min(b, 1e-9)
		}}, "for a wrong number of records"},
	}
	for name, d := range defects {
		t.Run(name, func(t *testing.T) {
			suiteSays(t, d.b.backend(), small, d.want)
		})
	}
	t.Run("bits depend on workers", func(t *testing.T) {
		dependsOnWorkers(t, small, 7)
	})
	t.Run("loss contradicts itself", func(t *testing.T) {
		opts := small
		opts.Losses = []engine.ScoreLoss{twoFaced{}}
		suiteSays(t, cpu.Backend{}, opts, "AddGrad and DPhi")
	})
	t.Run("declines", func(t *testing.T) {
		opts := small
		opts.Losses = []engine.ScoreLoss{scoreOnly{enginetest.SmoothHinge{}}}
		suiteSays(t, cpu.Backend{Method: cpu.NearLinear}, opts, "not supported")
		declined := 0
		opts.Unsupported = func(engine.Problem) { declined++ }
		if suiteSays(t, cpu.Backend{Method: cpu.NearLinear}, opts, ""); declined == 0 {
			t.Error("with Unsupported set, no problem is declined")
		}
	})
}

// suiteSays runs the suite, which must report what is wanted, or nothing if that is "".
func suiteSays(t *testing.T, b engine.Backend, o enginetest.Options, want string) {
	t.Helper()
	var w watcher
	enginetest.Run(&w, b, o)
	said := slices.ContainsFunc(w.failures, func(f string) bool { return strings.Contains(f, want) })
	must.Equal(t, said, want != "", "want %q; the suite has %d failures: %.200q", want, len(w.failures), w.failures)
}

// dependsOnWorkers is the control that other bits with that many workers are found.
func dependsOnWorkers(t *testing.T, o enginetest.Options, workers int) {
	t.Helper()
	o.WithWorkers = func(k int) engine.Backend {
		return broken{after: func(_ engine.Kernel, dst, _, _ []float64, _ engine.Pairs) {
			if k == workers {
				dst[0] = math.Nextafter(dst[0], 1e9)
			}
		}}.backend()
	}
	suiteSays(t, broken{}.backend(), o, fmt.Sprintf("with %d workers", workers))
}

// twoFaced has a DPhi that is not the slope in AddGrad.
type twoFaced struct{ enginetest.SmoothHinge }

func (l twoFaced) DPhi(u float64) float64 { return 0.999999 * l.SmoothHinge.DPhi(u) }

// scoreOnly hides StripBound.
type scoreOnly struct{ engine.ScoreLoss }

// shifted sums over query groups of other sizes than it is asked for.
type shifted struct {
	engine.Backend
	sizes func([]int)
}

func (b shifted) Plan(p engine.Problem) (engine.Kernel, error) {
	if len(p.Groups) == 0 {
		return b.Backend.Plan(p)
	}
	inner := p
	inner.Groups = slices.Clone(p.Groups)
	b.sizes(inner.Groups)
	k, err := engine.Grouped{Backend: b.Backend}.Plan(inner)
	if err != nil {
		return nil, err
	}
	return shiftedKernel{k, p}, nil
}

type shiftedKernel struct {
	engine.Kernel
	problem engine.Problem
}

func (k shiftedKernel) Problem() engine.Problem { return k.problem }

// pairs are those of the inner kernel for the ones that it is asked for.
func (k shiftedKernel) pairs(p engine.Pairs) engine.Pairs {
	if g, ok := p.(engine.GroupPairs); ok && slices.Equal(g.Sizes, k.problem.Groups) {
		return k.Kernel.Problem().Pairs()
	}
	return engine.AllPairs{N: math.MaxInt32}
}

func (k shiftedKernel) Bounds(q engine.Query) engine.QueryBounds {
	q.Pairs = k.pairs(q.Pairs)
	return k.Kernel.Bounds(q)
}

func (k shiftedKernel) Bind(r *engine.Records) (engine.Evaluator, error) {
	e, err := k.Kernel.Bind(r)
	return shiftedEvaluator{e, k}, err
}

type shiftedEvaluator struct {
	engine.Evaluator
	kernel shiftedKernel
}

func (e shiftedEvaluator) Kernel() engine.Kernel { return e.kernel }

func (e shiftedEvaluator) Sum(ctx context.Context, dst []float64, q engine.Query) error {
	q.Pairs = e.kernel.pairs(q.Pairs)
	return e.Evaluator.Sum(ctx, dst, q)
}

// TestSuiteCatchesWrongGroups: a group that ends one record too late or too early is
// found.
func TestSuiteCatchesWrongGroups(t *testing.T) {
	opts := enginetest.Options{
		Losses: []engine.ScoreLoss{engine.Logistic{}}, MetricLosses: []engine.MetricLoss{}, Sizes: []int{},
		Radii:  []float64{1},
		Groups: [][]int{{4, 3, 9}},
	}
	suiteSays(t, shifted{cpu.Backend{}, func([]int) {}}, opts, "")
	for _, sizes := range []func([]int){func(s []int) { s[1]++; s[2]-- }, func(s []int) { s[0]--; s[1]++ }} {
		suiteSays(t, shifted{cpu.Backend{}, sizes}, opts, "Roundoff")
	}
}

// swapped plans another loss than it is asked for.
type swapped struct {
	cpu.Backend
	score  engine.ScoreLoss
	metric engine.MetricLoss
}

func (b swapped) Plan(p engine.Problem) (engine.Kernel, error) {
	if _, ok := p.Loss.(engine.MetricLoss); ok {
		p.Loss = b.metric
	} else {
		p.Loss = b.score
	}
	return b.Backend.Plan(p)
}

// TestSuiteCatchesWrongKinks: the slack for pairs at a kink does not hide a knot, a jump
// or a side that is wrong.
func TestSuiteCatchesWrongKinks(t *testing.T) {
	sizes.NotShort(t, "slow")
	opts := enginetest.Options{
		Losses:       []engine.ScoreLoss{engine.Score{Of: enginetest.Hinge()}},
		MetricLosses: []engine.MetricLoss{engine.Metric{Of: enginetest.Hinge()}},
		Sizes:        []int{3, 64}, Radii: []float64{1},
	}
	hinge := func(left, knot, right float64) enginetest.Pieces {
		return enginetest.Pieces{Label: "test-hinge",
			Parts: []engine.Piece{{From: math.Inf(-1), Slope: left}, {From: knot, Slope: right}}}
	}
	for name, is := range map[string]enginetest.Pieces{
		"": hinge(-1, 1, 0), "other knot": hinge(-1, 0.5, 0), "small jump": hinge(-1, 1, -1e-9),
		"left slope": hinge(-1-1e-9, 1, 0), "other side": hinge(0, 1, -1),
	} {
		for _, method := range []cpu.Method{cpu.Direct, cpu.Sorted} {
			o := opts
			if method == cpu.Sorted {
				o.MetricLosses = []engine.MetricLoss{}
			}
			want := ""
			if name != "" {
				want = "test-hinge"
			}
			suiteSays(t, swapped{cpu.Backend{Method: method}, engine.Score{Of: is}, engine.Metric{Of: is}}, o, want)
		}
	}
}
