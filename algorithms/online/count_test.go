//go:build unix

package online_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"dyad/algorithms/online"
	"dyad/internal/crash"
	"dyad/internal/create"
	"dyad/internal/must"
)

// countName is the file that counts the releases of the attacked stream.
func (f *fixture) countName(t testing.TB) string {
	t.Helper()
	names, err := filepath.Glob(f.in("ledger/ledger.jsonl.run-*"))
	if err != nil || len(names) != 1 {
		t.Fatalf("%d counts (%v), want 1", len(names), err)
	}
	return "ledger/" + filepath.Base(names[0])
}

// refusedState checks that a stream does not go on, and that nothing leaves or changes.
func (f *fixture) refusedState(t testing.TB, what, says string) {
	t.Helper()
	before := f.get(t, "ledger/ledger.jsonl")
	e := f.run(t, f.stream("resume")...)
	e.Want(t, what, exitInput, says)
	f.wantReleases(t, e, nil)
	must.Equal(t, f.get(t, "ledger/ledger.jsonl"), before, "%s: the ledger was changed", what)
}

// attackCount copies the state after release 4 of a stream and kills it at a later stage.
// Then it puts the copy back, which would draw the releases after 4 a second time, with other
// noise, or breaks the count. Nothing leaves unless the state is known to be the latest. In
// the end the files are as the kill left them.
func (f *fixture) attackCount(t *testing.T, c cell) crash.Ended {
	t.Helper()
	child := f.start(t, crash.Spec{Args: f.stream(), Stage: "released#4", Fault: "pause", Then: c.stage})
	child.Paused(t)
	copied := f.get(t, stateName)
	e := child.End()
	latest := f.get(t, stateName)
	name := f.countName(t)
	whole := f.get(t, name)
	half := len(whole) / 2
	const (
		old     = "this old copy of the state has only"
		unknown = "is missing or damaged; put the file back"
	)
	back := func(count, state, says string) {
		t.Helper()
		f.put(t, map[string]string{name: count, stateName: state})
		f.refusedState(t, c.fault, says)
	}
	switch c.fault {
	case "state put back":
		back(whole, copied, old)
	case "count torn": // within the slot of release 5, the second one
		torn := whole[:half+17] + strings.Repeat("\x00", half-17)
		back(torn, copied, old)
		f.put(t, map[string]string{name: torn, stateName: latest})
		return e
	case "count cut short":
		for _, size := range []int{0, 1, half / 2} {
			back(whole[:size], latest, unknown)
		}
	case "count lost":
		must.Do(t, os.Remove(f.in(name)))
		f.refusedState(t, c.fault, unknown)
	case "two attempts":
		// The killed attempt drew release 5 and did not count it: the copy goes on and draws
		// it too. From then on the first release 5 is refused.
		f.put(t, map[string]string{stateName: copied})
		second := f.start(t, crash.Spec{Args: f.stream("resume"), Stage: "released", Fault: "kill"}).End()
		next := f.get(t, stateName)
		f.put(t, map[string]string{stateName: latest})
		f.refusedState(t, c.fault, "was made from another copy of the state")
		f.put(t, map[string]string{stateName: next})
		sameReleases(t, releasesOf(t, e), releasesOf(t, second))
		e.Stdout += second.Stdout[strings.Index(second.Stdout, "\n")+1:]
		return e
	}
	f.put(t, map[string]string{name: whole, stateName: latest})
	return e
}

// uncharged kills a stream before its charge and removes its count: nothing can have been
// released, so the stream begins.
func (f *fixture) uncharged(t *testing.T, spec crash.Spec) crash.Ended {
	t.Helper()
	spec.Fault = "kill"
	e := f.start(t, spec).End()
	must.Do(t, os.Remove(f.in(f.countName(t))))
	return e
}

// putBackAll puts back the state and the whole folder of the ledger, of which no program
// can know.
func (f *fixture) putBackAll(t *testing.T) crash.Ended {
	t.Helper()
	child := f.start(t, crash.Spec{Args: f.stream(), Stage: "released#4", Fault: "pause", Then: "released#5"})
	child.Paused(t)
	old := map[string]string{}
	for _, name := range []string{stateName, "ledger/ledger.jsonl", "ledger/ledger.jsonl.head", f.countName(t)} {
		old[name] = f.get(t, name)
	}
	e := child.End()
	f.put(t, old)
	return e
}

// A FIFO that has the name of the state is refused before anybody waits for it.
func TestStateIsAFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "s")
	must.Do(t, syscall.Mkfifo(name, 0o600))
	var state *online.StateError
	if _, err := online.Open(mustPlan(t), online.Options{State: name, Public: true, Resume: true}); !errors.As(err,
		&state) || !errors.Is(err, create.ErrIrregular) {
		t.Errorf("a FIFO as state: %v", err)
	}
}
