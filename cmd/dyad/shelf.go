package main

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
	"dyad/privacy"
	"dyad/privacy/durable"
	"dyad/privacy/ledger"
)

// shelf keeps the model of a run under a private name until the ledger has recorded its
// release, and then gives it its own: see algorithms.Shelf.
//
// The private name is .dyad-RUN-xxxx.model, of mode 0600, in the folder of --out, or if that
// cannot be written in that of the ledger, or in the one for temporary files. A program
// holds the lock of what it keeps, so nobody removes it while a release may be under way;
// and a file whose hash the ledger names is never removed, only published: by this program,
// or by --resume of the run.
type shelf struct {
	a     *app
	out   *output
	other []string // folders, if that of out fails
	// model is the model of what was trained, with all that its file says.
	model func(*algorithms.Result) *model

	file *durable.File
	made *model
	run  string
}

const (
	keptPrefix = ".dyad-"
	keptSuffix = ".model"
)

// errElsewhere is wrapped if a model is trained and charged, and saved under another name
// than asked for: exit code 4.
var errElsewhere = errors.New("dyad: the model was saved elsewhere")

// newShelf is a shelf for the model of out, which may be nil: none is saved then.
func (a *app) newShelf(out *output, m func(*algorithms.Result) *model) *shelf {
	return &shelf{a: a, out: out, model: m, other: []string{os.TempDir()}}
}

// Keep implements algorithms.Shelf.
func (s *shelf) Keep(o *algorithms.Result) (ledger.Kept, error) {
	if s.out == nil {
		return ledger.Kept{}, nil
	}
	k, err := s.keep(o)
	if err != nil {
		err = fmt.Errorf("%w: the model can be kept nowhere, so it was not released: %w", errUnavailable, err)
	}
	return k, err
}

func (s *shelf) keep(o *algorithms.Result) (k ledger.Kept, err error) {
	s.made, s.run = s.model(o), o.Run
	text, most, err := s.made.size()
	if err != nil {
		return k, err
	}
	if s.file, err = s.a.keepText(s.run, text, most, append([]string{filepath.Dir(s.out.path)}, s.other...)...); err != nil {
		return k, err
	}
	return ledger.Kept{Digest: digestOf(text), Place: s.file.Name()}, nil
}

// Drop implements algorithms.Shelf.
func (s *shelf) Drop() {
	if s.file != nil {
		s.file.Remove()
	}
	s.file, s.made = nil, nil
}

func digestOf(text []byte) string {
	sum := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// size is the text of a model, and a length that depends on the number of weights only and
// is never less.
func (m *model) size() (text []byte, most int, err error) {
	if text, err = m.text(); err != nil {
		return nil, 0, err
	}
	blank := *m
	blank.Weights = nil
	without, err := blank.text()
	return text, max(len(text), len(without)+weightText*len(m.Weights)), err
}

// weightText is the longest line of a weight: four blanks, a float64 of at most 24
// characters, a comma and a line feed.
const weightText = 32

// keepText writes and syncs a text in the first folder that takes it. Before the length of
// the text can matter, most bytes are written: whether they fit says nothing about it.
func (a *app) keepText(run string, text []byte, most int, folders ...string) (f *durable.File, err error) {
	prefix := durable.TempPrefix // of a run without a name: nobody misses it
	if run != "" {
		prefix = keptName(run)
	}
	var failed []error
	for _, dir := range folders {
		if f, err = durable.Create(dir, prefix, keptSuffix); err == nil {
			a.at("model created")
			_, err = f.Write(append(bytes.Clone(text), make([]byte, most-len(text))...))
			if err = errors.Join(err, f.Truncate(int64(len(text))), f.Sync()); err == nil {
				a.at("model synced")
				err = durable.SyncDir(dir)
			}
			if err == nil {
				a.at("model written")
				return f, nil
			}
			f.Remove()
		}
		failed = append(failed, err)
	}
	return nil, errors.Join(failed...)
}

// keptName begins the names of what is kept of a run.
func keptName(run string) string { return keptPrefix + url.PathEscape(run) + "-" }

// runOfKept is the run of a file that keepText wrote.
func runOfKept(name string) (run string, ok bool) {
	text, ok := strings.CutPrefix(name, keptPrefix)
	text, model := strings.CutSuffix(text, keptSuffix)
	dash := strings.LastIndexByte(text, '-')
	if !ok || !model || dash < 1 || strings.HasPrefix(name, durable.TempPrefix) {
		return "", false
	}
	run, err := url.PathUnescape(text[:dash])
	return run, err == nil
}

// saved gives the model of a run that is released its name, or keeps and names that of a
// run that nobody charged. The error wraps errElsewhere if it has another name than asked.
func (s *shelf) saved(w []float64, g privacy.Guarantee, run string) (name string, err error) {
	if s.out == nil {
		return "", nil
	}
	if s.file == nil {
		if _, err := s.keep(&algorithms.Result{Weights: w, Guarantee: g, Run: run}); err != nil {
			return "", s.a.printModel(s.made, err)
		}
	}
	return s.a.publish(s.file, s.out, s.run)
}

// publish renames a kept file as rename does; if it cannot be renamed it stays as it is,
// for --resume.
func (a *app) publish(f *durable.File, out *output, run string) (name string, err error) {
	defer f.Close()
	why := errors.New("its folder could not be written")
	if filepath.Dir(f.Name()) == filepath.Dir(out.path) {
		if name, why = a.rename(f, out, run); name != "" {
			return name, why
		}
	}
	hint := ""
	if run != "" {
		hint = "; the same command with --resume " + run + " gives it the name that you ask for, at no cost"
	}
	return f.Name(), savedAs(f.Name(), "cannot write %s (%v)%s", out.asked, why, hint)
}

// rename gives a kept file the name of out. If that is taken, and not to be replaced, it
// gets one with the name of the run, and the error wraps errElsewhere. No name: the file
// has its private one still.
func (a *app) rename(f *durable.File, out *output, run string) (name string, err error) {
	if run == "" {
		run = strings.TrimSuffix(strings.TrimPrefix(filepath.Base(f.Name()), durable.TempPrefix), keptSuffix)
	}
	mode, err := durable.SharedMode(filepath.Dir(out.path))
	if err != nil {
		mode = 0o600 // better than a model without a name
	}
	for _, as := range []output{*out, {withRun(out.asked, run), withRun(out.path, run), false}} {
		renamed, err := f.Publish(as.path, mode, as.force)
		switch {
		case renamed:
			a.at("model renamed")
			if err != nil {
				a.note("dyad: %s is written, but may not survive a power cut: %v", as.asked, err)
			}
			if as.path != out.path {
				if !sameFile(as.asked, as.path) { // asked is a link into another folder
					as.asked = as.path
				}
				return as.asked, savedAs(as.asked, "%s was made by another program meanwhile and was not replaced", out.asked)
			}
			return as.asked, nil
		case !errors.Is(err, fs.ErrExist):
			return "", err
		}
	}
	return "", fmt.Errorf("%s and %s exist", out.asked, withRun(out.asked, run))
}

func savedAs(name, format string, args ...any) error {
	return fmt.Errorf("%w, as %s: "+format, append([]any{errElsewhere, name}, args...)...)
}

// withRun puts the name of a run before the ending of a file name.
func withRun(path, run string) string {
	ending := filepath.Ext(path)
	return strings.TrimSuffix(path, ending) + "." + url.PathEscape(run) + ending
}

// saveModel keeps and names a model that no ledger waits for, and returns its name.
func (a *app) saveModel(m *model, path string, force bool) (string, error) {
	name, err := durable.Resolve(path)
	if err != nil {
		return "", a.printModel(m, err)
	}
	s := a.newShelf(&output{path, name, force}, func(*algorithms.Result) *model { return m })
	return s.saved(m.Weights, m.Guarantee, m.Run)
}

// printModel saves a model that no disk takes: time was paid for it.
func (a *app) printModel(m *model, cause error) error {
	text, err := m.text()
	if err == nil {
		_, err = a.stdout.Write(text)
	}
	if err != nil {
		return fmt.Errorf("the model is lost: %w", errors.Join(cause, err))
	}
	return fmt.Errorf("%w\nthe model was written to standard output instead; save it", cause)
}

// attach makes a run use the shelf, and removes what dead attempts at runs left where this
// one may keep its model.
func (s *shelf) attach(o *algorithms.Options, book *ledger.Ledger) {
	s.other = []string{filepath.Dir(book.Path()), os.TempDir()}
	o.Shelf = s
	dirs := s.other
	if s.out != nil {
		dirs = append([]string{filepath.Dir(s.out.path)}, dirs...)
	}
	book.SweepRuns()
	sweepKept(book, dirs...)
}

// sweepKept removes from folders what was kept by attempts of this ledger that came to
// nothing: their run is not released, or another attempt was. What a living program holds,
// what the ledger names and what it does not know stays.
func sweepKept(l *ledger.Ledger, dirs ...string) {
	for _, dir := range dirs {
		durable.Sweep(dir, func(name string) bool {
			run, ok := runOfKept(name)
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
					return err == nil && e.Known && digestOf(text) != e.Kept.Digest
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
			if run, ok := runOfKept(file.Name()); ok && run == e.Run {
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
		if err == nil && digestOf(text) == e.Kept.Digest {
			return f, nil
		}
		if other = err; err == nil {
			other = fmt.Errorf("%s is not what the ledger says was released", name)
		}
		_ = f.Close()
	}
	return nil, other
}

// republish saves the model of a run that was released by a program which could not give
// it its name. It says whether that was what --resume asked for. Nothing is drawn or charged:
// the model is the one whose hash the ledger has.
func (f runFlags) republish(a *app, out *output, r *runOutcome) (done bool, err error) {
	name, e, path, problem := f.recovered(a, out, r)
	if name == "" {
		return problem != nil, problem
	}
	m, err := readModel(name)
	if err != nil {
		return true, errors.Join(problem, err)
	}
	r.Run, r.Ledger, r.Model, r.Guarantee, r.DataID = e.Run, path, name, m.Guarantee, m.DataID
	var b strings.Builder
	line(&b, "ledger", "run %s was released on %s; nothing more was charged", e.Run, e.Time.Format("2006-01-02"))
	r.writeModel(&b, m.Task)
	return true, errors.Join(problem, a.emit(r, b.String()))
}

// recovered gives what was kept of the released run of --resume the name of out, and returns
// that name with the ledger's line and the ledger's path. No name: there is nothing to
// recover, or the error says why not.
func (f runFlags) recovered(a *app, out *output, r *runOutcome) (name string, e ledger.Entry, path string, err error) {
	path, err = f.path()
	if f.Resume == "" || r.Public || out == nil || err != nil || !exists(path) {
		return "", e, path, nil
	}
	l, _, err := f.openExisting(ledger.Options{LockWait: a.hooks.lockWait, Trace: a.at})
	if err != nil {
		return "", e, path, err
	}
	e, err = l.Released(f.Resume)
	if errors.Is(err, ledger.ErrResume) || err == nil && e.Kept.Digest == "" {
		return "", e, path, nil // what it is says who resumes it
	}
	if err != nil {
		return "", e, path, err
	}
	dir := filepath.Dir(out.path)
	file, err := findKept(e, dir, filepath.Dir(l.Path()), os.TempDir())
	if err != nil {
		return "", e, path, badInput("run %q was released on %s, and what was kept of it cannot be saved now: %v", e.Run, e.Time.Format("2006-01-02"), err)
	}
	if file == nil {
		return "", e, path, nil
	}
	if filepath.Dir(file.Name()) != dir {
		if file, err = a.moveKept(file, dir, e.Run); err != nil {
			return "", e, path, fmt.Errorf("%w: cannot write %s: %w", errUnavailable, out.asked, err)
		}
	}
	name, err = a.publish(file, out, e.Run)
	return name, e, l.Path(), err
}

// moveKept copies a kept file to another folder, where a rename publishes it.
func (a *app) moveKept(from *durable.File, dir, run string) (*durable.File, error) {
	text, err := os.ReadFile(from.Name())
	if err != nil {
		_ = from.Close()
		return nil, err
	}
	to, err := a.keepText(run, text, len(text), dir)
	if err != nil {
		_ = from.Close()
		return nil, err
	}
	from.Remove()
	return to, nil
}
