package ledger

import (
	"path/filepath"
	"testing"

	"dyad/internal/must"
	"dyad/internal/sizes"
	"dyad/privacy"
	"dyad/privacy/account"
)

// Runs of a pure epsilon use up a cap as decimals add up, and no run more fits in: five of
// 0.2, ten of 0.1, a hundred of 0.01 at a cap of 1.
func TestLedgerCapsAreDecimals(t *testing.T) {
	sizes.NotShort(t, "slow")
	c := certificate(t, 0.02)
	for _, kind := range []privacy.PureNoise{privacy.KNormNoise, privacy.LaplaceNoise} {
		for _, b := range []struct {
			epsilon float64
			runs    int
		}{{0.2, 5}, {0.1, 10}, {0.01, 100}, {0.05, 20}, {0.125, 8}} {
			l := must.Get(Open(filepath.Join(t.TempDir(), "ledger")))(t)
			must.Do(t, l.SetCap("d", privacy.Budget{Epsilon: 1, Delta: 1e-290}))
			m := must.Get(privacy.CalibratePure(c, b.epsilon, 3, kind))(t)
			for i := range b.runs + 1 {
				charge := testCharge("")
				charge.DataID, charge.Events = "d", []account.Event{m.Event(c)}
				_, err := l.Begin(charge, privacy.NewSeededSource(1))
				if (err == nil) != (i < b.runs) {
					t.Errorf("%v noise, run %d of %v at a cap of 1: %v", kind, i+1, b.epsilon, err)
					break
				}
			}
		}
	}
}
