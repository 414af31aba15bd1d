package algorithms

import (
	"context"

	"dyad/engine"
	"dyad/privacy"
)

// GradientPerturbation is full-batch noisy gradient descent, last iterate ([Kang21]
// Algorithm 1). It needs neither convexity nor smoothness.
//
// Guarantee: Certified mode, (epsilon, delta)-DP for replacing one record, by
// privacy.MeanGradient and the exact composition of T Gaussian releases
// (docs/theory.md#gradient-perturbation). It covers every iterate, not only the last.
type GradientPerturbation struct {
	// Steps is T. 0 means the public rule: enough steps of at most 2/(L~+alpha) for
	// TotalStep, at least 32; 1000 if the loss is not smooth.
	Steps int
	// StepSize is eta; privacy holds for any. 0 means TotalStep/Steps, at most
	// 2/(L~+alpha) if the loss is smooth.
	StepSize float64
	// TotalStep is H = eta T. 0 means the public rule of docs/theory.md#step-length, whose balance of
	// progress and noise is the same here. Ignored if Steps and StepSize are both set.
	TotalStep float64
	Optimizer `options:"Update Momentum Decay Tail"`
}

// Info describes the algorithm.
func (GradientPerturbation) Info() Info {
	return Info{
		Name:    "gradient-perturbation",
		NoPaper: "the variance in [Kang21] Theorem 1 has an unspecified constant (it rests on the moments accountant's \"there are constants c1, c2\"), so there is no noise to reproduce",
		Title:   "noisy gradient descent: every full-batch gradient with Gaussian noise, convex or not",
		Paper:   "[Kang21] Algorithm 1, Theorem 1",
		Assumptions: []string{
			"the pair gradients have replace-one diameter Dg on the ball of radius r (at most 2G for a G-Lipschitz loss); no convexity, no smoothness",
			"data-independent start",
		},
		Released: "every noisy gradient, so every iterate; the last is returned",
		Claim:    "(epsilon, delta)-DP by the moments accountant with a constant that the paper does not give",
		Verdict:  "the idea is valid; the constant is asymptotic, so there is no paper mode. Certified mode composes the T releases exactly",
		Maths: `w_t = Pi_C[w_(t-1) - eta (g_t + alpha w_(t-1))],  g_t = grad L(w_(t-1); D) + N(0, sigma^2 I),  t = 1..T
given g_1..g_(t-1), a mean gradient moves by Delta = p Dg + 2 rho,  p = 2/n the share of the pairs that contain one record
sigma = Delta sqrt(T)/mu(epsilon, delta):  mu^2 = sum_t (Delta/sigma)^2, exact for Gaussian noise
w_t is post-processing of g_1..g_t; return w_T`,
		Modes:     []Mode{Certified},
		Withholds: true,
		DefaultL2: usualL2,
	}
}

func (a GradientPerturbation) descent() noisyDescent {
	return noisyDescent{name: a.Info().Name, Optimizer: a.Optimizer}
}

// Plan computes schedule, certificate and noise.
func (a GradientPerturbation) Plan(s Spec) (*Plan, error) {
	if err := checkApplies(a.Info(), s); err != nil {
		return nil, err
	}
	schedule, err := a.Optimizer.schedule(a.Info().Name, descentOptions{a.Steps, a.StepSize, a.TotalStep}, s)
	if err != nil {
		return nil, err
	}
	c, err := a.descent().certificate(s)
	if err != nil {
		return nil, err
	}
	noise, err := privacy.CalibrateGaussian(c, s.Budget, schedule.Steps)
	if err != nil {
		return nil, err
	}
	return a.descent().plan(s, schedule, c, noise, "")
}

// Train runs the descent and returns its last iterate, or the mean of the last ones (Optimizer.Tail).
func (a GradientPerturbation) Train(ctx context.Context, ev engine.Evaluator, p *Plan, s privacy.Session, t Tracker) ([]float64, error) {
	return a.descent().train(ctx, ev, p, s, t)
}
