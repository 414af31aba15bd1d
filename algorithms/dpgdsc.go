package algorithms

import (
	"cmp"
	"context"
	"math"

	"dyad/engine"
	"dyad/privacy"
)

// DPGDSC is output perturbation of full-batch projected gradient descent for a
// strongly convex objective ([Xue21] Algorithm 1 and Theorem 1).
//
// Guarantee: Certified mode, (epsilon, delta)-DP for replacing one record, or
// epsilon-DP if delta is 0, by the finite-T certificate of
// privacy.GradientDescent (docs/theory.md#dpgdsc).
type DPGDSC struct {
	// Steps is T. 0 means the public rule: enough steps of the allowed size
	// for TotalStep, at least 32. In Paper mode 0 means ceil((L+alpha)/alpha ln n).
	Steps int
	// StepSize is eta. 0 means TotalStep/Steps, or in Paper mode 2/(L+alpha).
	StepSize float64
	// TotalStep is H = eta T. 0 means the public rule of docs/theory.md#step-length. Ignored if
	// Steps and StepSize are both set, and in Paper mode.
	TotalStep float64
}

// Info describes the algorithm.
func (DPGDSC) Info() Info {
	return Info{
		Name:  "dpgdsc",
		Title: "DP gradient descent, strongly convex: output perturbation of full-batch projected gradient descent",
		Paper: "[Xue21] Algorithm 1, Theorem 1",
		Assumptions: []string{
			"the pair loss is convex, G-Lipschitz and L-smooth on the ball of radius r",
			"alpha > 0 (L2 term)",
			"steps at most 2/(L~+alpha), L~ = L + alpha",
			"data-independent start, last iterate only",
		},
		Released: "last iterate plus noise",
		Claim:    "(epsilon, delta)-DP with sensitivity 8G/(alpha n), classical Gaussian noise; epsilon-DP with Laplace noise if delta = 0",
		Verdict:  "valid for replace-one (epsilon <= 1 proved by the classical formula, checked exactly here for all), at least 2x too much noise, 10^2 to 10^4 times at alpha = 1e-3 because T is finite",
		Maths: `w_t = Pi_C[w_(t-1) - eta (grad L(w_(t-1); D) + alpha w_(t-1))],  t = 1..T,  w_0 = 0
delta_t = c delta_(t-1) + p Dg eta + 2 rho,  p = 2/n the share of the pairs that contain one record,  c = max(|1 - eta alpha|, |1 - eta (L + alpha)|),  at most diam C
(rho = 0, c = 1 - eta alpha:  Delta = (2 Dg/(alpha n)) (1 - (1 - eta alpha)^T), at most 2 Dg eta T/n)
release w_T + N(0, sigma^2 I), sigma = Delta/mu(epsilon, delta), then project
delta = 0: Z of density proportional to exp(-epsilon ||z||/Delta) in place of N(0, sigma^2 I)
paper: sigma = 8 sqrt(2 ln(1.25/delta)) G/(alpha n epsilon), not projected (the projection here is post-processing); delta = 0: Lap(8 G sqrt(d)/(alpha n epsilon)) per coordinate`,
		NeedsSmooth: true,
		Modes:       []Mode{Certified, Paper},
		Withholds:   true,
		DefaultL2:   usualL2,
		PureModes:   []Mode{Certified, Paper},
		NeedsL2:     true,
	}
}

// Plan computes schedule, certificate and noise.
func (a DPGDSC) Plan(s Spec) (*Plan, error) {
	if err := checkApplies(a.Info(), s); err != nil {
		return nil, err
	}
	schedule, err := a.schedule(s)
	if err != nil {
		return nil, err
	}
	pairs := s.Kernel.Problem().Pairs()
	certificate, err := privacy.GradientDescent{
		Curvature:    s.curvature(),
		PairFraction: pairFraction(pairs),
		Steps:        schedule.Steps,
		StepSize:     schedule.Constant,
		UpdateError:  s.updateError(schedule.Constant, pairs),
	}.Certify()
	if err != nil {
		return nil, err
	}
	// [Xue21] Algorithm 1, lines 4 (delta > 0) and 5 (delta = 0), for sensitivity 8G/(alpha n).
	paper := classicalNoise(s, 8*s.Constants.Lipschitz/(s.L2*float64(s.Kernel.Problem().N)))
	return s.planOutput(a.Info(), schedule, certificate, paper, "[Xue21] Theorem 1")
}

// schedule is that of the options, or in Paper mode that of [Xue21] Theorem 1.
func (a DPGDSC) schedule(s Spec) (Schedule, error) {
	o := descentOptions{a.Steps, a.StepSize, a.TotalStep}
	if s.Mode != Paper {
		return o.contracting(a.Info().Name, s)
	}
	o.eta = cmp.Or(o.eta, s.largestStep())
	o.steps = cmp.Or(o.steps, wholeSteps((s.Constants.Smoothness+s.L2)/s.L2*math.Log(float64(s.Kernel.Problem().N))))
	schedule, err := o.contracting(a.Info().Name, s)
	schedule.Name = "paper: eta = 2/(L~+alpha), T = ceil((L~/alpha) ln n)"
	return schedule, err
}

// Train runs the descent and releases the last iterate.
func (DPGDSC) Train(ctx context.Context, ev engine.Evaluator, p *Plan, s privacy.Session, t Tracker) ([]float64, error) {
	return p.trainOutput(ctx, ev, s, t)
}

// releaseProjected releases w with the plan's noise and projects the result,
// which is post-processing.
func releaseProjected(w []float64, p *Plan, s privacy.Session) ([]float64, error) {
	if err := s.Release(w, p.Certificate(), p.Noise()); err != nil {
		return nil, err
	}
	return w, p.Spec.Kernel.Problem().Domain().Project(w, normAbove(w))
}
