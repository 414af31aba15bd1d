package tasks

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"dyad/internal/must"
)

// caught is the *Panic that f ends with.
func caught(t *testing.T, f func()) (p *Panic) {
	t.Helper()
	defer func() {
		if p = Caught(recover()); p == nil {
			t.Error("no panic")
		}
	}()
	f()
	return nil
}

// A panic in any goroutine is the caller's, tells where it happened, and no value.
func TestPanicsAreTheCallers(t *testing.T) {
	secret := []int{48213, 7}
	fails := func() { secret[secret[0]]++ }
	for name, f := range map[string]func(){
		"group": func() {
			var g Group
			g.Go(fails)
			g.Go(func() {})
			g.Wait()
		},
		"each":          func() { _ = Each(t.Context(), 4, 100, func(_, job int) { time.Sleep(time.Microsecond); fails() }) },
		"each, one":     func() { _ = Each(t.Context(), 1, 100, func(_, job int) { fails() }) },
		"await":         func() { _, _ = Await(t.Context(), func() int { fails(); return 1 }) },
		"text":          func() { var g Group; g.Go(func() { panic("patient 48213") }); g.Wait() },
		"error":         func() { var g Group; g.Go(func() { panic(fmt.Errorf("patient %d", 48213)) }); g.Wait() },
		"nested groups": func() { var g Group; g.Go(func() { var h Group; h.Go(fails); h.Wait() }); g.Wait() },
	} {
		text := caught(t, f).String()
		if strings.Contains(text, "48213") || strings.Contains(text, "patient") {
			t.Errorf("%s: a value is told: %s", name, text)
		}
		if !strings.Contains(text, "tasks_test.go:") || !strings.Contains(text, "TestPanicsAreTheCallers") {
			t.Errorf("%s: no place: %s", name, text)
		}
		if runtime := !strings.Contains(text, "value of type"); runtime != strings.Contains(text, "index out of range [N] with length N") || runtime == (name == "text" || name == "error") {
			t.Errorf("%s: %s", name, text)
		}
	}
}

func TestStop(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	g := Group{Stop: stop}
	g.Go(func() { <-ctx.Done() })
	g.Go(func() { panic(1) })
	if p := caught(t, g.Wait); p != nil && p.Value != 1 {
		t.Errorf("%v", p)
	}
}

func TestEach(t *testing.T) {
	for _, workers := range []int{0, 1, 3, 50} {
		var done [40]atomic.Int32
		busy := make([]atomic.Bool, max(workers, 1))
		must.CheckDo(t, Each(t.Context(), workers, len(done), func(w, job int) {
			if busy[w].Swap(true) {
				t.Errorf("worker %d is in two calls", w)
			}
			done[job].Add(1)
			busy[w].Store(false)
		}))
		for job := range done {
			if done[job].Load() != 1 {
				t.Errorf("%d workers: job %d was done %d times", workers, job, done[job].Load())
			}
		}
		ctx, stop := context.WithCancel(t.Context())
		var started atomic.Int32
		err := Each(ctx, workers, 1000, func(int, int) { started.Add(1); stop() })
		if !errors.Is(err, context.Canceled) || int(started.Load()) > max(workers, 1) {
			t.Errorf("%d workers: %v after %d jobs", workers, err, started.Load())
		}
	}
}

func TestAwait(t *testing.T) {
	if v, err := Await(t.Context(), func() int { return 3 }); v != 3 || err != nil {
		t.Error(v, err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	hangs := make(chan int)
	defer close(hangs)
	if v, err := Await(ctx, func() int { return <-hangs }); v != 0 || !errors.Is(err, context.Canceled) {
		t.Error(v, err)
	}
}
