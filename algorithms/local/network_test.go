package local_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"dyad/algorithms/local"
	"dyad/engine"
	"dyad/engine/embedding"
	"dyad/internal/must"
	"dyad/privacy"
	randomiser "dyad/privacy/local"
)

// networkProtocol is a protocol of a network with so many hidden units for 3 features.
func networkProtocol(m local.Method, hidden int) local.Protocol {
	p := protocol(m)
	p.Radius, p.L2, p.Epsilon = 0, 0, 4
	p.Network = &local.Network{Hidden: hidden, Seed: 3}
	return p
}

// forward is the score of a network with one hidden layer, written anew.
func forward(theta, x []float64, hidden int) float64 {
	d, out := len(x), theta[hidden*(len(x)+1):]
	sum := 0.0
	for k := range hidden {
		row := theta[k*(d+1):][:d+1]
		z := row[d]
		for i, v := range x {
			z += row[i] * v
		}
		sum += out[k] * math.Tanh(z)
	}
	return sum
}

// randomState has weights of a normal law within the balls of a plan, and features of norm at most 1.
func randomState(q *local.Plan, r *rand.Rand) (*local.State, engine.Record) {
	st := q.Start()
	for {
		for i := range st.W {
			st.W[i] = 0.7 * r.NormFloat64()
		}
		if q.Fits(st.W, 1) {
			break
		}
	}
	z := engine.Record{X: make([]float64, q.Dim), Y: float64(2*r.IntN(2) - 1)}
	for i := range z.X {
		z.X[i] = r.NormFloat64() / 3
	}
	return st, z
}

// The message of sgd is the gradient of phi(y (f(x) + b)) in all parameters: central differences of the
// loss, with the network written anew, agree with it, and the backward pass of package embedding.
func TestGradientOfNetwork(t *testing.T) {
	const hidden, step = 4, 1e-5
	p := networkProtocol(local.SGD, hidden)
	p.Network.Clip, p.Bias = 1e6, 0.3
	q := plan(t, p)
	must.Equal(t, q.Parameters, hidden*(q.Dim+2), "parameters")
	mlp := must.Get(embedding.NewMLP(embedding.MLP{In: q.Dim, Hidden: []int{hidden}, Out: 1}))(t)
	term := must.Get(embedding.Model{Network: mlp}.NewTermPass())(t)
	r, client := rand.New(rand.NewPCG(1, 1)), local.NewClient(q, privacy.NewSeededSource(1))
	for range 20 {
		st, z := randomState(q, r)
		m := must.Get(client.Message(st, z))(t)
		loss := func(theta []float64) float64 {
			return math.Log1p(math.Exp(-z.Y * (forward(theta, z.X, hidden) + q.Bias)))
		}
		f, jacobian := make([]float64, 1), make([]float64, q.Parameters)
		term.Set(st.W)
		term.Embed(f, z.X, 1)
		term.Pull(jacobian, []float64{1}, 1)
		slope := -z.Y / (1 + math.Exp(z.Y*(f[0]+q.Bias)))
		for i, got := range m.Gradient {
			must.Near(t, got, slope*jacobian[i], 1e-14, "parameter %d: gradient, and by package embedding", i)
			at := append([]float64(nil), st.W...)
			at[i] += step
			up := loss(at)
			at[i] -= 2 * step
			must.Near(t, got, (up-loss(at))/(2*step), 1e-8, "parameter %d: gradient, and by differences", i)
		}
	}
}

// A gradient is clipped to norm C: it keeps its direction, and the norm is the smaller of both.
func TestGradientOfNetworkIsClipped(t *testing.T) {
	free := networkProtocol(local.SGD, 6)
	free.Network.Clip = 1e6
	clipped := free
	clipped.Network = &local.Network{Hidden: 6, Seed: 3, Clip: 0.7}
	u, c := plan(t, free), plan(t, clipped)
	gradient := func(q *local.Plan, st *local.State, z engine.Record) []float64 {
		m := must.Get(local.NewClient(q, privacy.NewSeededSource(1)).Message(st, z))(t)
		return m.Gradient
	}
	r := rand.New(rand.NewPCG(2, 1))
	above, below := 0, 0
	for range 200 {
		st, z := randomState(u, r)
		g, got := gradient(u, st, z), gradient(c, st, z)
		norm, size, inner := 0.0, 0.0, 0.0
		for i, v := range g {
			norm, size, inner = norm+v*v, size+got[i]*got[i], inner+v*got[i]
		}
		norm, size = math.Sqrt(norm), math.Sqrt(size)
		if want := min(norm, 0.7); math.Abs(size-want) > 1e-12 || math.Abs(inner-norm*size) > 1e-9 {
			t.Errorf("a gradient of norm %v is sent with norm %v and inner product %v, want norm %v along it", norm,
				size, inner, want)
		}
		if norm > 0.7 {
			above++
		} else {
			below++
		}
	}
	if above < 20 || below < 20 {
		t.Errorf("%d gradients are above the bound and %d below: the test sees one side only", above, below)
	}
}

// The curriculum asks the network's own score: without privacy, a record takes part if y (f(x) + b) is at least
// the threshold. With it every user sends, and one out of the curriculum sends the message of zero, bit for bit.
func TestCurriculumOfTheNetworksScore(t *testing.T) {
	const hidden = 5
	exact, private := networkProtocol(local.Curriculum, hidden), networkProtocol(local.Prestige, hidden)
	exact.Threshold, private.Threshold = 0.2, 0.2
	q, s := plan(t, exact), plan(t, private)
	r := rand.New(rand.NewPCG(3, 1))
	sent := func(st *local.State, z engine.Record) local.Message {
		m, err := local.NewClient(s, privacy.NewSeededSource(7)).Message(st, z)
		if err != nil || !m.Takes {
			t.Fatalf("a user of prestige is silent: %v", err)
		}
		return m
	}
	in, out, moved := 0, 0, 0
	for range 200 {
		st, z := randomState(q, r)
		m := must.Get(local.NewClient(q, privacy.NewSeededSource(1)).Message(st, z))(t)
		takes := z.Y*forward(st.W, z.X, hidden) >= 0.2
		must.Equal(t, m.Takes, takes, "score %v with label %v: takes part", forward(st.W, z.X, hidden), z.Y)
		zero := sent(st, engine.Record{X: make([]float64, 3), Y: math.NaN()})
		same := sent(st, z).Direction == zero.Direction
		if !takes && !same {
			t.Fatal("a record out of the curriculum does not send the message of zero")
		}
		if takes {
			in++
			if !same {
				moved++
			}
		} else {
			out++
		}
	}
	if in < 20 || out < 20 || moved < in/4 {
		t.Errorf("%d in the curriculum, %d out, %d messages differ from the messages of zero: the test sees too little",
			in, out, moved)
	}
}

// Neither silence nor the number of words drawn tells of a record, whatever model the server publishes.
func TestHostileServerOfNetworks(t *testing.T) {
	records := []engine.Record{
		{X: []float64{1, 0, 0}, Y: 1}, {X: []float64{0, 0, 0}, Y: -1}, {X: []float64{math.NaN(), 0, 0}, Y: 1},
		{X: []float64{1e308, -1e308, 0}, Y: 1},
		{X: []float64{1e-310, 0, 0}, Y: 1}, {X: []float64{0.1, 0.1, 0.1}, Y: 7},
	}
	for _, m := range []local.Method{local.Prestige, local.DJW, local.PrestigeParticipation} {
		q := plan(t, networkProtocol(m, 4))
		with := func(epoch, n int, w ...float64) *local.State {
			st := q.Start()
			st.Epoch, st.W = epoch, make([]float64, n)
			copy(st.W, w)
			return st
		}
		refused := map[string]*local.State{
			"a linear model": with(1, q.Dim), "a parameter more": with(1, q.Parameters+1), "no model": with(1, 0),
			"not a number": with(1, q.Parameters, math.NaN()),
			"an infinity":  with(1, q.Parameters, math.Inf(1)), "huge weights": with(1, q.Parameters, 1e308, -1e308),
			"epoch 0": with(0, q.Parameters), "an epoch too many": with(q.Epochs+1, q.Parameters),
		}
		output := with(1, q.Parameters)
		output.W[q.Parameters-1] = 5 // beyond twice the radius of the last layer, not of the first
		refused["an output layer out of its ball"] = output
		for name, st := range refused {
			for _, z := range records {
				must.Err(local.NewClient(q, privacy.NewSeededSource(1)).Message(st, z))(t, "%s: %s: a message was sent", m, name)
			}
		}
		edge := with(1, q.Parameters, 20)
		edge.W[q.Parameters-1] = 2
		for name, st := range map[string]*local.State{"start": q.Start(), "zero": with(1, q.Parameters), "edge": edge,
			"subnormal": with(1, q.Parameters, 1e-310)} {
			next := map[bool]uint64{}
			for _, z := range records {
				src := privacy.NewSeededSource(1)
				msg := must.Get(local.NewClient(q, src).Message(st, z))(t, fmt.Sprintf("%s: %s: no message", m, name))
				at := src.Uint64()
				if want, ok := next[msg.Takes]; ok && want != at {
					t.Errorf("%s: %s: another number of words", m, name)
				}
				next[msg.Takes] = at
			}
		}
	}
}

// The rule on the number of users rests on the noise of a mean of decoded messages: B/sqrt M in root mean square.
func TestUsersOfNetworks(t *testing.T) {
	const n = 4000
	p := networkProtocol(local.DJW, 8)
	p.Epochs, p.Epsilon, p.Users = 2, 1, 10000
	q := plan(t, p)
	c, mean := local.NewClient(q, privacy.NewSeededSource(1)), make([]float64, q.Parameters)
	for range n {
		m := must.Get(c.Message(q.Start(), engine.Record{X: make([]float64, 3), Y: math.NaN()}))(t)
		must.Do(t, q.AddEstimate(mean, m))
	}
	square := 0.0
	for _, v := range mean {
		square += v / n * v / n
	}
	noise := math.Sqrt(square)
	if want := q.EstimateNorm / math.Sqrt(n); math.Abs(noise-want) > 0.4*want { // 40 coordinates
		t.Errorf("the mean of %d messages has noise of norm %v, want %v", n, noise, want)
	}
	ratio := q.EstimateNorm / q.Network.Clip
	if want := math.Ceil(ratio * ratio / 2); q.SmallestUsers() != want || math.Abs(q.EnoughUsers()-100*want) > 100 {
		t.Errorf("users needed %v and %v, want %v and about 100 times it", q.SmallestUsers(), q.EnoughUsers(), want)
	}
	warned := func(q *local.Plan) bool {
		return strings.Contains(strings.Join(q.Guarantee.Warnings, " "), "users are few")
	}
	p.Users = int(q.EnoughUsers())
	if warned(plan(t, p)) {
		t.Errorf("%d users are called few", p.Users)
	}
	if p.Users--; !warned(plan(t, p)) {
		t.Errorf("%d users are not called few", p.Users)
	}
	p.Users = int(q.SmallestUsers())
	plan(t, p)
	p.Users--
	must.Fail(p.Plan())(t, must.All{local.ErrProtocol, fmt.Sprintf("at least %.0f users", q.SmallestUsers())}, p.Users,
		" users")
	// Without a private direction there is no such rule, nor for linear models.
	for _, m := range []local.Method{local.PrestigeLabel, local.SGD} {
		p := networkProtocol(m, 8)
		p.Users = 1
		if q := plan(t, p); q.SmallestUsers() != 0 || q.EnoughUsers() != 0 {
			t.Errorf("%s: users needed %v", m, q.SmallestUsers())
		}
	}
	if q := plan(t, protocol(local.DJW)); q.SmallestUsers() != 0 || q.Parameters != 3 {
		t.Errorf("a linear model: users needed %v, %d parameters", q.SmallestUsers(), q.Parameters)
	}
}

func TestProtocolsOfNetworksRefuse(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*local.Protocol)
		says   string
	}{
		"printed":      {func(p *local.Protocol) { p.Method = local.PrestigePrinted }, "has only linear models"},
		"radius":       {func(p *local.Protocol) { p.Radius = 5 }, "leave both out"},
		"lambda":       {func(p *local.Protocol) { p.L2 = 0.1 }, "leave both out"},
		"many units":   {func(p *local.Protocol) { p.Network.Hidden = 1 << 40 }, "parameters"},
		"no units":     {func(p *local.Protocol) { p.Network.Hidden = -1 }, "at least 1"},
		"NaN rate":     {func(p *local.Protocol) { p.Network.Rate = math.NaN() }, "the rate"},
		"huge gain":    {func(p *local.Protocol) { p.Network.Gain = 1e300 }, "the gain"},
		"negative C":   {func(p *local.Protocol) { p.Network.Clip = -1 }, "clipping norm"},
		"no features":  {func(p *local.Protocol) { p.Dim = 0 }, "features"},
		"few users":    {func(p *local.Protocol) { p.Users = 1 }, "at least"},
		"small budget": {func(p *local.Protocol) { p.Epsilon = 1e-6 }, "larger epsilon"},
	} {
		p := networkProtocol(local.DJW, 4)
		c.change(&p)
		must.Fail(p.Plan())(t, must.All{local.ErrProtocol, c.says}, name)
	}
	p := networkProtocol(local.DJW, 4)
	must.FailDo(t, local.CheckChoice(p, []float64{0.1, 1}, 2, 200), local.ErrProtocol, "lambda of a network")
	q := plan(t, p)
	if p.Network.Rate != 0 || q.Network.Rate == 0 || q.Network.Clip == 0 {
		t.Errorf("a plan fills %+v of the protocol, or leaves %+v", p.Network, q.Network)
	}
	// A message carries no dimension; an exact gradient does, and public features do.
	st := q.Start()
	must.ErrDo(t, q.Apply(st, []local.Message{{Takes: true, Direction: randomiser.DirectionMessage{Choice: 9}}}),
		"a choice that no user can have was applied")
	exact := plan(t, networkProtocol(local.SGD, 4))
	for _, n := range []int{3, exact.Parameters + 1} {
		must.ErrDo(t, exact.Apply(exact.Start(), []local.Message{{Takes: true, Gradient: make([]float64, n)}}),
			"a gradient of %d numbers for %d parameters was applied", n, exact.Parameters)
	}
	labels := plan(t, networkProtocol(local.PrestigeLabel, 4))
	must.ErrDo(t, labels.Learn(labels.Start(), make([]float64, labels.Parameters), 1),
		"public features of a wrong number were learnt")
}

// xorUsers are records of two features and a third without meaning; the label depends on the signs.
func xorUsers(t *testing.T, n int, seed uint64) *engine.Records {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 2))
	x, y := make([]float64, 3*n), make([]float64, n)
	for i := range y {
		a, b := float64(2*r.IntN(2)-1), float64(2*r.IntN(2)-1)
		x[3*i], x[3*i+1], y[i] = 0.5*a+0.15*r.NormFloat64(), 0.5*b+0.15*r.NormFloat64(), a*b
	}
	return must.Get(engine.NewRecords(x, y, 3, engine.Bounds{FeatureNorm: 1, LabelAbs: 1}))(t)
}

// Networks learn what no linear model can, by every method that takes them.
func TestNetworksLearn(t *testing.T) {
	n := 20000
	methods := []local.Method{local.DJW, local.Prestige, local.PrestigeParticipation, local.PrestigeLabel,
		local.Curriculum, local.SGD}
	if testing.Short() {
		n, methods = 8000, []local.Method{local.DJW, local.PrestigeLabel}
	}
	train, test := xorUsers(t, n, 1), xorUsers(t, 2000, 2)
	for _, m := range methods {
		p := networkProtocol(m, 8)
		// the margins that the start gives are arbitrary
		p.Users, p.Epochs, p.Batch, p.Threshold, p.ThresholdStep = n, 2, 100, -10, 1e-9
		if m == local.PrestigeLabel {
			p.Batch, p.Network.Rate = 1, 0.3
		}
		q := plan(t, p)
		st := must.Get(local.Simulate(context.Background(), q, train, privacy.NewSeededSource(1), nil))(t, m)
		if a := accuracyOf(func(x []float64) float64 { return forward(st.W, x, 8) }, test); a < 0.9 {
			t.Errorf("%s: accuracy %v, want at least 0.9; linear models have 0.5", m, a)
		}
		if err := q.Validate(st); err != nil || !q.Fits(st.W, 1+1e-9) || !q.Fits(st.Average(), 1+1e-9) {
			t.Errorf("%s: the final state is not one of the plan: %v", m, err)
		}
	}
	p := protocol(local.SGD)
	p.Users = n
	st := must.Get(local.Simulate(context.Background(), plan(t, p), train, privacy.NewSeededSource(1), nil))(t)
	if a := accuracy(st.W, test); a > 0.65 {
		t.Errorf("a linear model without privacy has accuracy %v: these records need no network", a)
	}
}
