package attack_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"dyad/algorithms"
	"dyad/algorithms/attack"
	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/internal/must"
	"dyad/internal/sizes"
	"dyad/privacy"
)

func streamPlan(t *testing.T, a algorithms.Stream, loss engine.Loss, n int, o algorithms.StreamOptions, l2 float64, m algorithms.Mode) *algorithms.Plan {
	t.Helper()
	o.Horizon = n
	s := must.Get(algorithms.NewStreamSpec(cpu.Backend{}, engine.Problem{
		N: 2, D: 3, Bounds: engine.UnitBounds(), Loss: loss, Radius: 0.5,
	}, o, l2, privacy.Budget{Epsilon: 1, Delta: 1e-5}, m))(t)
	return must.Get(a.Plan(s))(t)
}

func starter(p *algorithms.Plan) func(privacy.Session) (attack.Stepper, error) {
	return func(s privacy.Session) (attack.Stepper, error) { return algorithms.NewStream(p, s) }
}

// streamVariant is a stream to be attacked.
type streamVariant struct {
	a  algorithms.Stream
	o  algorithms.StreamOptions
	m  algorithms.Mode
	l2 float64
	n  int
}

// streamVariants are all online algorithms of the catalogue in every mode that they
// offer, with every kind of buffer where a mode has buffers, and the other readings.
func streamVariants() (all []streamVariant) {
	for _, a := range algorithms.StreamCatalog() {
		l2 := 0.0
		if a.Info().NeedsL2 {
			l2 = 0.1
		}
		for _, m := range a.Info().Modes {
			if m == algorithms.Paper {
				if c, ok := a.(algorithms.OnPairC); ok {
					c.PaperAlpha = 200
					a = c
				}
				all = append(all, streamVariant{a: a, l2: 100 * l2, n: 60, m: m})
				continue
			}
			for _, o := range []algorithms.StreamOptions{
				{},
				{Buffer: 1},
				{Batch: 4, Buffer: 6},
				{Batch: 7, Buffer: 5, BurnIn: 6},
				{Batch: 3, Buffer: 4, Reservoir: true},
				{Buffer: 4, PerClass: true},
				{Batch: 3, Buffer: 8, PerClass: true, BurnIn: 2},
			} {
				all = append(all, streamVariant{a: a, l2: l2, n: 41, m: m, o: o})
			}
		}
	}
	return append(all,
		streamVariant{a: algorithms.OnPairStrC{Reading: algorithms.SecretState}, l2: 0.1, n: 31},
		streamVariant{a: algorithms.OnPairC{Reading: algorithms.SecretState}, n: 31},
		streamVariant{a: algorithms.DPFTRL{}, l2: 0.5, n: 41},
	)
}

// Every online algorithm, reading and mode, with batches and buffers, for every
// loss, on random and structured neighbours.
func TestStreamsReplay(t *testing.T) {
	sizes.NotShort(t, "slow")
	variants := streamVariants()
	for _, loss := range []engine.Loss{engine.Logistic{}, engine.MahalanobisLogistic{}} {
		for i, v := range variants {
			t.Run(fmt.Sprintf("%s/%d-%s-%s", loss.Name(), i, v.a.Info().Name, v.m), func(t *testing.T) {
				if loss.Name() != (engine.Logistic{}).Name() && v.m == algorithms.Paper {
					v.l2 *= 4
					if c, ok := v.a.(algorithms.OnPairC); ok {
						c.PaperAlpha *= 4
						v.a = c
					}
				}
				p := streamPlan(t, v.a, loss, v.n, v.o, v.l2, v.m)
				data := attack.RandomRecords(v.n, 3, engine.UnitBounds(), 7)
				ratio, err := attack.ReplayStream(p, starter(p), data, attack.Neighbours(data, 12, 8), 9)
				if err != nil {
					t.Errorf("random neighbours: %v", err)
				}
				for _, k := range []int{0, 1, p.Spec.BurnIn, p.Spec.BurnIn + 1, v.n / 2, v.n - 1} {
					data, neighbour := attack.WorstCase(v.n, 3, k, engine.UnitBounds())
					r, err := attack.ReplayStream(p, starter(p), data, []*engine.Records{neighbour}, 9)
					if err != nil {
						t.Errorf("worst case, record %d: %v", k, err)
					}
					ratio = max(ratio, r)
				}
				t.Logf("largest joint move: %.3g of the certificate", ratio)
				if v.m != algorithms.NonPrivate && ratio < 0.05 {
					t.Errorf("no neighbour moves more than %.3g of the certificate: the attack is too weak to mean anything", ratio)
				}
			})
		}
	}
}

// spy keeps the exact vector of the last release, and may change it first.
type spy struct {
	privacy.Session
	exact  []float64
	factor float64
}

func (s *spy) Release(x []float64, c privacy.Certificate, m privacy.Mechanism) error {
	for k := range x {
		x[k] *= s.factor
	}
	s.exact = slices.Clone(x)
	return s.Session.Release(x, c, m)
}

// leaky returns the secret state instead of its noisy copy.
type leaky struct {
	*algorithms.Online
	s *spy
}

func (l leaky) Step(ctx context.Context, x []float64, y float64) ([]float64, error) {
	out, err := l.Online.Step(ctx, x, y)
	if out != nil {
		out = l.s.exact
	}
	return out, err
}

// eager updates whether or not the batch is full if the label is positive.
type eager struct{ *algorithms.Online }

func (e eager) Step(ctx context.Context, x []float64, y float64) ([]float64, error) {
	out, err := e.Online.Step(ctx, x, y)
	if err == nil && y > 0 && out != nil {
		out = append(out, y)
	}
	return out, err
}

// Seeded defects, each of which the replay must catch.
func TestReplayStreamCatchesBugs(t *testing.T) {
	p := streamPlan(t, algorithms.OnPairC{Reading: algorithms.SecretState}, engine.Logistic{}, 20, algorithms.StreamOptions{}, 0, algorithms.Certified)
	data, neighbour := attack.WorstCase(20, 3, 4, engine.UnitBounds())
	for name, c := range map[string]struct {
		start func(privacy.Session) (attack.Stepper, error)
		want  string
	}{
		"the secret state is returned": {func(s privacy.Session) (attack.Stepper, error) {
			spied := &spy{Session: s, factor: 1}
			o, err := algorithms.NewStream(p, spied)
			return leaky{o, spied}, err
		}, "unreleased value"},
		"the query is 10 times too large": {func(s privacy.Session) (attack.Stepper, error) {
			return algorithms.NewStream(p, &spy{Session: s, factor: 10})
		}, "the certificate allows"},
		"the label decides what is returned": {func(s privacy.Session) (attack.Stepper, error) {
			o, err := algorithms.NewStream(p, s)
			return eager{o}, err
		}, "unreleased value"},
	} {
		_, err := attack.ReplayStream(p, c.start, data, []*engine.Records{neighbour}, 1)
		var v attack.Violation
		if !errors.As(err, &v) || !strings.Contains(v.Reason, c.want) {
			t.Errorf("%s: %v, want a violation about %q", name, err, c.want)
		}
	}
	must.Check(attack.ReplayStream(p, starter(p), data, []*engine.Records{neighbour}, 1))(t, "sound stream")
}

// DPFTRL moves by more than the norm of one column of C, which counts a record in one
// update only: a certificate by that norm is the known defect, and this catches it.
func TestPrefixSumsMoveMoreThanOneColumn(t *testing.T) {
	const n = 256
	p := streamPlan(t, algorithms.DPFTRL{}, engine.Logistic{}, n, algorithms.StreamOptions{}, 0, algorithms.Certified)
	factor := must.Get(privacy.SquareRootToeplitz(p.Schedule.Steps))(t)
	column := 0.0
	filter := privacy.NewToeplitzFilter(factor, 1)
	for b := range p.Schedule.Steps {
		x := []float64{0}
		if b == 0 {
			x[0] = 1
		}
		row := slices.Clone(x)
		filter.AddPast(row, 1)
		filter.Push(x)
		column += row[0] * row[0]
	}
	data, neighbour := attack.WorstCase(n, 3, 0, engine.UnitBounds())
	ratio, err := attack.ReplayStream(p, starter(p), data, []*engine.Records{neighbour}, 1)
	moved := ratio * p.Certificate().Sensitivity() / p.Spec.Constants.PairDiameter
	t.Logf("moved %.3g Dg of %.3g, one column %.3g", moved, p.Certificate().Sensitivity()/p.Spec.Constants.PairDiameter, math.Sqrt(column))
	if err != nil || !(moved > 1.5*math.Sqrt(column)) {
		t.Errorf("moved %v Dg, one column of C has norm %v (%v)", moved, math.Sqrt(column), err)
	}
}

// A record stays in its class buffer for as long as only the other class arrives: a
// certificate as for the last records is the known defect, and this catches it.
func TestBuffersPerClassMoveMoreThanTheLastRecords(t *testing.T) {
	const n = 200
	o := algorithms.StreamOptions{Buffer: 4, PerClass: true}
	p := streamPlan(t, algorithms.OnPairC{}, engine.Logistic{}, n, o, 0, algorithms.Certified)
	o.PerClass = false
	last := streamPlan(t, algorithms.OnPairC{}, engine.Logistic{}, n, o, 0, algorithms.Certified)
	records := func(first float64) *engine.Records {
		x, y := make([]float64, 3*n), make([]float64, n)
		for i := range y {
			x[3*i], y[i] = -1, -1
		}
		x[0], y[0] = 1, first
		return must.Get(engine.NewRecords(x, y, 3, engine.UnitBounds()))(t)
	}
	ratio, err := attack.ReplayStream(p, starter(p), records(1), []*engine.Records{records(-1)}, 1)
	moved := ratio * p.Certificate().Sensitivity()
	t.Logf("moved %.3g of %.3g; %.3g for the last records", moved, p.Certificate().Sensitivity(), last.Certificate().Sensitivity())
	if err != nil || !(moved > 1.2*last.Certificate().Sensitivity()) {
		t.Errorf("moved %v, the certificate of the last records is %v (%v)", moved, last.Certificate().Sensitivity(), err)
	}
}

// With noise fed back, a saved state is the same for neighbours that differ in a
// record that has left the buffer, given the same releases; with a secret state, or
// sums of gradients, it is not, as documented.
func TestSavedStateDependsOnReleasesAndBufferOnly(t *testing.T) {
	n := 30
	data, neighbour := attack.WorstCase(n, 3, 5, engine.UnitBounds())
	for _, c := range []struct {
		a    algorithms.Stream
		o    algorithms.StreamOptions
		same bool
	}{
		{algorithms.OnPairC{}, algorithms.StreamOptions{Buffer: 4, Batch: 2}, true},
		{algorithms.OnPairC{Reading: algorithms.SecretState}, algorithms.StreamOptions{}, false},
		{algorithms.DPFTRL{}, algorithms.StreamOptions{Buffer: 4, Batch: 2}, false},
	} {
		p := streamPlan(t, c.a, engine.Logistic{}, n, c.o, 0, algorithms.Certified)
		var saved [][]float64
		start := func(s privacy.Session) (attack.Stepper, error) {
			o, err := algorithms.NewStream(p, s)
			return saving{o, n, &saved}, err
		}
		must.Check(attack.ReplayStream(p, start, data, []*engine.Records{neighbour}, 3))(t)
		if p.SecretState() == c.same || len(saved) != 2 || slices.Equal(saved[0], saved[1]) != c.same {
			t.Errorf("%T: the saved iterates %v are equal: want %v", c.a, saved, c.same)
		}
	}
}

// saving notes what the saved state has besides records, after n of them.
type saving struct {
	*algorithms.Online
	n     int
	saved *[][]float64
}

func (s saving) Step(ctx context.Context, x []float64, y float64) ([]float64, error) {
	out, err := s.Online.Step(ctx, x, y)
	if err == nil && s.Count() == s.n {
		var b bytes.Buffer
		if err := s.Save(&b); err != nil {
			return nil, err
		}
		state, err := algorithms.ReadStreamState(&b)
		if err != nil {
			return nil, err
		}
		*s.saved = append(*s.saved, slices.Concat(state.W, state.Played, state.Gradients, state.Noisy, state.Total))
	}
	return out, err
}
