package privacy

import (
	"testing"

	"dyad/internal/must"
	"dyad/privacy/account"
)

// Account gives what the accountant of plans and ledgers gives, in the form that the
// budget asks for, and judges claims by it.
func TestAccount(t *testing.T) {
	gaussian := account.Repeat(account.GaussianEvent{Sensitivity: 1, Sigma: 2}, 3)
	batch := account.Repeat(account.WithoutReplacementEvent{Event: account.GaussianEvent{Sensitivity: 1, Sigma: 2}, Batch: 10, Records: 100}, 5)
	pure := account.Repeat(account.PureEvent{Epsilon: 0.25}, 4)
	for _, c := range []struct {
		name   string
		events []account.Event
		delta  float64
		kind   Kind
		mu     bool
	}{
		{"Gaussian", []account.Event{gaussian}, 1e-5, ApproxDP, true},
		{"secret batches", []account.Event{batch}, 1e-5, ApproxDP, false},
		{"both", []account.Event{gaussian, batch}, 1e-5, ApproxDP, false},
		{"pure", []account.Event{pure}, 0, PureDP, false},
		{"pure with delta", []account.Event{pure}, 1e-5, ApproxDP, true},
	} {
		var total account.Total
		for _, e := range c.events {
			must.Do(t, total.Compose(e))
		}
		want := total.Epsilon(c.delta)
		for _, claimed := range []float64{want, want * (1 - 1e-12)} {
			g, err := Account(c.events, Budget{Epsilon: claimed, Delta: c.delta}, Guarantee{Kind: None, Mu: 7, Unit: "u", Claim: &Claim{Epsilon: claimed}})
			if err != nil || g.Kind != c.kind || g.Epsilon != want || g.Delta != c.delta || (g.Mu > 0) != c.mu || c.mu && g.Mu != total.Mu() || g.Unit != "u" {
				t.Errorf("%s: %+v, %v; want epsilon %v", c.name, g, err, want)
			}
			must.Equal(t, g.Claim.Holds, claimed == want, "%s: the claim of %v against %v holds", c.name, claimed, want)
		}
	}
	if g, err := Account([]account.Event{account.GaussianEvent{Sensitivity: -1, Sigma: 1}}, Budget{Epsilon: 1}, Guarantee{}); err == nil {
		t.Errorf("an event out of range gives %+v", g)
	}
}
