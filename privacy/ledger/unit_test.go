package ledger

import (
	"math"
	"path/filepath"
	"strings"
	"testing"

	"dyad/internal/must"
	"dyad/privacy"
	"dyad/privacy/account"
)

// Costs of different units have no total: the epsilon of one pair, added to that of one
// record, would be too small for a record that is in several pairs.
func TestLedgerAddsUpOneUnit(t *testing.T) {
	l := must.Get(Open(filepath.Join(t.TempDir(), "ledger.jsonl")))(t)
	charge := func(id, unit string, e account.Event) ([]string, error) {
		s, err := l.Begin(Charge{DataID: id, Algorithm: "a", Events: []account.Event{e}, Unit: unit}, privacy.NewSeededSource(1))
		if err != nil {
			return nil, err
		}
		return s.Receipt().Warnings, nil
	}
	accepted := func(id, unit string, e account.Event, warning string) {
		t.Helper()
		warnings, err := charge(id, unit, e)
		if err != nil || warning != "" && !strings.Contains(strings.Join(warnings, "\n"), warning) {
			t.Fatalf("unit %q: %v, warnings %q, want %q", unit, err, warnings, warning)
		}
	}
	summary := func(id string) Summary {
		t.Helper()
		return must.Get(l.Summary(id, 1e-5))(t)
	}
	pure := account.PureEvent{Epsilon: 1}
	accepted("cohort", "one record", pure, "")
	accepted("cohort", "", pure, "") // not stated
	if s := summary("cohort"); s.Pure < 2 || s.Pure > 2.000001 || !strings.HasSuffix(strings.Split(s.String(), ", pure")[0], "for one record") {
		t.Errorf("two runs of one unit: %v", s)
	}
	accepted("cohort", "one pair", pure, "different units")
	s := summary("cohort")
	if !math.IsInf(s.Epsilon, 1) || !math.IsInf(s.Pure, 1) || !math.IsInf(s.Mu, 1) || !s.Mixed {
		t.Errorf("a total of records and pairs: %+v", s)
	}
	if text := s.String(); !strings.Contains(text, "one record; one pair") || !strings.Contains(text, "no total") {
		t.Errorf("the summary hides the units: %s", text)
	}
	// Exact releases protect no record, whatever the unit: infinite, and not a mixture.
	accepted("exact", "one record", pure, "")
	accepted("exact", "nobody", account.NonPrivateEvent{}, "no finite epsilon")
	if s := summary("exact"); s.Mixed || !math.IsInf(s.Epsilon, 1) {
		t.Errorf("an exact release: %+v", s)
	}
	// A cap cannot be kept without a total, so the run is refused; the cap's own unit goes on.
	must.Do(t, l.SetCap("capped", privacy.Budget{Epsilon: 10, Delta: 1e-5}))
	accepted("capped", "one record", pure, "")
	must.Fail(charge("capped", "one pair", pure))(t, account.ErrUnsupported, "pairs under a cap of records")
	accepted("capped", "one record", pure, "")
}

// A run that releases as it goes is carried out by one process at a time, whatever the
// name of the state that it came from.
func TestLockRun(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.jsonl")
	open := func() *Ledger {
		return must.Get(Open(path))(t)
	}
	l := open()
	must.Get(l.Begin(Charge{DataID: "d", Run: "../r", Algorithm: "a", Events: []account.Event{account.StreamEvent{Sensitivity: 1, Sigma: 1, Count: 3}}}, privacy.NewSeededSource(1)))(t)
	unlock := must.Get(l.LockRun("../r"))(t)
	must.Fail(open().LockRun("../r"))(t, ErrResume, "a second process")
	if other, err := open().LockRun("another"); err != nil {
		t.Errorf("another run: %v", err)
	} else {
		other.Unlock()
	}
	unlock.Unlock()
	unlock = must.Get(open().LockRun("../r"))(t, "after the first process")
	locks := func() int {
		files := must.Get(filepath.Glob(path + ".run-*"))(t)
		return len(files)
	}
	before := locks()
	must.Do(t, l.Finish("../r", "ended"))
	unlock.Unlock()
	if after := locks(); before != 1 || after != 0 {
		t.Errorf("%d locks of the run that goes on and %d after its end, want 1 and 0", before, after)
	}
}
