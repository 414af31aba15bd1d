package ledger

import (
	"path/filepath"
	"testing"

	"dyad/internal/must"
	"dyad/privacy"
	"dyad/privacy/account"
)

// A cap for budgets chosen by looking counts by a filter, from before the first charge, and by the odometer if it is raised or late;
// the exact total, which is less, is for budgets that were fixed beforehand. Compaction changes none of them.
func TestCapsSayWhatTheyCount(t *testing.T) {
	l := must.Get(Open(filepath.Join(t.TempDir(), "ledger.jsonl")))(t)
	run := func(id string, events ...account.Event) error {
		s, err := l.Begin(Charge{DataID: id, Algorithm: "a", Events: events, Unit: "one record", Resumable: true}, privacy.NewSeededSource(1))
		if err == nil {
			err = l.Release(s.Receipt().Run, Kept{Digest: "sha256:00"})
		}
		return err
	}
	gauss := account.GaussianEvent{Sensitivity: account.GDPMu(1, 1e-5), Sigma: 1}
	pures := account.Repeat(account.PureEvent{Epsilon: 0.1}, 10)
	limit := privacy.Budget{Epsilon: 1.7, Delta: 1e-5} // above the exact total 1.548, below 1.897 by adding up
	set := map[string]error{
		"fixed": l.SetCap("fixed", limit), "looking": l.SetCapByLooking("looking", limit), "pure": l.SetCapByLooking("pure", privacy.Budget{Epsilon: 1, Delta: 1e-5}),
	}
	for id, err := range set {
		if err != nil {
			t.Fatalf("%s: %v", id, err)
		}
	}
	for _, id := range []string{"fixed", "looking"} {
		must.Do(t, run(id, gauss), id)
	}
	must.CheckDo(t, run("fixed", pures), "the exact total is below the cap")
	must.FailDo(t, run("looking", pures), ErrBudget, "no filter admits this")
	must.CheckDo(t, run("pure", account.Repeat(account.PureEvent{Epsilon: 0.125}, 8)), "pure epsilons add up to the cap")
	must.FailDo(t, run("pure", account.PureEvent{Epsilon: 0.001}), ErrBudget, "above the sum of pure epsilons")
	must.Do(t, l.SetCapByLooking("looking", privacy.Budget{Epsilon: 2.5, Delta: 1e-5})) // raised
	want := map[string]Counted{"fixed": Planned, "looking": Odometer, "pure": Filtered}
	for _, compacted := range []bool{false, true} {
		if compacted {
			must.Get(l.Compact())(t)
		}
		for id, by := range want {
			if s, err := l.Summary(id, 1e-5); err != nil || s.CapBy != by || !(s.Looking >= s.Epsilon) {
				t.Errorf("%s, compacted %v: %+v, %v; want a cap that counts %s", id, compacted, s, err, by)
			}
		}
	}
	fixed, err := l.Summary("fixed", 1e-5)
	if err != nil || fixed.Epsilon < 1.547 || fixed.Epsilon > 1.549 {
		t.Errorf("(1, 1e-5) and ten pure 0.1: %v, %v", fixed, err)
	}
	// A raised cap admits by the odometer: its last mu whose epsilon is below 2.5.
	must.FailDo(t, run("looking", account.GaussianEvent{Sensitivity: 0.45, Sigma: 1}), ErrBudget, "a raised cap admits what the first one would")
}
