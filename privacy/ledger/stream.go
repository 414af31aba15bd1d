package ledger

import (
	"errors"
	"fmt"

	"dyad/privacy"
	"dyad/privacy/account"
)

// StreamPosition is the progress of a stream.
type StreamPosition struct {
	Releases int // number of releases that were made
	// Digest identifies the last release. It is a hash, in hex, of everything that is published about
	// this release.
	Digest string
}

// Resume continues a charged run that makes releases before its end. It makes no new charge. The argument
// `at` is the position of the caller's state. Other people may have seen the releases up to this
// position. The returned session may make the other releases of the plan. The plan must have exactly one
// event: a StreamEvent, or a NonPrivateEvent, whose charge is infinite.
//
// The caller promises three steps for every release, in this order: the state with the release becomes
// durable, Count succeeds, the release leaves the program. So a run has only one release for each number,
// even if programs are killed or states are copied:
//
//   - For each number at most one digest is ever counted, since the count only grows and every release was
//     counted before it left. Resume refuses a state below the count, and a state at the count with another
//     digest.
//   - A kill before Count leaves a state above the count. The state is one release ahead of the count. Its
//     history up to the count is the counted history, because an attempt that the count admitted wrote it.
//     Nobody has seen its last release. Resume counts this release. If a stream that continued from an older
//     copy counts the same number first, the state is refused from then on.
//
// So an observer sees one path from the start, in which every release is drawn once, by the argument of
// Ledger.Resume. This argument does not hold if somebody restores the ledger's folder with an old count. A
// run that an older program charged (Charge.Counted is false) is counted from its first Resume on.
//
// The argument session is the number of this resume, starting at 1. The caller stores session in the state
// and makes the state durable before this call. Resume refuses the call unless the ledger has session - 1
// resumes of the run, so that no copy from before a resume is continued. Before an attempt stops in an
// orderly way, it should call Resume for the next attempt.
//
// Errors wrap ErrResume as the errors of Ledger.Resume do. Resume refuses a run that was charged as
// resumable, since it promised to release nothing before its end.
func (r *RunLock) Resume(c Charge, at StreamPosition, session int, src *privacy.Source) (*privacy.LiveSession, error) {
	run := r.run
	if src == nil {
		return nil, errors.New("ledger: RunLock.Resume needs a source of randomness; call privacy.NewSource")
	}
	if len(c.Events) != 1 {
		return nil, fmt.Errorf("%w: a stream must have one event, but has %d", ErrResume, len(c.Events))
	}
	e, stream := c.Events[0].(account.StreamEvent)
	_, exact := c.Events[0].(account.NonPrivateEvent)
	if !stream && !exact || at.Releases < 0 || stream && at.Releases > e.Count {
		return nil, fmt.Errorf("%w: a state with %d releases does not fit the plan %v", ErrResume, at.Releases, c.Events[0])
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
				return nil, fmt.Errorf("%w: run %q was resumed %d times, but this state is from resume %d; use the "+
					"latest state, or start a new run",
					ErrResume, run, resumes, session)
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
	return fmt.Errorf("%w: run %q made %d releases, but this old copy of the state has only %d; use the latest "+
		"state, or start a new run",
		ErrResume, run, made, known)
}
