package ledger

import (
	"math"

	"dyad/privacy"
	"dyad/privacy/account"
)

// Room returns the cap of a data id, if there is a cap, and the largest epsilon that one more run with
// Gaussian noise can have under this cap. This epsilon is for the delta of the cap and is rounded down to a
// thousandth. It is 0 if no total of the runs can be computed, or if no budget is left. The epsilon is for
// one run. It does not limit the sum of the epsilons of several runs, because the total composes the runs
// and does not add their epsilons.
func (l *Ledger) Room(dataID string) (epsilon float64, limit privacy.Budget, capped bool, err error) {
	st, err := l.load()
	if err != nil {
		return 0, limit, false, err
	}
	c, capped := st.cap(dataID)
	limit = c.Budget
	if !capped {
		return 0, limit, false, nil
	}
	units := st.units(dataID, nil)
	if len(units) > 1 {
		return 0, limit, true, nil
	}
	run := Charge{DataID: dataID}
	if len(units) == 1 {
		run.Unit = units[0]
	}
	admits := func(mu float64) bool {
		run.Events = []account.Event{account.GaussianEvent{Sensitivity: mu, Sigma: 1}}
		total, err := st.compose(dataID, &run)
		return err == nil && c.spent(total) <= limit.Epsilon
	}
	least, most := 0.0, account.GDPMu(limit.Epsilon, limit.Delta)
	if admits(most) {
		least = most
	}
	for range 24 {
		if mu := (least + most) / 2; mu > 0 && admits(mu) {
			least = mu
		} else {
			most = mu
		}
	}
	if least == 0 {
		return 0, limit, true, nil
	}
	var one account.GDP
	if err := one.Compose(account.GaussianEvent{Sensitivity: least, Sigma: 1}); err != nil {
		return 0, limit, true, err
	}
	return math.Floor(1000*(1-1e-6)*one.Epsilon(limit.Delta)) / 1000, limit, true, nil
}
