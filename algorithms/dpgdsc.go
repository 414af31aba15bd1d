package algorithms

import (
	"cmp"
	"math"
)

// DPGDSC is output perturbation of full-batch projected gradient descent for a
// strongly convex objective ([Xue21] Algorithm 1 and Theorem 1).
//
// Guarantee: Certified mode, (epsilon, delta)-DP for replacing one record, or
// epsilon-DP if delta is 0, by the finite-T certificate of
// privacy.GradientDescent (docs/theory.md#dpgdsc).
type DPGDSC struct {
	descends
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
	return Described("dpgdsc", Info{Modes: []Mode{Certified, Paper}, PureModes: []Mode{Certified, Paper}, NeedsL2: true, DefaultL2: usualL2, NeedsSmooth: true, Withholds: true})
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
	// [Xue21] Algorithm 1, lines 4 (delta > 0) and 5 (delta = 0), for sensitivity 8G/(alpha n).
	paper := classicalNoise(s, 8*s.Constants.Lipschitz/(s.L2*float64(s.Kernel.Problem().N)))
	return descent{}.planOutput(a.Info(), s, schedule, s.gradientDescent(schedule.Steps, schedule.Constant, s.Kernel.Problem().Pairs()), paper, "[Xue21] Theorem 1")
}

// schedule follows the options, or in Paper mode [Xue21] Theorem 1.
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
