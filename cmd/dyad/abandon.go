package main

import (
	"io"
	"sync"

	"github.com/alecthomas/kong"

	"dyad/internal/tasks"
)

// computes is a command that charges nothing and writes nothing but its result at the end. An interrupt
// leaves its work behind, in whatever computation it is.
type computes interface{ computes() }

func (planCmd) computes()         {}
func (accountCmd) computes()      {}
func (lossesCheckCmd) computes()  {}
func (pairsPlanCmd) computes()    {}
func (pairsInspectCmd) computes() {}
func (localPlanCmd) computes()    {}

// perform runs a command.
func (a *app) perform(command *kong.Context) error {
	if err := a.judgeStarts(command); err != nil {
		return err
	}
	if _, ok := command.Selected().Target.Addr().Interface().(computes); !ok {
		return command.Run(a)
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
