package command

import (
	"cmp"
	"errors"
	"strings"
	"time"

	lib "dyad"
	"dyad/algorithms"
	"dyad/internal/files"
	"dyad/privacy"
	"dyad/privacy/ledger"
)

// runFlags are the flags of a training that is charged once and releases its result at the end.
type runFlags struct {
	Force  bool    `help:"Replace an existing model file. By default, if m.json appears during the run, the model is saved as m.RUN.json (exit code 4)."`
	DataID string  `placeholder:"ID" help:"Data id in the ledger. Default: data_id of the schema."`
	Resume string  `placeholder:"RUN" help:"Continue a charged run, or save its unsaved result, at no further cost. Use the same flags and data."`
	Seed   *uint64 `help:"Seed the noise, for reproduction only: the noise is then not secret."`
	confirmFlag
	ledgerFlag
}

// checkpointFlag is the flag of trainings that store their state.
type checkpointFlag struct {
	Checkpoint time.Duration `name:"checkpoint-every" within:"[0,]" default:"1m" placeholder:"DURATION" help:"Save a private run's state at this interval, for --resume. Its file, next to the ledger, is as private as the records. 0: never."`
}

// execution opens the ledger, unless the data are public, and configures a training. Its result is stored as the given
// target, with a checkpoint after each period every (0 for none). doing is the text of the progress bar. It charges no
// budget.
func (f runFlags) execution(a *app, out *runOutcome, as target, every time.Duration, doing string) (lib.Run, error) {
	out.DataID = cmp.Or(f.DataID, out.DataID)
	r := as.of(lib.Run{
		Public: out.Public, DataID: out.DataID, Resume: f.Resume, Replace: f.Force, Checkpoint: cmp.Or(every, -1),
		Created: a.began,
		Options: a.recipe,
		Watch:   lib.Watch{Progress: a.tracker(doing).OnStep, Trace: a.at, Charged: a.chargedRun, Note: a.remark},
	})
	if a.hooks.stage != nil {
		r.Progress = func(done, total int) {
			if done == (total+1)/2 {
				a.at("training")
			}
		}
	}
	if f.Seed != nil {
		r.Source = privacy.NewSeededSource(*f.Seed)
		if every > 0 && !out.Public {
			a.note("dyad: a run with --seed keeps no checkpoints; --resume would start again from the first step")
		}
	}
	var err error
	switch {
	case out.Public && f.Resume != "":
		err = badInput("--resume continues a charged run, but runs on public data are not charged; leave --resume out")
	case out.Public:
		err = a.ctx.Err()
	default:
		if r.Ledger, out.Ledger, err = a.openLedger(f.ledgerFlag, f.Resume != ""); err == nil && f.Resume == "" {
			err = a.noteUnfinished(r.Ledger, out.DataID)
		}
	}
	return r, err
}

// noteUnfinished lists the runs of a data id that were charged and can be continued. If a killed job were simply
// started again by the same command, it would be charged twice.
func (a *app) noteUnfinished(l *ledger.Ledger, dataID string) error {
	runs, err := unfinishedRuns(l, dataID)
	for _, r := range runs {
		if r.Resumable {
			a.note("dyad: run %s (%s) of data id %s is charged and not finished; to finish it, stop now: its "+
				"command with --resume %s continues it at no further cost", r.Run, r.Algorithm, dataID, r.Run)
		}
	}
	return err
}

// kept returns the run of --resume, so that its stored results can be recovered. ok reports whether there is
// such a run.
func (f runFlags) kept(a *app, as target, r *runOutcome) (run lib.Run, ok bool, err error) {
	path, err := f.path()
	if f.Resume == "" || r.Public || as.name == "" || err != nil || !exists(path) {
		return run, false, nil
	}
	l, _, err := f.openExisting(ledger.Options{LockWait: a.hooks.lockWait, Trace: a.at})
	return as.of(lib.Run{Ledger: l, Resume: f.Resume, Replace: f.Force, Watch: lib.Watch{Trace: a.at, Note: a.remark}}),
		err == nil, err
}

// runOutcome is the part of the output that all trainings have.
type runOutcome struct {
	Data      string            `json:"data"`
	DataID    string            `json:"data_id"`
	Public    bool              `json:"public"`
	Guarantee privacy.Guarantee `json:"guarantee"`
	Run       string            `json:"run,omitempty"`
	Ledger    string            `json:"ledger,omitempty"`
	Spent     *spending         `json:"spent_in_all,omitempty"`
	Model     string            `json:"model,omitempty"`
	// Seconds is set for public data only. A running time can depend on records, and an adversary can see the
	// report.
	Seconds float64 `json:"training_seconds,omitempty"`
}

// ran stores the facts about a run that may be published, and returns the run's error with advice.
func (o *runOutcome) ran(a *app, m *lib.Trained, err error) error {
	if m == nil {
		return a.charged(err)
	}
	o.Guarantee, o.Run, o.Model, o.Seconds = m.Guarantee, m.Run, m.File, m.Seconds
	a.saved = m.File
	if errors.Is(err, lib.ErrUnsaved) {
		return a.printModel(m.Model, err)
	}
	return asResult(err)
}

// spent reads from the ledger the total spending on the data after a complete run over n records. If reading
// fails, only this number is missing.
func (o *runOutcome) spent(a *app, l *ledger.Ledger, delta float64, n int) {
	if l == nil {
		return
	}
	if delta == 0 { // other runs on the data may need a delta
		delta = privacy.DefaultDelta(n)
	}
	var err error
	if o.Spent, err = spendingOf(l, o.DataID, delta); err != nil {
		a.warn("run %s is complete and saved; the total spent is unknown, because the ledger cannot be read back: %s",
			o.Run, plain(err))
	}
}

func (o runOutcome) saved() (run, file string) { return o.Run, o.Model }

// target describes where the result of a run is stored.
type target struct {
	name  string // name of the file; "" for none
	spare bool   // the name is a default; if the file exists, the id of the run is added to the name
	id    string // id of a new run; "" for a generated id
}

// targetOf returns the target given by a flag. For private data without the flag, it returns a default name, because
// every charged result is stored.
func targetOf(flag, name string, public bool) target {
	if flag != "" || public {
		return target{name: flag}
	}
	return target{name: name, spare: true}
}

// check makes sure, like checkOut, that the file can be written.
func (t target) check(force bool, inputs ...string) (err error) {
	_, err = files.Output{Asked: t.name, Force: force, Spare: t.spare}.Checked(inputs...)
	return err
}

// of returns the run r with this target.
func (t target) of(r lib.Run) lib.Run {
	r.Out, r.Spare, r.ID = t.name, t.spare, t.id
	return r
}

// writeData writes the first line of a report.
func (o *runOutcome) writeData(b *strings.Builder, what string) {
	line(b, "data", "%s (%s, data id %s)%s", o.Data, o.visibility(), o.DataID, what)
}

func (o *runOutcome) visibility() string {
	return pick(o.Public, "public", "private")
}

// writeLedger reports the charge.
func (o *runOutcome) writeLedger(b *strings.Builder) {
	if o.Ledger != "" {
		line(b, "ledger", "run %s charged to %q in %s", o.Run, o.DataID, o.Ledger)
		if o.Spent != nil {
			line(b, "", "spent on it in all: %s", o.Spent.text)
		}
	}
}

// writeModel describes the use of the model of a task.
func (o *runOutcome) writeModel(b *strings.Builder, task string) {
	if o.Model != "" {
		use := pick(task == taskMetric, "map records by the metric: dyad transform %s --data FILE --out FILE",
			"score new records: dyad predict %s --data FILE")
		line(b, "model", "%s ("+use+")", o.Model, o.Model)
	}
}

// writeTime ends the report of a training.
func (o *runOutcome) writeTime(b *strings.Builder) {
	if o.Public {
		line(b, "time", "%.2f s of training", o.Seconds)
	}
}

// settled returns the results of a run that has set its outcome. There is a result if there is no error, or if the
// error only states that the result was saved elsewhere than requested.
func settled(away error) (done bool, err error) { return away == nil || isElsewhere(away), away }

// chargedRun records the id of the run that was charged.
func (a *app) chargedRun(run string) { a.run = run }

// charged reports on standard error the charge of a failed run, if there is one, and returns the error.
func (a *app) charged(err error) error {
	var c *algorithms.ChargedError
	if errors.As(err, &c) && c.Resumable {
		fail(a.stderr, "dyad: run %s is charged, but nothing was released; the same command with --resume %s "+
			"continues it at no further cost", c.Run, c.Run)
	} else if c != nil && c.Kept.Digest != "" {
		fail(a.stderr, "dyad: run %s is charged, and its result is kept as %s; when the ledger works again, repeat "+
			"with --resume %s (no further cost)", c.Run, c.Kept.Place, c.Run)
	} else if c != nil {
		fail(a.stderr, "dyad: run %s is charged and finished, so it cannot be resumed; the result of this attempt "+
			"was discarded", c.Run)
	}
	if errors.Is(err, ledger.ErrResume) || errors.Is(err, algorithms.ErrCheckpoint) {
		return asInput(err)
	}
	return err
}
