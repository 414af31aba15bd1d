package command

import (
	"context"
	"io"
	"sync"
	"time"

	"github.com/alecthomas/kong"

	"dyad/internal/tasks"
)

// computes is a command that charges nothing and writes nothing but its result at the end. An interrupt
// leaves its work behind, in whatever computation it is.
type computes interface{ computes() }

func (planTrainCmd) computes()    {}
func (planCompareCmd) computes()  {}
func (accountCmd) computes()      {}
func (lossesCheckCmd) computes()  {}
func (pairsPlanCmd) computes()    {}
func (pairsInspectCmd) computes() {}
func (localPlanCmd) computes()    {}

// The states of a command that an interrupt may leave behind.
const (
	free     int32 = iota // it loses no result
	holding               // it is waited for
	leftBack              // the program ends
)

// grace is how long a command that is free is waited for after an interrupt.
const grace = 600 * time.Millisecond

// hold marks the command as one that must end in good order by itself: it changes a ledger, or runs a stream, a server or a team.
// If it was left behind it goes no further.
func (a *app) hold() {
	if a.state == nil { // not started by run
		return
	}
	if !a.state.CompareAndSwap(free, holding) && a.state.Load() == leftBack {
		select {}
	}
}

// waited is a context that ends when an interrupted command is not waited for any longer: what waits for a pipe, a prompt or a
// network folder does not see that a.ctx is done.
func (a *app) waited() (context.Context, func()) {
	late, cancel := context.WithCancel(context.WithoutCancel(a.ctx))
	stop := context.AfterFunc(a.ctx, func() {
		time.AfterFunc(grace, func() {
			if a.state.CompareAndSwap(free, leftBack) {
				cancel()
			}
		})
	})
	return late, func() { stop(); cancel() }
}

// perform runs a command.
func (a *app) perform(command *kong.Context) error {
	if err := a.judgeStarts(command); err != nil {
		return err
	}
	if _, ok := command.Selected().Target.Addr().Interface().(computes); !ok {
		ctx, stop := a.waited()
		defer stop()
		err, left := tasks.Await(ctx, func() error { return command.Run(a) })
		if left != nil {
			return left
		}
		return err
	}
	shut := &door{}
	inner := *a
	inner.stdout, inner.stderr = shut.writer(a.stdout), shut.writer(a.stderr)
	err, interrupted := tasks.Await(a.ctx, func() error { return command.Run(&inner) })
	if interrupted != nil {
		shut.close()
		return interrupted
	}
	return err
}

// door lets what is written pass until it is closed.
type door struct {
	mu     sync.Mutex
	closed bool
}

func (d *door) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
}

func (d *door) writer(w io.Writer) io.Writer { return &doorWriter{d, w} }

type doorWriter struct {
	door *door
	to   io.Writer
}

// Write implements io.Writer.
func (w *doorWriter) Write(b []byte) (int, error) {
	w.door.mu.Lock()
	defer w.door.mu.Unlock()
	if w.door.closed {
		return 0, io.ErrClosedPipe
	}
	return w.to.Write(b)
}
