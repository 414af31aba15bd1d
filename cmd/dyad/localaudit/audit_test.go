package localaudit_test

import (
	"context"
	"testing"

	"dyad/algorithms/local"
	"dyad/cmd/dyad/localaudit"
	"dyad/engine"
	"dyad/privacy"
)

func plan(t *testing.T, m local.Method, epsilon float64, pairs int) *local.Plan {
	t.Helper()
	e, err := engine.NewExpression("linear", "-u", engine.ExpressionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := local.Protocol{Method: m, Loss: local.ScalarLoss{Of: e}, Dim: 2, FeatureNorm: 1, Radius: 5, L2: 0.1, Users: 10, Epochs: 3, Epsilon: epsilon, Pairs: pairs}.Plan()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func attack(t *testing.T, p *local.Plan, visits int) *localaudit.Report {
	t.Helper()
	r, err := localaudit.Attack(context.Background(), p, localaudit.Options{Runs: 5000, Visits: visits, Confidence: 0.999, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// No claim of a sound form is refuted, and every attack comes so near to its claim that
// it refutes half of it: a form that gave up twice its epsilon would be caught.
func TestSoundFormsHold(t *testing.T) {
	for _, c := range []struct {
		method local.Method
		pairs  int
		visits int
		near   float64 // part of the claim that the attack reaches
	}{
		{local.Prestige, 1, 1, 0.8}, {local.Prestige, 1, 3, 0.55}, {local.Prestige, 8, 1, 0.8}, {local.DJW, 1, 1, 0.8}, {local.DJW, 8, 1, 0.8},
		{local.PrestigeLabel, 1, 1, 0.8},
		// The response and the sample cannot both be at their extremes: a record out of
		// the curriculum sends a direction that favours no side. So no attack goes beyond
		// the sample's part of the claim, 4/5.
		{local.PrestigeParticipation, 1, 1, 0.5},
	} {
		for _, epsilon := range []float64{1, 2} {
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

// Where the attack has no power it says so: the bound of 2500 runs ends near
// log(2500/log(2000)) = 5.8, below half of an epsilon of 20.
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

// privacy.md 5.3: the paper's participation rule refutes the paper's claim, whatever
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
		if _, err := localaudit.Attack(context.Background(), plan(t, local.DJW, 1, 1), o); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	o := localaudit.Options{Runs: 100, Visits: 1, Confidence: 0.9}
	if _, err := localaudit.Attack(context.Background(), plan(t, local.SGD, 1, 1), o); err == nil {
		t.Error("exact gradients were attacked")
	}
	o.Visits = 2
	if _, err := localaudit.Attack(context.Background(), plan(t, local.PrestigeLabel, 1, 1), o); err == nil {
		t.Error("two answers of a memoised label were drawn")
	}
}
