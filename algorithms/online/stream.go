package online

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"

	"dyad/algorithms"
	"dyad/privacy"
	"dyad/privacy/durable"
	"dyad/privacy/ledger"
)

// Options holds the places of a stream's durable files. The options do not affect the guarantee.
type Options struct {
	// State is the name of the state file. The file holds records and must be kept as private as the data.
	State string
	// Resume continues from the state file without a further charge. The plan must equal the plan with which
	// the stream was started.
	Resume bool
	// Public declares the records public. Then there is no charge, and releases are not counted.
	Public bool
	// Schema identifies how records become numbers, for example by a hash of their schema. A stream is resumed only
	// with the text with which it was started, if there are both: its buffer holds numbers of the earlier records, and
	// the model has one encoding.
	Schema string
	// DataID names the data in the ledger.
	DataID string
	// Ledger opens the ledger. It is called when the first record arrives or the stream is resumed. For
	// public records it is never called.
	Ledger func() (*ledger.Ledger, error)
	// Trace, if not nil, is called with the name of each stage when the stage is done: "state written" (the
	// file is not yet under its final name), "charged", "state saved" and "finished". Tests use Trace to stop
	// or disturb a stream at a stage.
	Trace func(stage string)
}

func (o Options) at(stage string) {
	if o.Trace != nil {
		o.Trace(stage)
	}
}

// StateError is the error of a state file that cannot be used as Options require. No charge or release was
// made.
type StateError struct{ Err error }

// Error returns the message of Err.
func (e *StateError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *StateError) Unwrap() error { return e.Err }

func stateError(format string, args ...any) error {
	return &StateError{fmt.Errorf("online: "+format, args...)}
}

// ErrLost is wrapped by the error of a state that cannot be written. The release in the state is withheld.
var ErrLost = errors.New("online: the state cannot be saved, so nothing more was released")

// Update is a released model. It may be published.
type Update struct {
	Number  int // number of the update, from 1
	Records int // number of records taken before the update
	Weights []float64
	// Average is the mean of the iterates; see algorithms.Online.Average.
	Average []float64
}

// Stream is a durable stream. It must be used from one goroutine at a time.
type Stream struct {
	o       Options
	plan    *algorithms.Plan
	state   *durable.Document
	ledger  *ledger.Ledger
	lock    *ledger.RunLock // nil if there is no charge
	run     string          // run of a state without records, which is not charged yet
	stream  *algorithms.Online
	receipt privacy.Receipt
	failed  error // the error after which there are no more releases
}

// Open opens the stream of a plan (algorithms.Stream) and locks its state against other processes. There is no
// charge before Begin. An error about the state file is a *StateError. It wraps fs.ErrExist if the file exists
// although Resume is not set. If the state's run is not in the ledger, the error wraps ledger.ErrResume.
func Open(plan *algorithms.Plan, o Options) (*Stream, error) {
	if !o.Public && plan.Spec.PaperUnsound {
		return nil, algorithms.ErrUnsound
	}
	if !o.Public && o.Ledger == nil {
		return nil, errors.New("online: private records need Options.Ledger; for public records, set Options.Public")
	}
	state, err := durable.Own(o.State)
	if err != nil {
		return nil, stateError("the state %s cannot be locked: %w", o.State, err)
	}
	name, s := state.Name(), &Stream{o: o, plan: plan, state: state}
	durable.SweepTemporary(filepath.Dir(name))
	if o.Resume {
		err = s.resume()
	} else if _, missing := os.Stat(name); missing == nil {
		err = stateError("%s: %w; resume the stream, or name another file", name, fs.ErrExist)
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Close unlocks the state and the run for other processes. It does not save the state; Stop does.
func (s *Stream) Close() {
	if s.failed = errors.Join(errClosed, s.failed); s.lock != nil {
		s.lock.Unlock()
		s.lock = nil
	}
	_ = s.state.Close() // the lock ends with the process at the latest
}

var errClosed = errors.New("online: the stream is closed; open it again with Resume")

// State returns the name of the state file, with symbolic links resolved.
func (s *Stream) State() string { return s.state.Name() }

// Begun reports whether the stream is charged and takes records.
func (s *Stream) Begun() bool { return s.stream != nil }

// Run returns the id of the run in the ledger. It is "" for public records and before Begin.
func (s *Stream) Run() string { return s.receipt.Run }

// Taken returns the number of records taken in all attempts.
func (s *Stream) Taken() int {
	if s.stream == nil {
		return 0
	}
	return s.stream.Count()
}

// Releases returns the number of releases made in all attempts.
func (s *Stream) Releases() int {
	if s.stream == nil {
		return 0
	}
	return s.stream.Updates()
}

// Guarantee returns the guarantee of all releases together. Its Warnings include the warnings that the ledger
// returned when this attempt charged or resumed the run.
func (s *Stream) Guarantee() privacy.Guarantee {
	g := s.plan.Guarantee
	if s.o.Public {
		g = algorithms.PublicData(g.Released)
		if s.plan.Spec.PaperUnsound {
			g.Warnings = []string{algorithms.PaperUnsound}
		}
	}
	g.Warnings = append(append([]string(nil), g.Warnings...), s.receipt.Warnings...)
	return g
}

// Last returns the last release, even if an earlier attempt made it. It returns nil before the first release.
// It also returns nil after an error of Take, because the last release may then not be durable.
func (s *Stream) Last() *Update {
	if s.stream == nil || s.failed != nil || s.stream.Last() == nil {
		return nil
	}
	updates := s.stream.Updates()
	return &Update{updates, s.plan.Spec.BurnIn + updates*s.plan.Spec.Batch, s.stream.Last(), s.stream.Average()}
}

// Begin charges the stream unless it has begun. The state with the run's id is written to disk before the
// charge.
func (s *Stream) Begin() error {
	if s.stream != nil || s.failed != nil {
		return s.failed
	}
	source, err := privacy.NewSource()
	if err != nil {
		return err
	}
	if s.o.Public {
		session, err := privacy.NewPublicSession(source, s.plan.Events())
		if err != nil {
			return err
		}
		return s.start(session)
	}
	if s.run == "" {
		if err := s.openLedger(); err != nil {
			return err
		}
		s.run = rand.Text()
		state := s.plan.Start(s.run)
		state.Schema = s.o.Schema
		if err := s.write(state); err != nil {
			return err
		}
		if s.lock, err = s.ledger.LockRun(s.run); err != nil {
			return err
		}
	}
	charge := s.charge()
	charge.Run = s.run
	session, err := s.ledger.Begin(charge, source)
	if err != nil {
		// The state of a run that was not charged is removed, because it cannot be used.
		if charged, _, read := s.charged(s.run); read == nil && !charged {
			err = errors.Join(err, os.Remove(s.state.Name()))
		}
		return err
	}
	s.o.at("charged")
	return s.start(session)
}

// start starts a stream after its charge.
func (s *Stream) start(session *privacy.LiveSession) (err error) {
	if s.stream, err = algorithms.NewStream(s.plan, session); err != nil {
		return err
	}
	s.receipt = session.Receipt()
	s.stream.Run, s.stream.Schema = s.receipt.Run, s.o.Schema
	return nil
}

// Take takes the next record. The first record begins the stream. At the end of a batch Take returns the
// release, which is durable in the state and the count and may be published. The error wraps
// algorithms.ErrStreamEnd if the horizon is reached; the record was then not taken. After any other error
// nothing more is released, and Open with Resume continues the stream.
func (s *Stream) Take(ctx context.Context, x []float64, y float64) (*Update, error) {
	if err := s.Begin(); err != nil {
		return nil, err
	}
	if w, err := s.stream.Step(ctx, x, y); err != nil || w == nil {
		return nil, err
	}
	if s.failed = s.write(s.stream); s.failed != nil {
		return nil, s.failed
	}
	s.o.at("state saved")
	if !s.o.Public {
		s.failed = s.lock.Count(s.stream.Position())
	}
	return s.Last(), s.failed
}

// Stop ends an attempt. First, Stop saves the state with the records of the unfinished batch. Then, if
// publish is not nil, Stop calls the function publish, which writes the model of the last release. Last, Stop
// informs the ledger. If the horizon is reached, the ledger records the run as finished. Otherwise it records
// a resume, so that copies of the state from this attempt cannot be used. If publish fails, the ledger is not
// informed and the stream can be resumed.
func (s *Stream) Stop(publish func() error) error {
	if s.stream == nil || s.failed != nil {
		return s.failed
	}
	s.stream.Session++ // the number of the resume that the ledger records
	if err := s.write(s.stream); err != nil {
		return err
	}
	if publish != nil {
		if err := publish(); err != nil {
			return err
		}
	}
	switch {
	case s.o.Public:
		return nil
	case s.Ended():
		err := s.ledger.Finish(s.Run(), ledger.StatusReleased)
		if err == nil {
			s.o.at("finished")
		}
		return err
	}
	source, err := privacy.NewSource()
	if err != nil {
		return err
	}
	_, err = s.lock.Resume(s.charge(), s.stream.Position(), s.stream.Session, source)
	return err
}

// Ended reports whether the horizon is reached.
func (s *Stream) Ended() bool { return s.Taken() == s.plan.Spec.Horizon }

// charge returns the charge of the stream for the ledger.
func (s *Stream) charge() ledger.Charge {
	c := s.plan.Charge(s.o.DataID)
	c.Counted, c.Plan = true, algorithms.RecordHash(s.Record())
	return c
}

// Record returns the record of the plan (algorithms.Plan.Record). Its hash is in the charge. It is nil on public data.
func (s *Stream) Record() json.RawMessage {
	if s.o.Public {
		return nil
	}
	record, _ := s.plan.Record() // the error is ignored because the ledger refuses events that cannot be encoded
	return record
}

func (s *Stream) openLedger() (err error) {
	if s.ledger, err = s.o.Ledger(); err == nil {
		s.ledger.SweepRuns()
	}
	return err
}

// charged reports whether the ledger has a charge of the run, and how often the run was resumed.
func (s *Stream) charged(run string) (charged bool, resumes int, err error) {
	entries, err := s.ledger.Entries()
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
func (s *Stream) resume() error {
	text, err := durable.Read(s.state.Name(), math.MaxInt64-1)
	if err != nil {
		return stateError("cannot read the state: %w", err)
	}
	state, err := algorithms.ReadStreamState(bytes.NewReader(text))
	if err != nil {
		return stateError("%s: %w", s.state.Name(), err)
	}
	if s.o.Public != (state.Run == "") {
		return stateError("the state %s belongs to a run on %s data", s.state.Name(),
			map[bool]string{true: "public", false: "private"}[state.Run == ""])
	}
	if s.o.Schema = cmp.Or(s.o.Schema, state.Schema); s.o.Schema != cmp.Or(state.Schema, s.o.Schema) {
		return stateError("the state %s belongs to a stream with another schema; use the schema with which the stream "+
			"was started", s.state.Name())
	}
	source, err := privacy.NewSource()
	if err != nil {
		return err
	}
	var session *privacy.LiveSession
	if s.o.Public {
		session, err = privacy.NewPublicSession(source, s.plan.Events())
	} else if session, err = s.resumeCharged(state, source); session == nil && err == nil {
		return nil // the first record starts the stream
	}
	if err != nil {
		return err
	}
	if s.stream, err = algorithms.ResumeStream(s.plan, session, state); err != nil {
		return &StateError{err}
	}
	s.stream.Schema, s.receipt = s.o.Schema, session.Receipt()
	return nil
}

// resumeCharged continues the run of a state in the ledger. The session is nil if the run was stopped before
// its charge.
func (s *Stream) resumeCharged(state *algorithms.StreamState, source *privacy.Source) (*privacy.LiveSession, error) {
	if err := s.openLedger(); err != nil {
		return nil, err
	}
	var err error
	if s.lock, err = s.ledger.LockRun(state.Run); err != nil {
		return nil, err
	}
	charged, resumes, err := s.charged(state.Run)
	if err != nil {
		return nil, err
	}
	if !charged && state.Count == 0 {
		s.run = state.Run
		return nil, nil
	}
	// If the session number of the state is one ahead, its attempt stopped between saving the state and
	// informing the ledger.
	if state.Session == resumes {
		state.Session++
		if err := s.write(state); err != nil {
			return nil, err
		}
	}
	session, err := s.lock.Resume(s.charge(), state.Position(), state.Session, source)
	if errors.Is(err, ledger.ErrResume) { // the state may name the difference, while the ledger has only a hash
		if _, e := algorithms.ResumeStream(s.plan, nil, state); e != nil {
			err = &StateError{e}
		}
	}
	return session, err
}

// write replaces the state file.
func (s *Stream) write(state interface{ Save(io.Writer) error }) error {
	var text bytes.Buffer
	err := state.Save(&text)
	if err == nil {
		err = s.state.Replace(text.Bytes(), func() error { s.o.at("state written"); return nil })
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrLost, err)
	}
	return nil
}
