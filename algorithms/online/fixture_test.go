//go:build unix

package online_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"dyad/algorithms"
	"dyad/algorithms/online"
	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/internal/crash"
	"dyad/internal/must"
	"dyad/privacy"
	"dyad/privacy/account"
	"dyad/privacy/ledger"
)

// The exit codes of the program of this test are the exit codes of dyad.
const (
	exitOK        = 0
	exitFailure   = 1
	exitInput     = 64
	exitResource  = 3
	exitCancelled = 130
)

// output is a line of the program: its run, or a release.
type output struct {
	Run     string    `json:"run,omitempty"`
	Records int       `json:"records,omitempty"`
	Release int       `json:"release,omitempty"`
	Weights []float64 `json:"weights,omitempty"`
}

func TestMain(m *testing.M) { crash.Main(m, program, nil) }

// program runs the stream of a folder: args are the folder and, to go on, "resume".
func program(ctx context.Context, args []string, stage func(string)) int {
	err := follow(ctx, args[0], len(args) > 1, stage)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	var state *online.StateError
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, context.Canceled):
		return exitCancelled
	case errors.As(err, &state), errors.Is(err, ledger.ErrResume):
		return exitInput
	case errors.Is(err, ledger.ErrUnavailable):
		return exitResource
	}
	return exitFailure
}

// follow feeds a stream the records of a folder and writes its releases.
func follow(ctx context.Context, dir string, resume bool, stage func(string)) error {
	plan, err := streamPlan()
	if err != nil {
		return err
	}
	records, err := readRecords(filepath.Join(dir, "in/records"))
	if err != nil {
		return err
	}
	s, err := online.Open(plan, online.Options{
		State: filepath.Join(dir, stateName), Resume: resume, DataID: dataID, Trace: stage,
		Ledger: func() (*ledger.Ledger, error) {
			stage("opening ledger")
			return ledger.OpenWith(filepath.Join(dir, "ledger/ledger.jsonl"), ledger.Options{LockWait: 300 * time.Millisecond, Trace: stage})
		},
	})
	if err != nil {
		return err
	}
	defer s.Close()
	lines := json.NewEncoder(os.Stdout)
	write := func(r *online.Update) error {
		if r == nil {
			return nil
		}
		return lines.Encode(output{Records: r.Records, Release: r.Number, Weights: r.Weights})
	}
	if s.Begun() {
		if err := errors.Join(lines.Encode(output{Run: s.Run()}), write(s.Last())); err != nil {
			return err
		}
	}
	for _, r := range records[s.Taken():] {
		if err = ctx.Err(); err != nil {
			break
		}
		if !s.Begun() {
			if err := s.Begin(); err != nil {
				return err
			}
			if err := lines.Encode(output{Run: s.Run()}); err != nil {
				return err
			}
		}
		release, failed := s.Take(ctx, r[1:], r[0])
		if err = failed; err != nil && !errors.Is(err, context.Canceled) {
			return err
		}
		if release != nil {
			if err := write(release); err != nil {
				return err
			}
			stage("released")
		}
	}
	stopped := s.Stop(func() error {
		fmt.Fprintf(os.Stderr, "%d records taken, %d releases; the state is in %s\n", s.Taken(), s.Releases(), s.State())
		return nil
	})
	if s.Ended() || errors.Is(stopped, online.ErrLost) {
		return stopped
	}
	return errors.Join(err, stopped)
}

const (
	stateName = "out/stream.state"
	dataID    = "people"
	records   = 100 // horizon of the stream
	features  = 3
)

// streamPlan is the plan of the stream: 9 releases, after 20, 30, ..., 100 records.
func streamPlan() (*algorithms.Plan, error) {
	problem := engine.Problem{N: 2, D: features, Bounds: engine.UnitBounds(), Loss: engine.Logistic{}, Radius: 1}
	spec, err := algorithms.NewStreamSpec(cpu.Backend{}, problem, algorithms.StreamOptions{Horizon: records, Batch: 10, Buffer: 20}, 0, privacy.Budget{Epsilon: 1, Delta: crashDelta}, algorithms.Certified)
	if err != nil {
		return nil, err
	}
	return algorithms.OnPairC{}.Plan(spec)
}

// readRecords reads a file of one record a line: the label, then the features.
func readRecords(name string) (all [][]float64, err error) {
	text, err := os.ReadFile(name)
	for line := range strings.Lines(string(text)) {
		var r []float64
		for word := range strings.FieldsSeq(line) {
			v, wrong := strconv.ParseFloat(word, 64)
			r, err = append(r, v), errors.Join(err, wrong)
		}
		all = append(all, r)
	}
	return all, err
}

const crashDelta = 1e-5

// fixture is a folder with records, and a ledger with one finished run on them.
type fixture struct {
	dir    string
	ledger string // content at the start: nothing of it may be lost
	head   string
	known  []string
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	// Not t.TempDir: a child that gives up root must get in.
	dir := must.Get(os.MkdirTemp("", "dyad-online"))(t)
	f := &fixture{dir: dir}
	t.Cleanup(func() {
		f.writable()
		_ = os.RemoveAll(dir)
	})
	folders := []string{".", "in", "ledger", "out", "tmp"}
	for _, sub := range folders[1:] {
		must.Do(t, os.Mkdir(f.in(sub), 0o755))
	}
	must.Do(t, os.Chmod(dir, 0o755))
	var text strings.Builder
	for i := range records {
		x := float64(i + 1)
		fmt.Fprintln(&text, float64(2*(i*7%3%2)-1), 0.5*math.Cos(x), 0.3*math.Sin(3*x), 0.2*math.Cos(5*x))
	}
	f.put(t, map[string]string{"in/records": text.String()})
	f.charge(t, time.Now(), "earlier")
	f.ledger, f.head = f.get(t, "ledger/ledger.jsonl"), f.get(t, "ledger/ledger.jsonl.head")
	if os.Getuid() == 0 {
		for _, name := range append(folders, "in/records", "ledger/ledger.jsonl", "ledger/ledger.jsonl.head", "ledger/ledger.jsonl.lock") {
			must.Do(t, os.Chown(f.in(name), 65534, -1))
		}
	}
	return f
}

// charge makes a run of another program on the same records, at a time of its clock.
func (f *fixture) charge(t *testing.T, at time.Time, run string) {
	t.Helper()
	l := f.book(t)
	must.Get(l.Begin(ledger.Charge{
		DataID: dataID, Run: run, Algorithm: "dpgdsc", Time: at, Events: []account.Event{account.GaussianEvent{Sensitivity: 1, Sigma: 10}},
	}, privacy.NewSeededSource(1)))(t)
	must.Do(t, l.Release(run, ledger.Kept{Digest: "0f"}))
	f.known = append(f.known, run)
}

// book is the ledger.
func (f *fixture) book(t testing.TB) *ledger.Ledger {
	t.Helper()
	return must.Get(ledger.Open(f.in("ledger/ledger.jsonl")))(t)
}

// start starts the program as a child.
func (f *fixture) start(t testing.TB, s crash.Spec) *crash.Child {
	t.Helper()
	return crash.Start(t, f.in("tmp"), s)
}

// run runs the program to its end.
func (f *fixture) run(t testing.TB, args ...string) crash.Ended {
	t.Helper()
	return f.start(t, crash.Spec{Args: args}).End()
}

// stream are the arguments of the program.
func (f *fixture) stream(more ...string) []string { return append([]string{f.dir}, more...) }

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

// attacked is the run of the attacked stream, "" if it was not charged, with the number of its
// charges and of its finish lines.
func (f *fixture) attacked(t testing.TB) (run string, charges int, finished []string) {
	t.Helper()
	l := f.book(t)
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

// recorder notes what a check says instead of failing.
type recorder struct {
	testing.TB
	said string
}

func (r *recorder) Errorf(format string, args ...any) { r.said += fmt.Sprintf(format, args...) + "\n" }
