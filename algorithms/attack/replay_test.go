package attack_test

import (
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
	"dyad/privacy"
)

// spec is a public problem of n records and d features.
func spec(t *testing.T, n, d int, radius, l2 float64, m algorithms.Mode) algorithms.Spec {
	t.Helper()
	return specFor(t, engine.Logistic{}, n, d, radius, l2, m, 1e-5)
}

func specFor(t *testing.T, loss engine.Loss, n, d int, radius, l2 float64, m algorithms.Mode, delta float64) algorithms.Spec {
	t.Helper()
	s := must.Get(algorithms.NewSpec(cpu.Backend{}, engine.Problem{
		N: n, D: d, Bounds: engine.UnitBounds(), Loss: loss, Radius: radius,
	}, l2, privacy.Budget{Epsilon: 1, Delta: delta}, m))(t)
	return s
}

// Every algorithm of the catalogue, for every loss, in every mode that it offers,
// with and without delta, on random and structured neighbours.
func TestCatalogReplays(t *testing.T) {
	for _, loss := range []engine.Loss{engine.Logistic{}, engine.MahalanobisLogistic{}} {
		for _, a := range algorithms.Catalog() {
			info := a.Info()
			if _, score := loss.(engine.ScoreLoss); !info.Learns(loss) || testing.Short() && score == info.MetricsOnly {
				continue // short: a loss of scores for those that learn any loss
			}
			for _, m := range info.Modes {
				name := loss.Name() + "/" + info.Name + "/" + m.String()
				t.Run(name, func(t *testing.T) { replayCatalog(t, a, loss, m, 1e-5) })
				if slices.Contains(info.PureModes, m) {
					t.Run(name+"/pure", func(t *testing.T) { replayCatalog(t, a, loss, m, 0) })
				}
			}
		}
	}
}

func replayCatalog(t *testing.T, a algorithms.Algorithm, loss engine.Loss, m algorithms.Mode, delta float64) {
	l2 := 0.0
	if a.Info().NeedsL2 {
		l2 = 0.01
	}
	n := 31
	if m == algorithms.Paper { // the burn-in must end: 16 L^2/alpha^2 < n
		n, l2 = 60, 10*l2*100
		if paper, ok := a.(algorithms.OffPairC); ok {
			paper.PaperAlpha = 20
			a = paper
		}
		if paper, ok := a.(algorithms.DPGDC2); ok { // the printed step may exceed 2/L
			paper.StepSize = 0.1
			a = paper
		}
	}
	p := must.Get(a.Plan(specFor(t, loss, n, 3, 0.5, l2, m, delta)))(t)
	data := attack.RandomRecords(n, 3, engine.UnitBounds(), 7)
	ratio, err := attack.Replay(a, p, data, attack.Neighbours(data, 12, 8), 9)
	if err != nil {
		t.Errorf("random neighbours: %v", err)
	}
	for _, k := range []int{0, 1, n / 2, n - 1} {
		data, neighbour := attack.WorstCase(n, 3, k, engine.UnitBounds())
		r, err := attack.Replay(a, p, data, []*engine.Records{neighbour}, 9)
		if err != nil {
			t.Errorf("worst case, record %d: %v", k, err)
		}
		ratio = max(ratio, r)
	}
	t.Logf("largest move: %.3g of the certificate", ratio)
	if m != algorithms.NonPrivate && ratio < 0.05 {
		t.Errorf("no neighbour moves more than %.3g of the certificate: the attack is too weak to mean anything", ratio)
	}
}

// Query groups: the certificate pays for the largest group, and refuses where an
// algorithm or paper has none.
func TestGroupedReplays(t *testing.T) {
	spec := func(m algorithms.Mode) algorithms.Spec {
		s := must.Get(algorithms.NewSpec(cpu.Backend{}, engine.Problem{
			N: 30, D: 3, Bounds: engine.UnitBounds(), Loss: engine.Logistic{}, Radius: 1, Groups: []int{4, 10, 1, 15},
		}, 0.01, privacy.Budget{Epsilon: 1, Delta: 1e-5}, m))(t)
		return s
	}
	a := algorithms.DPGDSC{}
	p := must.Get(a.Plan(spec(algorithms.Certified)))(t)
	largest := 0.0
	for seed := uint64(0); seed < 10; seed++ {
		data := attack.RandomRecords(30, 3, engine.UnitBounds(), seed)
		ratio, err := attack.Replay(a, p, data, attack.Neighbours(data, 12, seed), seed)
		if err != nil {
			t.Error(err)
		}
		largest = max(largest, ratio)
	}
	for _, k := range []int{0, 5, 29} {
		data, neighbour := attack.WorstCase(30, 3, k, engine.UnitBounds())
		ratio, err := attack.Replay(a, p, data, []*engine.Records{neighbour}, 1)
		if err != nil {
			t.Error(err)
		}
		largest = max(largest, ratio)
	}
	if largest < 0.4 {
		t.Errorf("the attack reaches only %.3g of the certificate", largest)
	}
	for _, refused := range []struct {
		a algorithms.Algorithm
		m algorithms.Mode
	}{{algorithms.OffPairStrC{}, algorithms.Certified}, {algorithms.DPGDSC{}, algorithms.Paper}} {
		if _, err := refused.a.Plan(spec(refused.m)); !errors.Is(err, algorithms.ErrAssumption) {
			t.Errorf("%s (%s) with groups: %v", refused.a.Info().Name, refused.m, err)
		}
	}
}

// Three seeded bugs, each of which the replay must catch.

// forgottenDivision descends on the sum instead of the mean.
type forgottenDivision struct{ algorithms.DPGDSC }

func (forgottenDivision) Train(ctx context.Context, ev engine.Evaluator, p *algorithms.Plan, s privacy.Session, t algorithms.Tracker) ([]float64, error) {
	problem := ev.Kernel().Problem()
	w, sum := make([]float64, problem.D), make([]float64, problem.D)
	for i := range p.Schedule.Steps {
		if err := ev.Sum(ctx, sum, engine.Gradient(w, engine.AllPairs{N: problem.N})); err != nil {
			return nil, err
		}
		for k := range w {
			w[k] -= p.Schedule.Constant * sum[k]
		}
		engine.ProjectBall(w, problem.Radius)
		t.Step(i+1, p.Schedule.Steps)
	}
	return w, s.Release(w, p.Certificate(), p.Noise())
}

// dataDependentStop stops when the gradient is small.
type dataDependentStop struct{ algorithms.DPGDSC }

func (dataDependentStop) Train(ctx context.Context, ev engine.Evaluator, p *algorithms.Plan, s privacy.Session, t algorithms.Tracker) ([]float64, error) {
	problem := ev.Kernel().Problem()
	pairs := engine.AllPairs{N: problem.N}
	w, sum := make([]float64, problem.D), make([]float64, problem.D)
	for range p.Schedule.Steps {
		if err := ev.Sum(ctx, sum, engine.Gradient(w, pairs)); err != nil {
			return nil, err
		}
		var square float64
		for k := range w {
			g := sum[k] / float64(pairs.Len())
			w[k] -= p.Schedule.Constant * g
			square += g * g
		}
		if math.Sqrt(square) < 0.03 {
			break
		}
		engine.ProjectBall(w, problem.Radius)
	}
	return w, s.Release(w, p.Certificate(), p.Noise())
}

// unreleasedValue returns the sign pattern of the exact iterate with the noisy
// numbers.
type unreleasedValue struct{ algorithms.DPGDSC }

func (unreleasedValue) Train(ctx context.Context, ev engine.Evaluator, p *algorithms.Plan, s privacy.Session, t algorithms.Tracker) ([]float64, error) {
	problem := ev.Kernel().Problem()
	sum := make([]float64, problem.D)
	if err := ev.Sum(ctx, sum, engine.Gradient(make([]float64, problem.D), engine.AllPairs{N: problem.N})); err != nil {
		return nil, err
	}
	w := make([]float64, problem.D)
	for k := range w {
		w[k] = -p.Schedule.Constant * sum[k] / float64(engine.AllPairs{N: problem.N}.Len())
	}
	exact := append([]float64(nil), w...)
	if err := s.Release(w, p.Certificate(), p.Noise()); err != nil {
		return nil, err
	}
	for k := range w {
		w[k] = math.Copysign(w[k], exact[k])
	}
	return w, nil
}

func TestReplayCatchesSeededBugs(t *testing.T) {
	p := must.Get(algorithms.DPGDSC{Steps: 5, StepSize: 0.1}.Plan(spec(t, 20, 2, 5, 0.001, algorithms.Certified)))(t)
	for _, c := range []struct {
		a    algorithms.Algorithm
		want string
	}{
		{forgottenDivision{}, "certified"},
		{dataDependentStop{}, "call"},
		{unreleasedValue{}, "unreleased value"},
	} {
		caught := 0
		var message string
		for seed := uint64(0); seed < 20; seed++ {
			data := attack.RandomRecords(20, 2, engine.UnitBounds(), seed)
			if _, err := attack.Replay(c.a, p, data, attack.Neighbours(data, 12, seed), seed); err != nil {
				caught++
				message = err.Error()
			}
		}
		t.Logf("%T: caught on %d of 20 data sets: %s", c.a, caught, message)
		if caught == 0 || !strings.Contains(message, c.want) {
			t.Errorf("%T: caught on %d of 20 data sets, last message %q, want one about %q", c.a, caught, message, c.want)
		}
	}
	// The sound algorithm passes on the same data sets.
	for seed := uint64(0); seed < 20; seed++ {
		data := attack.RandomRecords(20, 2, engine.UnitBounds(), seed)
		must.Check(attack.Replay(algorithms.DPGDSC{}, p, data, attack.Neighbours(data, 12, seed), seed))(t,
			"sound algorithm, data set ", seed)
	}
}

// unplanned releases twice what was planned once, or with less noise.
type unplanned struct {
	algorithms.DPGDSC
	noise privacy.Mechanism
}

func (u unplanned) Train(ctx context.Context, ev engine.Evaluator, p *algorithms.Plan, s privacy.Session, t algorithms.Tracker) ([]float64, error) {
	w := make([]float64, ev.Kernel().Problem().D)
	if err := s.Release(w, p.Certificate(), p.Noise()); err != nil {
		return nil, err
	}
	return w, s.Release(make([]float64, len(w)), p.Certificate(), u.noise)
}

func TestReplayRefusesUnplannedReleases(t *testing.T) {
	p := must.Get(algorithms.DPGDSC{Steps: 5, StepSize: 0.1}.Plan(spec(t, 20, 2, 5, 0.001, algorithms.Certified)))(t)
	data := attack.RandomRecords(20, 2, engine.UnitBounds(), 1)
	for _, noise := range []privacy.Mechanism{p.Noise(), privacy.Gaussian{Sigma: 1e-9}, privacy.KNorm{Scale: 1}, nil} {
		must.Fail(attack.Replay(unplanned{noise: noise}, p, data, attack.Neighbours(data, 1, 1), 1))(t, privacy.ErrUnplanned, fmt.Sprintf("a second release with %v", noise))
	}
}

func ExampleReplay() {
	s, _ := algorithms.NewSpec(cpu.Backend{}, engine.Problem{
		N: 20, D: 2, Bounds: engine.UnitBounds(), Loss: engine.Logistic{}, Radius: 1,
	}, 0.001, privacy.Budget{Epsilon: 1, Delta: 1e-5}, algorithms.Certified)
	p, _ := algorithms.DPGDSC{}.Plan(s)
	data := attack.RandomRecords(20, 2, engine.UnitBounds(), 1)
	_, err := attack.Replay(algorithms.DPGDSC{}, p, data, attack.Neighbours(data, 6, 2), 3)
	fmt.Println("violation:", err)
	// Output: violation: <nil>
}
