package ledger

import (
	"errors"
	"fmt"

	"dyad/privacy"
	"dyad/privacy/account"
)

// StreamPosition is the progress of a stream.
type StreamPosition struct {
	Releases int // that were made
	// Digest identifies the last release: a hash of all that is published of it, in hex.
	Digest string
}

// Resume continues a charged run that releases as it goes, without a new charge. at is
// where its state stands: the releases counted there may have left the program.
// The session may make the rest of the releases of a plan in which every event
// must be a StreamEvent; there is one of them. A run of one NonPrivateEvent, which
// is charged as infinite, may be continued too.
//
// The caller promises that a release leaves the program only after the state that
// holds it is durable and Count succeeded, in this order. Then a run has one release for
// one number, whatever is killed or copied:
//
//   - For each number at most one digest is ever counted, since the count only grows, and
//     what leaves has been counted. A state below the count is refused, and one at the
//     count with another digest.
//   - A state above the count, which a kill before Count leaves, is one ahead of it, and up
//     to the count its history is the counted one: it was written by an attempt that the
//     count admitted. It was seen by nobody. Resume counts it; if a stream that continued
//     from an older copy counts that number first, it is refused from then on.
//
// So all that is seen is one path from the start, with every release drawn once, by the
// argument of Ledger.Resume. It fails if the count itself is put back, with the
// ledger's folder. A run that an older program charged (Charge.Counted is false) is counted
// from its first Resume on.
//
// session is the number of this resume, from 1; the caller keeps it in the state
// and makes it durable before this call. It is refused unless the ledger has
// session - 1 resumes of the run, so no copy from before a resume is continued. An
// attempt that stops in order should resume the run for the next one.
//
// Errors wrap ErrResume as those of Ledger.Resume do. A run that was charged as
// resumable promised to release nothing before its end and is refused.
func (r *RunLock) Resume(c Charge, at StreamPosition, session int, src *privacy.Source) (*privacy.LiveSession, error) {
	run := r.run
	if src == nil {
		return nil, errors.New("ledger: RunLock.Resume needs a source of randomness: call privacy.NewSource")
	}
	if len(c.Events) != 1 {
		return nil, fmt.Errorf("%w: a stream has one event, not %d", ErrResume, len(c.Events))
	}
	e, stream := c.Events[0].(account.StreamEvent)
	_, exact := c.Events[0].(account.NonPrivateEvent)
	if !stream && !exact || at.Releases < 0 || stream && at.Releases > e.Count {
		return nil, fmt.Errorf("%w: %d releases were made of %v", ErrResume, at.Releases, c.Events[0])
	}
	if err := r.admits(at); err != nil {
		return nil, err
	}
	c.Run, c.SeededNoise, c.Resumable = run, c.SeededNoise || !src.Secret(), true
	opened, err := privacy.NewSession(src, c.Events, func() (privacy.Receipt, error) {
		receipt := privacy.Receipt{Run: run}
		body, err := encodeBody(typeResume, resumeBody{Run: run, Released: at.Releases}, run)
		if err != nil {
			return privacy.Receipt{}, err
		}
		_, receipt.Warnings, err = r.ledger.change(typeResume, c.Time, body, func(st *ledgerState) ([]string, error) {
			charged, err := st.unfinished(run)
			if err != nil {
				return nil, err
			}
			if charged.Charge.Resumable {
				return nil, fmt.Errorf("%w: run %q is not a stream", ErrResume, run)
			}
			resumes := 0
			for _, e := range st.entries {
				if e.Type != typeResume || e.Run != run {
					continue
				}
				if resumes++; e.Released > at.Releases {
					return nil, oldCopy(run, e.Released, at.Releases)
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
		if err == nil {
			err = r.Count(at)
		}
		return receipt, err
	})
	if err == nil && stream {
		err = opened.Skip([]int{at.Releases})
	}
	if err != nil {
		return nil, err
	}
	return opened, nil
}

func oldCopy(run string, made, known int) error {
	return fmt.Errorf("%w: run %q made %d releases and the state knows %d of them: it is an old copy, which would draw the others a second time; use the latest state, or start a new run", ErrResume, run, made, known)
}
