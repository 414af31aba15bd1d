package serve_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"dyad/algorithms/local"
	"dyad/algorithms/local/serve"
	"dyad/engine"
	"dyad/internal/must"
	"dyad/privacy"
)

// networkProtocol is the protocol of a network with 2 hidden units, at an epsilon for few users.
func networkProtocol(users int) local.Protocol {
	p := protocol(users)
	p.Method, p.Radius, p.L2, p.Epsilon, p.Threshold, p.Pairs = local.Prestige, 0, 0, 8, 0.1, 2
	p.Network = &local.Network{Hidden: 2, Seed: 4}
	return p
}

// A service makes of the messages of a simulation the states of the simulation, to the bit, and a restart
// at any time changes nothing.
func TestServedNetworkIsTheSimulatedOne(t *testing.T) {
	const n = 12
	x, y := make([]float64, 3*n), make([]float64, n)
	for i := range y {
		x[3*i], x[3*i+1], x[3*i+2], y[i] = 0.3, float64(i)/n-0.5, float64(i%3)/4, float64(i%2*2-1)
	}
	records := must.Get(engine.NewRecords(x, y, 3, engine.UnitBounds()))(t)
	for _, m := range []local.Method{local.Prestige, local.DJW, local.PrestigeParticipation} {
		p := networkProtocol(n)
		p.Method, p.Batch = m, 3
		want := must.Get(local.Simulate(context.Background(), planOf(t, p), records, source(5), nil))(t)
		dir := t.TempDir()
		s, src := open(t, dir, p), source(5)
		client := local.NewClient(usersPlan(t, s.Plan()), src)
		for range p.Epochs {
			for _, u := range src.Permutation(n) {
				st := s.State()
				row := make([]float64, 3)
				records.Row(int(u), row)
				m := must.Get(client.Message(&local.State{Epoch: st.Epoch, W: st.Model}, engine.Record{X: row, Y: records.Label(int(u))}))(t)
				sent := must.Get(serve.NewSubmission(fmt.Sprint("user ", u), st.Epoch, m))(t)
				must.Get(s.Submit(context.Background(), sent))(t)
				before := s.State()
				must.Do(t, s.Close())
				s = open(t, dir, p)
				if after := s.State(); !slices.Equal(before.Model, after.Model) || before.Visits != after.Visits {
					t.Fatalf("a restart changed the state from %+v to %+v", before, after)
				}
			}
		}
		st := s.State()
		if !st.Done || !slices.Equal(st.Model, want.W) || !slices.Equal(st.Average, want.Average()) {
			t.Errorf("%s: served %v, simulated %v", m, st.Model, want.W)
		}
		if slices.Equal(st.Model, planOf(t, p).Start().W) {
			t.Errorf("%s: the model did not move", m)
		}
	}
}

// A protocol of a network comes to the user as the plan that the server has, and one of another version, or
// that asks for more than it may, does not.
func TestNetworkOnTheWire(t *testing.T) {
	plan := planOf(t, networkProtocol(20))
	good := serve.PublicPlan(plan)
	if good.Version != 4 || good.Network == nil || serve.PublicPlan(planOf(t, protocol(20))).Version != 3 {
		t.Errorf("versions: %+v", good)
	}
	if p := usersPlan(t, plan); p.Parameters != plan.Parameters || p.EstimateNorm != plan.EstimateNorm || !slices.Equal(p.Start().W, plan.Start().W) {
		t.Errorf("the user's plan is another one: %+v", p)
	}
	for name, change := range map[string]func(*serve.Protocol, *local.Network){
		"a network in the version of linear models": func(p *serve.Protocol, _ *local.Network) { p.Version, p.Radius, p.L2 = 3, 5, 0.1 },
		"no network in its version":                 func(p *serve.Protocol, _ *local.Network) { p.Network = nil },
		"a later version":                           func(p *serve.Protocol, _ *local.Network) { p.Version = 5 },
		"a network of gigabytes":                    func(_ *serve.Protocol, n *local.Network) { n.Hidden = 1 << 30 },
		"a product that overflows":                  func(p *serve.Protocol, n *local.Network) { n.Hidden, p.Dim = 1<<32, 1<<32 },
		"too few users":                             func(p *serve.Protocol, _ *local.Network) { p.Users = 1 },
		"a clipping norm of 0 and none left":        func(_ *serve.Protocol, n *local.Network) { n.Clip = -1 },
	} {
		p, n := good, *good.Network
		p.Network = &n
		change(&p, &n)
		if _, err := p.Plan(); err == nil {
			t.Errorf("%s: planned", name)
		} else {
			printable(t, name, err.Error())
		}
	}
}

// A client of a network sends nothing for a state of another dimension, and answers and remembers as any other.
func TestClientOfANetwork(t *testing.T) {
	p := networkProtocol(20)
	dir := t.TempDir()
	s := open(t, filepath.Join(dir, "study"), p)
	memory := must.Get(serve.OpenMemory(filepath.Join(dir, "memory.json")))(t)
	defer memory.Close()
	c := serve.Client{Remote: serve.Remote{URL: served(t, s, serve.HandlerOptions{})}, User: "ann", Memory: memory, Limits: serve.Limits{Epsilon: 16}, Beat: time.Millisecond}
	z := engine.Record{X: []float64{0.5, -0.2, 0.1}, Y: 1}
	for i, want := range []serve.Outcome{serve.Accepted, serve.Before} {
		if a, err := c.Answer(context.Background(), z); err != nil || a.Outcome != want || a.Epsilon != 8 || a.Guarantee.Epsilon != 16 {
			t.Errorf("answer %d: %+v, %v", i+1, a, err)
		}
	}
	must.Equal(t, s.State().Visits, 1, "messages")
	if a, err := c.Draw(context.Background(), serve.PublicPlan(s.Plan()), z); err != nil || a.Outcome != serve.Printed || a.Message == nil {
		t.Errorf("drawn: %+v, %v", a, err)
	}
	must.Fail(c.Answer(context.Background(), engine.Record{X: []float64{0.5}, Y: 1}))(t, serve.ErrInput, "a record of one feature")
	plan := s.Plan()
	for name, model := range map[string][]float64{"linear": make([]float64, plan.Dim), "long": make([]float64, plan.Parameters+1), "out of its balls": slices.Repeat([]float64{9}, plan.Parameters)} {
		if serve.Fits(plan, model) {
			t.Errorf("a %s model fits", name)
		}
		must.Err(local.NewClient(plan, privacy.NewSeededSource(1)).Message(&local.State{Epoch: 1, W: model}, z))(t, "a message was made for a %s model", name)
	}
	// Messages of prestige-label carry features, as many as the records have.
	p.Method = local.PrestigeLabel
	labels := open(t, filepath.Join(dir, "labels"), p)
	for _, n := range []int{2, labels.Plan().Parameters} {
		sent := must.Get(serve.NewLabelSubmission("bob", make([]float64, n), 1))(t)
		must.Fail(labels.Submit(context.Background(), sent))(t, must.All{serve.ErrMessage, "3 features"}, n, " features")
	}
}
