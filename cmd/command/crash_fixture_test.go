//go:build unix

package command

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"dyad/engine/dataset"
	"dyad/internal/crash"
	"dyad/internal/files"
	"dyad/internal/must"
	"dyad/privacy/ledger"
)

// outcome is the state that a fault must leave, apart from its exit code.
type outcome string

const (
	untouched outcome = "nothing charged, no model; the same command works"
	pending   outcome = "charged, nothing released; the run can be resumed at no cost"
	unnamed   outcome = "charged and released; the model is kept under a private name, and --resume gives it its own"
	done      outcome = "charged, released, model written"
	overtaken outcome = "charged once; another process released it, this one's weights were withheld"
)

// fixture is a folder with private data, a ledger with one finished run, and the
// model of that run.
type fixture struct {
	dir    string
	ledger string // content at the start: nothing of it may be lost
	known  []string
	local  bool     // "dyad local simulate" is attacked
	extra  []string // flags of the attacked run, and of those that resume it
}

// template is the content of a fixture, made once: it is the same for all.
type template struct {
	files   map[string]string
	run     string  // of the finished run
	epsilon float64 // of two such runs, at crashDelta
}

const crashDelta = 1e-5

var crashTemplate = sync.OnceValues(func() (*template, error) {
	dir, err := os.MkdirTemp("", "dyad-crash")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	f := &fixture{dir: dir}
	var data bytes.Buffer
	if err := dataset.WriteSyntheticClinical(&data, 120, 5); err != nil {
		return nil, err
	}
	schema := strings.Replace(dataset.SyntheticClinicalYAML(), "public: true", "public: false", 1)
	out := &template{files: map[string]string{}}
	for _, sub := range []string{"in", "ledger", "out", "tmp"} {
		if err := os.Mkdir(f.in(sub), 0o755); err != nil {
			return nil, err
		}
	}
	for name, text := range map[string]string{"in/patients.csv": data.String(), "in/patients.yaml": schema} {
		if err := os.WriteFile(f.in(name), []byte(text), 0o644); err != nil {
			return nil, err
		}
	}
	keep := func() error {
		for _, name := range []string{"in/patients.csv", "in/patients.yaml", "ledger/ledger.jsonl",
			"ledger/ledger.jsonl.head", "ledger/ledger.jsonl.lock", "out/model.json"} {
			text, err := os.ReadFile(f.in(name))
			if err != nil {
				return err
			}
			out.files[name] = string(text)
		}
		return nil
	}
	train := func() error {
		if e := f.dyad(f.train()...); e.Code != exitOK {
			return badInput("%s", e.Stderr)
		}
		return nil
	}
	if err := train(); err != nil {
		return nil, err
	}
	if err := keep(); err != nil {
		return nil, err
	}
	m, err := readModel(f.in("out/model.json"))
	if err != nil {
		return nil, err
	}
	out.run = m.Run
	if err := train(); err != nil {
		return nil, err
	}
	l, err := ledger.Open(f.in("ledger/ledger.jsonl"))
	if err != nil {
		return nil, err
	}
	s, err := l.Summary(m.DataID, crashDelta)
	out.epsilon = s.Epsilon
	return out, err
})

func newFixture(t *testing.T) *fixture {
	t.Helper()
	tmpl := must.Get(crashTemplate())(t)
	// Not t.TempDir: a child that gives up root must get in.
	dir := must.Get(os.MkdirTemp("", "dyad-crash"))(t)
	f := &fixture{dir: dir, ledger: tmpl.files["ledger/ledger.jsonl"], known: []string{tmpl.run}}
	t.Cleanup(func() {
		f.writable()
		_ = os.RemoveAll(dir)
	})
	folders := []string{".", "in", "ledger", "out", "tmp"}
	for _, sub := range folders[1:] {
		must.Do(t, os.Mkdir(f.in(sub), 0o755))
	}
	must.Do(t, os.Chmod(dir, 0o755))
	f.put(t, tmpl.files)
	if os.Getuid() == 0 {
		for name := range tmpl.files {
			folders = append(folders, name)
		}
		for _, name := range folders {
			must.Do(t, os.Chown(f.in(name), 65534, -1))
		}
	}
	return f
}

func (f *fixture) in(name string) string { return filepath.Join(f.dir, name) }

func (f *fixture) put(t testing.TB, files map[string]string) {
	t.Helper()
	for name, text := range files {
		must.Do(t, os.WriteFile(f.in(name), []byte(text), 0o644))
	}
}

func (f *fixture) get(t testing.TB, name string) string {
	t.Helper()
	text := must.Get(os.ReadFile(f.in(name)))(t)
	return string(text)
}

// writable undoes a read-only fault.
func (f *fixture) writable() {
	for _, sub := range []string{"ledger", "out"} {
		_ = os.Chmod(f.in(sub), 0o755)
	}
}

// train is the command line of the run that is attacked: an algorithm of many steps.
func (f *fixture) train(more ...string) []string {
	more = append(f.extra[:len(f.extra):len(f.extra)], more...)
	if f.local {
		return append([]string{"local", "simulate", "--data", f.in("in/patients.csv"), "--schema", f.in("in/patients.yaml"),
			"--epochs", "2", "--l2-grid", "0.1,1", "--folds", "2",
			"--force", "--out", f.in("out/model.json"), "--ledger", f.in("ledger/ledger.jsonl")}, more...)
	}
	return append([]string{"train", "--verbose", "--data", f.in("in/patients.csv"), "--schema", f.in("in/patients.yaml"),
		"--algorithm", "dpgdsc", "--epsilon", "1", "--delta", "1e-5", "--workers", "1", "--force", "--out",
		f.in("out/model.json"), "--ledger", f.in("ledger/ledger.jsonl")}, more...)
}

// dyad runs the program in this process.
func (f *fixture) dyad(args ...string) (e ended) {
	e.Code, e.Stdout, e.Stderr = hooked(context.Background(), hooks{}, args...)
	return e
}

// start starts the program as a child.
func (f *fixture) start(t *testing.T, s crash.Spec) *crash.Child {
	t.Helper()
	return crash.Start(t, f.in("tmp"), s)
}

// ended is how a run of the program ended, in this process or as a child.
type ended = crash.Ended

func TestMain(m *testing.M) {
	debug.SetGCPercent(400) // most of what is collected here is small
	program := func(ctx context.Context, args []string, stage func(string)) int {
		return runHooked(ctx, args, os.Stdin, os.Stdout, os.Stderr,
			hooks{stage: stage, lockWait: 300 * time.Millisecond, with: KindsOfTests()})
	}
	crash.Main(m, program, func(args []string) {
		os.Args = append([]string{"dyad"}, args...)
		Main(With{})
	})
}

// attacked is the run of the attacked program, "" if it was not charged, with
// the number of its charges and of its finish lines.
func (f *fixture) attacked(t testing.TB) (run string, charges int, finished []string) {
	t.Helper()
	l := must.Get(ledger.Open(f.in("ledger/ledger.jsonl")))(t)
	must.Get(l.Verify())(t)
	entries := must.Get(l.Entries())(t)
	for _, e := range entries {
		switch {
		case slices.Contains(f.known, e.Run):
		case e.Charge != nil:
			run = e.Run
			charges++
		case e.Type == "finish":
			finished = append(finished, e.Status)
		}
	}
	return run, charges, finished
}

// models counts the models of a run in all files and in a text, under its name, under any
// name, and as kept. Every model must belong to a run that the ledger has as charged and
// released, but for those that an attempt kept: nobody else can read them, and of a
// released run one counts, whose hash is in the ledger.
func (f *fixture) models(t testing.TB, run, text string) (named, all, kept int) {
	t.Helper()
	l := must.Get(ledger.Open(f.in("ledger/ledger.jsonl")))(t)
	entries := must.Get(l.Entries())(t)
	paid := func(run string) bool {
		charged := slices.ContainsFunc(entries, func(e ledger.Entry) bool { return e.Charge != nil && e.Run == run })
		return charged && slices.ContainsFunc(entries, func(e ledger.Entry) bool {
			return e.Type == "finish" && e.Run == run && e.Status == ledger.StatusReleased
		})
	}
	texts := map[string]string{"": text}
	for _, folder := range []string{"out", "tmp", "ledger"} {
		files := must.Get(os.ReadDir(f.in(folder)))(t)
		for _, file := range files {
			name := folder + "/" + file.Name()
			texts[name] = f.get(t, name)
			if info, err := file.Info(); strings.HasPrefix(file.Name(), ".dyad-") &&
				(err != nil || info.Mode().Perm() != 0o600) {
				t.Errorf("others can read %s: %v, %v", name, info.Mode(), err)
			}
		}
	}
	for name, text := range texts {
		var m struct {
			Run     string
			Weights []float64
		}
		if json.Unmarshal([]byte(text), &m) != nil || len(m.Weights) == 0 {
			continue
		}
		if _, hidden := files.RunOfKept(filepath.Base(name)); hidden {
			if m.Run == run && slices.ContainsFunc(entries, func(e ledger.Entry) bool {
				return e.Type == "finish" && e.Run == run &&
					e.Kept == ledger.Kept{Digest: files.Digest([]byte(text)), Place: f.in(name)}
			}) {
				kept++
			}
			continue
		}
		if !paid(m.Run) {
			t.Errorf("%q is a model of run %q, which the ledger does not have as charged and released", name, m.Run)
		}
		if m.Run == run {
			all++
			if name == "out/model.json" {
				named++
			}
		}
	}
	return named, all, kept
}

// saveKept resumes a released run whose model has no name yet: that model gets it, and
// nothing else happens. args are those of the first attempt.
func (f *fixture) saveKept(t testing.TB, run string, args []string) {
	t.Helper()
	before := f.get(t, "ledger/ledger.jsonl")
	f.dyad("ledger", "show", "--ledger", f.in("ledger/ledger.jsonl")).Want(t, "show", exitOK,
		"repeat the run's command with --resume "+run)
	f.dyad(append(args, "--resume", run)...).Want(t, "resume of a released run", exitOK, "nothing more was charged")
	must.Equal(t, f.get(t, "ledger/ledger.jsonl"), before, "saving the model wrote to the ledger")
	if e := f.dyad("ledger", "show", "--ledger", f.in("ledger/ledger.jsonl")); strings.Contains(e.Stdout, run) {
		t.Errorf("a saved model is still listed:\n%s", e.Stdout)
	}
}

// wantClean checks that no private file is left.
func (f *fixture) wantClean(t testing.TB) {
	t.Helper()
	for _, folder := range []string{"out", "tmp", "ledger"} {
		if left, err := filepath.Glob(f.in(folder + "/.dyad-*")); err != nil || len(left) > 0 {
			t.Errorf("left: %v, %v", left, err)
		}
	}
}
