package audit

import (
	"fmt"
	"math"

	"dyad/algorithms/attack"
	"dyad/privacy"
	"dyad/privacy/account"
)

// selectionMove returns how far the exact vectors of the replayed runs of a selection move. The distance of a run is
// in standard deviations of the noise, divided by the mu of a planned run. The result is the largest distance of all
// runs.
func selectionMove(c attack.Call) (most float64, err error) {
	for _, run := range c.Runs {
		square := 0.0
		for _, m := range run.Seen.Moves() {
			noise, ok := m.Noise.(privacy.Gaussian)
			if !ok {
				return 0, fmt.Errorf("audit: a selection can be audited only with Gaussian noise, but a run has "+
					"noise of type %T",
					m.Noise)
			}
			square += m.By / noise.Sigma * m.By / noise.Sigma
		}
		most = max(most, math.Sqrt(square)/c.Mu)
	}
	return most, nil
}

// stopping returns the cost of a row that is the best of a secret number of runs, or nil if there is no such row.
func (t Target) stopping() *account.RandomStoppingEvent {
	if t.Program == nil {
		return nil
	}
	for _, r := range t.Program.Rows {
		if e, ok := r.Cost.(account.RandomStoppingEvent); ok {
			return &e
		}
	}
	return nil
}
