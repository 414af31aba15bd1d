package driver

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"

	"dyad/internal/tasks"
)

// GPU runs jobs on one device, one after the other, on its own operating-system thread. Its methods may be
// called from any goroutine.
//
// The thread is locked for the life of the GPU, because the driver keeps its current context per thread. A
// goroutine that moves between threads would find no context, or the context of another GPU. A job is a whole
// computation instead of a single call, because switching to the thread and back takes as long as several
// kernel launches.
type GPU struct {
	device Device
	jobs   chan func(Context)
	done   chan struct{} // closed when the thread has detached

	mu     sync.Mutex
	closed bool
	users  sync.WaitGroup // callers that have checked closed and have not returned
	detach error
	lost   error // the first error after which no call for this GPU works; only the GPU's thread writes lost
}

// OpenGPU attaches to GPU number index. If there is no such GPU or attaching fails, the error wraps ErrUnavailable.
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
	// The thread is never unlocked. It ends with the goroutine, so no other goroutine inherits its context.
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

// run runs a job on the GPU's thread. If an error loses the context, run stores and returns this error alone,
// because later calls that free memory or wait report the same error again.
func (g *GPU) run(c Context, job func(c Context) error) error {
	if g.lost != nil {
		return afterLoss{g.lost}
	}
	err := job(c)
	if lost := cause(err); lost != nil {
		g.lost = fmt.Errorf("%w; this process does not use the GPU any more", lost)
		return g.lost
	}
	return err
}

// afterLoss is the error of a job that did not run because an earlier job lost the context.
type afterLoss struct{ error }

func (a afterLoss) Unwrap() error { return a.error }

// cause returns the first error in a tree of errors after which the context is lost, or nil if there is none.
// The result includes the wrapping errors as long as their text is one line.
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

// Device returns the facts about the GPU.
func (g *GPU) Device() Device { return g.device }

// Do runs job on the GPU's thread and returns the error of job. If ctx is done before the job starts, Do
// returns ctx.Err(). If the job has started, Do waits for its end. The job must not keep c, and must not call
// Do. If a job returns a Result for which Lost returns true, no further job runs. This call of Do and every
// later call then return this first error, with a text of one line.
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
		thread.Wait() // passes a panic of the job on to the caller
		return failed
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Release is Do for a job that only frees memory and other resources on the GPU. If the context was lost
// before, the resources are already gone. Release then does not run the job and returns nil, because the job
// that lost the context has reported the error.
func (g *GPU) Release(job func(c Context) error) error {
	err := g.Do(context.Background(), job)
	if _, gone := err.(afterLoss); gone {
		return nil
	}
	return err
}

// Close waits for running jobs and releases the GPU. Later calls return ErrClosed.
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
