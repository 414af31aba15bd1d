package main

import (
	"fmt"
	"time"

	"github.com/schollz/progressbar/v3"

	"dyad/algorithms"
)

// tracker shows a progress bar on an interactive terminal.
func (a *app) tracker(what string) algorithms.Tracker {
	if !a.interactive {
		return algorithms.NoTracker{}
	}
	return &barTracker{a: a, what: what}
}

type barTracker struct {
	a    *app
	what string
	bar  *progressbar.ProgressBar
}

// Step moves the bar; it vanishes when done.
func (b *barTracker) Step(done, total int) {
	if b.bar == nil {
		b.bar = progressbar.NewOptions(total,
			progressbar.OptionSetWriter(b.a.stderr),
			progressbar.OptionSetDescription(b.what),
			progressbar.OptionSetPredictTime(true),
			progressbar.OptionThrottle(100*time.Millisecond),
			progressbar.OptionClearOnFinish(),
		)
	}
	_ = b.bar.Set(done) // a terminal that cannot be written to is no reason to stop
}

// rowProgress reports rows read and lets an interrupt stop the load.
func (a *app) rowProgress(what string) func(rows int) error {
	return func(rows int) error {
		if a.interactive {
			fmt.Fprintf(a.stderr, "\r%s: %d rows", what, rows)
		}
		return a.ctx.Err()
	}
}
