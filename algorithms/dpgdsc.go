package algorithms

import (
	"cmp"
	"math"
)

// DPGDSC is output perturbation of full-batch projected gradient descent for a
// strongly convex objective ([Xue21] Algorithm 1 and Theorem 1).
//
// In Certified mode the algorithm is (epsilon, delta)-DP for replacing one record, or epsilon-DP if delta is 0.
// The certificate is privacy.GradientDescent for finite T (docs/theory.md#dpgdsc).
type DPGDSC struct {
	descends
	// Steps is the number of steps T. If it is 0, the public rule applies: T is large enough to reach TotalStep
	// with steps of the allowed size, and at least 32. In Paper mode 0 means ceil((L+alpha)/alpha ln n).
	Steps int
	// StepSize is eta. If it is 0, eta is TotalStep/Steps, or 2/(L+alpha) in Paper mode.
	StepSize float64
	// TotalStep is H = eta T. If it is 0, the public rule of docs/theory.md#step-length applies. It is ignored
	// in Paper mode, and if Steps and StepSize are both set.
	TotalStep float64
}

// Info describes the algorithm.
func (DPGDSC) Info() Info {
	return Described("dpgdsc", Info{Modes: []Mode{Certified, Paper}, PureModes: []Mode{Certified, Paper}, NeedsL2: true,
		DefaultL2: usualL2, NeedsSmooth: true, Withholds: true})
}

// Plan computes the schedule, the certificate and the noise.
func (a DPGDSC) Plan(s Spec) (*Plan, error) {
	if err := checkApplies(a.Info(), s); err != nil {
		return nil, err
	}
	schedule, err := a.schedule(s)
	if err != nil {
		return nil, err
	}
	// paper is the noise of [Xue21] Algorithm 1, line 4 for delta > 0 and line 5 for delta = 0, for the
	// sensitivity 8G/(alpha n).
	paper := classicalNoise(s, 8*s.Constants.Lipschitz/(s.L2*float64(s.Kernel.Problem().N)))
	return descent{}.planOutput(a.Info(), s, schedule,
		s.gradientDescent(schedule.Steps, schedule.Constant, s.Kernel.Problem().Pairs()), paper, "[Xue21] Theorem 1")
}

// schedule returns the schedule of the options. In Paper mode [Xue21] Theorem 1 gives the numbers that the
// options leave out.
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
