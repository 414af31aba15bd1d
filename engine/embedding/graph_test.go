package embedding_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"dyad/engine"
	"dyad/engine/embedding"
	"dyad/internal/must"
	"dyad/kernels"
)

// tape is an MLP as a Graph: its Jacobian is pulled row by row. It fails for records whose first feature is
// above limit, or returns what is not finite.
type graph struct {
	embedding.MLP
	limit float64
	fail  bool
}

func (g graph) NewTape() (embedding.Tape, error) {
	set, err := kernels.Select(kernels.Generic)
	return tape{g, g.MLP.NewPass(set)}, err
}

type tape struct {
	graph
	pass embedding.Pass
}

func (t tape) Set(theta []float64) error { t.pass.Set(theta); return nil }

func (t tape) Jacobian(g, jac, x []float64) error {
	norms := make([]float64, 1)
	t.pass.Embed(g, norms, x, 1)
	clear(jac)
	for k := range g {
		v := make([]float64, len(g))
		v[k] = 1
		t.pass.Pull(jac[k*len(jac)/len(g):][:len(jac)/len(g)], v, 1)
	}
	if x[0] > t.limit {
		g[0], jac[1] = math.NaN(), math.Inf(1)
		if t.fail {
			return errors.New("no value")
		}
	}
	return nil
}

// TestGraphs compares a network as a Graph with the same network in plain Go: a small one, and one whose Jacobians are not kept.
func TestGraphs(t *testing.T) {
	var net embedding.MLP
	r := data(t, 3, 90, 0, false)
	for hidden, output := range map[int]embedding.Output{5: {Unit: true}, 6: {Within: 0.5}, 6000: {Unit: true}} {
		net = must.Get(embedding.NewMLP(embedding.MLP{In: 3, Hidden: []int{hidden}, Out: 2}))(t)
		l := embedding.Loss{Model: embedding.Model{Network: net, Output: output}, Pair: embedding.Bilinear{Of: engine.Logistic{}}, Clip: 0.3}
		theta := l.Domain(3, l.Radius()).Start()
		want, rho := gradient(t, embedding.Backend{}, problem(l, r, 0), r, theta)
		l.Model.Network = embedding.NewGraph(graph{MLP: net, limit: 2})
		got, more := gradient(t, embedding.Backend{}, problem(l, r, 0), r, theta)
		// Embeddings and Jacobians are rounded in another order.
		must.Within(t, distance(got, want), 0, rho+more+1e-11*90*90, "%+v: off by ..., roundoff %g and %g", output, rho, more)
	}
	l := embedding.Loss{Model: embedding.Model{Network: embedding.NewGraph(graph{MLP: net, limit: 2})}, Pair: embedding.Bilinear{Of: engine.Logistic{}}, Clip: 1}
	must.Err(l.Constants(engine.UnitBounds(), l.Radius()))(t, "a graph without a bound of its range has constants")
}

// TestRecordsWithoutNumbers has records for which the network is not finite, or fails: each is the embedding 0
// without a Jacobian, whatever the others are.
func TestRecordsWithoutNumbers(t *testing.T) {
	net := must.Get(embedding.NewMLP(embedding.MLP{In: 3, Hidden: []int{4}, Out: 2}))(t)
	r := data(t, 4, 30, 0, false)
	var first []float64
	for _, fail := range []bool{false, true} {
		for _, pair := range []embedding.PairLoss{embedding.Distance{Of: engine.Logistic{}}, embedding.Contrastive{Margin: 1}} {
			l := embedding.Loss{Model: embedding.Model{Network: embedding.NewGraph(graph{net, 0.2, fail}), Output: embedding.Output{Within: 1}}, Pair: pair, Clip: 1}
			theta := l.Domain(3, l.Radius()).Start()
			got, rho := gradient(t, embedding.Backend{}, problem(l, r, 0), r, theta)
			must.Within(t, distance(got, definition(l, r, theta)), 0, rho+1e-9, "%s: off by", describe(l))
			if pair == (embedding.PairLoss)(embedding.Contrastive{Margin: 1}) {
				if first != nil && !slices.Equal(first, got) {
					t.Error("a tape that fails counts otherwise than one that is not finite")
				}
				first = got
			}
		}
	}
}

// TestPlansAreRefused has problems that the backend does not take, with the reason.
func TestPlansAreRefused(t *testing.T) {
	net := must.Get(embedding.NewMLP(embedding.MLP{In: 3, Hidden: []int{4}, Out: 2}))(t)
	l := embedding.Loss{Model: embedding.Model{Network: net}, Pair: embedding.Distance{Of: engine.Logistic{}}, Clip: 1}
	r := data(t, 1, 6, 0, false)
	good := problem(l, r, 0)
	change := func(f func(p *engine.Problem, l *embedding.Loss)) engine.Problem {
		p, l := good, l
		f(&p, &l)
		p.Loss = l
		return p
	}
	for name, c := range map[string]struct {
		b           embedding.Backend
		p           engine.Problem
		unsupported bool
	}{
		"float32":       {embedding.Backend{Float32: true}, good, true},
		"groups":        {embedding.Backend{}, change(func(p *engine.Problem, _ *embedding.Loss) { p.Groups = []int{3, 3} }), true},
		"radius":        {embedding.Backend{}, change(func(p *engine.Problem, _ *embedding.Loss) { p.Radius /= 2 }), false},
		"features":      {embedding.Backend{}, change(func(p *engine.Problem, _ *embedding.Loss) { p.D = 4 }), false},
		"no clip":       {embedding.Backend{}, change(func(_ *engine.Problem, l *embedding.Loss) { l.Clip = 0 }), false},
		"vector scores": {embedding.Backend{}, change(func(_ *engine.Problem, l *embedding.Loss) { l.Pair = embedding.Score{Of: engine.Logistic{}} }), false},
		"start":         {embedding.Backend{}, change(func(_ *engine.Problem, l *embedding.Loss) { l.Start = []float64{1} }), false},
		"no margin":     {embedding.Backend{}, change(func(_ *engine.Problem, l *embedding.Loss) { l.Pair = embedding.Contrastive{} }), false},
		"another loss":  {embedding.Backend{}, engine.Problem{N: 6, D: 3, Bounds: r.Bounds(), Loss: engine.Logistic{}, Radius: 1}, true},
		"a ball whose squares underflow": {embedding.Backend{}, change(func(_ *engine.Problem, l *embedding.Loss) {
			l.Model.Output = embedding.Output{Within: 0x1p-600}
		}), false},
		"unit and a ball": {embedding.Backend{}, change(func(_ *engine.Problem, l *embedding.Loss) {
			l.Model.Output = embedding.Output{Unit: true, Within: 1}
		}), false},
	} {
		_, err := c.b.Plan(c.p)
		if err == nil || errors.Is(err, engine.ErrUnsupported) != c.unsupported {
			t.Errorf("%s: error %v, unsupported: want %t", name, err, c.unsupported)
		}
	}
	k := must.Get(embedding.Backend{}.Plan(good))(t)
	if !math.IsInf(k.Bounds(engine.Query{Pairs: engine.PrefixPairs{T: 1}}).Sum, 1) {
		t.Error("prefix pairs have a roundoff bound")
	}
	e := must.Get(k.Bind(r))(t)
	theta := l.Domain(3, l.Radius()).Start()
	must.FailDo(t, e.Sum(context.Background(), make([]float64, len(theta)), engine.Gradient(theta, engine.PrefixPairs{T: 1})), engine.ErrUnsupported, "prefix pairs")
	done, cancel := context.WithCancel(context.Background())
	cancel()
	must.FailDo(t, e.Sum(done, make([]float64, len(theta)), engine.Gradient(theta, engine.AllPairs{N: 6})), context.Canceled, "cancelled")
}
