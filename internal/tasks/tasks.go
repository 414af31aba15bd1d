// Package tasks runs goroutines whose panics become panics of their caller. A panic that is not recovered in a
// goroutine ends the program at once with exit code 2 and a stack whose arguments can be values of records. A
// panic of the caller is reported with the name of its run. Go's fatal errors (no memory, concurrent use of a
// map) end a program in any case.
package tasks

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
)

// Group is a group of goroutines that Wait waits for. The zero value is ready for use.
type Group struct {
	// Stop, if not nil, is called when a goroutine panics, before the other goroutines have ended.
	Stop  func()
	all   sync.WaitGroup
	first atomic.Pointer[Panic]
}

// Go runs f in a goroutine.
func (g *Group) Go(f func()) { g.all.Go(func() { g.Try(f) }) }

// Try runs f and keeps its panic for Wait. A fault counts as a panic, too. Faults happen if another program
// shortens a mapped file.
func (g *Group) Try(f func()) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := Caught(recover()); p != nil {
			g.first.CompareAndSwap(nil, p)
			if g.Stop != nil {
				g.Stop()
			}
		}
	}()
	f()
}

// Panicked reports whether a goroutine of the group panicked. Other goroutines can use it to stop early.
func (g *Group) Panicked() bool { return g.first.Load() != nil }

// Wait waits for all goroutines. If a goroutine panicked, Wait panics with the *Panic of the first goroutine that did.
func (g *Group) Wait() {
	g.all.Wait()
	if p := g.first.Load(); p != nil {
		panic(p)
	}
}

// Each calls work(worker, job) once for every job in [0, jobs) and returns ctx.Err(). The number of
// goroutines, with the caller's, is at most workers. When ctx is done, or a call panics, Each starts no
// further jobs. worker is in [0, workers), and no two calls have the same worker at the same time.
func Each(ctx context.Context, workers, jobs int, work func(worker, job int)) error {
	workers = min(workers, jobs)
	if workers <= 1 {
		for job := range jobs {
			if err := ctx.Err(); err != nil {
				return err
			}
			work(0, job)
		}
		return ctx.Err()
	}
	var next atomic.Int64
	var group Group
	run := func(worker int) {
		for ctx.Err() == nil && !group.Panicked() {
			job := int(next.Add(1)) - 1
			if job >= jobs {
				return
			}
			work(worker, job)
		}
	}
	for worker := 1; worker < workers; worker++ {
		group.Go(func() { run(worker) })
	}
	group.Try(func() { run(0) })
	group.Wait()
	return ctx.Err()
}

// Await returns the result of f, or the error of ctx if ctx is done first. f cannot be interrupted, so in the
// second case it continues to run in its goroutine.
func Await[T any](ctx context.Context, f func() T) (T, error) {
	var result T
	var group Group
	done := make(chan struct{})
	go func() {
		defer close(done)
		group.Try(func() { result = f() })
	}()
	select {
	case <-done:
		group.Wait()
		return result, nil
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

// Panic is the value of a panic, with the place where the panic happened.
type Panic struct {
	Value any
	// Frames are the functions, files and lines of the stack, with the innermost first. Arguments of functions
	// are omitted, because they could be values of records.
	Frames []string
}

// Caught returns a Panic for the value that recover returned. If this value is nil, Caught returns nil.
// The deferred function that calls recover must call Caught, too. A *Panic of another goroutine keeps
// its own frames.
func Caught(recovered any) *Panic {
	if p, ok := recovered.(*Panic); ok || recovered == nil {
		return p
	}
	p := &Panic{Value: recovered}
	var callers [64]uintptr
	frames := runtime.CallersFrames(callers[:runtime.Callers(1, callers[:])])
	for more := true; more; {
		var f runtime.Frame
		if f, more = frames.Next(); f.Function != "" {
			p.Frames = append(p.Frames, fmt.Sprintf("%s %s:%d", f.Function, f.File, f.Line))
		}
	}
	return p
}

// IsFault reports whether the panic is a fault of memory that cannot be read. Such memory belongs to a mapped
// file that was shortened or whose disk failed.
func (p *Panic) IsFault() bool {
	// among errors of the runtime, only faults have an address (debug.SetPanicOnFault)
	_, ok := p.Value.(interface{ Addr() uintptr })
	return ok
}

var digits = regexp.MustCompile(`-?[0-9]+`)

// String returns the text for an error report, in several lines. The text contains no value that the program worked
// on. For an error of the runtime, the text has the message without its numbers. For another panic, it has only the
// type of the value.
func (p *Panic) String() string {
	what := fmt.Sprintf("a value of type %T", p.Value)
	if err, ok := p.Value.(error); ok {
		if r := runtime.Error(nil); errors.As(err, &r) {
			what = digits.ReplaceAllString(r.Error(), "N")
		}
	}
	return what + "\n\t" + strings.Join(p.Frames, "\n\t")
}
