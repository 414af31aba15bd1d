package algorithms

import (
	"context"
	"fmt"
	"math"

	"dyad/engine"
	"dyad/privacy"
	"dyad/privacy/account"
)

// ConvergentDescent is noisy projected gradient descent whose iterates stay secret but
// for the last ([Bok24]; docs/theory.md#convergent-descent). It is DPGDC2 without the average: after
// about 4 diam(C)/(eta Delta) steps more of them cost no privacy.
//
// Guarantee: Certified mode, (epsilon, delta)-DP for replacing one record, by
// privacy.LastIterate. The state is rounded to a grid before every noise; without that
// the theorem fails in floating point.
//
// The theorem needs gradients of one convex smooth function. Those of a loss whose slope
// is clipped are: phi' does not decrease and is Lipschitz on every margin that a state can
// have, since each state is projected before its gradient is taken and these are the margins
// of Constants. Then clamp(phi') does not decrease either and has the same Lipschitz constant,
// so its integral is a convex smooth phi, and every clipped pair gradient is its gradient
// (docs/theory.md#clipping). Clipping sums over several pairs would break this;
// engine.ExpressionOptions clips pairs only.
type ConvergentDescent struct {
	// Steps is T. 0 means the public rule of GradientPerturbation.
	Steps int
	// StepSize is eta, at most 2/(L~+alpha). 0 means the same public rule.
	StepSize float64
	// TotalStep is H = eta T. 0 means the same public rule. Ignored if Steps and StepSize
	// are both set.
	TotalStep float64
}

// Info describes the algorithm.
func (ConvergentDescent) Info() Info {
	return Info{
		Name:    "convergent-descent",
		NoPaper: "its theorem is about exact arithmetic",
		Title:   "noisy gradient descent with hidden iterates: the privacy cost of more steps is bounded",
		Paper:   "[Bok24] Theorems 3.3 and 3.4 for [Xue21] Algorithm 2",
		Assumptions: []string{
			"the pair loss is convex and L-smooth on the ball of radius r, with gradients of replace-one diameter Dg; so is that of a clipped slope (engine.ExpressionOptions)",
			"steps at most 2/(L~+alpha), L~ = L + alpha",
			"nothing but the last iterate leaves: no average, no log, no early stop, no choice among iterates",
			"data-independent start; the state is on a public grid before each noise",
		},
		Released: "last iterate only",
		Claim:    "[Xue21] releases the average of all iterates and pays for every step; [Bok24] is about exact arithmetic",
		Verdict:  "valid for a state that is rounded to the grid of its noise, with the rounding in the gap (proof: privacy.ConvergentEvent); false for states off the grid, and no bound at all for averages. It needs less noise than gradient-perturbation once T > 4 diam(C)/(eta Delta) or T > (1+c)/(1-c); the public total step is smaller than that, so ask for --steps and --step-size to gain",
		Maths: `u_t = Q[w - eta (grad L(w; D) + alpha w)] + xi_t,  w = Pi_C u_(t-1),  t = 1..T
Q rounds to the grid h Z^d, xi_t is exact N(0, tau^2 I) rounded to it; u_1..u_(T-1) stay secret, Pi_C u_T is returned
gap of one step on two data sets: s = p Dg eta + 2 rho + 2 h sqrt(d),  p = 2/n;  contraction c = 1 - eta alpha;  D = diam C
mu^2 tau^2 = min{ s^2 [(1-c^T)/(1-c)]^2 (1-c^2)/(1-c^(2T)),  min over k <= T of (c^k D + s (1-c^k)/(1-c))^2 (1-c^2)/(1-c^(2k)) }
c = 1:       min{ T s^2,  min over k <= T of (D + k s)^2/k },  about 4 D s for T > D/s`,
		NeedsSmooth: true,
		Modes:       []Mode{Certified},
		Withholds:   true,
		DefaultL2:   usualL2,
	}
}

// Plan computes schedule, certificate and noise.
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
	p := &Plan{
		Algorithm: name, Mode: s.Mode, Spec: s, Schedule: schedule,
		Work:       Work{}.Sum(schedule.Steps, s.Kernel.Problem().Pairs()),
		ModelNoise: noise.NoiseNorm(s.coordinates()) * math.Sqrt(contractedSteps(1-schedule.Constant*s.L2, steps)),
	}
	if err := p.account("", s.release(c, noise, 1)); err != nil {
		return nil, err
	}
	p.Guarantee.Assumptions = append(p.Guarantee.Assumptions, "the iterates before the last stay secret")
	composed, err := (noisyDescent{name: name}).certificate(s)
	if err != nil {
		return nil, err
	}
	full := schedule.Constant * composed.Sensitivity() * math.Sqrt(steps) / account.GDPMu(s.Budget.Epsilon, s.Budget.Delta)
	p.Guarantee.Derivation += fmt.Sprintf("; %d steps that could all be seen would need sigma = %.6g", schedule.Steps, full)
	return p, nil
}

// contractedSteps is 1 + c^2 + ... + c^(2(T-1)): how much of the noises of T steps is
// left at the end.
func contractedSteps(c, steps float64) float64 {
	if c2 := c * c; c2 < 1 {
		return -math.Expm1(steps*math.Log(c2)) / (1 - c2)
	}
	return steps
}

// noise certifies the schedule on the grid of the noise that it needs. The grid and the
// room for the state are taken from the noise that would do in exact arithmetic.
func (a ConvergentDescent) noise(s Spec, schedule Schedule) (privacy.Certificate, privacy.Gaussian, error) {
	pairs := s.Kernel.Problem().Pairs()
	l := privacy.LastIterate{
		Curvature:    s.curvature(),
		PairFraction: pairFraction(pairs),
		Steps:        schedule.Steps,
		StepSize:     schedule.Constant,
		Coordinates:  s.coordinates(),
		Grid:         0x1p-1000, // next to nothing
	}
	c, err := l.Certify()
	if err != nil {
		return c, privacy.Gaussian{}, err
	}
	sigma := c.ExactSensitivity() / account.GDPMu(s.Budget.Epsilon, s.Budget.Delta)
	l.Grid = privacy.GridFor(sigma)
	state := s.newHiddenState(schedule.Constant, l.Grid)
	if !(state.room <= 0x1p53*l.Grid) {
		return c, privacy.Gaussian{}, fmt.Errorf("%w: convergent-descent: noise of %.3g a step is too small for steps of %.3g for a state on a grid; lower epsilon", ErrAssumption, sigma, state.reach(schedule.Constant))
	}
	l.UpdateError = state.roundoff(schedule.Constant)
	if c, err = l.Certify(); err != nil {
		return c, privacy.Gaussian{}, err
	}
	noise, err := privacy.CalibrateGaussian(c, s.Budget, 1)
	return c, noise, err
}

// hiddenState is one update u -> Q[w - eta (sum/pairs + alpha w)], w = Pi_C u, up to Q.
type hiddenState struct {
	update
	dim          int
	room         float64 // bound of a coordinate of u that project keeps
	meanRoundoff float64
}

// newHiddenState is the update of a plan's objective. Its room is 64 standard deviations
// of the noise beyond what a step can reach, so that it is never felt.
func (s Spec) newHiddenState(eta, grid float64) hiddenState {
	problem := s.Kernel.Problem()
	mean := meanRoundoff(s.Kernel, problem.Pairs())
	u := s.newUpdate(mean)
	return hiddenState{update: u, dim: problem.Loss.ParamDim(problem.D), room: u.reach(eta) + 64*0x1p29*grid, meanRoundoff: mean}
}

// project replaces u by its projection: onto the cube |u_k| <= room, then onto C. Both
// are projections onto convex sets, and C is in the cube: neither expands distances, and
// the first is exact.
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

// roundoff bounds, for every data set and every state, the distance of the computed
// project and step to exact ones.
//
// Proof. The computed projection is in C and within ProjectError of the exact one; an
// exact step does not expand that. From the point computed, the step is off by what
// update.roundoff says without its projection, and by eta times the error of the mean
// gradient. QED
func (h hiddenState) roundoff(eta float64) float64 {
	projection := h.domain.ProjectError(h.norm(h.dim))
	return (projection + 7*0x1p-53*h.reach(eta) + eta*h.meanRoundoff) * (1 + 0x1p-40)
}

// Train runs the descent and releases its last iterate.
func (a ConvergentDescent) Train(ctx context.Context, ev engine.Evaluator, p *Plan, s privacy.Session, t Tracker) ([]float64, error) {
	pairs := ev.Kernel().Problem().Pairs()
	eta := p.Schedule.Constant
	state := p.Spec.newHiddenState(eta, p.Noise().GridSize())
	w := state.domain.Start()
	sum := make([]float64, len(w))
	for i := range p.Schedule.Steps {
		if err := ev.Sum(ctx, sum, engine.Gradient(w, pairs)); err != nil {
			return nil, err
		}
		state.step(w, sum, eta, float64(pairs.Len()))
		noisy := s.HiddenStep
		if i == p.Schedule.Steps-1 {
			noisy = s.Release
		}
		if err := noisy(w, p.Certificate(), p.Noise()); err != nil {
			return nil, err
		}
		if err := state.project(w); err != nil {
			return nil, err
		}
		t.Step(i+1, p.Schedule.Steps)
	}
	return w, nil
}
