package ledger

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"dyad/internal/must"
	"dyad/privacy"
	"dyad/privacy/account"
)

func newTestLedger(t *testing.T) *Ledger {
	t.Helper()
	return must.Get(Open(filepath.Join(t.TempDir(), "ledger")))(t)
}

func testCharge(run string) Charge {
	return Charge{
		DataID: "clinic", Run: run, Algorithm: "test", Guarantee: "text <&> \u2028", Relation: "replace-one",
		Events: []account.Event{account.Repeat(account.GaussianEvent{Sensitivity: 0.1, Sigma: 1.0 / 3}, 2)},
	}
}

// certified is a certificate with exactly the given sensitivity.
func certified(sensitivity float64) (privacy.Certificate, error) {
	for bound := sensitivity; ; bound = math.Nextafter(bound, 0) {
		c, err := privacy.MeanGradient{PairDiameter: bound, PairFraction: 1}.Certify()
		if err == nil && c.Sensitivity() < sensitivity {
			err = fmt.Errorf("no certificate has sensitivity %v", sensitivity)
		}
		if err != nil || c.Sensitivity() == sensitivity {
			return c, err
		}
	}
}

func certificate(t *testing.T, sensitivity float64) privacy.Certificate {
	t.Helper()
	return must.Get(certified(sensitivity))(t)
}

func mustBegin(t *testing.T, l *Ledger, c Charge) *privacy.LiveSession {
	t.Helper()
	return must.Get(l.Begin(c, privacy.NewSeededSource(1)))(t)
}

func readAll(t *testing.T, l *Ledger) map[string]string {
	t.Helper()
	files := map[string]string{}
	names := must.Get(filepath.Glob(l.path + "*"))(t)
	for _, name := range names {
		raw := must.Get(os.ReadFile(name))(t)
		files[name] = string(raw)
	}
	return files
}

func countRun(t *testing.T, l *Ledger, run string) int {
	t.Helper()
	entries := must.Get(l.Entries())(t)
	n := 0
	for _, e := range entries {
		if e.Charge != nil && e.Run == run {
			n++
		}
	}
	return n
}

func wantWarning(t *testing.T, s *privacy.LiveSession, text string, want bool) {
	t.Helper()
	wantText(t, s.Receipt().Warnings, text, want)
}

// wantNote also checks that the text is no warning, because a result has all warnings.
func wantNote(t *testing.T, s *privacy.LiveSession, text string, want bool) {
	t.Helper()
	wantText(t, s.Receipt().Notes, text, want)
	wantText(t, s.Receipt().Warnings, text, false)
}

func wantText(t *testing.T, all []string, text string, want bool) {
	t.Helper()
	if got := strings.Contains(strings.Join(all, "\n"), text); got != want {
		t.Errorf("%q: %v, want %v; all texts: %q", text, got, want, all)
	}
}

func TestLedgerRoundTrip(t *testing.T) {
	l := newTestLedger(t)
	c := testCharge("a")
	c.Events = append(c.Events, account.ComposedEvent{Events: []account.Event{account.PublicEvent{},
		account.Repeat(account.GaussianEvent{Sensitivity: math.SmallestNonzeroFloat64, Sigma: math.MaxFloat64},
			math.MaxInt)}})
	c.Time = time.Date(2030, 1, 2, 3, 4, 5, 6, time.UTC)
	if s := mustBegin(t, l, c); s.Receipt().Run != "a" || s.Receipt().Seq != 1 {
		t.Errorf("receipt %+v", s.Receipt())
	}
	must.Do(t, l.Finish("a", "done"))
	must.Do(t, l.SetCap("clinic", privacy.Budget{Epsilon: 3, Delta: 1e-6}))
	again := must.Get(Open(l.path))(t)
	got := must.Get(again.Entries())(t)
	c.SeededNoise = true
	for i := range got[1:] {
		got[i+1].Time = time.Time{}
	}
	for i := range got {
		must.Equal(t, len(got[i].Hash), 64, "line %d has hash %q", i+1, got[i].Hash)
		got[i].Hash = ""
	}
	want := []Entry{
		{Seq: 1, Time: c.Time, Type: "charge", Known: true, DataID: "clinic", Run: "a", Charge: &c},
		{Seq: 2, Type: "finish", Known: true, Run: "a", Status: "done"},
		{Seq: 3, Type: "cap", Known: true, DataID: "clinic", Cap: privacy.Budget{Epsilon: 3, Delta: 1e-6}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("entries\n%+v\nwant\n%+v", got, want)
	}
	must.Equal(t, must.Get(again.Verify())(t), Verification{Lines: 4}, "Verify")
}

func TestSummaryComposesAllRunsOfTheID(t *testing.T) {
	l := newTestLedger(t)
	mustBegin(t, l, testCharge("a"))
	other := testCharge("b")
	other.DataID = "elsewhere"
	mustBegin(t, l, other)
	secret := must.Get(privacy.NewSource())(t)
	// A clock that runs backwards changes nothing.
	c := testCharge("")
	c.Time = time.Date(1990, 1, 1, 0, 0, 0, 0, time.UTC)
	s := must.Get(l.Begin(c, secret))(t)
	if len(s.Receipt().Run) < 20 || s.Receipt().Seq != 3 {
		t.Errorf("receipt %+v, want a generated run id and line 3", s.Receipt())
	}
	wantWarning(t, s, privacy.SeededWarning, false)

	got := must.Get(l.Summary("clinic", 1e-5))(t)
	mu := math.Sqrt(4 * 0.1 * 0.1 * 9) // four releases, sensitivity/sigma = 0.3
	if math.Abs(got.Mu-mu) > 1e-12 || got.Mu < mu*(1-1e-15) || got.Epsilon != account.GDPEpsilon(got.Mu, 1e-5) ||
		got.Runs != 2 || got.SeededRuns != 1 {
		t.Errorf("summary %+v, want mu %v from 2 runs, 1 seeded", got, mu)
	}
	if s := got.String(); !strings.Contains(s, "2 runs") || !strings.Contains(s, privacy.SeededWarning) {
		t.Errorf("summary prints %q", s)
	}
	if none, err := l.Summary("nobody", 1e-5); err != nil || none.Mu != 0 || none.Epsilon != 0 || none.Runs != 0 {
		t.Errorf("summary of an id never charged: %+v, %v", none, err)
	}
	must.Err(l.Summary("clinic", 0))(t, "a summary without delta and cap was accepted")
}

func TestNonPrivateReleaseHasNoFiniteEpsilon(t *testing.T) {
	l := newTestLedger(t)
	mustBegin(t, l, testCharge("a"))
	c := testCharge("b")
	c.Events = []account.Event{account.NonPrivateEvent{}}
	wantWarning(t, mustBegin(t, l, c), "no finite epsilon", true)
	got, err := l.Summary("clinic", 1e-5)
	if err != nil || !math.IsInf(got.Epsilon, 1) || !strings.Contains(got.String(), "no finite epsilon") {
		t.Errorf("summary %v, %v; want no finite epsilon", got, err)
	}
}

func TestCapRefusesAndLeavesTheFilesAlone(t *testing.T) {
	l := newTestLedger(t)
	limit := privacy.Budget{Epsilon: 1, Delta: 1e-6}
	must.Do(t, l.SetCap("clinic", limit))
	cert := certificate(t, 0.11)
	m := must.Get(privacy.CalibrateGaussian(cert, limit, 3))(t)
	c := testCharge("a")
	c.Events = []account.Event{account.Repeat(account.GaussianEvent{Sensitivity: 0.11, Sigma: m.Sigma}, 3)}
	mustBegin(t, l, c) // spends the cap to the last digit

	before := readAll(t, l)
	c.Run, c.Events = "b", []account.Event{account.GaussianEvent{Sensitivity: 1, Sigma: 1000}}
	must.FailDo(t, l.Admits(c), ErrBudget, "over the cap: Admits says")
	if s, err := l.Begin(c, privacy.NewSeededSource(1)); !errors.Is(err, ErrBudget) || s != nil {
		t.Errorf("over the cap: %v, %v; want ErrBudget", s, err)
	}
	c.Events = []account.Event{account.NonPrivateEvent{}}
	must.Fail(l.Begin(c, privacy.NewSeededSource(1)))(t, ErrBudget, "non-private run under a cap")
	must.Same(t, before, readAll(t, l), "a refused charge changed the files")
	c.Events = []account.Event{account.PublicEvent{}}
	mustBegin(t, l, c) // costs nothing
	other := testCharge("c")
	other.DataID = "elsewhere"
	mustBegin(t, l, other) // has no cap
	must.Do(t, l.SetCap("clinic", privacy.Budget{Epsilon: 2, Delta: 1e-6}))
	c.Run, c.Events = "d", []account.Event{account.GaussianEvent{Sensitivity: 1, Sigma: 1000}}
	mustBegin(t, l, c)
	if s, err := l.Summary("clinic", 0); err != nil || s.Delta != 1e-6 || s.Cap.Epsilon != 2 || s.Runs != 3 {
		t.Errorf("summary at the cap's delta: %+v, %v", s, err)
	}
}

// A cap counts what was charged before it was set.
func TestCapCountsEarlierCharges(t *testing.T) {
	l := newTestLedger(t)
	c := testCharge("a")
	c.Events = []account.Event{account.GaussianEvent{Sensitivity: 1, Sigma: 1}}
	mustBegin(t, l, c)
	must.Do(t, l.SetCap("clinic", privacy.Budget{Epsilon: 1, Delta: 1e-6}))
	must.Fail(l.Begin(testCharge("b"), privacy.NewSeededSource(1)))(t, ErrBudget)
}

func TestLedgerRefusesBadInput(t *testing.T) {
	l := newTestLedger(t)
	mustBegin(t, l, testCharge("a"))
	before := readAll(t, l)
	with := func(f func(*Charge)) Charge {
		c := testCharge("b")
		f(&c)
		return c
	}
	for name, c := range map[string]Charge{
		"run charged before": testCharge("a"),
		"no data id":         with(func(c *Charge) { c.DataID = "" }),
		"not UTF-8":          with(func(c *Charge) { c.Algorithm = "\xff" }),
		"no events":          with(func(c *Charge) { c.Events = nil }),
		"nil event":          with(func(c *Charge) { c.Events = []account.Event{nil} }),
		"pointer event": with(func(c *Charge) {
			c.Events = []account.Event{&account.GaussianEvent{Sensitivity: 1, Sigma: 1}}
		}),
		"unknown event":     with(func(c *Charge) { c.Events = []account.Event{account.UnknownEvent{Kind: "x"}} }),
		"empty composition": with(func(c *Charge) { c.Events = []account.Event{account.ComposedEvent{}} }),
		"sigma 0": with(func(c *Charge) {
			c.Events = []account.Event{account.GaussianEvent{Sensitivity: 1,
				Sigma: 0}}
		}),
		"sigma NaN": with(func(c *Charge) {
			c.Events = []account.Event{account.GaussianEvent{Sensitivity: 1, Sigma: math.NaN()}}
		}),
		"sensitivity Inf": with(func(c *Charge) {
			c.Events = []account.Event{account.GaussianEvent{Sensitivity: math.Inf(1), Sigma: 1}}
		}),
		"count 0": with(func(c *Charge) {
			c.Events = []account.Event{account.Repeat(account.GaussianEvent{Sensitivity: 1, Sigma: 1}, 0)}
		}),
		"count overflows": with(func(c *Charge) {
			c.Events = []account.Event{account.Repeat(account.GaussianEvent{Sensitivity: 1, Sigma: 1}, math.MaxInt),
				account.GaussianEvent{Sensitivity: 1, Sigma: 1}}
		}),
	} {
		if s, err := l.Begin(c, privacy.NewSeededSource(1)); err == nil || s != nil {
			t.Errorf("%s: charge accepted", name)
		}
	}
	must.Err(l.Begin(testCharge("b"), nil))(t, "a charge without a source was accepted")
	for _, b := range []privacy.Budget{{}, {Epsilon: 1}, {Epsilon: math.NaN(), Delta: 0.1},
		{Epsilon: math.Inf(1), Delta: 0.1}, {Epsilon: 1, Delta: 1}} {
		must.ErrDo(t, l.SetCap("clinic", b), "cap %+v accepted", b)
	}
	must.ErrDo(t, l.Finish("b", "done"), "a run that was never charged was finished")
	must.Same(t, before, readAll(t, l), "a refused change altered the files")
	must.Do(t, l.Finish("a", "done"))
	must.ErrDo(t, l.Finish("a", "done"), "a run was finished twice")
}

func TestFingerprintWarns(t *testing.T) {
	l := newTestLedger(t)
	print := func(l *Ledger, data string) string {
		return must.Get(l.Fingerprint(strings.NewReader(data)))(t)
	}
	begin := func(run, id, data string) *privacy.LiveSession {
		c := testCharge(run)
		c.DataID, c.Fingerprint = id, print(l, data)
		return mustBegin(t, l, c)
	}
	const changed, alias = "differ from the data of run", "were already charged under id"
	wantNote(t, begin("a", "clinic", "one"), changed, false)
	wantNote(t, begin("b", "clinic", "one"), changed, false)
	wantNote(t, begin("c", "clinic", "two"), changed, true)
	s := begin("d", "renamed", "one")
	wantNote(t, s, changed, false)
	wantNote(t, s, alias, true)

	again := must.Get(Open(l.path))(t)
	must.Equal(t, print(l, "one"), print(again, "one"), "the fingerprint changed when the ledger was opened again")
	if print(l, "one") == print(newTestLedger(t), "one") {
		t.Error("the fingerprint has no key of its own in each ledger")
	}
	must.Err(l.Fingerprint(failingReader{}))(t, "a read error was ignored")
}

type failingReader struct{}

func (failingReader) Read([]byte) (int, error) { return 0, errors.New("broken") }

func TestSeededRunIsMarked(t *testing.T) {
	l := newTestLedger(t)
	wantWarning(t, mustBegin(t, l, testCharge("a")), "reproducible, noise is not secret", true)
	entries, err := l.Entries()
	if err != nil || !entries[0].Charge.SeededNoise {
		t.Errorf("entry %+v, %v: not marked as seeded", entries, err)
	}
}

func TestLockTimesOut(t *testing.T) {
	l := newTestLedger(t)
	l.lockWait = 30 * time.Millisecond
	held := flock.New(l.path + lockSuffix)
	must.Do(t, held.Lock())
	before := readAll(t, l)
	_, err := l.Begin(testCharge("a"), privacy.NewSeededSource(1))
	if !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), l.path+lockSuffix) {
		t.Errorf("%v, want ErrUnavailable that names the lock file", err)
	}
	must.Same(t, before, readAll(t, l), "the files changed without the lock")
	must.Do(t, held.Unlock())
	mustBegin(t, l, testCharge("a"))
}

func TestGoroutinesLoseNothing(t *testing.T) {
	l := newTestLedger(t)
	var wg sync.WaitGroup
	for _, id := range "abcdefgh" {
		wg.Go(func() {
			must.Check(l.Begin(testCharge(string(id)), privacy.NewSeededSource(1)))(t)
		})
	}
	wg.Wait()
	must.Equal(t, must.Get(l.Verify())(t).Lines, 9, "Verify")
}

func TestOpenLedgerPaths(t *testing.T) {
	dir := t.TempDir()
	for _, bad := range []string{dir, filepath.Join(dir, "missing", "ledger")} {
		must.Fail(Open(bad))(t, ErrUnavailable, fmt.Sprintf("Open(%s) =", bad))
	}
	// A file that is no ledger is never overwritten.
	foreign := filepath.Join(dir, "foreign")
	for _, content := range []string{"", "a,b,c\n1,2,3\n", "{}"} {
		must.Do(t, os.WriteFile(foreign, []byte(content), 0o600))
		must.Fail(Open(foreign))(t, ErrUnavailable, fmt.Sprintf("content %q was opened as a ledger", content))
		must.Same(t, must.Get(os.ReadFile(foreign))(t), []byte(content), "content %q became", content)
	}
	// Links lead to one lock.
	l := newTestLedger(t)
	link := filepath.Join(dir, "link")
	if err := os.Symlink(l.path, link); err != nil {
		t.Skip(err)
	}
	must.Equal(t, must.Get(Open(link))(t).Path(), l.Path(), "by a link")
}
