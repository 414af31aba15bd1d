package privacy

import (
	"testing"

	"dyad/internal/must"
	"dyad/privacy/account"
)

// Every part may be released, and no more often than planned.
func TestSessionOfParallelEvent(t *testing.T) {
	e := account.ParallelEvent{Parts: []account.Event{account.GaussianEvent{Sensitivity: 0.1, Sigma: 3}, account.Repeat(account.LaplaceEvent{Sensitivity: 0.1, Scale: 0.3}, 2)}}
	plan := must.Get(newReleasePlan([]account.Event{e}))(t)
	c := must.Get(MeanGradient{PairDiameter: 1, PairFraction: 0.1}.Certify())(t)
	c.total = 0.1
	must.CheckDo(t, plan.take(Gaussian{Sigma: 3}, c, false))
	must.FailDo(t, plan.take(Gaussian{Sigma: 3}, c, false), ErrUnplanned, "a second release of a part")
	must.Err(newReleasePlan([]account.Event{account.ParallelEvent{}}))(t, "a parallel event without parts was planned")
}
