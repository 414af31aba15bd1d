package own

import (
	"context"
	"math"

	"dyad/algorithms"
	"dyad/engine"
	"dyad/privacy"
)

// NormalisedDescent makes steps of equal length along noisy gradients:
//
//	w_t = Pi_C[w_(t-1) - Length g_t/|g_t|],   g_t = grad L(w_(t-1)) + N(0, sigma^2 I)
//
// Every noisy gradient g_t is released. The noise is calibrated for T releases of a mean
// gradient, and the steps are computed from the released gradients
// (docs/theory.md#noisy-gradients). The iterates also move if the gradient at the start is 0,
// as for Cosine at w = 0.
type NormalisedDescent struct {
	Steps  int     // T; 0 means 20
	Length float64 // of a step; 0 means 2 r/T
}

var _ algorithms.Algorithm = NormalisedDescent{}

// Info implements algorithms.Algorithm.
func (NormalisedDescent) Info() algorithms.Info {
	return algorithms.Info{
		Name:     "normalised-descent",
		Title:    "steps of equal length along noisy gradients",
		Paper:    "an example",
		Released: "every noisy gradient",
		Modes:    []algorithms.Mode{algorithms.Certified},
		// Nothing of a gradient leaves Train before it returns: a run can be resumed.
		Withholds: true,
	}
}

// Plan implements algorithms.Algorithm.
func (a NormalisedDescent) Plan(s algorithms.Spec) (*algorithms.Plan, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	if a.Steps == 0 {
		a.Steps = 20
	}
	if a.Length == 0 {
		a.Length = 2 * s.Kernel.Problem().Radius / float64(a.Steps)
	}
	certificate, err := s.MeanGradient()
	if err != nil {
		return nil, err
	}
	noise, err := privacy.CalibrateGaussian(certificate, s.Budget, a.Steps)
	if err != nil {
		return nil, err
	}
	p := &algorithms.Plan{
		Algorithm: a.Info().Name, Mode: s.Mode, Spec: s,
		Schedule: algorithms.Schedule{Name: "steps of one length", Steps: a.Steps, Constant: a.Length,
			TotalStep: a.Length * float64(a.Steps)},
		Work: algorithms.Work{}.Sum(a.Steps, s.Kernel.Problem().Pairs()),
	}
	return p, p.PromiseOneRecord(certificate, noise, a.Steps)
}

// Train implements algorithms.Algorithm. It stores its state after every step, so a run that
// was killed continues from the last stored state.
func (a NormalisedDescent) Train(ctx context.Context, ev engine.Evaluator, p *algorithms.Plan, s privacy.Session,
	t algorithms.Tracker) ([]float64, error) {
	problem := ev.Kernel().Problem()
	domain, pairs := problem.Domain(), problem.Pairs()
	gradient := make([]float64, problem.Loss.ParamDim(problem.D))
	w := make([]float64, len(gradient))
	for k := range w { // a public start: all features alike
		w[k] = problem.Radius / (2 * math.Sqrt(float64(len(w))))
	}
	done, err := t.Restore(nil, w)
	if err != nil {
		return nil, err
	}
	for i := done; i < p.Schedule.Steps; i++ {
		if err := ev.Sum(ctx, gradient, engine.Gradient(w, pairs)); err != nil {
			return nil, err
		}
		for k := range gradient {
			gradient[k] /= float64(pairs.Len())
		}
		if err := s.Release(gradient, p.Certificate(), p.Noise()); err != nil {
			return nil, err
		}
		var square float64
		for _, v := range gradient {
			square += v * v
		}
		for k := range w {
			w[k] -= p.Schedule.Constant * gradient[k] / math.Sqrt(square)
		}
		if err := domain.Project(w, problem.Radius+p.Schedule.Constant); err != nil {
			return nil, err
		}
		t.Keep(i+1, nil, w)
		t.Step(i+1, p.Schedule.Steps)
	}
	return w, nil
}
