package command

import (
	"errors"
	"strings"
	"time"

	lib "dyad"
	"dyad/algorithms"
)

// charging describes a command that charges a privacy budget. The command sets the flags, the plan and the texts of its
// kind of run. Method perform alone determines what is done and in which order.
type charging struct {
	runFlags
	as      target
	inputs  []string      // input files, which no output may replace
	every   time.Duration // time between checkpoints, 0 for no checkpoints
	doing   string        // text for the progress bar
	page    pageFlag
	track   trackFlag
	outcome *runOutcome

	// recovered reports a result that was released before and has just received its name. If it is nil, the
	// result is a model.
	recovered func(saved *lib.Outcome, l *lib.Ledger) error
	// after does the remaining work of a recovered run. If it is nil, there is no such work.
	after func() error
	// plan reads the data and makes the plan. It charges nothing.
	plan func() (planned, error)
	// begin is called with the open ledger before anything is charged. It can be nil.
	begin func(o lib.Run) error
	// run carries out the plan and sets the outcome. done is true if there is a result, even if there is also an error.
	run func(o lib.Run) (done bool, err error)
	// tell prints the result, draw returns the contents of its page, and tracked those of its run folder.
	tell    func() error
	draw    func(l *lib.Ledger) (document, error)
	tracked func() (file string, r trackedRun)
}

// planned holds the data that a command has read and its plan.
type planned struct {
	plan     *algorithms.Plan // plan whose warnings are shown; if nil, only the other warnings are shown
	warnings []string
	delta    float64 // delta at which the total spending is stated, over n records
	n        int
	ask      []string // questions that a person has to confirm before a new charge
	models   []string // files of models released before; their releases from the same records must be in this ledger
	free     bool     // public data and no output file requested: no result is kept
	close    func()   // releases resources; nil if there is nothing to release
}

// perform executes every command that charges. It checks names before it reads a file. If a result exists and only
// lacks its name, perform gives the result its name. Otherwise it goes through the plan, warnings, consent, the ledger,
// the charge, the run, the report and the page, in this order.
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
		d, bad := k.draw(o.Ledger)
		if bad == nil {
			bad = a.chargedPage(page, d, o.Ledger, k.outcome.DataID)
		}
		err = errors.Join(err, bad)
	}
	if k.tracked != nil {
		file, r := k.tracked()
		err = errors.Join(err, k.track.write(a, file, r))
	}
	a.at("reported")
	return errors.Join(away, err)
}

// model reports a model that has just received its name.
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

// writeReleased reports that a run was released before.
func (o *runOutcome) writeReleased(b *strings.Builder, saved *lib.Outcome) {
	line(b, "ledger", "run %s was released on %s; nothing more was charged", o.Run, saved.Released.Format("2006-01-02"))
}

// noteReleased reports a released result that is not a model. what names the result, followed by "is" or "are".
func (k charging) noteReleased(a *app, saved *lib.Outcome, what string) error {
	a.note("dyad: run %s was released on %s; nothing more was charged; its %s saved as %s", k.Resume,
		saved.Released.Format("2006-01-02"), what, saved.File)
	return nil
}

// noteWarnings shows the warnings of a plan before anything is charged.
func (a *app) noteWarnings(p *algorithms.Plan, public bool, more ...string) {
	a.told = more
	if p != nil {
		a.told = append(a.told, p.Warnings()...)
	}
	if p != nil && !public {
		a.told = append(a.told, p.Guarantee.Warnings...)
	}
	for _, text := range a.told {
		a.warn("%s", text)
	}
}

// chargedThere returns an error if the ledger has no charge of a run that released one of the models from the
// data id, because that release would not be counted.
func chargedThere(l *lib.Ledger, id string, models ...string) error {
	if l == nil || len(models) == 0 {
		return nil
	}
	entries, _, err := l.History()
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for _, e := range entries {
		known[e.Run] = true
	}
	for _, name := range models {
		m, err := readModel(name)
		if err != nil {
			return err
		}
		if m.DataID == id && !known[m.Run] {
			return badInput("%s was trained on data id %q, but its run %s is not in the ledger %s; name the ledger "+
				"of this run with --ledger", name, id, m.Run, l.Path())
		}
	}
	return nil
}
