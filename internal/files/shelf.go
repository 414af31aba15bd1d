package files

import (
	"bytes"
	"cmp"
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

// Shelf keeps the model of a run under a private name until the ledger has recorded its release. Then it gives
// the model its final name: see algorithms.Shelf.
//
// The private name is .dyad-RUN-xxxx.model, of mode 0600, in the folder of Out. If this folder cannot be
// written, or Out is nil, the file is in the folder of the ledger or in the folder for temporary files. A
// program locks the file that it keeps, so no other program removes the file before the program has finished
// the release. A file whose hash is in the ledger is never removed. Such a file is only renamed to its final
// name, by this program or by a program that resumes the run.
type Shelf struct {
	Out *Output // nil means that the result is kept until the caller has it and is not saved as a file
	// Text returns the model file of a result. The number most is at least the length of the text and does
	// not depend on the weights.
	Text func(*algorithms.Result) (text []byte, most int, err error)
	Log  Log
	// Inputs returns an error if a file that the run uses has changed. The result of the run is then not kept.
	// Inputs may be nil.
	Inputs func() error

	book  *ledger.Ledger
	other []string // folders to try if the folder of Out fails
	file  *durable.File
	run   string
}

// Log has functions that are called when files are handled. The functions may be nil.
type Log struct {
	Trace func(stage string) // see algorithms.Options.Trace
	Note  func(text string)  // receives a remark for the user
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

// ErrNowhere is wrapped by the error if no folder accepts a model. In this case the model was not released.
var ErrNowhere = errors.New("dyad: not available")

// ElsewhereError is the error for a model that was trained and charged, but was saved under another
// name than the user asked for.
type ElsewhereError struct {
	Name string // the name of its file
	// Run is the id of the training run. Resume this run to give the model the requested name. Run is
	// "" if another file has taken the name, or if no ledger has the run.
	Run string
	Err error
}

// Error implements error.
func (e *ElsewhereError) Error() string {
	return fmt.Sprintf("dyad: the model was saved under another name, %s: %v", e.Name, e.Err)
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
		return k, fmt.Errorf("%w: the result cannot be stored in any folder, so it was not released: %w", ErrNowhere, err)
	}
	return ledger.Kept{Digest: Digest(text), Place: s.file.Name()}, nil
}

// folders returns the folders where a result may be kept, the preferred folder first.
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

// Keep writes a text to a file in the first folder that accepts it, and syncs the file. It first writes `most`
// bytes and then shortens the file to the length of the text. So the text does not influence whether the space
// is sufficient.
func (l Log) Keep(run string, text []byte, most int, folders ...string) (f *durable.File, err error) {
	prefix := durable.TempPrefix // for a run without a name: such a file may be removed
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

// KeptName returns the beginning of the names of the files that are kept for a run.
func KeptName(run string) string { return keptPrefix + url.PathEscape(run) + "-" }

// RunOfKept returns the run of a file that Keep wrote. It finds the run in the name of the file.
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

// Saved renames the file of a released run's model, or saves the model of a run that was not charged. The error
// is an *ElsewhereError if the file did not get the requested name. After any other error for a run without a
// charge, the model is in no file.
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

// Save writes the model of a run that no ledger records. It returns the name of the file as Shelf.Saved does.
func (l Log) Save(text []byte, most int, out *Output) (name string, err error) {
	f, err := l.Keep("", text, most, filepath.Dir(out.Path), os.TempDir())
	if err != nil {
		return "", err
	}
	return l.publish(f, out, "", nil)
}

// publish renames a kept file as Rename does. It signs the file by the key of the ledger, if the ledger has one. If the
// file cannot be renamed, it stays unchanged for Recover. Every file of a charged run is named here, so files of
// every kind are signed.
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

// Rename changes the name of f from its private name to out.Path. If a file with that name exists and
// must not be replaced, f gets a name that contains the name of the run, and the error is an
// *ElsewhereError, or nil if out.Spare is true. If the returned name is "", f still has its private name.
func (l Log) Rename(f *durable.File, out *Output, run string) (name string, err error) {
	run = cmp.Or(run, strings.TrimSuffix(strings.TrimPrefix(filepath.Base(f.Name()), durable.TempPrefix), keptSuffix))
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
				l.note("%s was written, but may be lost in a power cut: %v", as.Asked, err)
			}
			if as.Path != out.Path {
				if !Same(as.Asked, as.Path) { // as.Asked is a link into another folder
					as.Asked = as.Path
				}
				if out.Spare {
					return as.Asked, nil
				}
				return as.Asked, &ElsewhereError{as.Asked, "",
					fmt.Errorf("in the meantime, another program created %s, so this file was not replaced", out.Asked)}
			}
			return as.Asked, nil
		case !errors.Is(err, fs.ErrExist):
			return "", err
		}
	}
	return "", fmt.Errorf("%s and %s exist", out.Asked, WithRun(out.Asked, run))
}

// WithRun inserts the name of a run before the ending of a file name.
func WithRun(path, run string) string {
	ending := filepath.Ext(path)
	return strings.TrimSuffix(path, ending) + "." + url.PathEscape(run) + ending
}

// Attach sets o.Shelf, so that a run with these options uses the shelf. It also removes files that programs
// left behind when they failed, in the folders where the run may keep its model.
func (s *Shelf) Attach(o *algorithms.Options) {
	s.book, s.other = o.Ledger, []string{filepath.Dir(o.Ledger.Path()), os.TempDir()}
	o.Shelf = s
	o.Ledger.SweepRuns()
	SweepKept(o.Ledger, s.folders()...)
}

// SweepKept removes unneeded kept files from folders. A kept file is unneeded if its run is in this ledger
// and the ledger does not record the release of this file. SweepKept does not remove a file that a running
// program has locked.
func SweepKept(l *ledger.Ledger, dirs ...string) {
	for _, dir := range dirs {
		durable.Sweep(dir, func(name string) bool {
			run, ok := RunOfKept(name)
			if !ok {
				return false
			}
			entries, err := l.Entries() // now: the attempt may have ended since the last look
			if err != nil || !slices.ContainsFunc(entries,
				func(e ledger.Entry) bool { return e.Charge != nil && e.Run == run }) {
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

// findKept opens the kept file of a released run, in the place that the ledger names or in folders. It returns
// nil if there is no such file because the model already has its name.
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
			other = fmt.Errorf("%s is not the file that the ledger records as released", name)
		}
		_ = f.Close()
	}
	return nil, other
}

// Recover moves the stored model of a released run to the name in `out`, if the program that released the run
// did not. It returns the name of the file and the entry of the ledger, or "" if no model is stored. Recover
// draws no noise and makes no charge, because the model is the file whose hash is in the ledger.
func (l Log) Recover(book *ledger.Ledger, run string, out *Output) (name string, e ledger.Entry, err error) {
	if e, err = book.Released(run); err != nil || e.Kept.Digest == "" {
		if errors.Is(err, ledger.ErrResume) { // a caller that resumes the run reports its kind
			err = nil
		}
		return "", e, err
	}
	dir := filepath.Dir(out.Path)
	file, err := findKept(e, dir, filepath.Dir(book.Path()), os.TempDir())
	if err != nil {
		return "", e, input.Errorf("run %q was released on %s, but its result cannot be saved now: %v", e.Run,
			e.Time.Format("2006-01-02"), err)
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
	var to *durable.File
	text, err := os.ReadFile(from.Name())
	if err == nil {
		to, err = l.Keep(run, text, len(text), dir)
	}
	if err != nil {
		_ = from.Close()
		return nil, err
	}
	from.Remove()
	return to, nil
}
