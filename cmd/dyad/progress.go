package main

import (
	"fmt"
	"time"

	"github.com/schollz/progressbar/v3"

	"dyad/algorithms"
	"dyad/engine/dataset"
)

// tracker shows a progress bar on an interactive terminal.
func (a *app) tracker(what string) algorithms.Tracker {
	if !a.interactive {
		return algorithms.Tracker{}
	}
	return algorithms.Tracker{OnStep: (&barTracker{a: a, what: what, plain: a.percentOnly}).Step}
}

// describedTracker is a tracker whose text can change.
func (a *app) describedTracker(what string) *barTracker {
	return &barTracker{a: a, what: what, silent: !a.interactive}
}

type barTracker struct {
	silent bool
	plain  bool // no times: they depend on how many rows persons have
	a      *app
	what   string
	bar    *progressbar.ProgressBar
}

// describe changes the text before the bar.
func (b *barTracker) describe(what string) {
	b.what = what
	if b.bar != nil {
		b.bar.Describe(what)
	}
}

// Step moves the bar; it vanishes when done.
func (b *barTracker) Step(done, total int) {
	if b.silent {
		return
	}
	if b.bar == nil {
		b.bar = progressbar.NewOptions(total,
			progressbar.OptionSetWriter(b.a.stderr),
			progressbar.OptionSetDescription(b.what),
			progressbar.OptionSetPredictTime(!b.plain),
			progressbar.OptionSetElapsedTime(!b.plain),
			progressbar.OptionThrottle(100*time.Millisecond),
			progressbar.OptionClearOnFinish(),
		)
	}
	_ = b.bar.Set(done) // a terminal that cannot be written to does not stop a run
}

// rowProgress shows the rows read so far on an interactive terminal, and lets an
// interrupt stop the load. done wipes the line.
func (a *app) rowProgress(what string) (progress func(rows int) error, done func()) {
	shown := false
	progress = func(rows int) error {
		if a.interactive {
			shown = true
			fmt.Fprintf(a.stderr, "\r%s: %d rows", what, rows)
		}
		return a.ctx.Err()
	}
	done = func() {
		if shown {
			fmt.Fprint(a.stderr, "\r\x1b[K")
		}
	}
	return progress, done
}

// readData loads files with progress. Bad content is bad input, an interrupt is
// context.Canceled.
func (a *app) readData(from dataFiles, s *dataset.Schema, o dataset.Options) (*dataset.Dataset, error) {
	progress, done := a.rowProgress("reading")
	if o.Progress = progress; s.ByPerson() { // the number of rows is not public, nor is a time, which grows with it
		o.Progress, a.percentOnly = func(int) error { return a.ctx.Err() }, true
	}
	o.Also = from.names[1:]
	d, err := dataset.Load(from.names[0], s, o)
	done()
	if a.ctx.Err() != nil {
		return nil, a.ctx.Err()
	}
	return d, asInput(err)
}

// readUnlabelled is readData for records that a model is applied to. They may have columns that the
// model does not know.
func (a *app) readUnlabelled(from dataFiles, s *dataset.Schema) (*dataset.Dataset, error) {
	d, err := a.readData(from, s, dataset.Options{Labels: dataset.LabelsIgnored, KeepIDs: true, Persons: dataset.IgnorePersons, IgnoreOthers: true})
	if err == nil && d.Others {
		a.note("dyad: columns of %s that the model does not know were ignored", from)
	}
	return d, err
}

// readTraining is readData for training. Public records without anything to compare are bad
// input. Private ones are trained on: that they have one class is a joint property of
// well-formed records, which must not end a run or be had for nothing.
func (a *app) readTraining(from dataFiles, s *dataset.Schema, o dataset.Options, public bool) (*dataset.Dataset, error) {
	d, err := a.readData(from, s, o)
	if err == nil && o.Labels == dataset.LabelsRequired && (public || s.Public) {
		err = asInput(d.CheckPairs())
	}
	return d, err
}
