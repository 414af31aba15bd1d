package driver

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"

	"dyad/internal/tasks"
)

// GPU runs jobs on one device, one after the other, on a thread of its own. Its
// methods may be called from any goroutine.
//
// The thread is locked for the life of the GPU because the driver keeps its
// current context per thread: a goroutine that moves between threads would find
// none, or another GPU's. A job is a whole computation, not a call, since the way
// to the thread and back costs as much as several kernel launches.
type GPU struct {
	device Device
	jobs   chan func(Context)
	done   chan struct{} // closed when the thread has detached

	mu     sync.Mutex
	closed bool
	users  sync.WaitGroup // callers between the check of closed and their send
	detach error
	lost   error // the first error after which nothing on this GPU works; only its thread writes
}

// OpenGPU attaches to GPU number index.
func OpenGPU(d Driver, index int) (*GPU, error) {
	devices, err := d.Devices()
	if err != nil {
		return nil, err
	}
	if index < 0 || index >= len(devices) {
		return nil, unavailable("there is no GPU %d; the driver sees %d, numbered from 0", index, len(devices))
	}
	g := &GPU{device: devices[index], jobs: make(chan func(Context)), done: make(chan struct{})}
	attached := make(chan error)
	go g.serve(d, attached)
	if err := <-attached; err != nil {
		return nil, unavailable("GPU %d: %w", index, err)
	}
	return g, nil
}

func (g *GPU) serve(d Driver, attached chan<- error) {
	// Never unlocked: the thread ends with the goroutine, so no other goroutine
	// inherits its context.
	runtime.LockOSThread()
	defer close(g.done)
	c, err := d.Attach(g.device.Index)
	attached <- err
	if err != nil {
		return
	}
	for job := range g.jobs {
		job(c)
	}
	if err := c.Detach(); g.lost == nil {
		g.detach = err
	}
}

// run runs a job on the GPU's thread. An error that loses the context is kept, alone: what frees
// and waits report after it is the same error of other calls.
func (g *GPU) run(c Context, job func(c Context) error) error {
	if g.lost != nil {
		return afterLoss{g.lost}
	}
	err := job(c)
	if lost := cause(err); lost != nil {
		g.lost = fmt.Errorf("%w; the GPU does no more work in this process", lost)
		return g.lost
	}
	return err
}

// afterLoss is the error of a job that did not run because an earlier one lost the context.
type afterLoss struct{ error }

func (a afterLoss) Unwrap() error { return a.error }

// cause is the first error of a tree after which the context is lost, with what it is wrapped in
// as long as that is one line; nil if there is none.
func cause(err error) error {
	var inner []error
	switch e := err.(type) {
	case Result:
		if e.Lost() {
			return e
		}
	case interface{ Unwrap() error }:
		inner = []error{e.Unwrap()}
	case interface{ Unwrap() []error }:
		inner = e.Unwrap()
	}
	for _, e := range inner {
		if lost := cause(e); lost != nil {
			if strings.Contains(err.Error(), "\n") {
				return lost
			}
			return err
		}
	}
	return nil
}

// Device describes the GPU.
func (g *GPU) Device() Device { return g.device }

// Do runs job on the GPU's thread and returns its error. If ctx is done before the
// job starts it returns ctx.Err(); a job that has started is waited for. The job
// must not keep c, and must not call Do. After a Result that is Lost no job runs any more, and the
// error is that one, in one line.
func (g *GPU) Do(ctx context.Context, job func(c Context) error) error {
	g.mu.Lock()
	if g.closed {
		g.mu.Unlock()
		return ErrClosed
	}
	g.users.Add(1)
	g.mu.Unlock()
	defer g.users.Done()
	if err := ctx.Err(); err != nil {
		return err
	}
	var failed error
	var thread tasks.Group
	done := make(chan struct{})
	select {
	case g.jobs <- func(c Context) { defer close(done); thread.Try(func() { failed = g.run(c, job) }) }:
		<-done
		thread.Wait() // a panic is the caller's
		return failed
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Release is Do for a job that only gives back what others hold on the GPU. If the context was lost
// before, it is gone already: Release does not run the job, and the job that lost it reported the
// error.
func (g *GPU) Release(job func(c Context) error) error {
	err := g.Do(context.Background(), job)
	if _, gone := err.(afterLoss); gone {
		return nil
	}
	return err
}

// Close waits for running jobs and gives the GPU back. Later calls return
// ErrClosed.
func (g *GPU) Close() error {
	g.mu.Lock()
	if g.closed {
		g.mu.Unlock()
		return ErrClosed
	}
	g.closed = true
	g.mu.Unlock()
	g.users.Wait()
	close(g.jobs)
	<-g.done
	if g.detach != nil {
		return fmt.Errorf("driver: GPU %d: %w", g.device.Index, g.detach)
	}
	return nil
}
