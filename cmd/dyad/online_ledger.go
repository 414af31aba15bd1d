package main

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"dyad/algorithms"
	"dyad/internal/files"
	"dyad/privacy"
	"dyad/privacy/ledger"
)

// handOver ends an attempt that stops in order: the ledger counts it as a resume, whose
// number the state has already. So copies of the state that were made during the attempt
// are worthless: they do not know of all its releases.
func (o *online) handOver() error {
	if o.public {
		return nil
	}
	source, err := privacy.NewSource()
	if err != nil {
		return err
	}
	_, err = o.lock.Resume(o.charge(), o.stream.Position(), o.stream.Session, source)
	return err
}

// count counts the last release, whose state is saved, before it is written.
func (o *online) count() error {
	if o.public {
		return nil
	}
	return o.lock.Count(o.stream.Position())
}

// charge is what the ledger is told.
func (o *online) charge() ledger.Charge {
	c := o.plan.Charge(o.DataID)
	c.Counted = true
	return c
}

// openLedger opens the ledger of a private run.
func (o *online) openLedger() (err error) {
	if o.ledger, _, err = o.a.openLedger(o.ledgerFlag, o.Resume); err != nil {
		return err
	}
	o.ledger.SweepRuns()
	if o.out != nil {
		files.SweepKept(o.ledger, filepath.Dir(o.out.Path))
	}
	return nil
}

// begin charges and starts a new stream. The state with the run's id is on disk
// before the charge: a run that is charged can always be resumed.
func (o *online) begin() error {
	source, err := privacy.NewSource()
	if err != nil {
		return err
	}
	if o.public {
		session, err := privacy.NewPublicSession(source, o.plan.Events)
		if err != nil {
			return err
		}
		return o.start(session)
	}
	if o.run == "" {
		if err := o.openLedger(); err != nil {
			return err
		}
		o.run = rand.Text()
		if err := o.write(o.plan.Start(o.run)); err != nil {
			return err
		}
		if o.lock, err = o.ledger.LockRun(o.run); err != nil {
			return err
		}
	}
	charge := o.charge()
	charge.Run = o.run
	session, err := o.ledger.Begin(charge, source)
	if err != nil {
		// A state of a run that was not charged is of no use.
		if charged, _, read := o.charged(o.run); read == nil && !charged {
			err = errors.Join(err, os.Remove(o.State))
		}
		return err
	}
	o.a.at("charged")
	return o.start(session)
}

// start starts a stream that is paid for.
func (o *online) start(session *privacy.LiveSession) (err error) {
	if o.stream, err = algorithms.NewStream(o.plan, session); err != nil {
		return err
	}
	o.stream.Run = session.Receipt().Run
	return o.announce(session)
}

// charged says whether the ledger has a charge of a run, and how often it was resumed.
func (o *online) charged(run string) (charged bool, resumes int, err error) {
	entries, err := o.ledger.Entries()
	for _, e := range entries {
		switch {
		case e.Run != run:
		case e.Charge != nil:
			charged = true
		case e.Type == "resume":
			resumes++
		}
	}
	return charged, resumes, err
}

// resume reads the state and continues.
func (o *online) resume() error {
	f, err := os.Open(o.State)
	if err != nil {
		return asInput(fmt.Errorf("cannot read the state: %w", err))
	}
	defer f.Close()
	state, err := algorithms.ReadStreamState(f)
	if err != nil {
		return asInput(fmt.Errorf("%s: %w", o.State, err))
	}
	if o.public != (state.Run == "") {
		return badInput("the state %s is of a run on %s data", o.State, map[bool]string{true: "public", false: "private"}[state.Run == ""])
	}
	source, err := privacy.NewSource()
	if err != nil {
		return err
	}
	var session *privacy.LiveSession
	if o.public {
		session, err = privacy.NewPublicSession(source, o.plan.Events)
	} else if session, err = o.resumeCharged(state, source); session == nil && err == nil {
		return nil // the first record starts it
	}
	if err != nil {
		return err
	}
	if o.stream, err = algorithms.ResumeStream(o.plan, session, state); err != nil {
		return asInput(err)
	}
	if o.Data != "-" {
		o.skip = state.Count
	}
	if err := o.announce(session); err != nil {
		return err
	}
	w := o.stream.Last()
	if w == nil {
		return nil
	}
	o.scores.w = w
	return o.line(o.release(o.plan.Spec.BurnIn+o.stream.Updates()*o.plan.Spec.Batch, w))
}

// resumeCharged continues the run of a state in the ledger. The session is nil if
// the run was stopped before its charge.
func (o *online) resumeCharged(state *algorithms.StreamState, source *privacy.Source) (*privacy.LiveSession, error) {
	if err := o.openLedger(); err != nil {
		return nil, err
	}
	var err error
	if o.lock, err = o.ledger.LockRun(state.Run); errors.Is(err, ledger.ErrResume) {
		return nil, asInput(err)
	} else if err != nil {
		return nil, err
	}
	charged, resumes, err := o.charged(state.Run)
	if err != nil {
		return nil, err
	}
	if !charged && state.Count == 0 {
		o.run = state.Run
		return nil, nil
	}
	// A state whose number is one ahead was saved by an attempt that got no further.
	if state.Session == resumes {
		state.Session++
		if err := o.write(state); err != nil {
			return nil, err
		}
	}
	session, err := o.lock.Resume(o.charge(), state.Position(), state.Session, source)
	if errors.Is(err, ledger.ErrResume) {
		err = asInput(err)
	}
	return session, err
}

// end closes the run in the ledger: its horizon is reached.
func (o *online) end() error {
	if o.public {
		return nil
	}
	err := o.ledger.Finish(o.stream.Run, ledger.StatusReleased)
	if err == nil {
		o.a.at("finished")
	}
	return err
}

// save writes the state of the stream.
func (o *online) save() error { return o.write(o.stream) }

// write replaces the state file, durably. It is readable by its owner only.
func (o *online) write(state interface{ Save(io.Writer) error }) error {
	var text bytes.Buffer
	err := state.Save(&text)
	if err == nil {
		err = replaceFile(o.State, text.Bytes(), 0o600, func() { o.a.at("state written") })
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errStreamLost, err)
	}
	return nil
}
