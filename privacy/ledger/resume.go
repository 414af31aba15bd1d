package ledger

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"dyad/privacy"
	"dyad/privacy/account"
)

// ErrResume is wrapped by the error for a run that cannot be resumed or finished. For example, the run was
// never charged, is already finished, or differs from its charge.
var ErrResume = errors.New("ledger: the run cannot continue")

// ErrUnacknowledged is wrapped, in addition to ErrUnavailable, if a line was written but the change
// could not be completed. In this case the line may count. After any other error the line does not
// count.
var ErrUnacknowledged = errors.New("the line is written and counts")

// StatusReleased is the status of a run whose results left the program.
const StatusReleased = "released"

// Finish ends a charged run. The status tells why the run can never release anything, for example "failed".
// For a stream, which made releases before its end, the status is StatusReleased. A run with one result must
// end with Release. Finish changes no total.
//
// A run can be finished only once, whatever the status and whoever the caller is. Finish checks that the
// run is unfinished and appends the new line under one lock. So if several processes carry out one run,
// resumed or not, at most one of them gets a nil error. The other processes get an error wrapping ErrResume
// and must withhold their results. After an error wrapping ErrUnacknowledged the line may still count. In
// this case the caller must withhold the results until Released confirms the line.
//
// Finish fails with ErrUnsupported if a line after the charge is unknown to this version: that line might have
// ended the run.
func (l *Ledger) Finish(run, status string) error { return l.finish(run, status, Kept{}) }

// Kept identifies the result of a run. The program stores the result before the ledger permits its release.
// The ledger does not interpret the two fields.
type Kept struct {
	Digest string // hash of the result
	Place  string // where the result was stored
}

// Release finishes a run as Finish does with StatusReleased, and also records what was released. The result
// that k identifies must be stored durably and privately before the call, because the result may leave the
// program only if the ledger has this line. After an error that wraps ErrUnacknowledged, the ledger may
// have the line. Call Released to find out whether it does.
//
// Without a digest, Release returns an error and writes no line. A full disk, a closed pipe or a kill
// would lose a result that is not stored. Lines without a digest from earlier versions are still read.
func (l *Ledger) Release(run string, k Kept) error { return l.finish(run, StatusReleased, k) }

func (l *Ledger) finish(run, status string, k Kept) error {
	body, err := encodeBody(typeFinish, finishBody{run, status, k.Digest, k.Place}, run, status, k.Digest, k.Place)
	if err != nil {
		return err
	}
	_, _, err = l.change(typeFinish, time.Time{}, body, func(st *ledgerState) ([]string, error) {
		charged, err := st.unfinished(run)
		if err == nil && status == StatusReleased && k.Digest == "" && !charged.Charge.stream() {
			err = fmt.Errorf("ledger: the release of run %q needs the digest of its result; call Release", run)
		}
		return nil, err
	})
	return err
}

// stream reports whether a run makes releases before its end. No single digest identifies the releases of such a run.
func (c *Charge) stream() bool {
	return c.Counted || slices.ContainsFunc(c.Events, func(e account.Event) bool {
		switch e.(type) {
		case account.StreamEvent:
			return true
		case account.NonPrivateEvent: // from a version that did not count releases
			return !c.Resumable
		}
		return false
	})
}

// Resume continues, without a new charge, a run that was charged with Charge.Resumable and is not finished.
// It returns a new session for the whole plan. The Receipt of the session names the old charge. Resume writes
// a "resume" line to the ledger for information.
//
// c must have exactly the data id, algorithm, unit, relation, approved page and events of the old charge. It
// must have the same objective, plan and fingerprint if they were recorded. The noise must be secret if and
// only if it was secret before. If any of these items differs, or if the run is unknown, finished or not
// resumable, the ledger is unchanged and the error wraps ErrResume. The error wraps ErrUnsupported if a later
// version wrote lines after the charge. A cap is not checked, since the total does not change.
//
// Why no charge is needed. By the promise of Charge.Resumable, a program publishes only what its own attempt
// computed, and only after Finish. Finish succeeds for at most one attempt. So the results of at most one
// attempt are ever seen, whichever attempts ended or run at the same time. Each attempt draws fresh noise,
// independent of the others, by the plan that was charged. An observer then sees one execution of the plan,
// or none. Whether it is the first or the fifth attempt depends on crashes, interrupts and locks, not on
// records or noise. (If an attempt failed by itself after it drew noise, this statement could be wrong. In
// this case the caller must finish the run: see algorithms.Run.)
func (l *Ledger) Resume(run string, c Charge, src *privacy.Source) (*privacy.LiveSession, error) {
	if src == nil {
		return nil, errors.New("ledger: Resume needs a source of randomness; call privacy.NewSource")
	}
	c.Run, c.SeededNoise, c.Resumable = run, c.SeededNoise || !src.Secret(), true
	return privacy.NewSession(src, c.Events, func() (privacy.Receipt, error) {
		body, err := encodeBody(typeResume, resumeBody{Run: run}, run)
		if err != nil {
			return privacy.Receipt{}, err
		}
		receipt := privacy.Receipt{Run: run}
		_, receipt.Warnings, err = l.change(typeResume, c.Time, body, func(st *ledgerState) ([]string, error) {
			charged, err := st.unfinished(run)
			if err != nil {
				return nil, err
			}
			if err := sameRun(*charged.Charge, c); err != nil {
				return nil, err
			}
			receipt.Seq, receipt.Notes = charged.Seq, st.compareFingerprint(c)
			total, err := st.compose(c.DataID, nil)
			return st.warnings(c, total, err), nil
		})
		return receipt, err
	})
}

// Released returns the line that records the release of a run. The line is durable and acknowledged when
// Released returns. The result that the line names may leave the program, even more than once, because it is
// the same result each time. The error wraps ErrResume if the ledger has no such line. In this case the run
// is unknown or unfinished, or it ended with another status.
func (l *Ledger) Released(run string) (Entry, error) {
	unlock, err := l.lock()
	if err != nil {
		return Entry{}, err
	}
	defer unlock()
	st, err := l.read()
	if err != nil {
		return Entry{}, err
	}
	for _, e := range st.entries {
		if e.Known && e.Type == typeFinish && e.Run == run && e.Status == StatusReleased {
			_, err = l.repair(st)
			return e, err
		}
	}
	return Entry{}, fmt.Errorf("%w: the ledger has no release of run %q", ErrResume, run)
}

// Unfinished returns the charges of the data id ("" means all) that have no finish line, in order. Runs with
// Charge.Resumable have released nothing and can be resumed. For all other runs it is unknown what they
// released.
func (l *Ledger) Unfinished(dataID string) ([]Entry, error) {
	st, err := l.load()
	if err != nil {
		return nil, err
	}
	var open []Entry
	for _, e := range st.entries {
		if e.Charge == nil || dataID != "" && e.DataID != dataID {
			continue
		}
		if _, err := st.unfinished(e.Run); err == nil {
			open = append(open, e)
		}
	}
	return open, nil
}

// unfinished returns the charge of a run that has no finish line.
func (st *ledgerState) unfinished(run string) (charged *Entry, err error) {
	for i := range st.entries {
		e := &st.entries[i]
		switch {
		case e.Charge != nil && e.Run == run:
			charged = e
		case e.Known && e.Type == typeFinish && e.Run == run && e.Status == StatusReleased:
			return nil, fmt.Errorf("%w: run %q was released on %s (line %d of the ledger); start a new run", ErrResume, run,
				e.day(), e.Seq+1)
		case e.Known && e.Type == typeFinish && e.Run == run:
			return nil, fmt.Errorf("%w: run %q ended as %q on %s (line %d of the ledger); start a new run", ErrResume, run,
				e.Status, e.day(), e.Seq+1)
		case !e.Known && charged != nil:
			return nil, fmt.Errorf("%w: line %d of the ledger (%q) is from a later version and may end run %q; "+
				"resume with that version", account.ErrUnsupported, e.Seq+1, e.Type, run)
		}
	}
	if charged == nil {
		if slices.ContainsFunc(st.entries, func(e Entry) bool { return e.Archive != nil }) {
			return nil, fmt.Errorf("%w: the ledger has no run %q to resume; finished runs may be in its archives",
				ErrResume, run)
		}
		return nil, fmt.Errorf("%w: the ledger has no run %q", ErrResume, run)
	}
	return charged, nil
}

func (e *Entry) day() string { return e.Time.Format(time.DateOnly) }

// sameRun returns an error if c differs from the charge. Events are compared by their encoding, which is
// exact.
func sameRun(charged, c Charge) error {
	refuse := func(what, was, is string) error {
		if was == is {
			is += ", which differs in later digits"
		}
		return fmt.Errorf("%w: run %q was charged for %s %s, but now it is %s; use the options and the data of the first "+
			"attempt", ErrResume, c.Run, what, was, is)
	}
	for _, f := range []struct{ what, was, is string }{
		{"data id", charged.DataID, c.DataID},
		{"algorithm", charged.Algorithm, c.Algorithm},
		{"unit", charged.Unit, c.Unit},
		{"relation", charged.Relation, c.Relation},
		{"noise", secrecy(charged), secrecy(c)},
		{"approved page", charged.Approved, c.Approved},
	} {
		if f.was != f.is {
			return refuse(f.what, fmt.Sprintf("%q", f.was), fmt.Sprintf("%q", f.is))
		}
	}
	if charged.Fingerprint != "" && charged.Fingerprint != c.Fingerprint {
		return fmt.Errorf("%w: run %q was charged for other data; use the file of the first attempt without changes",
			ErrResume, c.Run)
	}
	if !charged.Resumable {
		return fmt.Errorf("%w: run %q may already have released its results; start a new run",
			ErrResume, c.Run)
	}
	releases := func(what string, was, is any) error {
		// the user knows epsilon and delta, from which the noise follows
		if before, now := budgetOf(charged), budgetOf(c); before != "" && before != now {
			return refuse("the guarantee", before, now)
		}
		return fmt.Errorf("%w: run %q was charged with other options or data; use those again (%s: charged %v, now "+
			"%v)", ErrResume, c.Run, what, was, is)
	}
	if len(charged.Events) != len(c.Events) {
		return releases("releases", charged.Events, c.Events)
	}
	for i := range c.Events {
		was, errWas := account.Encode(charged.Events[i])
		is, errIs := account.Encode(c.Events[i])
		if errWas != nil || errIs != nil || !bytes.Equal(was, is) {
			return releases("the release", charged.Events[i], c.Events[i])
		}
	}
	if charged.Objective != "" && charged.Objective != c.Objective {
		return refuse("objective", fmt.Sprintf("%q", charged.Objective), fmt.Sprintf("%q", c.Objective))
	}
	if charged.Plan != "" && charged.Plan != c.Plan {
		return refuse("the plan with the hash", charged.Plan, c.Plan)
	}
	return nil
}

// budgetOf returns the epsilon and delta part of the text of a guarantee.
func budgetOf(c Charge) string {
	text, _, _ := strings.Cut(c.Guarantee, " for ")
	return text
}

func secrecy(c Charge) string {
	if c.SeededNoise {
		return "from a seed"
	}
	return "from the operating system"
}
