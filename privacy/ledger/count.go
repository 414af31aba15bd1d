package ledger

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"dyad/privacy/durable"
)

const runPrefix = ".run-"

// RunLock locks a run that makes releases before its end, such as a stream. It excludes other processes,
// including processes that have a copy of the run's state under any name. Two processes would draw separate
// noise for the same releases, although only one was paid for. RunLock also counts the releases of the run,
// so that an older copy of its state is not continued: see Resume.
//
// The lock and the count are in one file, PATH.run-RUN.lock. This file is in the folder of the ledger,
// because everybody who can charge can also lock files in this folder. The file has two slots in separate
// sectors, and each slot is a line that ends in its SHA-256. The slots are written in turn, so a torn write
// leaves the other slot intact. Only the slot with the higher count can be torn. The count is then the count
// of the intact slot plus 1.
//
// A RunLock must be used from one goroutine at a time.
type RunLock struct {
	ledger *Ledger
	run    string
	file   *durable.File
	slot   int // slot that holds the count
	at     StreamPosition
	torn   bool // at.Digest is unknown
	older  bool // charged by an older program: there is no count yet, and any state is the latest
	synced bool // this process wrote the count; a count that a failed process wrote may not be on disk
}

// slotSize is at least the size of a sector of every disk, so that a torn write damages one slot.
const slotSize = 4096

// countLine is the text of a slot.
type countLine struct {
	Run      string `json:"run"`
	Releases int    `json:"releases"`
	Digest   string `json:"digest,omitempty"`
}

// LockRun locks a run until Unlock is called or the process ends. It also reads the count of the run. If the
// run is not charged yet, LockRun durably writes the count 0. The error wraps ErrResume if another process
// holds the lock. It also wraps ErrResume if the count of a charged run is missing or damaged, because it is
// then unknown what was released.
func (l *Ledger) LockRun(run string) (*RunLock, error) {
	file, err := durable.Keep(l.runFile(run))
	switch {
	case errors.Is(err, durable.ErrBusy):
		return nil, fmt.Errorf("%w: another process uses run %q; wait until the process ends, or stop it", ErrResume, run)
	case err != nil:
		return nil, l.errorf("cannot lock run %q; check the disk space and the permissions: %w", run, err)
	}
	r := &RunLock{ledger: l, run: run, file: file}
	if err := r.open(); err != nil {
		_ = file.Close()
		return nil, err
	}
	return r, nil
}

func (l *Ledger) runFile(run string) string {
	return l.path + runPrefix + url.PathEscape(run) + lockSuffix
}

// open reads the count, or starts it at 0.
func (r *RunLock) open() error {
	st, err := r.ledger.load()
	if err != nil {
		return err
	}
	var charge *Charge
	st.each(r.run, func(c *Charge) { charge = c })
	if charge == nil {
		return r.begin()
	}
	if _, err := st.unfinished(r.run); err != nil {
		if errors.Is(err, ErrResume) {
			_ = os.Remove(r.file.Name())
		}
		return err
	}
	counted := r.read()
	switch {
	case counted:
		return nil
	case charge.Counted:
		return fmt.Errorf("%w: the release count of run %q (file %s) is missing or damaged; put the file back, or "+
			"start a new run",
			ErrResume, r.run,
			filepath.Base(r.file.Name()))
	}
	r.older = true
	return r.begin()
}

// each calls f for the charges of a run. A run has at most one charge.
func (st *ledgerState) each(run string, f func(*Charge)) {
	for _, e := range st.entries {
		if e.Charge != nil && e.Run == run {
			f(e.Charge)
		}
	}
}

// begin writes the count 0 to both slots, durably.
func (r *RunLock) begin() error {
	r.at, r.torn, r.slot = StreamPosition{}, false, 0
	text, err := r.text(r.at)
	if err == nil {
		_, err = r.file.WriteAt(append(text, text...), 0)
	}
	if err == nil {
		err = errors.Join(r.file.Truncate(2*slotSize), r.file.Sync())
	}
	if err == nil {
		err = durable.SyncDir(filepath.Dir(r.file.Name()))
	}
	if err != nil {
		return r.ledger.errorf("cannot write the release count of run %q; check the disk space and the "+
			"permissions: %w", r.run, err)
	}
	r.ledger.at("count created")
	return nil
}

// text is the content of a slot.
func (r *RunLock) text(at StreamPosition) ([]byte, error) {
	line, err := json.Marshal(countLine{r.run, at.Releases, at.Digest})
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(line)
	text := string(line) + " " + hex.EncodeToString(sum[:])
	if len(text) >= slotSize {
		return nil, fmt.Errorf("the name of the run has %d bytes, which is too long", len(r.run))
	}
	return []byte(text + strings.Repeat(" ", slotSize-1-len(text)) + "\n"), nil
}

// read reads the count and reports whether there is one.
func (r *RunLock) read() bool {
	whole := 0
	for slot := range 2 {
		text := make([]byte, slotSize)
		if _, err := r.file.ReadAt(text, int64(slot)*slotSize); err != nil && !errors.Is(err, io.EOF) {
			continue
		}
		line, sum, _ := bytes.Cut(bytes.TrimRight(text, " \n"), []byte("} "))
		line = append(line, '}')
		var c countLine
		if want := sha256.Sum256(line); string(sum) != hex.EncodeToString(want[:]) || !decodeExact(line, &c) ||
			c.Run != r.run || c.Releases < 0 {
			continue
		}
		if whole++; whole == 1 || c.Releases > r.at.Releases {
			r.at, r.slot = StreamPosition{c.Releases, c.Digest}, slot
		}
	}
	if whole == 1 {
		r.at, r.torn = StreamPosition{Releases: r.at.Releases + 1}, true
	}
	return whole > 0
}

// admits returns an error if a stream cannot continue from a position.
func (r *RunLock) admits(at StreamPosition) error {
	switch {
	case r.older:
	case at.Releases < r.at.Releases:
		return oldCopy(r.run, r.at.Releases, at.Releases)
	case at.Releases == r.at.Releases && at.Releases > 0 && !r.torn && at.Digest != r.at.Digest:
		return fmt.Errorf("%w: release %d of run %q was made from another copy of the state; use the latest state, "+
			"or start a new run", ErrResume, at.Releases, r.run)
	}
	return nil
}

// Count durably records that the releases of the run up to a position are made. It makes one write and one
// sync. The state that holds the last of these releases must be durable before the call. When Count has
// returned nil, the releases may leave the program.
func (r *RunLock) Count(at StreamPosition) error {
	if err := r.admits(at); err != nil {
		return err
	}
	if at.Releases == r.at.Releases && r.synced {
		return nil
	}
	text, err := r.text(at)
	slot := 1 - r.slot
	if err == nil {
		_, err = r.file.WriteAt(text, int64(slot)*slotSize)
	}
	if err == nil {
		r.ledger.at("count written")
		err = r.file.Sync()
	}
	if err != nil {
		return r.ledger.errorf("cannot count the releases of run %q, so no further release is made: %w", r.run, err)
	}
	r.slot, r.at, r.torn, r.older, r.synced = slot, at, false, false, true
	r.ledger.at("count durable")
	return nil
}

// Unlock releases the lock, so that other processes can use the run. It removes the file if the run is
// finished or was not charged.
func (r *RunLock) Unlock() {
	if st, err := r.ledger.load(); err == nil {
		if _, err := st.unfinished(r.run); errors.Is(err, ErrResume) {
			_ = os.Remove(r.ledger.runFile(r.run))
		}
	}
	_ = r.file.Close()
}

// SweepRuns removes files that killed processes left in the folder of the ledger. These are the locks and
// counts of finished runs, and temporary files of heads that were not renamed.
func (l *Ledger) SweepRuns() {
	durable.SweepTemporary(filepath.Dir(l.path))
	files, err := filepath.Glob(escapeGlob(l.path) + runPrefix + "*" + lockSuffix)
	if err != nil || len(files) == 0 {
		return
	}
	st, err := l.load()
	if err != nil {
		return
	}
	for _, name := range files {
		run, err := url.PathUnescape(strings.TrimSuffix(strings.TrimPrefix(name, l.path+runPrefix), lockSuffix))
		if err != nil {
			continue
		}
		for _, e := range st.entries {
			if e.Known && e.Type == typeFinish && e.Run == run {
				_ = os.Remove(name)
			}
		}
	}
}

func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}
