package algorithms

import (
	"context"
	"fmt"
	"math"
	"slices"

	"dyad/engine"
	"dyad/privacy"
)

// DPGDSC is output perturbation of full-batch projected gradient descent for a
// strongly convex objective ([Xue21] Algorithm 1 and Theorem 1).
//
// Guarantee: Certified mode, (epsilon, delta)-DP for replacing one record, or
// epsilon-DP if delta is 0, by the finite-T certificate of
// privacy.GradientDescent (docs/theory.md#dpgdsc).
type DPGDSC struct {
	// Steps is T. 0 means the public rule: enough steps of the allowed size
	// for Path, at least 32. In Paper mode 0 means ceil((L+alpha)/alpha ln n).
	Steps int
	// StepSize is eta. 0 means Path/Steps, or in Paper mode 2/(L+alpha).
	StepSize float64
	// Path is H = eta T. 0 means the public rule of docs/theory.md#step-length. Ignored if
	// Steps and StepSize are both set, and in Paper mode.
	Path float64
}

// Info describes the algorithm.
func (DPGDSC) Info() Info {
	return Info{
		Name:  "dpgdsc",
		Title: "DP gradient descent, strongly convex: output perturbation of full-batch projected gradient descent",
		Paper: "[Xue21] Algorithm 1, Theorem 1",
		Assumptions: []string{
			"the pair loss is convex, G-Lipschitz and L-smooth on the ball of radius r",
			"alpha > 0 (L2 term)",
			"steps at most 2/(L~+alpha), L~ = L + alpha",
			"data-independent start, last iterate only",
		},
		Released: "last iterate plus noise",
		Claim:    "(epsilon, delta)-DP with sensitivity 8G/(alpha n), classical Gaussian noise; epsilon-DP with Laplace noise if delta = 0",
		Verdict:  "valid for replace-one (epsilon <= 1 proved by the classical formula, checked exactly here for all), at least 2x too much noise, 10^2 to 10^4 times at alpha = 1e-3 because T is finite",
		Maths: `w_t = Pi_C[w_(t-1) - eta (grad L(w_(t-1); D) + alpha w_(t-1))],  t = 1..T,  w_0 = 0
delta_t = c delta_(t-1) + p Dg eta + 2 rho,  p = 2/n the share of the pairs that contain one record,  c = max(|1 - eta alpha|, |1 - eta (L + alpha)|),  at most diam C
(rho = 0, c = 1 - eta alpha:  Delta = (2 Dg/(alpha n)) (1 - (1 - eta alpha)^T), at most 2 Dg eta T/n)
release w_T + N(0, sigma^2 I), sigma = Delta/mu(epsilon, delta), then project
delta = 0: Z of density proportional to exp(-epsilon ||z||/Delta) in place of N(0, sigma^2 I)
paper: sigma = 8 sqrt(2 ln(1.25/delta)) G/(alpha n epsilon), not projected (the projection here is post-processing); delta = 0: Lap(8 G sqrt(d)/(alpha n epsilon)) per coordinate`,
		NeedsSmooth: true,
		Modes:       []Mode{Certified, Paper},
		PureModes:   []Mode{Certified, Paper},
		NeedsL2:     true,
	}
}

const smallestDescentSteps = 32

// Plan computes schedule, certificate and noise.
func (a DPGDSC) Plan(s Spec) (*Plan, error) {
	if err := checkApplies(a.Info(), s); err != nil {
		return nil, err
	}
	problem := s.Kernel.Problem()
	if s.Mode == Paper && len(problem.Groups) > 0 {
		return nil, fmt.Errorf("%w: the paper's DPGDSC has no query groups; use certified mode", ErrAssumption)
	}
	schedule, err := a.schedule(s)
	if err != nil {
		return nil, err
	}
	pairs := problem.Pairs()
	certificate, err := privacy.GradientDescent{
		Curvature:   s.curvature(),
		Share:       share(pairs),
		Steps:       schedule.Steps,
		StepSize:    schedule.Constant,
		UpdateError: s.updateError(schedule.Constant, pairs),
	}.Certify()
	if err != nil {
		return nil, err
	}
	p := &Plan{
		Algorithm: a.Info().Name, Mode: s.Mode, Spec: s,
		Schedule: schedule, Certificate: certificate,
		GradientPairs: float64(schedule.Steps) * float64(pairs.Len()),
	}
	if err := p.releasePlan(a.paperNoise(s), "[Xue21] Theorem 1"); err != nil {
		return nil, err
	}
	p.Utility = s.outputUtility(s.descentUtility(schedule.Steps, schedule.Constant, false), p.modelNoise())
	return p, nil
}

// paperNoise is the noise of [Xue21] Algorithm 1 for sensitivity 8G/(alpha n):
// lines 4 (delta > 0) and 5 (delta = 0).
func (DPGDSC) paperNoise(s Spec) privacy.Mechanism {
	sensitivity := 8 * s.Constants.Lipschitz / (s.L2 * float64(s.Kernel.Problem().N))
	if s.Budget.Delta > 0 {
		return privacy.Gaussian{Sigma: math.Sqrt(2*math.Log(1.25/s.Budget.Delta)) * sensitivity / s.Budget.Epsilon}
	}
	d := s.coordinates()
	return privacy.Laplace{Scale: sensitivity * math.Sqrt(float64(d)) / s.Budget.Epsilon, Coordinates: d}
}

func (a DPGDSC) schedule(s Spec) (Schedule, error) {
	limit := s.largestStep()
	if a.Steps < 0 || a.StepSize < 0 || a.Path < 0 || math.IsNaN(a.StepSize+a.Path) || math.IsInf(a.StepSize+a.Path, 0) {
		return Schedule{}, fmt.Errorf("%w: dpgdsc: steps, step size and path must be finite and not negative", ErrAssumption)
	}
	steps, eta := a.Steps, a.StepSize
	name := "given steps and step size"
	if s.Mode == Paper {
		name = "paper: eta = 2/(L~+alpha), T = ceil((L~/alpha) ln n)"
		if eta == 0 {
			eta = limit
		}
		if steps == 0 {
			steps = wholeSteps((s.Constants.Smoothness + s.L2) / s.L2 * math.Log(float64(s.Kernel.Problem().N)))
		}
	} else if steps == 0 || eta == 0 {
		path := a.Path
		name = "given path length"
		if path == 0 {
			path = publicPath(s)
			name = "public rule " + publicPathRule(s)
		}
		switch {
		case steps == 0 && eta == 0:
			steps = max(smallestDescentSteps, wholeSteps(path/limit))
			eta = min(path/float64(steps), limit)
		case steps == 0:
			steps = wholeSteps(math.Round(path / eta))
		default:
			eta = min(path/float64(steps), limit)
		}
	}
	if eta > limit {
		return Schedule{}, fmt.Errorf("%w: dpgdsc: step size %.6g exceeds 2/(L~+alpha) = %.6g (L~ = L + alpha, L = %.6g, alpha = %.6g); use a smaller one", ErrAssumption, eta, limit, s.Constants.Smoothness, s.L2)
	}
	return Schedule{Name: name, Steps: steps, Constant: eta, Path: eta * float64(steps)}, checkSteps("dpgdsc", steps)
}

// Train runs the descent and releases the last iterate.
func (a DPGDSC) Train(ctx context.Context, ev engine.Evaluator, p *Plan, s privacy.Session, t Tracker) ([]float64, error) {
	pairs := ev.Kernel().Problem().Pairs()
	u := p.Spec.newUpdate(meanRoundoff(p.Spec.Kernel, pairs))
	w := u.domain.Start()
	sum := make([]float64, len(w))
	done, err := Restore(t, nil, w)
	if err != nil {
		return nil, err
	}
	for i := done; i < p.Schedule.Steps; i++ {
		if err := ev.GradSum(ctx, sum, w, pairs); err != nil {
			return nil, err
		}
		if err := u.apply(w, sum, p.Schedule.Constant, float64(pairs.Len())); err != nil {
			return nil, err
		}
		Keep(t, i+1, nil, w)
		t.Step(i+1, p.Schedule.Steps)
	}
	return releaseProjected(w, p, s)
}

// releaseProjected releases w with the plan's noise and projects the result,
// which is post-processing.
func releaseProjected(w []float64, p *Plan, s privacy.Session) ([]float64, error) {
	if err := s.Release(w, p.Certificate, p.Noise); err != nil {
		return nil, err
	}
	var square float64
	for _, v := range w {
		square += v * v
	}
	return w, p.Spec.Kernel.Problem().Domain().Project(w, math.Sqrt(square)*(1+0x1p-40))
}

// checkApplies checks what all private algorithms share.
func checkApplies(i Info, s Spec) error {
	if err := s.Validate(); err != nil {
		return err
	}
	if !i.Supports(s.Mode) {
		return fmt.Errorf("%w: %s has no %s mode; it offers %v", ErrAssumption, i.Name, s.Mode, i.Modes)
	}
	if loss := s.Kernel.Problem().Loss; i.ScoresOnly {
		if _, score := loss.(engine.ScoreLoss); !score {
			return fmt.Errorf("%w: %s learns linear scores, and loss %s is about a metric; use dpgdsc", ErrAssumption, i.Name, loss.Name())
		}
	}
	if i.NeedsSmooth {
		if err := checkSmooth(i.Name, s); err != nil {
			return err
		}
	}
	if i.NeedsL2 && s.L2 == 0 {
		return fmt.Errorf("%w: %s needs a strongly convex objective, L2 weight alpha > 0 (the papers use 0.001)", ErrAssumption, i.Name)
	}
	if s.Mode != NonPrivate && s.Budget.Delta == 0 && !slices.Contains(i.PureModes, s.Mode) {
		pure := "it has no pure epsilon form"
		if len(i.PureModes) > 0 {
			pure = fmt.Sprintf("with delta = 0 it offers %v", i.PureModes)
		}
		return fmt.Errorf("%w: %s adds Gaussian noise in %s mode and needs delta > 0, the default is min(1e-5, n^-1.5) = %.3g; %s", ErrAssumption, i.Name, s.Mode, privacy.DefaultDelta(s.Kernel.Problem().N), pure)
	}
	return nil
}

// checkSmooth refuses a loss for which no certificate of a descent holds: without
// convexity a step can expand, and near a kink two close iterates have gradients that
// are not close (and a computed gradient is not close to the exact one, see
// engine.Kernel).
func checkSmooth(name string, s Spec) error {
	lacks := ""
	switch {
	case math.IsInf(s.Constants.Smoothness, 1):
		lacks = "not smooth"
	case !s.Constants.Convex:
		lacks = "not proved to be convex"
	default:
		return nil
	}
	return fmt.Errorf("%w: %s releases the result of a descent, which is stable for convex smooth losses only, and loss %s is %s; use gradient-perturbation or dpgdc2, which add noise to every gradient, or a smoothed convex loss", ErrAssumption, name, s.Kernel.Problem().Loss.Name(), lacks)
}
