package ledger

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"dyad/internal/create"
	"dyad/privacy/durable"
)

const (
	lockSuffix = ".lock"
	headSuffix = ".head"
	tornSuffix = ".torn-"

	maxLedger = 1 << 30 // bytes: about 500,000 runs
	maxHead   = 1 << 12
)

// ledgerHead is the content of PATH.head: the number of acknowledged lines, header included, and the hash of
// the last one, which commits to all their bytes.
type ledgerHead struct {
	Lines int    `json:"lines"`
	Hash  string `json:"hash"`
	// NextLines and NextHash describe the new ledger file during a compaction. This file may already have
	// replaced the old file.
	NextLines int    `json:"next_lines,omitempty"`
	NextHash  string `json:"next_hash,omitempty"`
}

// resolveLedger returns one name for each ledger, so that two processes that use different links to a ledger
// use the same lock.
func resolveLedger(path string) (string, error) {
	name, err := durable.Resolve(path)
	if err == nil {
		if info, errStat := os.Stat(name); errStat == nil && !info.Mode().IsRegular() {
			err = errors.New("is a directory or a device; name a file")
		}
	}
	if err != nil {
		return "", fmt.Errorf("%w: %s: %w", ErrUnavailable, path, err)
	}
	return name, nil
}

// lock takes the exclusive lock. It also excludes other goroutines and other Ledgers of this process.
func (l *Ledger) lock() (unlock func(), err error) {
	name := l.path + lockSuffix
	f, err := durable.Lock(name, l.lockWait)
	switch {
	case errors.Is(err, durable.ErrBusy):
		return nil, l.errorf("another process has held the lock %s for %v; wait for its end, or stop it (do not "+
			"delete the lock file)", name, l.lockWait)
	case err != nil:
		return nil, l.errorf("cannot lock %s; check that its directory is writable: %w", name, err)
	}
	return func() { _ = f.Close() }, nil
}

// createIfAbsent writes the header line and its head if the ledger does not exist. The file appears by a
// rename, so it is never seen without its whole header. A crash before the head is written leaves a file with
// only the header, which is valid.
func (l *Ledger) createIfAbsent() error {
	if _, err := os.Lstat(l.path); err == nil {
		return nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return l.errorf("%w", err)
	}
	if _, err := os.Lstat(l.path + headSuffix); err == nil {
		return l.errorf("the ledger lost lines, because its file is missing but %s exists; restore both files from a "+
			"backup", l.path+headSuffix)
	}
	key := make([]byte, sha256.Size)
	_, _ = rand.Read(key) // never fails
	body, err := json.Marshal(headerBody{Format: ledgerFormat, Key: hex.EncodeToString(key)})
	if err != nil {
		return l.errorf("%w", err)
	}
	line, hash, err := formatLine(lineHash{}, 0, typeHeader, time.Now(), body)
	if err != nil {
		return l.errorf("%w", err)
	}
	if err := durable.Write(l.path, true, true, nil, durable.Text(line)); err != nil {
		return l.errorf("cannot create it: %w", err)
	}
	l.at("created")
	return l.writeHead(ledgerHead{Lines: 1, Hash: hash.String()})
}

// read verifies the files and returns their content. The lock must be held.
func (l *Ledger) read() (*ledgerState, error) {
	data, err := readLines(l.path)
	if err != nil {
		return nil, l.errorf("cannot read it: %w", err)
	}
	var head *ledgerHead
	raw, err := durable.Read(l.path+headSuffix, maxHead)
	switch {
	case err == nil:
		head = new(ledgerHead)
		if !bytes.HasSuffix(raw, []byte("\n")) || !decodeExact(raw[:len(raw)-1], head) || head.Lines < 1 {
			return nil, l.errorf("%s is malformed; restore it and the ledger from the same backup", l.path+headSuffix)
		}
	case !errors.Is(err, fs.ErrNotExist):
		return nil, l.errorf("cannot read its head: %w", err)
	}
	st, err := parseLedger(data, head)
	if head != nil && head.NextLines > 0 {
		if next, errNext := parseLedger(data, &ledgerHead{Lines: head.NextLines, Hash: head.NextHash}); errNext == nil {
			st, err = next, nil
		}
		if err == nil {
			st.headBehind = true
		}
	}
	if err != nil {
		return nil, l.errorf("%w", err)
	}
	return st, nil
}

// readLines reads a ledger or an archive.
func readLines(name string) ([]byte, error) {
	text, err := durable.Read(name, maxLedger)
	if errors.Is(err, durable.ErrTooLong) {
		err = fmt.Errorf("%w; if it is a ledger, \"dyad ledger compact\" makes it shorter", err)
	}
	return text, err
}

// repair restores the ledger after a crash. It returns a sentence for the user if it moved bytes. Repeating
// repair, also after a crash during a repair, changes nothing more.
func (l *Ledger) repair(st *ledgerState) (string, error) {
	note := ""
	if len(st.torn) > 0 {
		sum := sha256.Sum256(st.torn)
		aside := l.path + tornSuffix + hex.EncodeToString(sum[:6])
		if err := durable.Write(aside, true, true, nil, durable.Text(st.torn)); err != nil {
			return "", l.errorf("cannot save the unfinished last line in %s: %w", aside, err)
		}
		l.at("torn saved")
		note = fmt.Sprintf("ledger %s ended in an unfinished line of %d bytes, which is now in %s; the run of this "+
			"line never started", l.path, len(st.torn), aside)
	}
	if len(st.torn) > 0 || st.headBehind {
		// A line after the lines of the head was written but perhaps not synced. Cut syncs it before the head is
		// written.
		file, err := l.open(st.size)
		if err == nil {
			_, err = file.Cut()
			err = errors.Join(err, file.Close())
		}
		if err != nil {
			return "", l.errorf("cannot repair its last line: %w", err)
		}
	}
	if st.headBehind {
		if err := l.writeHead(ledgerHead{Lines: st.lines, Hash: st.last.String()}); err != nil {
			return "", err
		}
		durable.SweepTemporary(filepath.Dir(l.path)) // files of a change that was not completed
	}
	st.torn, st.headBehind = nil, false
	return note, nil
}

// append adds a line by the steps in the comment of Ledger. If an error occurs before the line is durable,
// append removes what it wrote.
func (l *Ledger) append(st *ledgerState, kind string, at time.Time, body []byte) error {
	line, hash, err := formatLine(st.last, st.lines, kind, at, body)
	if err != nil {
		return l.errorf("%w", err)
	}
	counts := false
	err = l.replaceHead(ledgerHead{Lines: st.lines + 1, Hash: hash.String()}, func() error {
		l.at("head prepared")
		file, err := l.open(st.size)
		if err != nil {
			return err
		}
		defer file.Close() // the line is already synced
		err = file.Append(line, func() { l.at("line written") })
		if counts = err == nil || errors.Is(err, durable.ErrUncertain); err == nil {
			l.at("line durable")
		}
		return err
	})
	switch {
	case err != nil && counts:
		return l.errorf("%w: %w", ErrUnacknowledged, err)
	case err != nil:
		return l.errorf("cannot write to the ledger; check the disk space and the permissions: %w", err)
	}
	l.at("head renamed")
	l.at("acknowledged")
	return nil
}

// open opens the file for a change after its first size bytes.
func (l *Ledger) open(size int64) (*durable.Log, error) {
	f, err := create.Open(l.path, os.O_WRONLY)
	return durable.NewLog(f, size), err
}

// replaceHead replaces the head. If prepared is not nil, it is called when the next head is on disk under
// another name. If prepared fails, the head does not change.
func (l *Ledger) replaceHead(h ledgerHead, prepared func() error) error {
	raw, err := json.Marshal(h)
	if err != nil {
		return err
	}
	return durable.Write(l.path+headSuffix, true, true, prepared, durable.Text(append(raw, '\n')))
}

func (l *Ledger) writeHead(h ledgerHead) error {
	if err := l.replaceHead(h, nil); err != nil {
		return l.errorf("cannot write the head of the ledger; check the disk space and the permissions: %w", err)
	}
	return nil
}
