package local_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"

	"dyad/algorithms/local"
	"dyad/engine"
	"dyad/internal/must"
	"dyad/privacy"
	randomiser "dyad/privacy/local"
	"dyad/privacy/privtest"
)

const alpha = 1e-9

// logistic is phi(v) = log(1 + exp(-v)).
type logistic struct{}

func (logistic) Name() string           { return "logistic" }
func (logistic) DPhi(v float64) float64 { return -1 / (1 + math.Exp(v)) }
func (logistic) Bounds(_, _ float64) (engine.ScalarBounds, error) {
	return engine.ScalarBounds{SlopeMin: -1}, nil
}

// linear is phi(v) = -v: every gradient is as large as it may be.
type linear struct{}

func (linear) Name() string         { return "linear" }
func (linear) DPhi(float64) float64 { return -1 }
func (linear) Bounds(_, _ float64) (engine.ScalarBounds, error) {
	return engine.ScalarBounds{SlopeMin: -1}, nil
}

// unbounded has no finite Lipschitz constant on any range.
type unbounded struct{ logistic }

func (unbounded) Bounds(_, _ float64) (engine.ScalarBounds, error) {
	return engine.ScalarBounds{SlopeMin: math.Inf(-1)}, nil
}

func protocol(m local.Method) local.Protocol {
	return local.Protocol{
		Method: m, Loss: logistic{}, Dim: 3, FeatureNorm: 1, Radius: 5, L2: 0.1,
		Users: 200, Epochs: 3, Epsilon: 2,
	}
}

func plan(t *testing.T, p local.Protocol) *local.Plan {
	t.Helper()
	return must.Get(p.Plan())(t)
}

// users are n records with labels along the first feature.
func users(t *testing.T, n, d int, seed uint64) *engine.Records {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 1))
	x, y := make([]float64, n*d), make([]float64, n)
	for i := range y {
		y[i] = float64(2*r.IntN(2) - 1)
		for k := range d {
			x[i*d+k] = 0.3 * r.NormFloat64()
		}
		x[i*d] += 0.5 * y[i]
	}
	return must.Get(engine.NewRecords(x, y, d, engine.Bounds{FeatureNorm: 1, LabelAbs: 1}))(t)
}

func accuracy(w []float64, r *engine.Records) float64 {
	return accuracyOf(func(x []float64) float64 { return floats.Dot(w, x) }, r)
}

func accuracyOf(score func(x []float64) float64, r *engine.Records) float64 {
	right, x := 0, make([]float64, r.Dim())
	for i := range r.Len() {
		if r.Row(i, x); score(x)*r.Label(i) > 0 {
			right++
		}
	}
	return float64(right) / float64(r.Len())
}

func TestMethodsLearn(t *testing.T) {
	train, test := users(t, 4000, 3, 1), users(t, 4000, 3, 2)
	for _, m := range local.Methods() {
		p := protocol(m)
		p.Users, p.Epochs = train.Len(), 4
		st := must.Get(local.Simulate(context.Background(), plan(t, p), train, privacy.NewSeededSource(1), nil))(t, m)
		want := 0.85
		if m == local.PrestigePrinted { // label noise and noise in the regulariser
			want = 0.6
		}
		if a := max(accuracy(st.W, test), accuracy(st.Average(), test)); a < want {
			t.Errorf("%s: accuracy %v at epsilon 2 a visit, want at least %v", m, a, want)
		}
		must.CheckDo(t, plan(t, p).Validate(st), m, ": the final state is refused")
	}
	// Control: at an epsilon of nearly 0 a private method learns nothing.
	p := protocol(local.DJW)
	p.Users, p.Epsilon = train.Len(), 1e-4
	mean := 0.0
	for seed := range uint64(10) {
		st := must.Get(local.Simulate(context.Background(), plan(t, p), train, privacy.NewSeededSource(seed), nil))(t)
		mean += accuracy(st.W, test) / 10
	}
	if mean > 0.75 {
		t.Errorf("epsilon 1e-4 reached a mean accuracy of %v: the noise is missing", mean)
	}
}

// docs/theory.md#local-protocols: every visited user sends a message whatever the data, and
// therefore the number of messages and updates of an epoch is the number of users.
// The printed algorithm fails the same check.
func TestNumberOfMessagesDoesNotDependOnData(t *testing.T) {
	counts := func(m local.Method, x float64) (updates int64) {
		p := protocol(m)
		p.Epochs = 1
		q := plan(t, p)
		st, c := q.Start(), local.NewClient(q, privacy.NewSeededSource(1))
		st.W[0] = 4 // margins are 4 x
		for range p.Users {
			msg := must.Get(c.Message(st, engine.Record{X: []float64{x, 0, 0}, Y: 1}))(t)
			fixed := append([]float64(nil), st.W...)
			must.Do(t, q.Apply(st, []local.Message{msg}))
			copy(st.W, fixed)
		}
		return st.Updates
	}
	for _, m := range []local.Method{local.Prestige, local.DJW} {
		if a, b := counts(m, 1), counts(m, 0.01); a != 200 || b != 200 {
			t.Errorf("%s: %d and %d updates for 200 users", m, a, b)
		}
	}
	if a, b := counts(local.PrestigePrinted, 1), counts(local.PrestigePrinted, 0.01); !(a > 100 && b == 0) {
		t.Errorf("the printed algorithm made %d and %d updates; its leak is gone from the test", a, b)
	}
}

// participation counts the visits on which a user with margin 4 x sends a gradient.
func participation(t *testing.T, q *local.Plan, x, y float64, n int) (sent int) {
	st, c := q.Start(), local.NewClient(q, privacy.NewSeededSource(9))
	st.W[0] = 4
	for range n {
		m := must.Get(c.Message(st, engine.Record{X: []float64{x, 0, 0}, Y: y}))(t)
		if m.Takes {
			sent++
		}
	}
	return sent
}

// A record above the threshold and one below participate as often as a randomised response answers, of epsilon ln((1 +
// e^0.2)/2). Package localaudit refutes the printed form.
func TestParticipationIsAResponse(t *testing.T) {
	const n = 20000
	p := protocol(local.PrestigeParticipation)
	p.Epsilon = 0.2
	q := plan(t, p)
	truth := randomiser.RandomizedResponse{Epsilon: math.Log((1 + math.Exp(p.Epsilon)) / 2)}.Truth()
	must.CheckDo(t, privtest.CheckBinomial(participation(t, q, 1, 1, n), n, truth, alpha))
	must.CheckDo(t, privtest.CheckBinomial(participation(t, q, 0.01, 1, n), n, 1-truth, alpha))
}

// A mask of the curriculum changes a gradient, not the law that hides it: records in
// and out of the curriculum send messages of the same distribution up to e^epsilon.
func TestSendAlwaysHidesTheMask(t *testing.T) {
	const n = 1 << 16
	p := protocol(local.Prestige)
	p.Epsilon, p.Loss = 1, linear{}
	q := plan(t, p)
	choose := func(x float64) (hits int) {
		st, c := q.Start(), local.NewClient(q, privacy.NewSeededSource(4))
		st.W[0] = 4
		for range n {
			m := must.Get(c.Message(st, engine.Record{X: []float64{x, 0, 0}, Y: 1}))(t)
			g := make([]float64, 3)
			must.Do(t, q.AddEstimate(g, m))
			if g[0] < 0 { // the gradient of a selected record points to -x
				hits++
			}
		}
		return hits
	}
	in, out := float64(choose(1))/n, float64(choose(0.01))/n
	must.Near(t, out, 0.5, 0.01, "a masked record's messages point to one side with probability")
	must.Near(t, in/out*(1+math.Exp(-1))/2, 1, 0.02, "odds of a selected against a masked record, over those of the law")
}

func TestGuarantees(t *testing.T) {
	for _, c := range []struct {
		method  local.Method
		kind    privacy.Kind
		epsilon float64
	}{
		{local.Prestige, privacy.LocalDP, 6}, {local.DJW, privacy.LocalDP, 6}, {local.PrestigeParticipation, privacy.LocalDP, 6},
		{local.PrestigeLabel, privacy.LabelLDP, 2}, {local.PrestigePrinted, privacy.None, 0}, {local.Curriculum, privacy.None, 0}, {local.SGD, privacy.None, 0},
	} {
		g := plan(t, protocol(c.method)).Guarantee
		if g.Kind != c.kind || g.Epsilon != c.epsilon {
			t.Errorf("%s: %v with epsilon %v, want %v with %v", c.method, g.Kind, g.Epsilon, c.kind, c.epsilon)
		}
		if g.Kind == privacy.None && len(g.Warnings) == 0 {
			t.Errorf("%s gives nothing and does not say so", c.method)
		}
	}
	p := protocol(local.Prestige)
	p.Radius = 1 // margins of at most 1 never reach the threshold 1.5
	if g := plan(t, p).Guarantee; len(g.Warnings) == 0 {
		t.Error("an unreachable threshold is not reported")
	}
	must.Fail(plan(t, protocol(local.Prestige)).Shuffled(1e-6))(t, local.ErrProtocol, "shuffling of 200 users")
	p = protocol(local.DJW)
	p.Users, p.Epsilon = 100000, 0.5
	g, err := plan(t, p).Shuffled(1e-6)
	if err != nil || !(g.Epsilon < 0.5*1.5 && g.Delta == 1e-6) {
		t.Errorf("shuffling 100000 users: %v %v", g.Epsilon, err)
	}
}

func TestProtocolsRefuse(t *testing.T) {
	for name, change := range map[string]func(*local.Protocol){
		"no loss":         func(p *local.Protocol) { p.Loss = nil },
		"unbounded slope": func(p *local.Protocol) { p.Loss = unbounded{} },
		"no epsilon":      func(p *local.Protocol) { p.Epsilon = 0 },
		"epsilon 60":      func(p *local.Protocol) { p.Epsilon = 60 },
		"no lambda":       func(p *local.Protocol) { p.L2 = 0 },
		"no users":        func(p *local.Protocol) { p.Users = 0 },
		"NaN radius":      func(p *local.Protocol) { p.Radius = math.NaN() },
		"share 1":         func(p *local.Protocol) { p.ResponseShare = 1 },
		"method 99":       func(p *local.Protocol) { p.Method = 99 },
		"no features":     func(p *local.Protocol) { p.Dim = 0 },
		"batch -1":        func(p *local.Protocol) { p.Batch = -1 },
	} {
		p := protocol(local.PrestigeParticipation)
		change(&p)
		must.Fail(p.Plan())(t, local.ErrProtocol, name)
	}
}

// Nothing changes in the state when a message is refused.
func TestServerRefusesMessages(t *testing.T) {
	q := plan(t, protocol(local.Prestige))
	st := q.Start()
	for name, batch := range map[string][]local.Message{
		"empty batch":      {},
		"no sample":        {{}},
		"exact gradient":   {{Takes: true, Gradient: []float64{1, 1, 1}}},
		"choice 2 of 2":    {{Takes: true, Direction: randomiser.DirectionMessage{Choice: 2}}},
		"two in batch one": {{Takes: true}, {Takes: true}},
	} {
		must.ErrDo(t, q.Apply(st, batch), "%s was accepted", name)
	}
	if st.Visits != 0 || st.Updates != 0 || st.Epoch != 1 {
		t.Errorf("refused messages changed the state to %+v", st)
	}
	done := q.Start()
	done.Epoch, done.Visits = 4, 600
	must.ErrDo(t, q.Apply(done, []local.Message{{Takes: true}}), "a message after the last epoch was accepted")
	for name, bad := range map[string]*local.State{
		"length":  {Epoch: 1, W: make([]float64, 2), Sum: make([]float64, 3)},
		"visits":  {Epoch: 1, Visits: 200, W: make([]float64, 3), Sum: make([]float64, 3)},
		"updates": {Epoch: 1, Visits: 5, Updates: 6, W: make([]float64, 3), Sum: make([]float64, 3)},
		"NaN":     {Epoch: 1, W: []float64{math.NaN(), 0, 0}, Sum: make([]float64, 3)},
	} {
		must.ErrDo(t, q.Validate(bad), "a state with a wrong %s was accepted", name)
	}
}

// addDecoded decodes a message without the plan.
func addDecoded(q *local.Plan, g []float64, m local.Message) error {
	c, err := randomiser.Direction{Dim: q.Dim, Bound: q.Lipschitz, Epsilon: q.Epsilon}.Channel()
	if err != nil {
		return err
	}
	return c.AddDecoded(g, 1, m.Direction)
}

// A batch averages privatised gradients: its update is the mean of the updates.
func TestBatchAveragesPrivatisedGradients(t *testing.T) {
	p := protocol(local.DJW)
	p.Batch, p.L2, p.Epochs = 4, 100, 1 // steps too short to reach the ball
	q := plan(t, p)
	c := local.NewClient(q, privacy.NewSeededSource(2))
	st := q.Start()
	want := make([]float64, 3)
	var batch []local.Message
	for range 4 {
		m := must.Get(c.Message(st, engine.Record{X: []float64{0.1, 0.2, 0.3}, Y: -1}))(t)
		must.Do(t, addDecoded(q, want, m))
		batch = append(batch, m)
	}
	must.Do(t, q.Apply(st, batch))
	for i := range want {
		must.Near(t, st.W[i]/(-q.StepSize(1)*want[i]/4), 1, 1e-9, "coordinate %d over its update", i)
	}
}

func TestThresholdSchedule(t *testing.T) {
	q := plan(t, protocol(local.Prestige))
	for i, want := range []float64{1.5, 0.5, 0.5 - math.Sqrt2, 0.5 - math.Sqrt2 - math.Sqrt(3)} {
		must.Near(t, q.ThresholdAt(i+1), want, 1e-12, "epoch %d: threshold", i+1)
	}
	must.Equal(t, must.Get(local.KWIKEpochs(2, 1, 0.01))(t), 10, "KWIK epochs")
	must.Err(local.KWIKEpochs(2, 1, 1))(t, "delta 1 was accepted")
}

func BenchmarkSimulate(b *testing.B) {
	const n, d = 20000, 18
	r := rand.New(rand.NewPCG(1, 1))
	x, y := make([]float64, n*d), make([]float64, n)
	for i := range x {
		x[i] = r.NormFloat64() / 5
	}
	for i := range y {
		y[i] = float64(2*r.IntN(2) - 1)
	}
	records := must.Get(engine.NewRecords(x, y, d, engine.Bounds{FeatureNorm: 1, LabelAbs: 1}))(b)
	for _, m := range []local.Method{local.Prestige, local.DJW, local.SGD} {
		b.Run(m.String(), func(b *testing.B) {
			p := local.Protocol{Method: m, Loss: logistic{}, Dim: d, FeatureNorm: 1, Radius: 10, L2: 0.01, Users: n, Epochs: 1, Epsilon: 1}
			q := must.Get(p.Plan())(b)
			for range b.N {
				must.Get(local.Simulate(context.Background(), q, records, privacy.NewSeededSource(1), nil))(b)
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "visits/s")
		})
	}
}
