package ledger

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dyad/internal/must"
	"dyad/privacy"
	"dyad/privacy/account"
)

// ResumeStream locks a run and resumes it at a number of releases.
func (l *Ledger) ResumeStream(run string, c Charge, released, session int, src *privacy.Source) (*privacy.LiveSession, error) {
	lock, err := l.LockRun(run)
	if err != nil {
		return nil, err
	}
	defer lock.Unlock()
	return lock.Resume(c, StreamPosition{Releases: released}, session, src)
}

// countedRun is a charged run of five releases that are counted, locked.
func countedRun(t *testing.T) (*Ledger, *RunLock, Charge) {
	t.Helper()
	l := must.Get(Open(filepath.Join(t.TempDir(), "ledger")))(t)
	lock := must.Get(l.LockRun("r"))(t)
	c := Charge{DataID: "d", Run: "r", Algorithm: "a", Events: []account.Event{account.StreamEvent{Sensitivity: 1, Sigma: 1, Count: 5}}, Counted: true}
	uncounted := c
	uncounted.Run = "another"
	must.Err(l.Begin(uncounted, privacy.NewSeededSource(1)))(t, "a stream without a count was charged")
	must.Get(l.Begin(c, privacy.NewSeededSource(1)))(t)
	return l, lock, c
}

func mustCount(t *testing.T, r *RunLock, n int, digest string) {
	t.Helper()
	must.Do(t, r.Count(StreamPosition{n, digest}))
}

// Releases are counted when the count is on disk, and not when it is written.
func TestCountIsSynced(t *testing.T) {
	l, lock, _ := countedRun(t)
	mustCount(t, lock, 1, "one")
	written := false
	l.stage = func(stage string) {
		if stage == "count written" {
			written = true
			_ = lock.file.Close() // so that the sync fails
		}
	}
	if err := lock.Count(StreamPosition{2, "two"}); err == nil || !written {
		t.Errorf("a count that could not be synced: %v", err)
	}
	must.Equal(t, lock.at.Releases, 1, "releases are counted")
}

// A state that is behind the count, or beside it, is refused; one that is ahead, as a kill
// between state and count leaves it, goes on and is counted.
func TestCountRefusesOldStates(t *testing.T) {
	l, lock, c := countedRun(t)
	for n, digest := range []string{"one", "two", "three"} {
		mustCount(t, lock, n+1, digest)
	}
	must.FailDo(t, lock.Count(StreamPosition{2, "two"}), ErrResume, "the count went back")
	lock.Unlock()
	try := func(at StreamPosition, session int) error {
		lock, err := l.LockRun("r")
		if err == nil {
			_, err = lock.Resume(c, at, session, privacy.NewSeededSource(2))
			lock.Unlock()
		}
		return err
	}
	before := read(t, l.path)
	for _, at := range []StreamPosition{{0, ""}, {1, "one"}, {2, "two"}, {3, "other"}, {3, ""}, {6, "six"}} {
		must.FailDo(t, try(at, 1), ErrResume, at, " after release 3")
	}
	must.Equal(t, read(t, l.path), before, "a refused state wrote to the ledger")
	must.CheckDo(t, try(StreamPosition{3, "three"}, 1), "the same release again")
	must.CheckDo(t, try(StreamPosition{4, "four"}, 2), "one ahead")
	for _, at := range []StreamPosition{{3, "three"}, {4, "another four"}} {
		must.FailDo(t, try(at, 3), ErrResume, at, " after release 4")
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	text := must.Get(os.ReadFile(name))(t)
	return string(text)
}

// A count that is missing, cut, edited, or of another run stops the run; a torn slot stops
// what is older than the release that was being counted; and without a charge nothing was
// released, so a run begins anew.
func TestDamagedCountFailsSafe(t *testing.T) {
	l, lock, c := countedRun(t)
	for n, digest := range []string{"one", "two", "three"} {
		mustCount(t, lock, n+1, digest)
	}
	name := l.runFile("r")
	lock.Unlock()
	whole := read(t, name)
	if len(whole) != 2*slotSize || !strings.Contains(whole, `"releases":3`) || !strings.Contains(whole, `"releases":2`) {
		t.Fatalf("the count is %q", whole)
	}
	three := strings.Index(whole, `"releases":3`) / slotSize * slotSize
	tear := func(at, from int) string { // the rest of a slot is that of before, or nothing
		return whole[:at+from] + strings.Repeat("\x00", slotSize-from) + whole[at+slotSize:]
	}
	session := 1
	try := func(text string, at StreamPosition) error {
		must.Do(t, os.WriteFile(name, []byte(text), 0o600))
		lock, err := l.LockRun("r")
		if err != nil {
			return err
		}
		defer lock.Unlock()
		if _, err = lock.Resume(c, at, session, privacy.NewSeededSource(2)); err == nil {
			session++
		}
		return err
	}
	latest := StreamPosition{3, "three"}
	for what, text := range map[string]string{
		"empty":          "",
		"cut":            whole[:20],
		"both edited":    strings.ReplaceAll(whole, `"releases":`, `"releases":1`),
		"of another run": strings.ReplaceAll(whole, `"run":"r"`, `"run":"q"`),
		"both torn":      strings.Repeat("\x00", 2*slotSize),
	} {
		must.FailDo(t, try(text, latest), must.All{ErrResume, "missing or damaged"}, what)
	}
	for _, from := range []int{0, 1, 30, 60, 100} {
		torn := tear(three, from)
		must.FailDo(t, try(torn, StreamPosition{2, "two"}), ErrResume, "torn at byte ", from, ": an old state")
		must.CheckDo(t, try(torn, latest), "torn at byte ", from, ": the state that was being counted")
	}
	must.Do(t, os.Remove(name))
	must.Fail(l.LockRun("r"))(t, ErrResume, "deleted")
	if lock, err := l.LockRun("not charged"); err != nil {
		t.Errorf("a run that is not charged: %v", err)
	} else {
		lock.Unlock()
	}
}

// A stream of a program that counted nothing goes on, and is counted from then on.
func TestCountOfAnOlderRun(t *testing.T) {
	l := must.Get(Open(filepath.Join(t.TempDir(), "ledger")))(t)
	c := Charge{DataID: "d", Run: "r", Algorithm: "a", Events: []account.Event{account.StreamEvent{Sensitivity: 1, Sigma: 1, Count: 5}}}
	must.Get(l.Begin(c, privacy.NewSeededSource(1)))(t)
	must.Do(t, os.WriteFile(l.runFile("r"), nil, 0o600)) // its lock
	must.Get(l.ResumeStream("r", c, 2, 1, privacy.NewSeededSource(2)))(t)
	must.Fail(l.ResumeStream("r", c, 1, 2, privacy.NewSeededSource(2)))(t, ErrResume, "an older state")
	must.Check(l.ResumeStream("r", c, 2, 2, privacy.NewSeededSource(2)))(t)
}

// What a killed process left of a finished run is removed by the next one, and nothing else.
func TestSweepRuns(t *testing.T) {
	l, lock, _ := countedRun(t)
	left := read(t, l.runFile("r"))
	l.SweepRuns()
	must.Equal(t, read(t, l.runFile("r")), left, "the count of a run that goes on was swept")
	must.Do(t, l.Finish("r", StatusReleased))
	lock.Unlock()
	for _, run := range []string{"r", "other"} {
		must.Do(t, os.WriteFile(l.runFile(run), []byte(left), 0o600))
	}
	l.SweepRuns()
	must.Err(os.Stat(l.runFile("r")))(t, "the count of a finished run was left")
	must.Check(os.Stat(l.runFile("other")))(t, "the lock of an unknown run was swept")
}

// The line of a release names what was kept; Released gives it back and leaves the line
// acknowledged. A second release, and one of another status, name nothing.
func TestReleaseNamesWhatWasKept(t *testing.T) {
	l := newTestLedger(t)
	for _, run := range []string{"a", "b", "c", "d"} {
		mustBegin(t, l, resumable(run))
	}
	kept := Kept{Digest: "sha256:12", Place: "/home/ä/.m"}
	must.Do(t, l.Release("a", kept))
	must.FailDo(t, l.Release("a", Kept{Digest: "other"}), ErrResume, "a second release")
	must.Do(t, l.Finish("b", "failed"))
	if e, err := l.Released("a"); err != nil || e.Kept != kept || e.Status != StatusReleased {
		t.Errorf("Released = %+v, %v", e, err)
	}
	for _, run := range []string{"b", "c", "x"} {
		must.Fail(l.Released(run))(t, ErrResume, "run ", run)
	}
	must.ErrDo(t, l.Release("c", Kept{Digest: "\xff"}), "a text that is not UTF-8 was taken")
	// A head that a crash left behind is repaired before the result may leave.
	head := read(t, l.path+headSuffix)
	must.Do(t, l.Release("d", Kept{Digest: "0f"}))
	must.Do(t, os.WriteFile(l.path+headSuffix, []byte(head), 0o600))
	if v, err := l.Verify(); err != nil || !v.HeadBehind {
		t.Fatalf("%+v, %v", v, err)
	}
	must.Get(l.Released("d"))(t)
	if v, err := l.Verify(); err != nil || v.HeadBehind {
		t.Errorf("after Released: %+v, %v", v, err)
	}
}

// golden copies a ledger of testdata and opens it.
func golden(t *testing.T, name string) *Ledger {
	t.Helper()
	dir := t.TempDir()
	files, err := filepath.Glob("testdata/" + name + "/*")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		must.Do(t, os.WriteFile(filepath.Join(dir, filepath.Base(file)), []byte(read(t, file)), 0o600))
	}
	return must.Get(Open(filepath.Join(dir, "ledger.jsonl")))(t)
}

// A ledger and a count of this format are read as they were written, and one of before it
// names nothing and takes new lines.
func TestGoldenLedgers(t *testing.T) {
	l := golden(t, "ledger2")
	e, err := l.Released("batch")
	if want := (Kept{"sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", "/data/.dyad-batch-ABCDEFGHIJ.model"}); err != nil || e.Kept != want {
		t.Errorf("%+v, %v", e, err)
	}
	if s, err := l.Summary("clinic", 1e-5); err != nil || s.Mu != 0.40620192023179863 || s.Epsilon != 1.5817345361655426 {
		t.Errorf("%+v, %v", s, err)
	}
	lock := must.Get(l.LockRun("stream"))(t)
	c := Charge{DataID: "clinic", Algorithm: "fixture", Events: []account.Event{account.StreamEvent{Sensitivity: 1, Sigma: 5, Count: 5}}, Unit: "one record", Relation: "replace-one"}
	must.Fail(lock.Resume(c, StreamPosition{2, "two"}, 2, privacy.NewSeededSource(1)))(t, ErrResume, "an older state")
	must.Check(lock.Resume(c, StreamPosition{3, "three"}, 2, privacy.NewSeededSource(1)))(t)
	lock.Unlock()

	compacted := golden(t, "ledger3")
	if s, err := compacted.Summary("small", 1e-5); err != nil || s.Mu != 1.3333490827253034 || s.Epsilon != 6.129330545151108 || s.Runs != 3 || s.Cap != (privacy.Budget{Epsilon: 9, Delta: 1e-3}) {
		t.Errorf("%+v, %v", s, err)
	}
	must.Equal(t, must.Get(compacted.Verify())(t), Verification{Lines: 3}, "Verify")

	old := golden(t, "ledger1")
	must.Equal(t, must.Get(old.Released("run-a"))(t).Kept, Kept{}, "Kept")
	must.CheckDo(t, old.Release("run-b", Kept{"a hash", "a place"}))
	must.Equal(t, must.Get(old.Verify())(t).Lines, 9, "Lines")
}
