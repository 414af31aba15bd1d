package algorithms

import (
	"math"

	"dyad/privacy"
)

// DPGDC is output perturbation of the average iterate of full-batch projected
// gradient descent, for convex objectives without an L2 term ([Xue21] Algorithm 4
// and Theorem 4).
//
// In Certified mode the algorithm is (epsilon, delta)-DP for replacing one record, or epsilon-DP if delta is 0.
// The certificate is privacy.AverageDescent (docs/theory.md#dpgdc).
type DPGDC struct {
	descends
	// Steps is the number of steps T. If it is 0, the public rule applies: T is large enough to reach TotalStep
	// with steps of at most 2/L, and at least 32. The paper gives no T, so Paper mode uses the same rule.
	Steps int
	// StepSize is eta <= 2/L. If it is 0, eta is TotalStep/Steps, but at most 2/L.
	StepSize float64
	// TotalStep is H = eta T. If it is 0, the public rule of docs/theory.md#step-length applies. It is ignored
	// if Steps and StepSize are both set.
	TotalStep float64
}

// Info describes the algorithm.
func (DPGDC) Info() Info {
	return Described("dpgdc", Info{Modes: []Mode{Certified, Paper}, PureModes: []Mode{Certified, Paper}, NeedsSmooth: true,
		Withholds: true})
}

// Plan computes the schedule, the certificate and the noise.
func (a DPGDC) Plan(s Spec) (*Plan, error) {
	if err := checkApplies(a.Info(), s); err != nil {
		return nil, err
	}
	schedule, err := descentOptions{a.Steps, a.StepSize, a.TotalStep}.contracting(a.Info().Name, s)
	if err != nil {
		return nil, err
	}
	schedule.Average = true
	// paper is the noise of [Xue21] Algorithm 4, line 5 for delta > 0 and line 6 for delta = 0 (where "+ zeta" is
	// missing in print), for the sensitivity 4 G eta T/n.
	paper := classicalNoise(s, 4*s.Constants.Lipschitz*schedule.TotalStep/float64(s.Kernel.Problem().N))
	return descent{}.planOutput(a.Info(), s, schedule,
		s.averageDescent(schedule.Steps, schedule.Constant, s.Kernel.Problem().Pairs()), paper, "[Xue21] Theorem 4")
}

// classicalNoise returns the noise of the papers for an L2 sensitivity. For delta > 0 it is Gaussian with
// standard deviation sqrt(2 ln(1.25/delta)) sensitivity/epsilon. For delta = 0 it is Laplace of scale sqrt(d)
// sensitivity/epsilon per coordinate.
func classicalNoise(s Spec, sensitivity float64) privacy.Mechanism {
	if s.Budget.Delta > 0 {
		return privacy.Gaussian{Sigma: math.Sqrt(2*math.Log(1.25/s.Budget.Delta)) * sensitivity / s.Budget.Epsilon}
	}
	d := s.coordinates()
	return privacy.Laplace{Scale: sensitivity * math.Sqrt(float64(d)) / s.Budget.Epsilon, Coordinates: d}
}
