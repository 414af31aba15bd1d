// Package ledger records what was spent on private data, durably, and opens the sessions
// that may spend it: a run is charged in full before it reads a record.
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

// Errors that callers branch on.
var (
	// ErrBudget is wrapped when a cap set by the user would be exceeded.
	ErrBudget = errors.New("ledger: budget exceeded")
	// ErrUnavailable is wrapped when the ledger cannot be locked, read or written.
	ErrUnavailable = errors.New("ledger: the ledger is unavailable")
)

// Ledger is a durable record of what was spent on private data. It is a file of
// JSON lines, to which lines are only appended, with these files next to it:
//
//	PATH.lock     the lock between processes; empty
//	PATH.run-*    lock and number of releases of streams that go on, see RunLock
//	PATH.head     number and hash of the acknowledged lines
//	PATH.torn-*   bytes of a crash in the middle of an append, moved aside
//
// # Line format
//
// A line is {"seq":S,"type":T,"time":U,"body":{...},"hash":"H"}. H is the
// SHA-256 of the previous line's hash (32 zero bytes before the first line) and
// of the bytes of the line up to the comma before "hash", plus "}". Line 0 is
// the header with the format version. Sequence numbers order the ledger; times
// are informative and may run backwards.
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
// So a Session exists only if its charge is on disk and PATH.head covers it. A
// crash or an error leaves one of four states, and the next change repairs them:
//
//   - before 3: nothing happened. A later run removes the temporary file.
//   - within 3: PATH.head covers all whole lines, and bytes of at most one
//     unfinished line follow. Nobody was told that this line exists, so no
//     data were released for it. The bytes are moved to PATH.torn-*, never
//     discarded, and the receipt of the next run says so.
//   - after 3, before 4: one whole valid line follows the head. It counts as a
//     charge. Its run released nothing, so the total is on the safe side. The
//     head is advanced.
//   - after 4: complete.
//
// Everything else did not come from a crash and is an error wrapping ErrUnavailable:
// a broken chain, a head that is ahead of the file (the ledger lost lines), a
// head that is two or more lines behind, or a missing head. Such a ledger never
// accepts a charge; restore PATH and PATH.head together from a backup.
//
// # What it does not do
//
// The chain is not keyed. It finds accidents and edits by hand; it cannot stop
// somebody who may write both files from recomputing all hashes, or from
// deleting both. The lock needs a file system on which flock works between all
// machines that share the ledger.
//
// # Charged, released, resumed
//
// A run has one charge line and at most one finish line, which says "released"
// if its results left the program, and may name what they are and where they are kept
// (Kept). Between the two it can be resumed without a
// new charge: see Resume for the conditions and the argument.
//
// A Ledger holds no open file and may be used by several goroutines.
type Ledger struct {
	path     string
	key      []byte
	lockWait time.Duration
	stage    func(string) // Options.Trace
}

// Options configure the use of a ledger. They cannot change what is recorded.
type Options struct {
	// LockWait is the longest wait for another process that holds the lock; 0 means 10 s.
	LockWait time.Duration
	// Trace, if not nil, is called with the name of each step of a change when
	// the step is done, in this order: "created" (the file, if it was absent),
	// "locked", "admitted", "head prepared", "line written", "line durable",
	// "head renamed", "acknowledged". The lock is held meanwhile. It serves tests
	// that stop or disturb a program there.
	Trace func(step string)
}

const defaultLockWait = 10 * time.Second

// Open verifies the ledger at path, or creates it (mode 0600) if neither
// path nor path.head exists. The directory must exist. Errors wrap ErrUnavailable.
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

// Path is the absolute path of the ledger file, with symbolic links resolved.
func (l *Ledger) Path() string { return l.path }

// Charge is the spending of a run: its whole plan, before any data is touched.
type Charge struct {
	DataID    string          // declared by the user; names whose privacy is spent
	Run       string          // unique in the ledger; Begin generates it if empty
	Algorithm string          // catalogue name
	Events    []account.Event // every release of the plan; at least one

	// What may be printed about the run, as text.
	Guarantee string
	Unit      string // whose data the run protects; costs of different units have no total
	Relation  string
	Released  string

	// Objective describes the function that the run minimises, as text of public numbers,
	// or is empty. The guarantee does not rest on it; Resume compares it, so that no run
	// ends as another.
	Objective string

	Plan string // SHA-256 of the plan that the model file states, in hex, or empty

	Approved string // SHA-256 of the page that was approved before the run, in hex, or empty

	Fingerprint string    // from Ledger.Fingerprint, or empty
	SeededNoise bool      // Begin sets it for a source that is not secret
	Time        time.Time // informative; zero means now

	// Resumable is a promise of the caller, recorded with the charge: nothing
	// that depends on the session's releases leaves the program before
	// Finish(Run, StatusReleased) has succeeded. Only such a run can be resumed.
	Resumable bool

	// Counted is a promise of the caller about a run that releases as it goes, recorded
	// with the charge: RunLock counts its releases, durably, before they leave. Without its
	// count such a run cannot be resumed. LockRun must come before Begin.
	Counted bool
}

// Begin charges the whole plan and returns the session that may make its
// releases, and no others. The charge is durable when Begin returns.
//
// Begin charges nothing if it refuses. The error wraps ErrBudget if a cap is set for the
// data id and the composition of all its charges and this plan exceeds it. It wraps
// ErrUnsupported if a cap is set and that composition cannot be computed, and
// ErrUnavailable if the ledger is not available. If the error is ErrUnavailable the
// charge may count all the same; nothing can have been released.
//
// Events carry their own neighbouring relation, so they compose whatever the other
// text fields of their charges say; but only charges of one Unit have a total. A
// PublicEvent in the plan is recorded but
// allows no release: the session cannot know which vectors come from public
// data. Data that are public as a whole need NewPublicSession.
func (l *Ledger) Begin(c Charge, src *privacy.Source) (*privacy.LiveSession, error) {
	if src == nil {
		return nil, errors.New("ledger: Begin needs a source of randomness: call privacy.NewSource")
	}
	c.SeededNoise = c.SeededNoise || !src.Secret()
	if c.Run == "" {
		c.Run = rand.Text()
	}
	if c.Counted {
		if _, err := os.Lstat(l.runFile(c.Run)); err != nil {
			return nil, fmt.Errorf("ledger: the releases of run %q are to be counted; call LockRun before Begin: %w", c.Run, err)
		}
	}
	return privacy.NewSession(src, c.Events, func() (privacy.Receipt, error) {
		body, err := encodeCharge(c)
		if err != nil {
			return privacy.Receipt{}, err
		}
		seq, warnings, err := l.change(typeCharge, c.Time, body, func(st *ledgerState) ([]string, error) {
			return st.admit(c)
		})
		if err != nil {
			return privacy.Receipt{}, fmt.Errorf("%w; no result was released", err)
		}
		return privacy.Receipt{Run: c.Run, Seq: seq, Warnings: warnings}, nil
	})
}

// Admits returns the error with which Begin would refuse a charge, for example of several runs
// together before the first, and charges nothing.
func (l *Ledger) Admits(c Charge) error {
	st, err := l.load()
	if err == nil {
		_, err = st.admit(c)
	}
	return err
}

// SetCap records the most that may ever be spent on a data id, charges made
// before it included. A later cap of the same id replaces it. Delta must be
// positive: Gaussian noise has no finite epsilon at delta 0. It counts by the total of budgets
// that were fixed beforehand.
func (l *Ledger) SetCap(dataID string, b privacy.Budget) error { return l.setCap(dataID, b, Planned) }

// SetCapByLooking is SetCap for budgets that are chosen by looking at earlier releases. A cap that was set before
// the first charge counts by account.Total.Filter; one that was raised or set later by Odometer; raising one that
// counts by Filter costs its delta once more (docs/theory.md#looking).
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
		return errors.New("ledger: a cap needs delta > 0: Gaussian noise has no finite epsilon at delta 0")
	}
	body, err := encodeBody(typeCap, capBody{DataID: dataID, Epsilon: b.Epsilon, Delta: b.Delta, By: by}, dataID)
	if err != nil {
		return err
	}
	_, _, err = l.change(typeCap, time.Time{}, body, func(st *ledgerState) ([]string, error) {
		if by == Filtered && st.charged(dataID) {
			return nil, l.errorf("a run on %q was charged meanwhile; set the cap again", dataID)
		}
		return nil, nil
	})
	return err
}

// Fingerprint is the HMAC-SHA256 of the bytes of r under a random key that is
// kept in the ledger, in hex. It serves only to warn when a data id points to
// other data than before. Anyone who has the ledger can test a guess of the whole file,
// so keep the ledger as private as the fact that the data were used.
func (l *Ledger) Fingerprint(r io.Reader) (string, error) {
	h := hmac.New(sha256.New, l.key)
	if _, err := io.Copy(h, r); err != nil {
		return "", fmt.Errorf("ledger: fingerprint of the data: %w", err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// change appends one line if admit agrees. It returns the line's sequence number
// and warnings.
func (l *Ledger) change(kind string, at time.Time, body []byte, admit func(*ledgerState) ([]string, error)) (int, []string, error) {
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
		return 0, nil, l.errorf("the file was replaced by another ledger; open it again")
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
