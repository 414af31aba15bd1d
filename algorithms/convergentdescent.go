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
	// StepSize is eta, at most 2/(L~+alpha). If it is 0, the same public rule applies.
	StepSize float64
	// TotalStep is H = eta T. If it is 0, the same public rule applies. It is ignored if Steps and StepSize are
	// both set.
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
	p.Guarantee.Derivation += fmt.Sprintf("; %d steps that could all be seen would need sigma = %.6g",
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
		return c, privacy.Gaussian{}, fmt.Errorf("%w: convergent-descent: noise of %.3g a step is too small for steps of "+
			"%.3g for a state on a grid; lower epsilon", ErrAssumption, sigma, state.reach(schedule.Constant))
	}
	l.UpdateError = state.roundoff(schedule.Constant)
	if c, err = l.Certify(); err != nil {
		return c, privacy.Gaussian{}, err
	}
	noise, err := privacy.CalibrateGaussian(c, s.Budget, 1)
	return c, noise, err
}

// hiddenState is one update u -> Q[w - eta (sum/pairs + alpha w)] with w = Pi_C u, without the rounding Q.
type hiddenState struct {
	update
	dim          int
	room         float64 // project clips the coordinates of u to [-room, room]
	meanRoundoff float64
}

// newHiddenState returns the update of a plan's objective. Its room exceeds the reach of a step by 64 standard
// deviations of the noise, so that clipping to it has no effect in practice.
func (s Spec) newHiddenState(eta, grid float64) hiddenState {
	problem := s.Kernel.Problem()
	mean := meanRoundoff(s.Kernel, problem.Pairs())
	u := s.newUpdate(mean)
	return hiddenState{update: u, dim: problem.Loss.ParamDim(problem.D), room: u.reach(eta) + 64*0x1p29*grid,
		meanRoundoff: mean}
}

// project replaces u by its projection onto the cube |u_k| <= room and then onto C. Both projections are onto
// convex sets, and C is in the cube. So neither projection expands distances, and the first one is exact.
func (h hiddenState) project(u []float64) error {
	for k, v := range u {
		u[k] = max(-h.room, min(v, h.room))
	}
	return h.domain.Project(u, h.norm(len(u)))
}

func (h hiddenState) norm(coordinates int) float64 {
	return h.room * math.Sqrt(float64(coordinates)) * (1 + 0x1p-40)
}

// step replaces w in C by w - eta (sum/pairs + alpha w).
func (h hiddenState) step(w, sum []float64, eta, pairs float64) {
	inverse := 1 / pairs
	for k := range w {
		w[k] -= eta * (sum[k]*inverse + h.alpha*w[k])
	}
}

// roundoff bounds, for every data set and every state, the distance between the results of the computed and the
// exact project and step.
//
// Proof. The computed projection is in C and within ProjectError of the exact projection. An exact step does
// not expand this distance. The computed step differs from an exact step from the same point by the bound of
// update.roundoff without its projection, plus eta times the error of the mean gradient. QED
func (h hiddenState) roundoff(eta float64) float64 {
	projection := h.domain.ProjectError(h.norm(h.dim))
	return (projection + 7*0x1p-53*h.reach(eta) + eta*h.meanRoundoff) * (1 + 0x1p-40)
}
