package algorithms

import (
	"fmt"
	"math"

	"dyad/privacy"
	"dyad/privacy/account"
)

// ConvergentDescent is noisy projected gradient descent that keeps all iterates secret except the last
// ([Bok24]; docs/theory.md#convergent-descent). It is DPGDC2 without the average. After about 4 diam(C)/(eta
// Delta) steps, further steps cost no privacy.
//
// In Certified mode the algorithm is (epsilon, delta)-DP for replacing one record. The certificate is
// privacy.LastIterate. The state is rounded to a grid before noise is added. Without this rounding the theorem
// fails in floating point.
//
// The theorem needs gradients of one convex smooth function. A loss with a clipped slope has such gradients.
// Proof: phi' does not decrease and is Lipschitz on every margin that a state can have, since each state is
// projected before its gradient is taken and these margins are the margins of Constants. Then clamp(phi') does
// not decrease either and has the same Lipschitz constant. So its integral is a convex smooth phi, and every
// clipped pair gradient is a gradient of this phi (docs/theory.md#clipping). Clipping sums over several pairs
// would break the argument; engine.ExpressionOptions clips pairs only.
type ConvergentDescent struct {
	descends
	// Steps is the number of steps T. If it is 0, the public rule of GradientPerturbation applies.
	Steps int
	// StepSize is eta, at most 2/(L~+alpha). If it is 0, eta is TotalStep/Steps, but at most 2/(L~+alpha).
	StepSize float64
	// TotalStep is H = eta T. If it is 0, the public rule of docs/theory.md#step-length applies. It is ignored
	// if Steps and StepSize are both set.
	TotalStep float64
}

// Info describes the algorithm.
func (ConvergentDescent) Info() Info {
	return Described("convergent-descent", Info{Modes: []Mode{Certified}, DefaultL2: usualL2, NeedsSmooth: true,
		Withholds: true})
}

// Plan computes the schedule, the certificate and the noise.
func (a ConvergentDescent) Plan(s Spec) (*Plan, error) {
	name := a.Info().Name
	if err := checkApplies(a.Info(), s); err != nil {
		return nil, err
	}
	schedule, err := descentOptions{a.Steps, a.StepSize, a.TotalStep}.contracting(name, s)
	if err != nil {
		return nil, err
	}
	c, noise, err := a.noise(s, schedule)
	if err != nil {
		return nil, err
	}
	steps := float64(schedule.Steps)
	p := descent{noise: onHidden}.newPlan(a.Info(), s, schedule)
	p.ModelNoise = noise.NoiseNorm(s.coordinates()) * math.Sqrt(contractedSteps(1-schedule.Constant*s.L2, steps))
	if err := p.account("", s.release(c, noise, 1)); err != nil {
		return nil, err
	}
	p.Guarantee.Assumptions = append(p.Guarantee.Assumptions, "the iterates before the last stay secret")
	composed, err := s.MeanGradient()
	if err != nil {
		return nil, err
	}
	full := schedule.Constant * composed.Sensitivity() * math.Sqrt(steps) / account.GDPMu(s.Budget.Epsilon, s.Budget.Delta)
	p.Guarantee.Derivation += fmt.Sprintf("; if all %d steps were released, sigma would be %.6g",
		schedule.Steps, full)
	return p, nil
}

// contractedSteps returns 1 + c^2 + ... + c^(2(T-1)), the factor by which the noise variance of one step grows
// over T steps that contract by c.
func contractedSteps(c, steps float64) float64 {
	if c2 := c * c; c2 < 1 {
		return -math.Expm1(steps*math.Log(c2)) / (1 - c2)
	}
	return steps
}

// noise certifies the schedule on the grid that belongs to the calibrated noise. The grid and the room for the
// state are computed from the noise that exact arithmetic would need.
func (a ConvergentDescent) noise(s Spec, schedule Schedule) (privacy.Certificate, privacy.Gaussian, error) {
	pairs := s.Kernel.Problem().Pairs()
	l := privacy.LastIterate{
		Curvature:    s.curvature(),
		PairFraction: pairFraction(pairs),
		Steps:        schedule.Steps,
		StepSize:     schedule.Constant,
		Coordinates:  s.coordinates(),
		Grid:         0x1p-1000, // negligible
	}
	c, err := l.Certify()
	if err != nil {
		return c, privacy.Gaussian{}, err
	}
	sigma := c.ExactSensitivity() / account.GDPMu(s.Budget.Epsilon, s.Budget.Delta)
	l.Grid = privacy.GridFor(sigma)
	state := s.newHiddenState(schedule.Constant, l.Grid)
	if !(state.room <= 0x1p53*l.Grid) {
		return c, privacy.Gaussian{}, Refused("convergent-descent", ": noise of %.3g per step is too small for "+
			"numbers up to %.3g; lower epsilon to get more noise", sigma, state.reach(schedule.Constant))
	}
	l.UpdateError = state.roundoff(schedule.Constant)
	if c, err = l.Certify(); err != nil {
		return c, privacy.Gaussian{}, err
	}
	noise, err := privacy.CalibrateGaussian(c, s.Budget, 1)
	return c, noise, err
}
