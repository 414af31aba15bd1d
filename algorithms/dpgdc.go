package algorithms

import (
	"fmt"
	"math"

	"dyad/privacy"
)

// DPGDC is output perturbation of the average iterate of full-batch projected
// gradient descent, for convex objectives without an L2 term ([Xue21] Algorithm 4
// and Theorem 4).
//
// Guarantee: Certified mode, (epsilon, delta)-DP for replacing one record, or
// epsilon-DP if delta is 0, by privacy.AverageDescent (docs/theory.md#dpgdc).
type DPGDC struct {
	descends
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
	return Described("dpgdc", Info{Modes: []Mode{Certified, Paper}, PureModes: []Mode{Certified, Paper}, NeedsSmooth: true, Withholds: true})
}

// Plan computes schedule, certificate and noise.
func (a DPGDC) Plan(s Spec) (*Plan, error) {
	if err := checkApplies(a.Info(), s); err != nil {
		return nil, err
	}
	if s.L2 != 0 {
		return nil, fmt.Errorf("%w: dpgdc is for objectives without an L2 term and alpha is %.6g; set it to 0 or use dpgdsc", ErrAssumption, s.L2)
	}
	if err := paperHasNoGroups(a.Info(), s); err != nil {
		return nil, err
	}
	schedule, err := descentOptions{a.Steps, a.StepSize, a.TotalStep}.contracting(a.Info().Name, s)
	if err != nil {
		return nil, err
	}
	schedule.Average = true
	certificate, err := s.averageDescent(schedule.Steps, schedule.Constant, s.Kernel.Problem().Pairs())
	if err != nil {
		return nil, err
	}
	return s.planOutput(a.Info(), schedule, certificate, a.paperNoise(s, schedule.TotalStep), "[Xue21] Theorem 4")
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

// paperHasNoGroups refuses query groups in Paper mode.
func paperHasNoGroups(i Info, s Spec) error {
	if s.Mode == Paper && len(s.Kernel.Problem().Groups) > 0 {
		return fmt.Errorf("%w: the paper's %s has no query groups; use certified mode", ErrAssumption, i.Name)
	}
	return nil
}
