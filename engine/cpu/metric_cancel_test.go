package cpu_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/engine/enginetest"
	"dyad/internal/machine"
	"dyad/internal/must"
	"dyad/internal/sizes"
	"dyad/kernels"
)

// timedContext is done after some processor time, and keeps the longest time between
// two questions.
type timedContext struct {
	context.Context
	start, asked, longest, limit float64
}

func newTimedContext(limit float64) *timedContext {
	now := machine.ProcessorTime()
	return &timedContext{Context: context.Background(), start: now, asked: now, limit: limit}
}

func (c *timedContext) Err() error {
	now := machine.ProcessorTime()
	c.longest, c.asked = max(c.longest, now-c.asked), now
	if now-c.start > c.limit {
		return context.Canceled
	}
	return nil
}

// costlyMetric takes tens of microseconds for a slope.
type costlyMetric struct{ enginetest.SmoothMetric }

func (l costlyMetric) MetricDPhi(u float64) (v float64) {
	for range 20000 {
		v = l.SmoothMetric.MetricDPhi(u + 1e-9*v)
	}
	return v
}

// TestMetricCancelLatency: a large sum asks at least every 100 ms of processor time whether
// it shall stop. A slope that makes one tile take longer shows that the test would see it.
func TestMetricCancelLatency(t *testing.T) {
	sizes.NotShort(t, "slow")
	const most = 0.1
	const d = 128
	n, stop := sizes.Of(50_000, 100_000), sizes.Of(0.25, 0.8) // behind the products with W
	r := benchRecords(t, n, d)
	longest := func(b cpu.Backend, loss engine.Loss, limit float64) float64 {
		p := metricProblem(n, d, 1)
		p.Loss = loss
		e := mustBind(t, b, p, r)
		defer e.Close()
		w := metricPoint(d)
		ctx := newTimedContext(limit)
		if err := e.Sum(ctx, make([]float64, len(w)), engine.Gradient(w, engine.AllPairs{N: n})); !errors.Is(err, context.Canceled) {
			t.Errorf("a sum over %d records ends in %v of processor time: %v", n, limit, err)
		}
		return max(ctx.longest, machine.ProcessorTime()-ctx.asked)
	}
	for _, v := range sizes.Of([]kernels.Variant{kernels.Best}, kernels.Variants()) {
		got := longest(cpu.Backend{Workers: 1, Variant: v}, engine.MahalanobisLogistic{}, stop)
		t.Logf("%v: %.1f ms", v, 1e3*got)
		if got > most {
			t.Errorf("%v: %.0f ms without asking", v, 1e3*got)
		}
	}
	// Long enough that it is surely in a tile by then, whatever the products take.
	if got := longest(cpu.Backend{Workers: 1}, costlyMetric{}, stop+sizes.Of(0.5, 1.5)); got < most {
		t.Errorf("a tile of costly slopes takes %.0f ms, too few for a control", 1e3*got)
	}
}

// countedContext is done from the given number of questions on.
type countedContext struct {
	context.Context
	asked, last int
}

func (c *countedContext) Err() error {
	if c.asked++; c.asked > c.last {
		return context.Canceled
	}
	return nil
}

// TestSortedStops: the sorted method asks often enough to stop in the middle of a sort,
// stops wherever it is told to, and is right afterwards.
func TestSortedStops(t *testing.T) {
	const n = 100_000
	r := benchRecords(t, n, 2)
	k := must.Get(cpu.Backend{Workers: 1}.Plan(engine.Problem{N: n, D: 2, Bounds: r.Bounds(), Loss: engine.Score{Of: enginetest.Hinge()}, Radius: 1}))(t)
	if k.Method() != cpu.Sorted.String() {
		t.Fatalf("the method is %s", k.Method())
	}
	e := must.Get(k.Bind(r))(t)
	defer e.Close()
	w, want, got := inBall(2, 1), make([]float64, 2), make([]float64, 2)
	other := []float64{0.1, 0.2}
	all := &countedContext{Context: context.Background(), last: 1 << 30}
	must.Do(t, e.Sum(all, got, engine.Gradient(other, engine.AllPairs{N: n})))
	must.Do(t, e.Sum(context.Background(), want, engine.Gradient(w, engine.AllPairs{N: n})))
	// Chunks of rows are asked for twice, of which there are up to 128. Numbers are sorted,
	// summed and restored in parts of some thousands.
	if all.asked < 200 || all.asked > 2*128+n/200 {
		t.Errorf("asked %d times", all.asked)
	}
	for last := 0; last < all.asked; last += 1 + all.asked/50 {
		ctx := &countedContext{Context: context.Background(), last: last}
		must.Equal(t, e.Sum(ctx, got, engine.Gradient(other, engine.AllPairs{N: n})), context.Canceled, "stopped after %d questions", last)
		if ctx.asked > last+4 {
			t.Errorf("stopped after %d questions, but %d were asked", last, ctx.asked)
		}
	}
	if err := e.Sum(context.Background(), got, engine.Gradient(w, engine.AllPairs{N: n})); err != nil || !slices.Equal(got, want) {
		t.Errorf("after stops: %v, %v, want %v", got, err, want)
	}
}
