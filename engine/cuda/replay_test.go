package cuda

import (
	"context"
	"errors"
	"slices"
	"testing"

	"dyad/engine"
	"dyad/engine/cuda/driver"
	"dyad/internal/must"
)

// TestReplay: from the second sum on, one call of the driver runs all of it, with the bits of
// launches one by one for every w, also with prefix pairs in between; and where capture fails
// sums are launched one by one.
func TestReplay(t *testing.T) {
	p, r, w := records(t, 700, 3, 2)
	all := engine.AllPairs{N: p.N}
	ws := [][]float64{w, {0, 0, 0}, {-w[0], w[1], 0.5 * w[2]}, {w[0], 0.25 * w[1], -w[2]}}
	run := func(name string, nth int, err error) (sums [][]float64, calls [][]string) {
		f := newFake()
		f.fail = f.failing(name, nth, err)
		b := openFake(t, f)
		k, err := b.Plan(p)
		if err != nil || k.Method() != "near-linear" {
			t.Fatal(err)
		}
		e := must.Get(k.Bind(r))(t)
		prefix := make([]float64, p.D)
		for i, v := range ws {
			dst, before := make([]float64, p.D), len(f.calls)
			must.Do(t, e.Sum(context.Background(), dst, engine.Gradient(v, all)))
			sums, calls = append(sums, dst), append(calls, f.calls[before:])
			if i == 2 {
				must.Do(t, e.Sum(context.Background(), prefix, engine.Gradient(w, engine.PrefixPairs{T: 9})))
			}
		}
		must.CheckDo(t, e.Close())
		return append(sums, prefix), calls
	}
	want, plain := run("BeginCapture", 0, errors.ErrUnsupported)
	got, calls := run("", 0, nil)
	for i := range want {
		must.Same(t, got[i], want[i], "sum %d", i)
		if i > 0 && slices.Equal(want[i], want[i-1]) {
			t.Errorf("sum %d does not tell from the one before", i)
		}
	}
	steps := []string{"CopyIn", "Launch score_moments", "Launch class_moments", "Launch expand", "Launch weighted_series", "Launch combine", "CopyOut", "SyncStream"}
	graph := []string{"LaunchGraph", "SyncStream"}
	second := slices.Concat([]string{"BeginCapture"}, steps[:7], []string{"EndCapture"}, graph)
	if !slices.Equal(calls[0], steps) || !slices.Equal(calls[1], second) || !slices.Equal(calls[2], graph) || !slices.Equal(calls[3], graph) {
		t.Errorf("calls %v", calls)
	}
	must.Same(t, plain[3], steps, "without graphs")
	// Defects of a driver: no graph is kept, and none tried again.
	for name, nth := range map[string]int{"EndCapture": 1, "Launch expand": 2} {
		got, calls := run(name, nth, driver.Result(901))
		if !slices.EqualFunc(got, want, slices.Equal[[]float64]) || !slices.Equal(calls[3], steps) {
			t.Errorf("%s fails: %v, %v", name, got, calls)
		}
	}
	// The control: a graph that keeps the first w is found.
	f := newFake()
	k := must.Get(openFake(t, f).Plan(p))(t)
	e := must.Get(k.Bind(r))(t)
	defer e.Close()
	dst := make([]float64, p.D)
	for i, v := range ws[:3] {
		must.Do(t, e.Sum(context.Background(), dst, engine.Gradient(v, all)))
		if i == 1 {
			f.stale = true
		}
	}
	if slices.Equal(dst, want[2]) {
		t.Error("a graph without its copy of w is not seen")
	}
}

// TestReplayIsCancelled: a context that is done while a sum is captured ends it, and the next
// sum is captured.
func TestReplayIsCancelled(t *testing.T) {
	p, r, w := records(t, 300, 2, 2)
	f := newFake()
	k := must.Get(openFake(t, f).Plan(p))(t)
	e := must.Get(k.Bind(r))(t)
	first, dst := make([]float64, p.D), make([]float64, p.D)
	must.Do(t, e.Sum(context.Background(), first, engine.Gradient(w, engine.AllPairs{N: p.N})))
	ctx, cancel := context.WithCancel(context.Background())
	f.fail = func(call string) error {
		if call == "Launch score_moments" {
			cancel() // the second pass asks
		}
		return nil
	}
	graphs := func() int { return f.called("LaunchGraph") }
	if err := e.Sum(ctx, dst, engine.Gradient(w, engine.AllPairs{N: p.N})); !errors.Is(err, context.Canceled) || graphs() != 0 {
		t.Errorf("%v, %d graphs", err, graphs())
	}
	if err := e.Sum(context.Background(), dst, engine.Gradient(w, engine.AllPairs{N: p.N})); err != nil || graphs() != 1 || !slices.Equal(dst, first) {
		t.Errorf("%v, %d graphs, %v and %v", err, graphs(), dst, first)
	}
	must.CheckDo(t, e.Close())
}

// TestLongSumsAsk: sums over more numbers of X are not replayed; between their passes the GPU is
// waited for and the context asked. They have the same bits.
func TestLongSumsAsk(t *testing.T) {
	p, r, w := records(t, 600, 2, 2)
	var short []float64
	for _, most := range []int{600 * 2, 600*2 - 1} {
		f := newFake()
		planned := must.Get(openFake(t, f).Plan(p))(t)
		k := *planned.(*kernel)
		k.mostPrompt = most
		e := must.Get(k.Bind(r))(t)
		dst := make([]float64, p.D)
		for range 2 {
			must.Do(t, e.Sum(context.Background(), dst, engine.Gradient(w, engine.AllPairs{N: p.N})))
		}
		must.Equal(t, f.called("LaunchGraph") > 0, short == nil, "%d numbers: graphs", most)
		if short == nil {
			short = dst
		} else {
			if !slices.Equal(dst, short) {
				t.Errorf("%v, replayed %v", dst, short)
			}
			ctx, cancel := context.WithCancel(context.Background())
			f.fail = func(call string) error {
				if call == "SyncStream" {
					cancel()
				}
				return nil
			}
			f.calls = nil
			if err := e.Sum(ctx, dst, engine.Gradient(w, engine.AllPairs{N: p.N})); !errors.Is(err, context.Canceled) || f.called("Launch weighted_series") > 0 {
				t.Errorf("%v after %v", err, f.calls)
			}
		}
		must.CheckDo(t, e.Close())
	}
}
