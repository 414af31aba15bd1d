package command

import (
	"io"
	"sync"

	"github.com/alecthomas/kong"

	"dyad/internal/tasks"
)

// computes is implemented by commands that charge nothing and write only their result, at the end. After an
// interrupt, such a command need not be waited for, in whatever computation it is.
type computes interface{ computes() }

func (planTrainCmd) computes()    {}
func (planCompareCmd) computes()  {}
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

// door passes on all writes until it is closed.
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
