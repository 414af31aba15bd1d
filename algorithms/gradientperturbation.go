package algorithms

import ()

// GradientPerturbation is full-batch noisy gradient descent, last iterate ([Kang21]
// Algorithm 1). It needs neither convexity nor smoothness.
//
// Guarantee: Certified mode, (epsilon, delta)-DP for replacing one record, by
// privacy.MeanGradient and the exact composition of T Gaussian releases
// (docs/theory.md#gradient-perturbation). It covers every iterate, not only the last.
type GradientPerturbation struct {
	descends
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
	return Described("gradient-perturbation", Info{Modes: []Mode{Certified}, DefaultL2: usualL2, Withholds: true})
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
	return descent{noise: onGradients, Optimizer: a.Optimizer}.planGradients(a.Info(), s, schedule)
}
