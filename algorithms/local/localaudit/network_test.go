package localaudit_test

import (
	"context"
	"testing"

	"dyad/algorithms/local"
	"dyad/algorithms/local/localaudit"
	"dyad/engine"
	"dyad/internal/must"
	"dyad/internal/sizes"
	"dyad/privacy"
	randomiser "dyad/privacy/local"
)

// networkPlan plans a network with 4 hidden units for 2 features; gradients of the loss -u are clipped.
func networkPlan(t *testing.T, m local.Method, epsilon float64, pairs int) *local.Plan {
	t.Helper()
	p := plan(t, m, epsilon, pairs).Protocol
	p.Users, p.Radius, p.L2, p.Network = 1<<20, 0, 0, &local.Network{Hidden: 4, Seed: 2, Clip: 0.5}
	return must.Get(p.Plan())(t)
}

// No claim of a network is refuted, and half of each is.
func TestMessagesOfNetworksHold(t *testing.T) {
	sizes.NotShort(t, "slow")
	for i, c := range []struct {
		method local.Method
		pairs  int
		near   float64
	}{
		{local.Prestige, 1, 0.8}, {local.Prestige, 8, 0.8}, {local.DJW, 1, 0.8}, {local.PrestigeLabel, 1, 0.8}, {local.PrestigeParticipation, 1, 0.8}, {local.PrestigeParticipation, 8, 0.6},
	} {
		for _, epsilon := range sizes.Of([]float64{float64(1 + i/2%2)}, []float64{1, 2}) {
			r := attack(t, networkPlan(t, c.method, epsilon, c.pairs), 1)
			t.Logf("%s, %d pairs: epsilon >= %.3f of %v, %s", c.method, c.pairs, r.LowerBound, r.Claim, r.Instance)
			if !r.Holds() || !r.HalfRefuted || r.LowerBound < c.near*r.Claim {
				t.Errorf("%s, %d pairs, epsilon %v: the attack reaches %v: %+v", c.method, c.pairs, epsilon, r.LowerBound, r)
			}
		}
	}
}

// defectiveNetwork is a user's side of a network with a defect: what its curriculum or its randomiser does.
type defectiveNetwork struct {
	exact  *local.Client // of the curriculum without privacy
	silent bool          // a record out of the curriculum sends nothing
	sends  *randomiser.DirectionChannel
	src    *privacy.Source
}

func (c *defectiveNetwork) Label(float64) (float64, error) { return 0, nil }

func (c *defectiveNetwork) Message(st *local.State, z engine.Record) (local.Message, error) {
	m, err := c.exact.Message(st, z)
	if err != nil || !m.Takes && c.silent {
		return local.Message{}, err
	}
	g := m.Gradient
	if !m.Takes {
		g = make([]float64, len(st.W))
	}
	d, err := c.sends.Send(g, c.src)
	return local.Message{Takes: true, Direction: d}, err
}

// A network whose own score decides outside of the randomiser who sends is refuted, and so is one whose two layers
// get a message of all of epsilon each, which is one of twice as much; the sound form, made in the same way, is not.
func TestDefectsOfNetworksAreCaught(t *testing.T) {
	const epsilon = 1
	p := networkPlan(t, local.Prestige, epsilon, 1)
	exact := p.Protocol
	exact.Method = local.Curriculum
	q := must.Get(exact.Plan())(t)
	for _, c := range []struct {
		name    string
		caught  bool
		silent  bool
		epsilon float64
	}{
		{"sound", false, false, epsilon}, {"silent out of the curriculum", true, true, epsilon}, {"all of epsilon for each layer", true, false, 2 * epsilon},
	} {
		channel := must.Get(randomiser.Direction{Dim: p.Parameters, Bound: p.Lipschitz, Epsilon: c.epsilon}.Channel())(t)
		src := privacy.NewSeededSource(3)
		a := must.Get(localaudit.AttackSender(context.Background(), p, localaudit.Options{Runs: 10000, Visits: 1, Confidence: 0.999, Seed: 3},
			&defectiveNetwork{exact: local.NewClient(q, src), silent: c.silent, sends: channel, src: src}))(t)
		t.Logf("%s: epsilon >= %.3f, claim %v, %s", c.name, a.LowerBound, a.Claim, a.Instance)
		if a.Holds() == c.caught {
			t.Errorf("%s: %+v", c.name, a)
		}
	}
}
