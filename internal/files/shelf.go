package files

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"dyad/algorithms"
	"dyad/internal/input"
	"dyad/privacy/durable"
	"dyad/privacy/ledger"
)

// Shelf keeps the model of a run under a private name until the ledger has recorded its
// release, and then gives it its own: see algorithms.Shelf.
//
// The private name is .dyad-RUN-xxxx.model, of mode 0600, in the folder of Out, or if that
// cannot be written, or Out is nil, in that of the ledger, or in the one for temporary files. A program
// holds the lock of what it keeps, so nobody removes it while a release may be under way;
// and a file whose hash the ledger names is never removed, only published: by this program,
// or by one that resumes the run.
type Shelf struct {
	Out *Output // nil: the result is kept until the caller has it, and not saved
	// Text is the model file of a result, and a length that is never less than its own and
	// does not depend on the weights.
	Text func(*algorithms.Result) (text []byte, most int, err error)
	Log  Log
	// Inputs is an error if a file that the run uses changed: its result is not kept. It may be nil.
	Inputs func() error

	book  *ledger.Ledger
	other []string // folders, if that of Out fails
	file  *durable.File
	run   string
}

// Log is told what happens to files. Its functions may be nil.
type Log struct {
	Trace func(stage string) // see algorithms.Options.Trace
	Note  func(text string)  // a remark for people
}

func (l Log) at(stage string) {
	if l.Trace != nil {
		l.Trace(stage)
	}
}

func (l Log) note(format string, args ...any) {
	if l.Note != nil {
		l.Note(fmt.Sprintf(format, args...))
	}
}

const (
	keptPrefix = ".dyad-"
	keptSuffix = ".model"
)

// ErrNowhere is wrapped if no folder takes a model; it was not released.
var ErrNowhere = errors.New("dyad: not available")

// ElsewhereError is the error for a model that is trained and charged, but saved under
// another name.
type ElsewhereError struct {
	Name string // of its file
	// Run is the run that has to be resumed to give the model the name that was asked for; ""
	// if the name was taken meanwhile, or if the run is not in a ledger.
	Run string
	Err error
}

// Error implements error.
func (e *ElsewhereError) Error() string {
	return fmt.Sprintf("dyad: the model was saved elsewhere, as %s: %v", e.Name, e.Err)
}

// Unwrap returns the cause.
func (e *ElsewhereError) Unwrap() error { return e.Err }

// Keep implements algorithms.Shelf.
func (s *Shelf) Keep(o *algorithms.Result) (k ledger.Kept, err error) {
	s.run = o.Run
	if s.Inputs != nil {
		if err := s.Inputs(); err != nil {
			return k, fmt.Errorf("the result was not released: %w", err)
		}
	}
	text, most, err := s.Text(o)
	if err != nil {
		return k, fmt.Errorf("the result was not released: %w", err)
	}
	if s.file, err = s.Log.Keep(s.run, text, most, s.folders()...); err != nil {
		return k, fmt.Errorf("%w: the result can be kept nowhere, so it was not released: %w", ErrNowhere, err)
	}
	return ledger.Kept{Digest: Digest(text), Place: s.file.Name()}, nil
}

// folders are where a result may be kept, the best one first.
func (s *Shelf) folders() []string {
	if s.Out == nil {
		return s.other
	}
	return append([]string{filepath.Dir(s.Out.Path)}, s.other...)
}

// Drop implements algorithms.Shelf.
func (s *Shelf) Drop() {
	if s.file != nil {
		s.file.Remove()
	}
	s.file = nil
}

// Digest returns the ledger's hash of a kept text.
func Digest(text []byte) string {
	sum := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Keep writes and syncs a text in the first folder that takes it. Before the length of
// the text can matter, most bytes are written: whether they fit says nothing about it.
func (l Log) Keep(run string, text []byte, most int, folders ...string) (f *durable.File, err error) {
	prefix := durable.TempPrefix // of a run without a name: nobody misses it
	if run != "" {
		prefix = KeptName(run)
	}
	var failed []error
	for _, dir := range folders {
		if f, err = durable.Create(dir, prefix, keptSuffix); err == nil {
			l.at("model created")
			_, err = f.Write(append(bytes.Clone(text), make([]byte, most-len(text))...))
			if err = errors.Join(err, f.Truncate(int64(len(text))), f.Sync()); err == nil {
				l.at("model synced")
				err = durable.SyncDir(dir)
			}
			if err == nil {
				l.at("model written")
				return f, nil
			}
			f.Remove()
		}
		failed = append(failed, err)
	}
	return nil, errors.Join(failed...)
}

// KeptName begins the names of what is kept of a run.
func KeptName(run string) string { return keptPrefix + url.PathEscape(run) + "-" }

// RunOfKept is the run of a file that Keep wrote.
func RunOfKept(name string) (run string, ok bool) {
	text, ok := strings.CutPrefix(name, keptPrefix)
	text, model := strings.CutSuffix(text, keptSuffix)
	dash := strings.LastIndexByte(text, '-')
	if !ok || !model || dash < 1 || strings.HasPrefix(name, durable.TempPrefix) {
		return "", false
	}
	run, err := url.PathUnescape(text[:dash])
	return run, err == nil
}

// Saved gives the model of a run that is released its name, or saves that of a run that
// nobody charged. The error is an *ElsewhereError if it has another name than asked; with any
// other one, of a run without a charge, no file has the model.
func (s *Shelf) Saved(o *algorithms.Result) (name string, err error) {
	switch {
	case s.Out == nil:
		s.Drop()
		return "", nil
	case s.file != nil:
		return s.Log.publish(s.file, s.Out, s.run, s.book)
	}
	text, most, err := s.Text(o)
	if err != nil {
		return "", err
	}
	return s.Log.Save(text, most, s.Out)
}

// Save writes a model that no ledger waits for, and returns its name, as Shelf.Saved.
func (l Log) Save(text []byte, most int, out *Output) (name string, err error) {
	f, err := l.Keep("", text, most, filepath.Dir(out.Path), os.TempDir())
	if err != nil {
		return "", err
	}
	return l.publish(f, out, "", nil)
}

// publish renames a kept file as Rename does, and signs it by the key of the ledger, if it has one; if it cannot be renamed it
// stays as it is, for Recover. Every file of a charged run gets its name here, so every kind of them is signed.
func (l Log) publish(f *durable.File, out *Output, run string, book *ledger.Ledger) (name string, err error) {
	defer f.Close()
	why := errors.New("its folder could not be written")
	if filepath.Dir(f.Name()) == filepath.Dir(out.Path) {
		if name, why = l.Rename(f, out, run); name != "" {
			if book != nil {
				l.signed(book, name)
			}
			return name, why
		}
	}
	return f.Name(), &ElsewhereError{f.Name(), run, fmt.Errorf("cannot write %s (%w)", out.Asked, why)}
}

// Rename gives a kept file the name of out. If that is taken, and not to be replaced, it
// gets one with the name of the run, and the error is an *ElsewhereError. No name: the file
// has its private one still.
func (l Log) Rename(f *durable.File, out *Output, run string) (name string, err error) {
	if run == "" {
		run = strings.TrimSuffix(strings.TrimPrefix(filepath.Base(f.Name()), durable.TempPrefix), keptSuffix)
	}
	mode, err := durable.SharedMode(filepath.Dir(out.Path))
	if err != nil {
		mode = 0o600 // better than a model without a name
	}
	for _, as := range []Output{*out, {Asked: WithRun(out.Asked, run), Path: WithRun(out.Path, run)}} {
		renamed, err := f.Publish(as.Path, mode, as.Force)
		switch {
		case renamed:
			l.at("model renamed")
			if err != nil {
				l.note("%s is written, but may not survive a power cut: %v", as.Asked, err)
			}
			if as.Path != out.Path {
				if !Same(as.Asked, as.Path) { // asked is a link into another folder
					as.Asked = as.Path
				}
				if out.Spare {
					return as.Asked, nil
				}
				return as.Asked, &ElsewhereError{as.Asked, "", fmt.Errorf("%s was made by another program meanwhile and was not replaced", out.Asked)}
			}
			return as.Asked, nil
		case !errors.Is(err, fs.ErrExist):
			return "", err
		}
	}
	return "", fmt.Errorf("%s and %s exist", out.Asked, WithRun(out.Asked, run))
}

// WithRun puts the name of a run before the ending of a file name.
func WithRun(path, run string) string {
	ending := filepath.Ext(path)
	return strings.TrimSuffix(path, ending) + "." + url.PathEscape(run) + ending
}

// Attach makes a run use the shelf, and removes what dead attempts at runs left where this
// one may keep its model.
func (s *Shelf) Attach(o *algorithms.Options) {
	s.book, s.other = o.Ledger, []string{filepath.Dir(o.Ledger.Path()), os.TempDir()}
	o.Shelf = s
	o.Ledger.SweepRuns()
	SweepKept(o.Ledger, s.folders()...)
}

// SweepKept removes from folders what was kept by attempts of this ledger that came to
// nothing: their run is not released, or another attempt was. What a living program holds,
// what the ledger names and what it does not know stays.
func SweepKept(l *ledger.Ledger, dirs ...string) {
	for _, dir := range dirs {
		durable.Sweep(dir, func(name string) bool {
			run, ok := RunOfKept(name)
			if !ok {
				return false
			}
			entries, err := l.Entries() // now: the attempt may have ended since the last look
			if err != nil || !slices.ContainsFunc(entries, func(e ledger.Entry) bool { return e.Charge != nil && e.Run == run }) {
				return false
			}
			for _, e := range entries {
				if !e.Known || e.Type == "finish" && e.Run == run && e.Status == ledger.StatusReleased && e.Kept.Digest != "" {
					text, err := os.ReadFile(filepath.Join(dir, name))
					return err == nil && e.Known && Digest(text) != e.Kept.Digest
				}
			}
			return true
		})
	}
}

// findKept opens the file that was kept of a released run, in the place that the ledger
// names or in folders. It is nil if there is none: the model has its name.
func findKept(e ledger.Entry, folders ...string) (*durable.File, error) {
	names := []string{e.Kept.Place}
	for _, dir := range folders {
		files, err := os.ReadDir(dir)
		if err != nil {
			continue
		}
		for _, file := range files {
			if run, ok := RunOfKept(file.Name()); ok && run == e.Run {
				names = append(names, filepath.Join(dir, file.Name()))
			}
		}
	}
	var other error
	for _, name := range names {
		f, err := durable.Open(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			other = err
			continue
		}
		text, err := io.ReadAll(f)
		if err == nil && Digest(text) == e.Kept.Digest {
			return f, nil
		}
		if other = err; err == nil {
			other = fmt.Errorf("%s is not what the ledger says was released", name)
		}
		_ = f.Close()
	}
	return nil, other
}

// Recover gives the model of a run its name if the run was released by a program that could
// not do so: the name of its file and what the ledger says of it, or "" if there is no such
// model. It neither draws nor charges: the model is the one whose hash the ledger has.
func (l Log) Recover(book *ledger.Ledger, run string, out *Output) (name string, e ledger.Entry, err error) {
	if e, err = book.Released(run); err != nil || e.Kept.Digest == "" {
		if errors.Is(err, ledger.ErrResume) { // what it is says who resumes it
			err = nil
		}
		return "", e, err
	}
	dir := filepath.Dir(out.Path)
	file, err := findKept(e, dir, filepath.Dir(book.Path()), os.TempDir())
	if err != nil {
		return "", e, input.Errorf("run %q was released on %s, and what was kept of it cannot be saved now: %v", e.Run, e.Time.Format("2006-01-02"), err)
	}
	if file == nil {
		return "", e, nil
	}
	if filepath.Dir(file.Name()) != dir {
		if file, err = l.move(file, dir, e.Run); err != nil {
			return "", e, fmt.Errorf("%w: cannot write %s: %w", ErrNowhere, out.Asked, err)
		}
	}
	name, err = l.publish(file, out, e.Run, book)
	return name, e, err
}

// move copies a kept file to another folder, where a rename publishes it.
func (l Log) move(from *durable.File, dir, run string) (*durable.File, error) {
	text, err := os.ReadFile(from.Name())
	if err != nil {
		_ = from.Close()
		return nil, err
	}
	to, err := l.Keep(run, text, len(text), dir)
	if err != nil {
		_ = from.Close()
		return nil, err
	}
	from.Remove()
	return to, nil
}
