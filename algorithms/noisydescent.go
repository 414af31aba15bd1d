package algorithms

import (
	"context"
	"fmt"
	"math"

	"dyad/engine"
	"dyad/privacy"
)

// noisyDescent is projected gradient descent in which every mean gradient is released
// with noise: what GradientPerturbation, DPGDC2 and SubsampledDescent share
// (docs/theory.md#noisy-gradients).
//
//	w_t = Pi_C[w_(t-1) - eta (g(w_(t-1)) + N(0, sigma^2 I) + alpha w_(t-1))]
//
// The noisy gradients are the releases; every iterate, and whatever is returned, is
// computed from them and from public numbers.
type noisyDescent struct {
	name    string
	average bool // return (w_0 + ... + w_T)/(T+1) instead of w_T
	batch   int  // > 0: pairs within so many records, drawn anew for every step
	Optimizer
}

// pairs are those of one step: all pairs, or those within the first records of an
// order that the session draws.
func (d noisyDescent) pairs(p engine.Problem) engine.Pairs {
	if d.batch > 0 {
		return engine.SubsetPairs{N: d.batch}
	}
	return p.Pairs()
}

// certificate is that of one computed mean gradient.
func (d noisyDescent) certificate(s Spec) (privacy.Certificate, error) {
	return s.meanGradient(d.pairs(s.Kernel.Problem()), d.batch)
}

// MeanGradient is the certificate of one computed gradient sum over all pairs, or all pairs
// within query groups, divided by their number (docs/theory.md#mean-gradient): what an
// algorithm that adds noise to every gradient releases.
func (s Spec) MeanGradient() (privacy.Certificate, error) {
	return s.meanGradient(s.Kernel.Problem().Pairs(), 0)
}

func (s Spec) meanGradient(pairs engine.Pairs, batch int) (privacy.Certificate, error) {
	return privacy.MeanGradient{
		Batch:        batch,
		Records:      s.Kernel.Problem().N,
		PairDiameter: s.Constants.PairDiameter,
		PairFraction: pairFraction(pairs),
		Error:        s.meanGradientError(pairs),
	}.Certify()
}

// meanGradientError bounds the error of a gradient sum over pairs divided by their
// number, or half of its change when one record is replaced (engine.QueryBounds.Neighbour).
//
// Proof. The computed sum over the number of pairs, as an exact quotient, is off by
// at most meanRoundoff, and its norm is at most G plus that. Conversion of the number
// and the division are two roundings, at most 2 u of the norm and a term for
// underflow. Half of the change of a sum of errors is at most half of the change of the
// first plus the bound of the others. QED
func (s Spec) meanGradientError(pairs engine.Pairs) float64 {
	b, count := s.Kernel.Bounds(engine.Query{Pairs: pairs}), float64(pairs.Len())
	mean, own := b.Sum/count, b.OneRecord()/count
	return (own + 0x1p-52*(s.Constants.Lipschitz+mean) + 0x1p-1000*float64(s.coordinates())) * (1 + 0x1p-40)
}

// plan fills in a plan with the given schedule and noise for T = schedule.Steps
// releases.
func (d noisyDescent) plan(s Spec, schedule Schedule, c privacy.Certificate, noise privacy.Gaussian, theorem string) (*Plan, error) {
	schedule.Average = d.average
	if err := noise.Validate(); err != nil {
		return nil, err
	}
	// Independent noise of every step, carried to the end: it is a random walk. In
	// the average of w_0..w_T, step t counts (T+1-t)/(T+1).
	steps := float64(schedule.Steps)
	_, walk := d.rates(schedule.Steps)
	if d.average {
		walk = steps * (2*steps + 1) / (6 * (steps + 1))
	}
	p := &Plan{
		Algorithm: d.name, Mode: s.Mode, Spec: s, Schedule: schedule,
		Work:       Work{}.Sum(schedule.Steps, d.pairs(s.Kernel.Problem())),
		ModelNoise: schedule.Constant * noise.NoiseNorm(s.coordinates()) * math.Sqrt(walk),
	}
	switch {
	case d.Update == adam:
		p.ModelNoise = math.Inf(1) // adam divides by numbers that are released
	case d.Optimizer == (Optimizer{}):
		p.Utility = s.noisyUtility(schedule.Steps, schedule.Constant, noise.NoiseNorm(s.coordinates()), d.average)
	}
	return p, p.account(theorem, s.release(c, noise, schedule.Steps))
}

// train runs the descent. Only released gradients enter the iterates.
func (d noisyDescent) train(ctx context.Context, ev engine.Evaluator, p *Plan, s privacy.Session, t Tracker) ([]float64, error) {
	problem := ev.Kernel().Problem()
	pairs, domain := d.pairs(problem), problem.Domain()
	var order []int32
	if d.batch > 0 {
		order = make([]int32, problem.N)
		for i := range order {
			order[i] = int32(i)
		}
		pairs = engine.SubsetPairs{Order: order, N: d.batch}
	}
	w := domain.Start()
	gradient, total := make([]float64, len(w)), make([]float64, len(w))
	if d.average {
		copy(total, w)
	}
	count := float64(pairs.Len())
	o, from := d.Optimizer.start(len(w), p.Noise()), d.tailStart(p.Schedule.Steps)
	state := append([][]float64{w, total}, o.vectors()...)
	done, err := t.Restore(nil, state...)
	if err != nil {
		return nil, err
	}
	for i := done; i < p.Schedule.Steps; i++ {
		if d.batch > 0 {
			if err := s.Sample(order, d.batch); err != nil {
				return nil, err
			}
		}
		if err := ev.Sum(ctx, gradient, engine.Gradient(w, pairs)); err != nil {
			return nil, err
		}
		for k := range gradient {
			gradient[k] /= count
		}
		if err := s.Release(gradient, p.Certificate(), p.Noise()); err != nil {
			return nil, err
		}
		for k := range w {
			gradient[k] += p.Spec.L2 * w[k]
		}
		o.apply(gradient, i+1)
		eta := p.Schedule.Constant * o.rate(i+1, p.Schedule.Steps)
		for k := range w {
			w[k] -= eta * gradient[k]
		}
		if err := domain.Project(w, normAbove(w)); err != nil {
			return nil, err
		}
		if d.average || i+1 >= from {
			for k := range total {
				total[k] += w[k]
			}
		}
		t.Keep(i+1, nil, state...)
		t.Step(i+1, p.Schedule.Steps)
	}
	size := p.Schedule.Steps + 1 - from
	switch {
	case d.average:
		size = p.Schedule.Steps + 1 // with the start
	case size == 0:
		return w, nil
	}
	for k := range total {
		total[k] /= float64(size)
	}
	return total, domain.Project(total, normAbove(total))
}

// normAbove is the Euclidean norm rounded up.
func normAbove(w []float64) float64 {
	var square float64
	for _, v := range w {
		square += v * v
	}
	return math.Sqrt(square) * (1 + 0x1p-40)
}

// descentOptions are the step options of a full-batch descent; 0 means the public
// rule.
type descentOptions struct {
	steps int     `within:"[0,)" called:"number of steps"`
	eta   float64 `within:"[0,)" called:"step size"`
	total float64 `within:"[0,)" called:"total step"`
}

func (o descentOptions) validate(name string) error {
	if err := ranged(name, o); err != nil {
		return err
	}
	return checkSteps(name, o.steps)
}

// smallestDescentSteps is the least number of steps by the public rule.
const smallestDescentSteps = 32

// roughSteps is the number of steps by the public rule for a loss that is not smooth.
const roughSteps = 1000

// schedule is a constant step size by the options, or by the public rule: total step
// publicTotalStep, in steps of at most 2/(L~+alpha) and at least 32 of them.
//
// The rule is that of output perturbation. The noise that T noisy steps of total
// length H carry into the last iterate is eta sigma sqrt(T d) with sigma = p Dg
// sqrt(T)/mu, so H p Dg sqrt(d)/mu: the same as that of one release of the last
// iterate, whatever T is.
func (o descentOptions) schedule(name string, s Spec) (Schedule, error) {
	if err := o.validate(name); err != nil {
		return Schedule{}, err
	}
	steps, eta, rule := o.steps, o.eta, "given steps and step size"
	if steps == 0 || eta == 0 {
		total := o.total
		rule = "given total step"
		if total == 0 {
			total = publicTotalStep(s)
			rule = "public rule " + totalStepRule(s)
		}
		limit := s.largestStep() // 0 if the loss is not smooth
		if steps == 0 {
			switch {
			case eta > 0:
				steps = wholeSteps(math.Round(total / eta))
			case limit > 0:
				steps = max(smallestDescentSteps, wholeSteps(total/limit))
			default:
				steps = roughSteps
			}
		}
		if eta == 0 {
			eta = total / float64(steps)
			if limit > 0 {
				eta = min(eta, limit)
			}
		}
	}
	return Schedule{Name: rule, Steps: steps, Constant: eta, TotalStep: eta * float64(steps)}, checkSteps(name, steps)
}

// contracting is schedule for an algorithm whose certificate holds for steps of at most
// 2/(L~+alpha).
func (o descentOptions) contracting(name string, s Spec) (Schedule, error) {
	schedule, err := o.schedule(name, s)
	if limit := s.largestStep(); err == nil && !(schedule.Constant <= limit) {
		err = fmt.Errorf("%w: %s: step size %.6g exceeds 2/(L~+alpha) = %.6g (L~ = L + alpha, L = %.6g, alpha = %.6g); use a smaller one", ErrAssumption, name, schedule.Constant, limit, s.Constants.Smoothness, s.L2)
	}
	return schedule, err
}
