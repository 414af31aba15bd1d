package algorithms

import ()

// GradientPerturbation is full-batch noisy gradient descent that returns the last iterate ([Kang21] Algorithm
// 1). It needs neither convexity nor smoothness.
//
// In Certified mode the algorithm is (epsilon, delta)-DP for replacing one record. The guarantee follows from
// privacy.MeanGradient and the exact composition of T Gaussian releases (docs/theory.md#gradient-perturbation).
// It covers every iterate, not only the last one.
type GradientPerturbation struct {
	descends
	// Steps is the number of steps T. If it is 0, the public rule applies: T is large enough to reach TotalStep
	// with steps of at most 2/(L~+alpha), and at least 32. If the loss is not smooth, 0 means 1000.
	Steps int
	// StepSize is eta. Privacy holds for any value. If it is 0, eta is TotalStep/Steps, but at most
	// 2/(L~+alpha) if the loss is smooth.
	StepSize float64
	// TotalStep is H = eta T. If it is 0, the public rule of docs/theory.md#step-length applies. This rule
	// balances progress and noise, as for output perturbation. TotalStep is ignored if Steps and StepSize are
	// both set.
	TotalStep float64
	Optimizer `options:"Update Momentum Decay Tail"`
}

// Info describes the algorithm.
func (GradientPerturbation) Info() Info {
	return Described("gradient-perturbation", Info{Modes: []Mode{Certified}, DefaultL2: usualL2, Withholds: true})
}

// Plan computes the schedule, the certificate and the noise.
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
