package ledger

import (
	"math"
	"strings"
	"testing"

	"dyad/internal/must"
	"dyad/privacy"
	"dyad/privacy/account"
)

// Pure runs are charged, add up, and count against a cap together with Gaussian
// ones.
func TestLedgerComposesPureRuns(t *testing.T) {
	l := newTestLedger(t)
	must.Do(t, l.SetCap("people", privacy.Budget{Epsilon: 2, Delta: 1e-5}))
	begin := func(run string, events ...account.Event) error {
		_, err := l.Begin(Charge{DataID: "people", Run: run, Algorithm: "a", Events: events}, privacy.NewSeededSource(1))
		return err
	}
	must.Do(t, begin("a", account.PureEvent{Epsilon: 1}))
	s, err := l.Summary("people", 1e-9)
	if err != nil || s.Epsilon < 1-1e-8 || s.Epsilon > 1+1e-12 || s.Pure < 1 || s.Pure > 1+1e-12 || !strings.Contains(s.String(), "pure epsilon 1") {
		t.Errorf("after one pure run of 1: %+v (%s), %v", s, s, err)
	}
	must.Do(t, begin("b", account.LaplaceEvent{Sensitivity: 1, Scale: 2}))
	gauss := account.GaussianEvent{Sensitivity: 1, Sigma: 1 / account.GDPMu(0.4, 1e-5)}
	must.Do(t, begin("c", gauss))
	s, err = l.Summary("people", 1e-5)
	if err != nil || s.Epsilon < 1.5 || s.Epsilon > 1.9+1e-9 || !math.IsInf(s.Pure, 1) || strings.Contains(s.String(), "pure") {
		t.Errorf("after pure runs of 1 and 0.5 and a Gaussian one of 0.4: %+v (%s), %v", s, s, err)
	}
	must.ErrDo(t, begin("d", account.PureEvent{Epsilon: 0.2}), "a run over the cap was charged")
}
