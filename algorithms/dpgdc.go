package algorithms

import (
	"context"
	"math"

	"dyad/engine"
	"dyad/privacy"
)

// DPGDC is output perturbation of the average iterate of full-batch projected
// gradient descent, for convex objectives without an L2 term ([Xue21] Algorithm 4
// and Theorem 4).
//
// Guarantee: Certified mode, (epsilon, delta)-DP for replacing one record, or
// epsilon-DP if delta is 0, by privacy.AverageDescent (docs/theory.md#dpgdc).
type DPGDC struct {
	// Steps is T. 0 means the public rule: enough steps of at most 2/L for TotalStep, at
	// least 32. The paper gives no T; Paper mode uses the same rule.
	Steps int
	// StepSize is eta <= 2/L. 0 means TotalStep/Steps, at most 2/L.
	StepSize float64
	// TotalStep is H = eta T. 0 means the public rule of docs/theory.md#step-length. Ignored if Steps
	// and StepSize are both set.
	TotalStep float64
}

// Info describes the algorithm.
func (DPGDC) Info() Info {
	return Info{
		Name:  "dpgdc",
		NoL2:  map[Mode]string{Certified: "dpgdsc", Paper: "dpgdsc", NonPrivate: "dpgdsc"},
		Title: "DP gradient descent, convex: output perturbation of the average iterate",
		Paper: "[Xue21] Algorithm 4, Lemma 7, Theorem 4",
		Assumptions: []string{
			"the pair loss is convex, G-Lipschitz and L-smooth on the ball of radius r",
			"no L2 term (alpha = 0)",
			"steps at most 2/L",
			"data-independent start",
		},
		Released: "average of w_1..w_T plus noise",
		Claim:    "(epsilon, delta)-DP with sensitivity 4 G eta T/n, classical Gaussian noise; epsilon-DP with Laplace noise if delta = 0",
		Verdict:  "valid, about 2x too much noise in sensitivity alone; line 6 of the pseudo-code returns the average without the Laplace noise that it defines, which would be no privacy: here the noise is added",
		Maths: `w_t = Pi_C[w_(t-1) - eta grad L(w_(t-1); D)],  t = 1..T,  w_0 public
delta_t = c delta_(t-1) + p Dg eta + 2 rho,  p = 2/n the share of the pairs that contain one record,  c = max(1, |1 - eta L|) = 1,  at most diam C
Delta = (delta_1 + ... + delta_T)/T  (rho = 0: Dg eta (T+1)/n)
release (w_1 + ... + w_T)/T + N(0, sigma^2 I), sigma = Delta/mu(epsilon, delta), then project
delta = 0: Z of density proportional to exp(-epsilon ||z||/Delta) in place of N(0, sigma^2 I)
paper: sigma = 4 sqrt(2 ln(1.25/delta)) G eta T/(n epsilon), not projected (the projection here is post-processing); delta = 0: Lap(4 G eta T sqrt(d)/(n epsilon)) per coordinate`,
		NeedsSmooth: true,
		Modes:       []Mode{Certified, Paper},
		Withholds:   true,
		PureModes:   []Mode{Certified, Paper},
	}
}

// Plan computes schedule, certificate and noise.
func (a DPGDC) Plan(s Spec) (*Plan, error) {
	if err := checkApplies(a.Info(), s); err != nil {
		return nil, err
	}
	schedule, err := descentOptions{a.Steps, a.StepSize, a.TotalStep}.contracting(a.Info().Name, s)
	if err != nil {
		return nil, err
	}
	schedule.Average = true
	certificate, err := s.averageDescent(schedule.Steps, schedule.Constant, s.Kernel.Problem().Pairs(), s.Kernel)
	if err != nil {
		return nil, err
	}
	return s.planOutput(a.Info(), schedule, certificate, a.paperNoise(s, schedule.TotalStep), "[Xue21] Theorem 4")
}

// planOutput plans a descent over all pairs whose last or average iterate is released.
func (s Spec) planOutput(i Info, schedule Schedule, c privacy.Certificate, paper privacy.Mechanism, theorem string) (*Plan, error) {
	p := &Plan{
		Algorithm: i.Name, Mode: s.Mode, Spec: s,
		Schedule: schedule,
		Work:     Work{}.Sum(schedule.Steps, s.Kernel.Problem().Pairs()),
	}
	if err := p.releasePlan(c, paper, theorem); err != nil {
		return nil, err
	}
	p.Utility = s.outputUtility(s.descentUtility(schedule.Steps, schedule.Constant, schedule.Average), p.modelNoise())
	return p, nil
}

// averageDescent certifies the average iterate of a descent over pairs.
func (s Spec) averageDescent(steps int, eta float64, pairs engine.Pairs, k engine.Kernel) (privacy.Certificate, error) {
	mean := meanRoundoff(k, pairs)
	return privacy.AverageDescent{
		GradientDescent: privacy.GradientDescent{
			Curvature:    s.curvature(),
			PairFraction: pairFraction(pairs),
			Steps:        steps,
			StepSize:     eta,
			UpdateError:  eta*mean + s.newUpdate(mean).roundoff(eta),
		},
		OutputError: averageError(steps, s.Kernel.Problem().Radius),
	}.Certify()
}

// paperNoise is the noise of [Xue21] Algorithm 4 for sensitivity 4 G eta T/n: lines 5
// (delta > 0) and 6 (delta = 0, where "+ zeta" is missing in print).
func (DPGDC) paperNoise(s Spec, total float64) privacy.Mechanism {
	return classicalNoise(s, 4*s.Constants.Lipschitz*total/float64(s.Kernel.Problem().N))
}

// classicalNoise is the noise of the papers for an L2 sensitivity: Gaussian of
// standard deviation sqrt(2 ln(1.25/delta)) sensitivity/epsilon, or for delta = 0
// Laplace of scale sqrt(d) sensitivity/epsilon per coordinate.
func classicalNoise(s Spec, sensitivity float64) privacy.Mechanism {
	if s.Budget.Delta > 0 {
		return privacy.Gaussian{Sigma: math.Sqrt(2*math.Log(1.25/s.Budget.Delta)) * sensitivity / s.Budget.Epsilon}
	}
	d := s.coordinates()
	return privacy.Laplace{Scale: sensitivity * math.Sqrt(float64(d)) / s.Budget.Epsilon, Coordinates: d}
}

// Train runs the descent and releases the average iterate.
func (DPGDC) Train(ctx context.Context, ev engine.Evaluator, p *Plan, s privacy.Session, t Tracker) ([]float64, error) {
	return p.trainOutput(ctx, ev, s, t)
}

// trainOutput runs what planOutput plans.
func (p *Plan) trainOutput(ctx context.Context, ev engine.Evaluator, s privacy.Session, t Tracker) ([]float64, error) {
	pairs := ev.Kernel().Problem().Pairs()
	w := ev.Kernel().Problem().Domain().Start()
	state, out := [][]float64{w}, w
	var average []float64
	if p.Schedule.Average {
		average = make([]float64, len(w))
		state, out = append(state, average), average
	}
	from, err := t.Restore(nil, state...)
	if err != nil {
		return nil, err
	}
	err = p.Spec.descend(ctx, ev, w, average, pairs, from, p.Schedule.Steps, p.Schedule.Constant, func(i int) {
		t.Keep(i, nil, state...)
		t.Step(i, p.Schedule.Steps)
	})
	if err != nil {
		return nil, err
	}
	return releaseProjected(out, p, s)
}

// descend runs steps from+1 to steps of gradient descent over pairs from w, in place. It adds the iterates to average, unless
// that is nil, which holds the sum of those before, and at the end divides by steps; the average is still exact. It calls done
// after every step.
func (s Spec) descend(ctx context.Context, ev engine.Evaluator, w, average []float64, pairs engine.Pairs, from, steps int, eta float64, done func(steps int)) error {
	u := s.newUpdate(meanRoundoff(s.Kernel, pairs))
	sum := make([]float64, len(w))
	for i := from; i < steps; i++ {
		if err := ev.Sum(ctx, sum, engine.Gradient(w, pairs)); err != nil {
			return err
		}
		if err := u.apply(w, sum, eta, float64(pairs.Len())); err != nil {
			return err
		}
		for k := range average {
			average[k] += w[k]
		}
		done(i + 1)
	}
	for k := range average {
		average[k] /= float64(steps)
	}
	return nil
}
