package ledger

import (
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"dyad/internal/must"
	"dyad/privacy"
	"dyad/privacy/account"
)

// resumable is a charge whose caller withholds its results.
func resumable(run string) Charge {
	c := testCharge(run)
	c.Resumable, c.Fingerprint, c.Objective, c.Approved, c.Plan = true, "f1", "phi", "0a", "0b"
	return c
}

// resumeFunc is Ledger.Resume or a version of it with a defect.
type resumeFunc func(l *Ledger, run string, c Charge, src *privacy.Source) (*privacy.LiveSession, error)

// resumeViolations are the promises that resume breaks, by name.
func resumeViolations(t *testing.T, resume resumeFunc) (broken []string) {
	t.Helper()
	check := func(promise string, ok bool) {
		if !ok && !slices.Contains(broken, promise) {
			broken = append(broken, promise)
		}
	}
	spent := func(l *Ledger) Summary {
		return must.Get(l.Summary("clinic", 1e-5))(t)
	}
	same := func() *privacy.Source { return privacy.NewSeededSource(2) }

	l := newTestLedger(t)
	c := resumable("a")
	mustBegin(t, l, c)
	before := spent(l)
	s, err := resume(l, "a", c, same())
	check("works", err == nil)
	if err == nil {
		check("names the old charge", s.Receipt().Run == "a" && s.Receipt().Seq == 1)
		cert, m := certificate(t, 0.1), privacy.Gaussian{Sigma: 1.0 / 3}
		x := []float64{1}
		first, second := s.Release(x, cert, m), s.Release(x, cert, m)
		check("allows the plan", first == nil && second == nil)
		check("allows no more than the plan", errors.Is(s.Release(x, cert, m), privacy.ErrUnplanned))
	}
	check("charges nothing", spent(l) == before)
	check("counts once", countRun(t, l, "a") == 1)
	must.Do(t, l.Release("a", Kept{Digest: "0f"}))
	_, err = resume(l, "a", c, same())
	check("refuses after the release", errors.Is(err, ErrResume) && strings.Contains(err.Error(), "was released on"))

	for promise, change := range map[string]func(*Charge){
		"refuses another data id":   func(c *Charge) { c.DataID = "other" },
		"refuses another algorithm": func(c *Charge) { c.Algorithm = "other" },
		"refuses another unit":      func(c *Charge) { c.Unit = "other" },
		"refuses another relation":  func(c *Charge) { c.Relation = "other" },
		"refuses other data":        func(c *Charge) { c.Fingerprint = "f2" },
		"refuses another objective": func(c *Charge) { c.Objective = "psi" },
		"refuses unnamed data":      func(c *Charge) { c.Fingerprint = "" },
		"refuses another page":      func(c *Charge) { c.Approved = "0e" },
		"refuses no page":           func(c *Charge) { c.Approved = "" },
		"refuses another plan":      func(c *Charge) { c.Plan = "0d" },
		"refuses more releases": func(c *Charge) {
			c.Events = []account.Event{account.Repeat(account.GaussianEvent{Sensitivity: 0.1, Sigma: 1.0 / 3}, 3)}
		},
		"refuses fewer releases": func(c *Charge) {
			c.Events = []account.Event{account.GaussianEvent{Sensitivity: 0.1, Sigma: 1.0 / 3}}
		},
		"refuses other noise": func(c *Charge) {
			c.Events = []account.Event{account.Repeat(account.GaussianEvent{Sensitivity: 0.1, Sigma: 0.333}, 2)}
		},
		"refuses another event": func(c *Charge) { c.Events = append(c.Events, account.PublicEvent{}) },
		"refuses another kind": func(c *Charge) {
			c.Events = []account.Event{account.Repeat(account.LaplaceEvent{Sensitivity: 0.1, Scale: 1.0 / 3}, 2)}
		},
		"refuses a seed that was not": func(c *Charge) { c.Run = "secret" },
	} {
		l := newTestLedger(t)
		mustBegin(t, l, resumable("a"))
		if src, err := privacy.NewSource(); err != nil {
			t.Fatal(err)
		} else if _, err := l.Begin(resumable("secret"), src); err != nil {
			t.Fatal(err)
		}
		c := resumable("a")
		change(&c)
		files := readAll(t, l)
		_, err := resume(l, c.Run, c, same())
		check(promise, errors.Is(err, ErrResume) && reflect.DeepEqual(files, readAll(t, l)))
	}

	l = newTestLedger(t)
	promised := resumable("b")
	promised.Resumable = false
	mustBegin(t, l, promised)
	_, err = resume(l, "b", promised, same())
	check("refuses a run that may have released", errors.Is(err, ErrResume))
	_, err = resume(l, "never", resumable("never"), same())
	check("refuses an unknown run", errors.Is(err, ErrResume) && countRun(t, l, "never") == 0)

	l = newTestLedger(t)
	mustBegin(t, l, resumable("a"))
	fakeLine(t, l, "ending", `{"run":"a"}`)
	_, err = resume(l, "a", resumable("a"), same())
	check("refuses if a later version may have ended it", errors.Is(err, account.ErrUnsupported))
	slices.Sort(broken)
	return broken
}

func TestResume(t *testing.T) {
	if broken := resumeViolations(t, (*Ledger).Resume); len(broken) > 0 {
		t.Errorf("broken promises: %q", broken)
	}
}

// Resume that charges again, under a new id.
func TestResumeThatChargesTwiceIsCaught(t *testing.T) {
	defect := func(l *Ledger, run string, c Charge, src *privacy.Source) (*privacy.LiveSession, error) {
		if _, err := l.Resume(run, c, src); err != nil {
			return nil, err
		}
		c.Run = run + " again"
		return l.Begin(c, src)
	}
	want := []string{"charges nothing", "names the old charge"}
	must.Same(t, resumeViolations(t, defect), want, "broken promises")
}

// Resume that does not look for a finish line.
func TestResumeAfterTheReleaseIsCaught(t *testing.T) {
	defect := func(l *Ledger, run string, c Charge, src *privacy.Source) (*privacy.LiveSession, error) {
		s, err := l.Resume(run, c, src)
		if err != nil && strings.Contains(err.Error(), "was released on") {
			return privacy.NewSession(src, c.Events, func() (privacy.Receipt, error) { return privacy.Receipt{Run: run, Seq: 1}, nil })
		}
		return s, err
	}
	must.Same(t, resumeViolations(t, defect), []string{"refuses after the release"}, "broken promises")
}

// Resume that believes whatever plan it is given.
func TestResumeOfAnotherPlanIsCaught(t *testing.T) {
	defect := func(l *Ledger, run string, c Charge, src *privacy.Source) (*privacy.LiveSession, error) {
		entries, err := l.Unfinished("")
		if err != nil || len(entries) == 0 {
			return l.Resume(run, c, src)
		}
		charged := *entries[0].Charge
		return privacy.NewSession(src, c.Events, func() (privacy.Receipt, error) {
			s, err := l.Resume(run, charged, src)
			if err != nil {
				return privacy.Receipt{}, err
			}
			return s.Receipt(), nil
		})
	}
	broken := resumeViolations(t, defect)
	for _, want := range []string{"refuses more releases", "refuses other noise", "refuses another kind", "refuses another data id", "refuses other data"} {
		if !slices.Contains(broken, want) {
			t.Errorf("%q was not noticed: %q", want, broken)
		}
	}
}

// Who loses the race for the finish line must withhold, and a note of failure
// closes a run as well.
func TestFinishOnce(t *testing.T) {
	l := newTestLedger(t)
	for _, run := range []string{"a", "b"} {
		mustBegin(t, l, resumable(run))
	}
	must.Get(l.Resume("a", resumable("a"), privacy.NewSeededSource(2)))(t)
	open, err := l.Unfinished("clinic")
	if err != nil || len(open) != 2 || open[0].Run != "a" || !open[0].Charge.Resumable {
		t.Errorf("unfinished: %+v, %v; want a and b", open, err)
	}
	must.Do(t, l.Release("a", Kept{Digest: "0f"}))
	must.FailDo(t, l.Release("a", Kept{Digest: "0f"}), ErrResume, "a second release")
	must.Do(t, l.Finish("b", "failed"))
	must.Fail(l.Resume("b", resumable("b"), privacy.NewSeededSource(2)))(t, must.All{ErrResume, `ended as "failed"`},
		"a failed run was resumed")
	must.FailDo(t, l.Release("c", Kept{Digest: "0f"}), ErrResume, "a run that was never charged")
	must.Equal(t, len(must.Get(l.Unfinished(""))(t)), 0, "unfinished")
	mustBegin(t, l, resumable("d"))
	fakeLine(t, l, "finish", `{"run":"d","status":"released","by":"a later version"}`)
	must.FailDo(t, l.Release("d", Kept{Digest: "0f"}), account.ErrUnsupported, "a run that a later version may have released")
}

// A resume line is known: it hides no charge and changes no total. A field that a
// later version added to it is not ignored.
func TestResumeLine(t *testing.T) {
	l := newTestLedger(t)
	c := resumable("a")
	c.Time = time.Date(2190, 1, 1, 0, 0, 0, 0, time.UTC) // the clock was wrong, then
	mustBegin(t, l, c)
	must.Do(t, l.SetCap("clinic", privacy.Budget{Epsilon: 0.01, Delta: 1e-6}))
	c.Time = time.Date(1990, 1, 1, 0, 0, 0, 0, time.UTC)
	for range 2 { // a cap that is exceeded already stops no resume: the total stays
		s := must.Get(l.Resume("a", c, privacy.NewSeededSource(2)))(t)
		wantWarning(t, s, privacy.SeededWarning, true)
	}
	entries, err := l.Entries()
	if err != nil || len(entries) != 4 || entries[3].Type != "resume" || !entries[3].Known || entries[3].Run != "a" {
		t.Errorf("entries %+v, %v", entries, err)
	}
	must.Equal(t, must.Get(l.Verify())(t), Verification{Lines: 5}, "Verify")
	must.Err(l.Resume("a", c, nil))(t, "a resume without a source was accepted")
	fakeLine(t, l, "resume", `{"run":"a","on":"another machine"}`)
	must.Fail(l.Summary("clinic", 1e-5))(t, account.ErrUnsupported, "Summary")
}

// Goroutines that carry out one run: one gets to release it.
func TestOneOfManyReleases(t *testing.T) {
	l := newTestLedger(t)
	mustBegin(t, l, resumable("a"))
	results := make(chan error)
	for range 8 {
		go func() {
			_, err := l.Resume("a", resumable("a"), privacy.NewSeededSource(2))
			if err == nil {
				err = l.Release("a", Kept{Digest: "0f"})
			}
			results <- err
		}()
	}
	released := 0
	for range 8 {
		switch err := <-results; {
		case err == nil:
			released++
		case !errors.Is(err, ErrResume):
			t.Error(err)
		}
	}
	must.Equal(t, released, 1, "attempts released the run")
}

// The errors say what differs, with numbers.
func TestResumeErrorsSayWhatDiffers(t *testing.T) {
	l := newTestLedger(t)
	mustBegin(t, l, resumable("a"))
	c := resumable("a")
	c.Events = []account.Event{account.Repeat(account.GaussianEvent{Sensitivity: 0.1, Sigma: 1.0 / 3}, 3)}
	_, err := l.Resume("a", c, privacy.NewSeededSource(1))
	if err == nil || !strings.Contains(err.Error(), fmt.Sprint(resumable("a").Events[0])) || !strings.Contains(err.Error(), fmt.Sprint(c.Events[0])) {
		t.Errorf("%v: does not show both releases", err)
	}
}

// A run is resumed with the plan whose hash its charge has; charges of versions before it have none.
func TestResumeWithAnotherPlan(t *testing.T) {
	l := must.Get(Open(filepath.Join(t.TempDir(), "l")))(t)
	for _, c := range []struct {
		charged, resumed string
		refused          bool
	}{{"aa", "aa", false}, {"aa", "bb", true}, {"", "bb", false}} {
		charge := Charge{DataID: "d", Algorithm: "a", Events: []account.Event{account.GaussianEvent{Sensitivity: 1, Sigma: 9}}, Resumable: true, Plan: c.charged}
		source := must.Get(privacy.NewSource())(t)
		session := must.Get(l.Begin(charge, source))(t)
		run := session.Receipt().Run
		entries := must.Get(l.Entries())(t)
		must.Equal(t, entries[len(entries)-1].Charge.Plan, c.charged, "the ledger has")
		charge.Plan = c.resumed
		if _, err := l.Resume(run, charge, source); errors.Is(err, ErrResume) != c.refused || !c.refused && err != nil {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
