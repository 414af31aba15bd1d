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

// A ledger that was written before batches and hidden steps had events gives the same
// total, to the last bit (of the account: pure epsilons are rounded up once now, not in every
// sum), and takes new charges.
func TestLedgerOfEarlierEvents(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.jsonl")
	for _, suffix := range []string{"", headSuffix} {
		raw := must.Get(os.ReadFile("testdata/ledger1/ledger.jsonl" + suffix))(t)
		must.Do(t, os.WriteFile(path+suffix, raw, 0o600))
	}
	l := must.Get(Open(path))(t)
	s, err := l.Summary("clinic", 1e-5)
	if err != nil || s.Runs != 5 || s.Mu != 0.8387204027359596 || s.Epsilon > 2.6477 || s.Epsilon < 2.6475 || s.Cap.Epsilon != 5 {
		t.Fatalf("%+v, %v", s, err)
	}
	must.Equal(t, len(must.Get(l.Unfinished("clinic"))(t)), 4, "unfinished runs")
	batch := account.Repeat(account.WithoutReplacementEvent{Event: account.GaussianEvent{Sensitivity: 0.1, Sigma: 0.6}, Batch: 20, Records: 400}, 50)
	hidden := account.ConvergentEvent{Gap: 0.01, Contraction: 1, Diameter: 2, Sigma: 0.8, Grid: 0x1p-30, Steps: 1000}
	for i, e := range []account.Event{batch, hidden} {
		c := testCharge([]string{"batch", "hidden"}[i])
		c.DataID, c.Events = "clinic", []account.Event{e}
		must.Get(l.Begin(c, privacy.NewSeededSource(1)))(t)
	}
	after, err := l.Summary("clinic", 1e-5)
	if err != nil || after.Mu != 0 || !(after.Epsilon > s.Epsilon) {
		t.Fatalf("%+v, %v", after, err)
	}
	// The total knows the amplification.
	var known account.GDP
	for _, e := range []account.Event{account.GaussianEvent{Sensitivity: s.Mu, Sigma: 1}, hidden, account.Repeat(account.GaussianEvent{Sensitivity: 0.1, Sigma: 0.6}, 50)} {
		must.Do(t, known.Compose(e))
	}
	must.Below(t, after.Epsilon, 0.8*known.Epsilon(1e-5), "epsilon %v, with known batches %v", after.Epsilon, known.Epsilon(1e-5))
	if text := after.String(); strings.Contains(text, "GDP") || !strings.Contains(text, "at delta 1e-05") {
		t.Error(text)
	}
	must.Fail(l.Begin(Charge{DataID: "clinic", Run: "more", Algorithm: "a", Events: []account.Event{account.GaussianEvent{Sensitivity: 1, Sigma: 1}}}, privacy.NewSeededSource(1)))(t, ErrBudget, "beyond the cap")
}
