package face

import (
	"context"
	"errors"
	"testing"

	"dyad"
	"dyad/engine/dataset"
	"dyad/engine/device"
	"dyad/engine/enginetest"
	"dyad/engine/team"
	"dyad/internal/must"
)

// A plan for a team runs with the leader that was made for it and for its records: another's ranks would sum
// gradients that the plan does not bound, of records that were not charged.
func TestTrainTakesItsOwnTeam(t *testing.T) {
	ctx, crew := context.Background(), enginetest.Members(1)[0]
	on := must.Get(device.Open(device.Options{Team: crew}))(t)
	defer on.Close()
	data := func(seed uint64) *dyad.Data {
		d := must.Get(dataset.SyntheticClinical(500, seed))(t)
		return dyad.NewData(d)
	}
	mine, other := data(1), data(2)
	plan := func(epsilon float64, on *device.Device) *dyad.Training {
		return must.Get(dyad.Plan(mine.Shape(), dyad.Options{Epsilon: epsilon, On: on}))(t)
	}
	p := plan(1, on)
	share := must.Get(p.Join(ctx, crew, mine))(t)
	lead := p.Lead(crew, share)
	for name, c := range map[string]struct {
		data *dyad.Data
		plan *dyad.Training
		team *team.Leader
		well bool
	}{
		"no leader":         {share, p, nil, false},
		"of another plan":   {share, plan(2, on), lead, false},
		"of other records":  {other, p, lead, false},
		"a plan without it": {share, plan(1, nil), lead, false},
		"its own":           {share, p, lead, true},
	} {
		_, err := c.plan.Run(ctx, c.data, dyad.Run{Public: true, Team: c.team})
		if c.well != (err == nil) || err != nil && !errors.Is(err, dyad.ErrInput) {
			t.Errorf("%s: %v", name, err)
		}
	}
	must.CheckDo(t, lead.Stop())
}
