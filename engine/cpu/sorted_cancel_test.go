package cpu_test

import (
	"context"
	"slices"
	"testing"

	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/engine/enginetest"
	"dyad/internal/must"
)

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
		if err := e.Sum(ctx, got, engine.Gradient(other, engine.AllPairs{N: n})); err != context.Canceled {
			t.Errorf("stopped after %d questions: %v", last, err)
		}
		if ctx.asked > last+4 {
			t.Errorf("stopped after %d questions, but %d were asked", last, ctx.asked)
		}
	}
	if err := e.Sum(context.Background(), got, engine.Gradient(w, engine.AllPairs{N: n})); err != nil || !slices.Equal(got, want) {
		t.Errorf("after stops: %v, %v, want %v", got, err, want)
	}
}
