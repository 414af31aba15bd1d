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

func plan(t *testing.T, m local.Method, epsilon float64, pairs int) *local.Plan {
	t.Helper()
	e := must.Get(engine.NewExpression("linear", "-u", engine.ExpressionOptions{}))(t)
	return must.Get(local.Protocol{Method: m, Loss: e, Dim: 2, FeatureNorm: 1, Radius: 5, L2: 0.1, Users: 10, Epochs: 3, Epsilon: epsilon, Pairs: pairs}.Plan())(t)
}

func attack(t *testing.T, p *local.Plan, visits int) *localaudit.Report {
	t.Helper()
	return must.Get(localaudit.Attack(context.Background(), p, localaudit.Options{Runs: 20000, Visits: visits, Confidence: 0.999, Seed: 1}))(t)
}

// No claim of a sound form is refuted, and every attack comes so near to its claim that
// it refutes half of it: a form that gave up twice its epsilon would be caught.
func TestSoundFormsHold(t *testing.T) {
	sizes.NotShort(t, "slow")
	for i, c := range []struct {
		method local.Method
		pairs  int
		visits int
		near   float64 // part of the claim that the attack reaches
	}{
		{local.Prestige, 1, 1, 0.8}, {local.Prestige, 1, 3, 0.55}, {local.Prestige, 8, 1, 0.8}, {local.DJW, 1, 1, 0.8}, {local.DJW, 8, 1, 0.8},
		{local.PrestigeLabel, 1, 1, 0.8},
		{local.PrestigeParticipation, 1, 1, 0.8}, {local.PrestigeParticipation, 8, 1, 0.7},
	} {
		for _, epsilon := range sizes.Of([]float64{float64(1 + i%2)}, []float64{1, 2}) {
			r := attack(t, plan(t, c.method, epsilon, c.pairs), c.visits)
			if !r.Holds() || r.Claim < epsilon*float64(c.visits) || r.Source != "the guarantee" {
				t.Errorf("%s, %d pairs, %d visits: epsilon >= %v refutes the claim %v: %+v", c.method, c.pairs, c.visits, r.LowerBound, r.Claim, r)
			}
			if r.LowerBound < c.near*r.Claim {
				t.Errorf("%s, %d pairs, %d visits: the attack reaches %v of %v only; a leak would not be seen", c.method, c.pairs, c.visits, r.LowerBound, r.Claim)
			}
			if !r.HalfRefuted {
				t.Errorf("%s, %d pairs, %d visits: half of the claim %v stands at %v", c.method, c.pairs, c.visits, r.Claim, r.LowerBound)
			}
			if r.Claim /= 2; r.Holds() {
				t.Errorf("%s: a claim of %v stands at %v", c.method, r.Claim, r.LowerBound)
			}
		}
	}
}

// The claim is what the plan prints: a guarantee that counts the visits of a user once is refuted.
func TestVisitsCountedOnceAreRefuted(t *testing.T) {
	p := plan(t, local.Prestige, 1, 1)
	if r := attack(t, p, p.Epochs); !r.Holds() || r.Claim != p.Guarantee.Epsilon {
		t.Errorf("the claim %v, printed as %v: %+v", r.Claim, p.Guarantee.Epsilon, r)
	}
	p.Guarantee.Epsilon = p.Epsilon
	if r := attack(t, p, p.Epochs); r.Holds() || r.Claim != 1 {
		t.Errorf("%d visits counted once: epsilon >= %v does not refute the claim %v", p.Epochs, r.LowerBound, r.Claim)
	}
}

// Where the attack has no power it says so: the bound of 10000 runs ends near
// log(10000/log(2000)) = 7.2, below half of an epsilon of 20.
func TestAttackWithoutPowerSaysSo(t *testing.T) {
	for _, c := range []struct {
		epsilon float64
		visits  int
	}{{20, 1}, {4, 5}} {
		if r := attack(t, plan(t, local.DJW, c.epsilon, 1), c.visits); r.HalfRefuted || !r.Holds() {
			t.Errorf("epsilon %v, %d visits: %+v", c.epsilon, c.visits, r)
		}
	}
	if r := attack(t, plan(t, local.DJW, 2, 1), 1); !r.HalfRefuted {
		t.Errorf("epsilon 2, 1 visit: %+v", r)
	}
}

// docs/theory.md#local-participation: the paper's participation rule refutes the paper's claim, whatever
// its epsilon.
func TestParticipationLeakIsCaught(t *testing.T) {
	for _, epsilon := range []float64{0.2, 4} {
		r := attack(t, plan(t, local.PrestigePrinted, epsilon, 1), 1)
		if r.Holds() || r.Source != "the paper" || r.Guarantee != privacy.None || r.LowerBound < 5 {
			t.Errorf("epsilon %v: the printed algorithm is not caught: %+v", epsilon, r)
		}
		// One record always sends or never does, the other now and then.
		if (r.Sends[0] == 0 || r.Sends[0] == 1) == (r.Sends[1] == 0 || r.Sends[1] == 1) {
			t.Errorf("the records send with frequencies %v: the leak was found elsewhere", r.Sends)
		}
	}
}

func TestAttackRefuses(t *testing.T) {
	for name, o := range map[string]localaudit.Options{
		"few runs":   {Runs: 99, Visits: 1, Confidence: 0.9},
		"no visit":   {Runs: 100, Confidence: 0.9},
		"confidence": {Runs: 100, Visits: 1, Confidence: 1},
	} {
		must.Err(localaudit.Attack(context.Background(), plan(t, local.DJW, 1, 1), o))(t, "%s: accepted", name)
	}
	o := localaudit.Options{Runs: 100, Visits: 1, Confidence: 0.9}
	must.Err(localaudit.Attack(context.Background(), plan(t, local.SGD, 1, 1), o))(t, "exact gradients were attacked")
	o.Visits = 2
	must.Err(localaudit.Attack(context.Background(), plan(t, local.PrestigeLabel, 1, 1), o))(t, "two answers of a memoised label were drawn")
}

// A visit of prestige-participation spends all of its claim: the attack estimates at
// least 0.9 of it, for one pair and for several, and two standard errors do not explain more.
func TestParticipationSpendsItsClaim(t *testing.T) {
	sizes.NotShort(t, "slow")
	for i, epsilon := range []float64{0.5, 1, 2, 4} {
		for _, pairs := range sizes.Of([]int{[]int{1, 4}[i%2]}, []int{1, 4}) {
			r := must.Get(localaudit.Attack(context.Background(), plan(t, local.PrestigeParticipation, epsilon, pairs), localaudit.Options{Runs: 40000, Visits: 1, Confidence: 0.999, Seed: 2}))(t)
			t.Logf("epsilon %v, %d pairs: estimate %.3f (%.3f) of the claim, bound %.3f of it", epsilon, pairs, r.Estimate/r.Claim, r.StandardError/r.Claim, r.LowerBound/r.Claim)
			if r.Estimate < 0.9*r.Claim || r.Estimate-3.5*r.StandardError > r.Claim || !r.Holds() || !r.HalfRefuted {
				t.Errorf("epsilon %v, %d pairs: %+v", epsilon, pairs, r)
			}
		}
	}
}

// defective is a user's side of prestige-participation with a defect.
type defective struct {
	plan     *local.Plan
	src      *privacy.Source
	response randomiser.RandomizedResponse
	channel  *randomiser.DirectionChannel
	zero     func() []float64 // sent for a record that does not take part, on the answer yes
}

func (c *defective) Label(float64) (float64, error) { return 0, nil }

// Message is local.Client.Message for the loss -u.
func (c *defective) Message(st *local.State, z engine.Record) (local.Message, error) {
	margin, g, selected := 0.0, make([]float64, len(z.X)), 0
	for i, v := range z.X {
		margin += z.Y * st.W[i] * v
		g[i] = -z.Y * v
	}
	if margin >= c.plan.ThresholdAt(st.Epoch) {
		selected = 1
	} else {
		g = c.zero()
	}
	answer, err := c.response.Answer(selected, c.src)
	if err != nil || answer == 0 {
		return local.Message{}, err
	}
	d, err := c.channel.Send(g, c.src)
	return local.Message{Takes: true, Direction: d}, err
}

// Defects of the split refute the claim; the sound form, made in the same way, does not.
func TestDefectsOfParticipationAreCaught(t *testing.T) {
	const epsilon, pairs = 2, 4
	p := plan(t, local.PrestigeParticipation, epsilon, pairs)
	m := randomiser.Direction{Dim: 2, Bound: p.Lipschitz, Pairs: pairs}
	r, channel := must.Get2(m.Participation(epsilon, 0))(t)
	if k := channel.Mechanism().Favoured; k >= pairs {
		t.Fatalf("%d of %d pairs are favoured, the test needs fewer", k, pairs)
	}
	whole := randomiser.RandomizedResponse{Epsilon: epsilon}
	zero := func() []float64 { return []float64{0, 0} }
	for _, c := range []struct {
		name     string
		caught   bool
		response randomiser.RandomizedResponse
		zero     func() []float64
	}{
		{"sound", false, r, zero},
		{"fewer pairs than all, and no random choice for zero", true, r, func() []float64 { return []float64{1e-15, 0} }},
		{"both parts get all of epsilon", true, whole, zero},
		{"the gradient of a record that does not take part is sent as its opposite", true, r, func() []float64 { return []float64{0, p.Lipschitz} }},
	} {
		src := privacy.NewSeededSource(3)
		a := must.Get(localaudit.AttackSender(context.Background(), p, localaudit.Options{Runs: 60000, Visits: 1, Confidence: 0.999, Seed: 3},
			&defective{plan: p, src: src, response: c.response, channel: channel, zero: c.zero}))(t)
		t.Logf("%s: epsilon >= %.3f, estimate %.3f (%.3f), claim %v", c.name, a.LowerBound, a.Estimate, a.StandardError, a.Claim)
		if a.Holds() == c.caught {
			t.Errorf("%s: %+v", c.name, a)
		}
	}
}
