package attack_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"dyad/algorithms"
	"dyad/algorithms/attack"
	"dyad/engine"
	"dyad/internal/must"
	"dyad/internal/sizes"
	"dyad/privacy"
)

// hiddenBug is a descent with hidden iterates and one defect.
type hiddenBug struct {
	algorithms.ConvergentDescent
	average, lengthen, early, half bool
}

func (b hiddenBug) Train(ctx context.Context, ev engine.Evaluator, p *algorithms.Plan, s privacy.Session, t algorithms.Tracker) ([]float64, error) {
	problem := ev.Kernel().Problem()
	pairs := problem.Pairs()
	w, sum, total := make([]float64, problem.D), make([]float64, problem.D), make([]float64, problem.D)
	eta, steps := p.Schedule.Constant, p.Schedule.Steps
	if b.lengthen {
		eta *= 2
	}
	if b.early {
		steps--
	}
	noise := p.Noise()
	if g := noise.(privacy.Gaussian); b.half {
		g.Sigma /= 2
		noise = g
	}
	for i := range steps {
		if err := ev.Sum(ctx, sum, engine.Gradient(w, pairs)); err != nil {
			return nil, err
		}
		for k := range w {
			w[k] -= eta * (sum[k]/float64(pairs.Len()) + p.Spec.L2*w[k])
		}
		noisy := s.HiddenStep
		if i == steps-1 {
			noisy = s.Release
		}
		if err := noisy(w, p.Certificate(), noise); err != nil {
			return nil, err
		}
		engine.ProjectBall(w, problem.Radius)
		for k := range w {
			total[k] += w[k] / float64(steps)
		}
		t.Step(i+1, steps)
	}
	if b.average {
		return total, nil
	}
	return w, nil
}

// batchBug is a descent on batches with one defect.
type batchBug struct {
	algorithms.SubsampledDescent
	leak, reuse, divisor, smaller bool
}

func (b batchBug) Train(ctx context.Context, ev engine.Evaluator, p *algorithms.Plan, s privacy.Session, t algorithms.Tracker) ([]float64, error) {
	problem := ev.Kernel().Problem()
	m, _ := p.Certificate().Batch()
	order := make([]int32, problem.N)
	for i := range order {
		order[i] = int32(i)
	}
	pairs := engine.SubsetPairs{Order: order, N: m}
	count := float64(pairs.Len())
	if b.divisor { // as if every record were in one pair
		count = float64(m)
	}
	w, sum := make([]float64, problem.D), make([]float64, problem.D)
	for i := range p.Schedule.Steps {
		if i == 0 || !b.reuse {
			drawn := m
			if b.smaller {
				drawn = m - 1
			}
			if err := s.Sample(order, drawn); err != nil {
				return nil, err
			}
		}
		if err := ev.Sum(ctx, sum, engine.Gradient(w, pairs)); err != nil {
			return nil, err
		}
		for k := range sum {
			sum[k] /= count
		}
		if err := s.Release(sum, p.Certificate(), p.Noise()); err != nil {
			return nil, err
		}
		for k := range w {
			w[k] -= p.Schedule.Constant * sum[k]
		}
		engine.ProjectBall(w, problem.Radius)
		t.Step(i+1, p.Schedule.Steps)
	}
	if b.leak {
		w[0] += 1e-9 * float64(order[0])
	}
	return w, nil
}

// Defects that break what batches and hidden steps rest on, each of which the replay or
// the session must catch; without a defect the same code passes.
func TestReplayCatchesLostSecrets(t *testing.T) {
	hidden := must.Get(algorithms.ConvergentDescent{Steps: 8, StepSize: 0.3}.Plan(spec(t, 20, 2, 0.5, 0, algorithms.Certified)))(t)
	batches := must.Get(algorithms.SubsampledDescent{Steps: 8, StepSize: 0.3, BatchRecords: 5}.Plan(spec(t, 20, 2, 0.5, 0, algorithms.Certified)))(t)
	for _, c := range []struct {
		name string
		a    algorithms.Algorithm
		p    *algorithms.Plan
		want string // "" passes
	}{
		{"hidden steps", hiddenBug{}, hidden, ""},
		{"average of hidden iterates", hiddenBug{average: true}, hidden, "must stay secret"},
		{"longer steps", hiddenBug{lengthen: true}, hidden, "the certificate allows"},
		{"early stop", hiddenBug{early: true}, hidden, "before its last step"},
		{"half the noise", hiddenBug{half: true}, hidden, "not in the plan"},
		{"batches", batchBug{}, batches, ""},
		{"leaked batch", batchBug{leak: true}, batches, "must stay secret"},
		{"batch used twice", batchBug{reuse: true}, batches, "draw a new batch of the"},
		{"batch of another size", batchBug{smaller: true}, batches, "draw a new batch of the"},
		{"wrong divisor", batchBug{divisor: true}, batches, "certified"},
	} {
		caught, message := 0, ""
		for seed := range uint64(6) {
			data := attack.RandomRecords(20, 2, engine.UnitBounds(), seed)
			near := attack.Neighbours(data, 6, seed)
			if seed == 5 {
				worst, neighbour := attack.WorstCase(20, 2, 3, engine.UnitBounds())
				data, near = worst, []*engine.Records{neighbour}
			}
			if _, err := attack.Replay(c.a, c.p, data, near, seed); err != nil {
				caught++
				message = err.Error()
				var v attack.Violation
				if !errors.As(err, &v) && !errors.Is(err, privacy.ErrUnplanned) {
					t.Errorf("%s: %v", c.name, err)
				}
			}
		}
		switch {
		case c.want == "" && caught > 0:
			t.Errorf("%s: %s", c.name, message)
		case c.want != "" && (caught == 0 || !strings.Contains(message, c.want)):
			t.Errorf("%s: caught %d times, last message %q, want one about %q", c.name, caught, message, c.want)
		}
	}
}

// A pair sample is no option: the kernel of a plan on batches sums over all pairs within
// records and refuses any other pairs.
func TestBatchesOfPairsAreRefused(t *testing.T) {
	p := must.Get(algorithms.SubsampledDescent{Steps: 2, BatchRecords: 5}.Plan(spec(t, 20, 2, 0.5, 0, algorithms.Certified)))(t)
	ev := must.Get(p.Spec.Kernel.Bind(attack.RandomRecords(20, 2, engine.UnitBounds(), 1)))(t)
	defer ev.Close()
	for _, pairs := range []engine.Pairs{engine.AllPairs{N: 20}, engine.PrefixPairs{T: 5}, engine.SubsetPairs{N: 6}} {
		must.ErrDo(t, ev.Sum(context.Background(), make([]float64, 2), engine.Gradient(make([]float64, 2), pairs)), "%T was accepted", pairs)
	}
}

// A loss whose slope is clipped is convex and smooth, so hidden steps contract as the
// certificate says, in both forms. Control: steps that are too long do not.
func TestClippedLossHasHiddenSteps(t *testing.T) {
	sizes.NotShort(t, "slow")
	phi := must.Get(engine.NewExpression("custom", "exp(-u)", engine.ExpressionOptions{Clip: 0.75}))(t)
	losses := []engine.Loss{engine.Score{Of: phi}, engine.Metric{Of: phi}}
	for _, loss := range losses[:sizes.Of(1, 2)] { // the constants of a metric take seconds
		s := specFor(t, loss, 31, 3, 0.5, 0.01, algorithms.Certified, 1e-5)
		if c := s.Constants; c.Origin != engine.Clipped || !c.Convex {
			t.Fatalf("%s: %+v", loss.Name(), c)
		}
		replayCatalog(t, algorithms.ConvergentDescent{Steps: sizes.Of(12, 40)}, loss, algorithms.Certified, 1e-5)
	}
	p := must.Get(algorithms.ConvergentDescent{Steps: 8, StepSize: 0.15}.Plan(specFor(t, engine.Score{Of: phi}, 20, 2, 0.5, 0, algorithms.Certified, 1e-5)))(t)
	data, neighbour := attack.WorstCase(20, 2, 3, engine.UnitBounds())
	for lengthen, want := range map[bool]bool{false: true, true: false} {
		if _, err := attack.Replay(hiddenBug{lengthen: lengthen}, p, data, []*engine.Records{neighbour}, 5); (err == nil) != want {
			t.Errorf("longer steps %v: %v", lengthen, err)
		}
	}
}
