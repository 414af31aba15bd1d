package privacy

import (
	"errors"
	"fmt"
	"net/url"
	"os"

	"github.com/gofrs/flock"
)

// LockRun keeps other processes from a run that releases as it goes, until unlock is
// called or the process ends: also those with a copy of its state, under whatever name.
// Two processes would draw noise of their own for the same releases, of which one is
// paid for. The lock is a file PATH.run-RUN.lock beside the ledger, since who can charge
// can lock there; unlock removes it if the run cannot go on. If another process has it
// the error wraps ErrResume.
func (l *Ledger) LockRun(run string) (unlock func(), err error) {
	name := l.path + ".run-" + url.PathEscape(run) + lockSuffix
	f := flock.New(name)
	switch ok, err := f.TryLock(); {
	case err != nil:
		return nil, l.errorf("cannot lock run %q, check space and permissions: %w", run, err)
	case !ok:
		return nil, fmt.Errorf("%w: run %q is in use by another process, maybe by another copy of its state; wait for it to end or stop it", ErrResume, run)
	}
	return func() {
		if st, err := l.load(); err == nil {
			if _, err := st.unfinished(run); errors.Is(err, ErrResume) {
				_ = os.Remove(name)
			}
		}
		_ = f.Close()
	}, nil
}

// ResumeStream continues a charged run that releases as it goes, without a new
// charge. released is the number of its releases that may have left the program.
// The session may make the rest of the releases of the plan, of which every event
// must be a StreamEvent; there is one of them. A run of one NonPrivateEvent, which
// is charged as infinite, may be continued too, whatever released is.
//
// The caller promises that a release leaves the program only after it was counted
// durably, so that a release not counted in released was seen by nobody: it may
// then be drawn again, by the argument of Resume.
//
// session is the number of this resume, from 1; the caller keeps it in the state
// and makes it durable before this call. It is refused unless the ledger has
// session - 1 resumes of the run: so of all copies of a state one is continued, and a
// copy from before a resume never is. Copies that one attempt makes have the same number
// and cannot be told apart: that would need a line of the ledger for every release. An
// attempt that stops in order should therefore resume the run for the next one, and lock
// the run while it lives. A number of releases below that of an earlier resume
// is refused too.
//
// Errors wrap ErrResume as those of Resume do. A run that was charged as
// resumable promised to release nothing before its end and is refused.
func (l *Ledger) ResumeStream(run string, c Charge, released, session int, src *Source) (*LiveSession, error) {
	if src == nil {
		return nil, errors.New("privacy: ResumeStream needs a source of randomness: call NewSource")
	}
	if len(c.Events) != 1 {
		return nil, fmt.Errorf("%w: a stream has one event, not %d", ErrResume, len(c.Events))
	}
	e, stream := c.Events[0].(StreamEvent)
	_, exact := c.Events[0].(NonPrivateEvent)
	if !stream && !exact || released < 0 || stream && released > e.Count {
		return nil, fmt.Errorf("%w: %d releases were made of %v", ErrResume, released, c.Events[0])
	}
	plan, err := newReleasePlan(c.Events)
	if err != nil {
		return nil, err
	}
	plan.exact = exact
	if stream {
		plan.left[e] -= released
	}
	c.Run, c.SeededNoise, c.Resumable = run, c.SeededNoise || !src.Secret(), true
	body, err := encodeBody(typeResume, resumeBody{Run: run, Released: released}, run)
	if err != nil {
		return nil, err
	}
	receipt := Receipt{Run: run}
	_, receipt.Warnings, err = l.change(typeResume, c.Time, body, func(st *ledgerState) ([]string, error) {
		charged, err := st.unfinished(run)
		if err != nil {
			return nil, err
		}
		if charged.Charge.Resumable {
			return nil, fmt.Errorf("%w: run %q is no stream", ErrResume, run)
		}
		resumes := 0
		for _, e := range st.entries {
			if e.Type != typeResume || e.Run != run {
				continue
			}
			if resumes++; e.Released > released {
				return nil, fmt.Errorf("%w: run %q was resumed after %d releases before, the state is an old copy after %d; use the latest state, or start a new run", ErrResume, run, e.Released, released)
			}
		}
		if resumes != session-1 {
			return nil, fmt.Errorf("%w: run %q was resumed %d times and the state, for resume %d, is an old copy or another process continued it; use the latest state, or start a new run", ErrResume, run, resumes, session)
		}
		was := *charged.Charge
		was.Resumable = true
		if err := sameRun(was, c); err != nil {
			return nil, err
		}
		receipt.Seq = charged.Seq
		total, err := st.compose(c.DataID, nil)
		return st.warnings(c, total, err), nil
	})
	if err != nil {
		return nil, err
	}
	return &LiveSession{src: src, plan: plan, receipt: receipt}, nil
}
