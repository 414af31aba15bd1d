package command

import (
	"errors"
	"strings"
	"time"

	lib "dyad"
	"dyad/algorithms"
	"dyad/internal/files"
)

// charging is a command that charges. The command fills in flags, plan and text of its kind of run; what is done with them, and in
// which order, is in run alone.
type charging struct {
	runFlags
	as      target
	inputs  []string      // files that are read; nothing replaces them
	every   time.Duration // between checkpoints; 0: none
	doing   string        // for the bar of progress
	page    pageFlag
	track   trackFlag
	outcome *runOutcome

	// recovered tells of a result that was released before and has just got its name; nil: it is a model.
	recovered func(saved *lib.Outcome, l *lib.Ledger) error
	// after is what such a run has to do besides; nil: nothing.
	after func() error
	// plan reads and plans. There is no charge.
	plan func() (planned, error)
	// begin is what comes with an open ledger, before anything is charged; nil: nothing.
	begin func(o lib.Run) error
	// run carries the plan out, and fills in the outcome. done is true if there is a result, even with an error.
	run func(o lib.Run) (done bool, err error)
	// tell prints the result, draw writes its page, and tracked is what a run folder has of it.
	tell    func() error
	draw    func(out *files.Output, l *lib.Ledger) error
	tracked func() (file string, r trackedRun)
}

// planned is what a command has read and planned.
type planned struct {
	plan     *algorithms.Plan // its warnings are told; nil: only the others
	warnings []string
	delta    float64 // of what was spent in all, over n records
	n        int
	ask      []string // what a person has to agree to before a new charge
	models   []string // files of models that were released before: what they tell of the same records must be in this ledger
	free     bool     // public data without a file that was asked for: no result is kept
	close    func()   // nil: closed
}

// perform is the one way of every command that charges. Names are checked before a file is read, and a result that only lacks its
// name gets it; then come the plan, warnings, consent, the ledger and what it says, charge and run, the report, the page.
func (k charging) perform(a *app) error {
	if err := k.as.check(k.Force, append(k.inputs, k.Ledger)...); err != nil {
		return err
	}
	page, err := k.page.output(k.Force, append(k.inputs, k.Ledger, k.as.name)...)
	if err != nil {
		return err
	}
	if err := k.track.checkTrack(); err != nil {
		return err
	}
	if run, ok, err := k.kept(a, k.as, k.outcome); err != nil {
		return err
	} else if ok {
		saved, away := run.Recover()
		if away = asResult(away); saved != nil && k.recovered == nil {
			err := k.model(a, saved, run.Ledger)
			if k.after != nil {
				err = errors.Join(err, k.after())
			}
			return errors.Join(away, err, a.savedPage(page, k.outcome), k.track.saved(a, k.outcome))
		} else if saved != nil {
			return errors.Join(away, k.recovered(saved, run.Ledger))
		} else if away != nil {
			return away
		}
	}
	p, err := k.plan()
	if p.close != nil {
		defer p.close()
	}
	if err != nil {
		return err
	}
	if p.free {
		k.as = target{}
	}
	a.noteWarnings(p.plan, k.outcome.Public, p.warnings...)
	for _, what := range p.ask {
		if k.Resume != "" {
			break
		}
		if err := k.confirm(a, what); err != nil {
			return err
		}
	}
	o, err := k.execution(a, k.outcome, k.as, k.every, k.doing)
	if err != nil {
		return err
	}
	if err := chargedThere(o.Ledger, k.outcome.DataID, p.models...); err != nil {
		return err
	}
	if k.begin != nil {
		if err := k.begin(o); err != nil {
			return err
		}
	}
	done, away := k.run(o)
	if !done {
		return away
	}
	k.outcome.spent(a, o.Ledger, p.delta, p.n)
	err = k.tell()
	if page != nil {
		err = errors.Join(err, k.draw(page, o.Ledger))
	}
	if k.tracked != nil {
		file, r := k.tracked()
		err = errors.Join(err, k.track.write(a, file, r))
	}
	a.at("reported")
	return errors.Join(away, err)
}

// model tells of a model that has just got its name.
func (k charging) model(a *app, saved *lib.Outcome, l *lib.Ledger) error {
	m, err := lib.Load(saved.File)
	if err != nil {
		return err
	}
	r := k.outcome
	r.Run, r.Ledger, r.Model, r.Guarantee, r.DataID = k.Resume, l.Path(), saved.File, m.Guarantee, m.DataID
	var b strings.Builder
	r.writeReleased(&b, saved)
	r.writeModel(&b, m.Task)
	return a.emit(r, b.String())
}

// settled is what a run returns that has filled in its outcome: there is a result without an error, and elsewhere than asked for.
func settled(away error) (done bool, err error) { return away == nil || isElsewhere(away), away }

// writeReleased reports that a run was released before.
func (o *runOutcome) writeReleased(b *strings.Builder, saved *lib.Outcome) {
	line(b, "ledger", "run %s was released on %s; nothing more was charged", o.Run, saved.Released.Format("2006-01-02"))
}

// noteReleased tells of a result that is not a model; what it is, with "is" or "are".
func (k charging) noteReleased(a *app, saved *lib.Outcome, what string) error {
	a.note("dyad: run %s was released on %s, and its %s saved as %s; nothing more was charged", k.Resume, saved.Released.Format("2006-01-02"), what, saved.File)
	return nil
}
