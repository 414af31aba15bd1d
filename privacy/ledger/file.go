package ledger

import (
	"bytes"
	"context"
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

	lockRetry = 5 * time.Millisecond

	maxLedger = 1 << 30 // bytes: some 500,000 runs
	maxHead   = 1 << 12
)

// ledgerHead is PATH.head: how many lines are acknowledged, header included, and
// the hash of the last one, which commits to all their bytes.
type ledgerHead struct {
	Lines int    `json:"lines"`
	Hash  string `json:"hash"`
	// While the ledger is compacted these are those of the new file, which may be there already.
	NextLines int    `json:"next_lines,omitempty"`
	NextHash  string `json:"next_hash,omitempty"`
}

// resolveLedger returns one name per ledger, so that two processes that reach it
// by different links use the same lock.
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

// lock takes the exclusive lock. Each call opens the lock file anew, so it also
// excludes other goroutines and other Ledgers of this process.
func (l *Ledger) lock() (unlock func(), err error) {
	name := l.path + lockSuffix
	ctx, cancel := context.WithTimeout(context.Background(), l.lockWait)
	defer cancel()
	f := create.Lock(name)
	_, err = f.TryLockContext(ctx, lockRetry)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return nil, l.errorf("another process has held the lock %s for %v; wait for it to end or stop it (do not delete the lock file)", name, l.lockWait)
	case err != nil:
		return nil, l.errorf("cannot lock %s, check that its directory is writable: %w", name, durable.LockError(err))
	}
	return func() { _ = f.Close() }, nil
}

// createIfAbsent writes the header line and its head. The file appears by a
// rename, so it is never seen without its whole header. A crash before the head
// is written leaves a lone header, which counts as created.
func (l *Ledger) createIfAbsent() error {
	if _, err := os.Lstat(l.path); err == nil {
		return nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return l.errorf("%w", err)
	}
	if _, err := os.Lstat(l.path + headSuffix); err == nil {
		return l.errorf("the ledger lost lines: the file is missing but %s exists; restore both from a backup", l.path+headSuffix)
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
	return l.writeHead(1, hash)
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
		err = fmt.Errorf("%w: is it a ledger? A ledger is made shorter by \"dyad ledger compact\"", err)
	}
	return text, err
}

// repair undoes what a crash left, and returns a sentence for the user if bytes
// were moved. Doing it twice, or crashing within, changes nothing more.
func (l *Ledger) repair(st *ledgerState) (string, error) {
	note := ""
	if len(st.torn) > 0 {
		sum := sha256.Sum256(st.torn)
		aside := l.path + tornSuffix + hex.EncodeToString(sum[:6])
		if err := durable.Write(aside, true, true, nil, durable.Text(st.torn)); err != nil {
			return "", l.errorf("cannot move an unfinished last line to %s: %w", aside, err)
		}
		l.at("torn saved")
		if err := l.truncate(st.size); err != nil {
			return "", l.errorf("cannot remove an unfinished last line, saved in %s: %w", aside, err)
		}
		note = fmt.Sprintf("ledger %s ended in an unfinished line of %d bytes, from a program that stopped while it wrote; its run was never started; the bytes are in %s", l.path, len(st.torn), aside)
		st.torn = nil
	}
	if st.headBehind {
		// The line was written but perhaps not synced: sync it before the head.
		if err := syncFile(l.path); err != nil {
			return "", l.errorf("%w", err)
		}
		if err := l.writeHead(st.lines, st.last); err != nil {
			return "", err
		}
		durable.SweepTemporary(filepath.Dir(l.path)) // of a change that did not come to its end
		st.headBehind = false
	}
	return note, nil
}

// append adds a line, following the steps in the comment of Ledger. On an error
// before the line is durable it removes what it wrote.
func (l *Ledger) append(st *ledgerState, kind string, at time.Time, body []byte) error {
	line, hash, err := formatLine(st.last, st.lines, kind, at, body)
	if err != nil {
		return l.errorf("%w", err)
	}
	head, err := l.prepareHead(ledgerHead{Lines: st.lines + 1, Hash: hash.String()})
	if err != nil {
		return err
	}
	l.at("head prepared")
	if err := l.appendBytes(st.size, line); err != nil {
		head.Remove() // if the line counts, repair writes it again
		return l.errorf("cannot write (is the disk full?): %w", err)
	}
	l.at("line durable")
	renamed, err := head.Publish(l.path+headSuffix, create.Private, true)
	if !renamed {
		head.Remove()
		return l.errorf("%w: its head cannot be written: %w", ErrUnacknowledged, err)
	}
	l.at("head renamed")
	if err != nil {
		return l.errorf("%w: the directory cannot be synced: %w", ErrUnacknowledged, err)
	}
	l.at("acknowledged")
	return nil
}

// appendBytes writes line at offset size, the end of the file, and syncs. If the
// sync fails the line must go: the kernel may have dropped its pages, so that a
// later read shows it and a power cut removes it.
func (l *Ledger) appendBytes(size int64, line []byte) error {
	f, err := create.Open(l.path, os.O_WRONLY|os.O_APPEND)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err == nil && info.Size() != size {
		err = errors.New("the file changed although it is locked; stop programs that edit it")
	}
	if err != nil {
		_ = f.Close()
		return err
	}
	if _, err = f.Write(line); err == nil {
		l.at("line written")
		err = f.Sync()
	}
	if err != nil {
		if undo := errors.Join(f.Truncate(size), f.Sync()); undo != nil {
			err = fmt.Errorf("%w: it could not be removed after %w: %w", ErrUnacknowledged, err, undo)
		}
		_ = f.Close()
		return err
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("%w: %w", ErrUnacknowledged, err)
	}
	return nil
}

func (l *Ledger) truncate(size int64) error {
	f, err := create.Open(l.path, os.O_WRONLY)
	if err != nil {
		return err
	}
	return errors.Join(f.Truncate(size), f.Sync(), f.Close())
}

// prepare writes and syncs a file under a temporary name in the folder of the ledger.
func (l *Ledger) prepare(text []byte) (*durable.File, error) {
	f, err := durable.Create(filepath.Dir(l.path), durable.TempPrefix, "")
	if err != nil {
		return nil, err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync()); err != nil {
		f.Remove()
		return nil, err
	}
	return f, nil
}

// prepareHead prepares the next head.
func (l *Ledger) prepareHead(h ledgerHead) (f *durable.File, err error) {
	raw, err := json.Marshal(h)
	if err == nil {
		f, err = l.prepare(append(raw, '\n'))
	}
	if err != nil {
		return nil, l.errorf("cannot write its head, check space and permissions: %w", err)
	}
	return f, nil
}

func (l *Ledger) writeHead(lines int, hash lineHash) error {
	return l.replaceHead(ledgerHead{Lines: lines, Hash: hash.String()})
}

func (l *Ledger) replaceHead(h ledgerHead) error {
	f, err := l.prepareHead(h)
	if err != nil {
		return err
	}
	renamed, err := f.Publish(l.path+headSuffix, create.Private, true)
	if !renamed {
		f.Remove()
	}
	if err != nil {
		return l.errorf("cannot write its head: %w", err)
	}
	return nil
}

func syncFile(name string) error {
	f, err := create.Open(name, os.O_WRONLY)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
