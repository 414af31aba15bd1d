// Package ledger durably records what was spent on private data. It also opens the sessions that may
// release something. A run is charged in full before it reads a record.
package ledger

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"dyad/privacy"
	"dyad/privacy/account"
)

// The errors that callers distinguish.
var (
	// ErrBudget is wrapped by the error for a charge that would exceed a cap set by the user.
	ErrBudget = errors.New("ledger: budget exceeded")
	// ErrUnavailable means that the ledger cannot be locked, read or written. Returned errors wrap it.
	ErrUnavailable = errors.New("ledger: the ledger is unavailable")
)

// Ledger is a durable record of what was spent on private data. It is a file of JSON lines to which lines are only
// appended. The following files are next to it:
//
//	PATH.lock       the lock between processes; empty
//	PATH.run-*      lock and number of releases of unfinished streams, see RunLock
//	PATH.head       number and hash of the acknowledged lines
//	PATH.torn-*     bytes of an append that a crash interrupted
//	PATH.archive-*  the lines before a compaction, see Compact
//	PATH.key        the private key for signatures, see CreateKey
//
// # Line format
//
// A line is {"seq":S,"type":T,"time":U,"body":{...},"hash":"H"}. H is a SHA-256. Its input is the hash of the
// previous line (32 zero bytes before the first line), followed by the bytes of the line up to the comma
// before "hash", plus "}". Line 0 is the header with the format version. Sequence numbers order the ledger.
// Times are informative and may run backwards.
//
// # Durability
//
// Every change happens under the exclusive lock and in this order:
//
//  1. verify the whole file against its chain and against PATH.head;
//  2. write the next head to a temporary file; fsync;
//  3. append the line in one write; fsync. Now the charge counts;
//  4. rename the temporary file to PATH.head; fsync the directory;
//  5. return: the line is acknowledged, and data may be touched.
//
// So a Session exists only if its charge is on disk and PATH.head covers the charge. A crash or an error
// leaves one of four states, and the next change repairs the ledger:
//
//   - before 3: nothing happened. A later run removes the temporary file.
//   - within 3: PATH.head covers all whole lines, and the bytes of at most one unfinished line follow. The
//     line was not acknowledged to any caller, so no data were released for it. Its bytes are moved to
//     PATH.torn-* and never discarded, and the receipt of the next run reports them.
//   - after 3, before 4: one whole valid line follows the lines of the head. It counts as a charge. Its run
//     released nothing, so the total is an upper bound. The head is advanced.
//   - after 4: the change is complete.
//
// Every other state was not caused by a crash and is an error wrapping ErrUnavailable: a broken chain, a head
// that is ahead of the file (the ledger lost lines), a head that is two or more lines behind, or a missing
// head. Such a ledger never accepts a charge. Restore PATH and PATH.head together from a backup.
//
// # What it does not do
//
// The chain is not keyed. It detects accidents and edits by hand. It cannot stop somebody who may write both
// files from recomputing all hashes, or from deleting both files. The lock needs a file system on which flock
// works between all machines that share the ledger.
//
// # Charged, released, resumed
//
// A run has one charge line and at most one finish line. The finish line has the status "released" if the
// run's results left the program, and may name the results and the place where they are stored (Kept).
// Between the two lines the run can be resumed without a new charge: see Resume for the conditions and the
// argument.
//
// A Ledger holds no open file and may be used by several goroutines.
type Ledger struct {
	path     string
	key      []byte
	lockWait time.Duration
	stage    func(string) // Options.Trace
}

// Options configures the use of a ledger. No option changes what the ledger records.
type Options struct {
	// LockWait is the longest wait for another process that holds the lock; 0 means 10 s.
	LockWait time.Duration
	// Trace, if not nil, is called after each step of a change with the name of the step, while the lock is
	// held. The order is: "created" (the file, if it was absent), "locked", "admitted", "head prepared",
	// "line written", "line durable", "head renamed", "acknowledged". Tests use Trace to stop or disturb a
	// program at a step.
	Trace func(step string)
}

const defaultLockWait = 10 * time.Second

// Open verifies the ledger at path. It creates the ledger (mode 0600) if neither path nor path.head exists.
// The directory must exist. Errors wrap ErrUnavailable.
func Open(path string) (*Ledger, error) { return OpenWith(path, Options{}) }

// OpenWith is Open with options.
func OpenWith(path string, o Options) (*Ledger, error) {
	resolved, err := resolveLedger(path)
	if err != nil {
		return nil, err
	}
	l := &Ledger{path: resolved, lockWait: defaultLockWait, stage: o.Trace}
	if o.LockWait > 0 {
		l.lockWait = o.LockWait
	}
	unlock, err := l.lock()
	if err != nil {
		return nil, err
	}
	defer unlock()
	if err := l.createIfAbsent(); err != nil {
		return nil, err
	}
	st, err := l.read()
	if err != nil {
		return nil, err
	}
	l.key = st.key
	return l, nil
}

// Path returns the absolute path of the ledger file, with symbolic links resolved.
func (l *Ledger) Path() string { return l.path }

// Charge describes the privacy budget that a run spends. It covers the whole plan of the
// run and is recorded before the run reads any data.
type Charge struct {
	DataID    string          // declared by the user; identifies the data whose privacy is spent
	Run       string          // unique in the ledger; Begin generates it if empty
	Algorithm string          // catalogue name
	Events    []account.Event // every release of the plan; at least one

	// Guarantee, Unit, Relation and Released describe the run in words that may be printed.
	Guarantee string
	Unit      string // whose data the run protects; costs of different units have no total
	Relation  string
	Released  string

	// Objective describes the function that the run minimises, as a text of public numbers. It may be
	// empty. The guarantee does not depend on Objective. Resume compares Objective with the recorded text,
	// so that a run is not finished with another objective.
	Objective string

	Plan string // SHA-256 of the plan that the model file states, in hex, or empty

	Approved string // SHA-256 of the page that was approved before the run, in hex, or empty

	Fingerprint string    // result of Ledger.Fingerprint, or empty
	SeededNoise bool      // Begin sets it for a source that is not secret
	Time        time.Time // informative; zero means now

	// Resumable is a promise of the caller that is recorded with the charge. The caller promises that
	// nothing that depends on the session's releases leaves the program before Finish(Run, StatusReleased)
	// has succeeded. Only a run with this promise can be resumed by Ledger.Resume.
	Resumable bool

	// Counted is a promise of the caller for a run that makes releases before its end: RunLock durably
	// counts every release before the release leaves the program. The charge records this promise.
	// Such a run cannot be resumed if its count is lost. LockRun must be called before Begin.
	Counted bool
}

// Begin charges the whole plan. It returns a session that may make the releases of the plan and no other
// releases. The charge is durable when Begin returns.
//
// If Begin refuses, nothing was released. The error wraps ErrBudget if the data id has a cap, and the
// composition of all its charges and this plan exceeds the cap. It wraps ErrUnsupported if the data id has a
// cap and that composition cannot be computed. It wraps ErrUnavailable if the ledger is not available. If the
// error wraps ErrUnavailable, the charge may still count. After every other error, nothing was charged.
//
// Each event states its own neighbouring relation, so the composition of events does not depend on the text
// fields of their charges. But a total exists only if all charges have the same Unit. A PublicEvent in the
// plan is recorded but allows no release: the session cannot know which vectors come from public data. For
// data that are public as a whole, use NewPublicSession.
func (l *Ledger) Begin(c Charge, src *privacy.Source) (*privacy.LiveSession, error) {
	if src == nil {
		return nil, errors.New("ledger: Begin needs a source of randomness; call privacy.NewSource")
	}
	c.SeededNoise = c.SeededNoise || !src.Secret()
	if c.Run == "" {
		c.Run = rand.Text()
	}
	if c.Counted {
		if _, err := os.Lstat(l.runFile(c.Run)); err != nil {
			return nil, fmt.Errorf("ledger: run %q counts its releases; call LockRun before Begin: %w", c.Run, err)
		}
	}
	return privacy.NewSession(src, c.Events, func() (privacy.Receipt, error) {
		body, err := encodeCharge(c)
		if err != nil {
			return privacy.Receipt{}, err
		}
		var notes []string
		seq, warnings, err := l.change(typeCharge, c.Time, body, func(st *ledgerState) ([]string, error) {
			notes = st.compareFingerprint(c)
			return st.admit(c)
		})
		if err != nil {
			return privacy.Receipt{}, fmt.Errorf("%w; no result was released", err)
		}
		return privacy.Receipt{Run: c.Run, Seq: seq, Warnings: warnings, Notes: notes}, nil
	})
}

// Admits returns the error that Begin would return for a charge, or nil if the ledger admits the charge. It
// charges nothing. For example, a caller that wants to make several runs can check their common charge before
// the first run.
func (l *Ledger) Admits(c Charge) error {
	st, err := l.load()
	if err == nil {
		_, err = st.admit(c)
	}
	return err
}

// SetCap records the largest budget that may ever be spent on a data id. Charges made before the call are
// included. A later cap replaces an earlier cap of the same id. Delta must be positive: Gaussian noise
// has no finite epsilon at delta 0. The cap is compared with the total that is valid for budgets that
// were fixed in advance.
func (l *Ledger) SetCap(dataID string, b privacy.Budget) error { return l.setCap(dataID, b, Planned) }

// SetCapByLooking is SetCap for budgets that are chosen by looking at earlier releases. A cap that is set
// before the first charge is compared with account.Total.Filter. A cap that is set or raised later is
// compared with account.Total.Odometer. Raising a cap that was set before the first charge costs the
// delta of this cap once more (docs/theory.md#looking).
func (l *Ledger) SetCapByLooking(dataID string, b privacy.Budget) error {
	st, err := l.load()
	if err != nil {
		return err
	}
	if st.charged(dataID) {
		return l.setCap(dataID, b, Odometer)
	}
	return l.setCap(dataID, b, Filtered)
}

func (l *Ledger) setCap(dataID string, b privacy.Budget, by Counted) error {
	if err := b.Validate(); err != nil {
		return err
	}
	if b.Delta == 0 {
		return errors.New("ledger: a cap needs delta > 0, because Gaussian noise has no finite epsilon at delta 0")
	}
	body, err := encodeBody(typeCap, capBody{DataID: dataID, Epsilon: b.Epsilon, Delta: b.Delta, By: by}, dataID)
	if err != nil {
		return err
	}
	_, _, err = l.change(typeCap, time.Time{}, body, func(st *ledgerState) ([]string, error) {
		if by == Filtered && st.charged(dataID) {
			return nil, l.errorf("a run on %q has just been charged; set the cap again", dataID)
		}
		return nil, nil
	})
	return err
}

// Fingerprint returns the HMAC-SHA256 of the bytes of r in hex, under a random key that is stored in the
// ledger. The fingerprint serves only to warn when a data id points to other data than before. Anyone who
// has the ledger can guess the whole file and test the guess. A correct guess shows that the data were
// used. So keep the ledger private if this fact is private.
func (l *Ledger) Fingerprint(r io.Reader) (string, error) {
	h := hmac.New(sha256.New, l.key)
	if _, err := io.Copy(h, r); err != nil {
		return "", fmt.Errorf("ledger: fingerprint of the data: %w", err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// change appends one line if admit returns no error. It returns the line's sequence number and warnings.
func (l *Ledger) change(kind string, at time.Time, body []byte,
	admit func(*ledgerState) ([]string, error)) (int, []string, error) {
	unlock, err := l.lock()
	if err != nil {
		return 0, nil, err
	}
	defer unlock()
	l.at("locked")
	st, err := l.read()
	if err != nil {
		return 0, nil, err
	}
	if !bytes.Equal(st.key, l.key) {
		return 0, nil, l.errorf("the file was replaced by another ledger; open the file again")
	}
	warnings, err := admit(st)
	if err != nil {
		return 0, nil, err
	}
	l.at("admitted")
	repaired, err := l.repair(st)
	if err != nil {
		return 0, nil, err
	}
	if repaired != "" {
		warnings = append(warnings, repaired)
	}
	if at.IsZero() {
		at = time.Now()
	}
	if err := l.append(st, kind, at, body); err != nil {
		return 0, nil, err
	}
	return st.lines, warnings, nil
}

func (l *Ledger) at(stage string) {
	if l.stage != nil {
		l.stage(stage)
	}
}

func (l *Ledger) errorf(format string, args ...any) error {
	return fmt.Errorf("%w: %s: %w", ErrUnavailable, l.path, fmt.Errorf(format, args...))
}
