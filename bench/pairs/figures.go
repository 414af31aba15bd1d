package main

import (
	"fmt"
	"math"

	"dyad/algorithms"
	"dyad/algorithms/pairs"
	"dyad/engine/embedding"
	"dyad/privacy"
)

// method is a way to train with some epsilon.
type method struct {
	name   string
	change func(s *pairs.Spec)
}

// methods of Figure 9. "DPP" is a group of kappa' pairs of the public graph. The sound
// form of DPP-S is left out: at these h and m its clip min{h, max(4 max_j sum_r |W_rj|,
// 2 m sqrt(d'))} is h, so it is DPP, bit for bit (the toy shows it).
var methods = []method{
	{"non-private", func(s *pairs.Spec) { s.Mode, s.StepSize = algorithms.NonPrivate, exactStep }},
	{"DPP Laplace", func(*pairs.Spec) {}},
	{"DPP K-norm", func(s *pairs.Spec) { s.Noise = privacy.KNormNoise }},
	{"DPP Gaussian", func(s *pairs.Spec) { s.Budget.Delta = 1e-5 }},
	{"Node DP Laplace", func(s *pairs.Spec) { s.Unit, s.Kappa = pairs.Individual, degreeCap }},
	{"edge DP Laplace", func(s *pairs.Spec) { s.Unit, s.Kappa = pairs.OnePair, 1 }},
	{"label flips, edge", func(s *pairs.Spec) {
		s.Method, s.Unit, s.Kappa, s.StepSize = pairs.Labels, pairs.OnePair, 1, exactStep
	}},
	{"InputPer", func(s *pairs.Spec) {
		s.Method, s.Unit, s.Kappa, s.StepSize = pairs.Input, pairs.Individual, degreeCap, exactStep
	}},
	{"printed DPP (gives 16 eps)", func(s *pairs.Spec) { s.Mode = algorithms.Paper }},
}

// privacyBudgets is Figure 9: accuracy by epsilon.
func (s settings) privacyBudgets() ([]row, axes, error) {
	a := axes{"Accuracy of 5 nearest neighbours", "epsilon", "accuracy", "objective"}
	tasks, err := s.tasks()
	if err != nil {
		return nil, a, err
	}
	epsilons := []float64{0.5, 1, 2, 4}
	var jobs []func() ([]row, error)
	for i, t := range tasks {
		jobs = append(jobs, func() ([]row, error) {
			accuracy, err := t.accuracy(nil)
			var out []row
			for _, e := range epsilons {
				out = append(out, row{"identity", e, i, accuracy, math.NaN()})
			}
			return out, err
		})
		for _, m := range methods {
			for k, e := range epsilons {
				noEpsilon := m.name == "non-private"
				if noEpsilon && k > 0 {
					continue
				}
				jobs = append(jobs, func() ([]row, error) {
					spec := t.spec()
					spec.Budget.Epsilon = e
					m.change(&spec)
					r, err := t.measure(m.name, e, spec, i)
					if noEpsilon && err == nil {
						for _, e := range epsilons[1:] {
							again := r[0]
							again.x = e
							r = append(r, again)
						}
					}
					return r, err
				})
			}
		}
	}
	rows, err := s.each(jobs)
	return rows, a, err
}

// measure trains and gives accuracy and objective.
func (t *task) measure(name string, x float64, spec pairs.Spec, repeat int) ([]row, error) {
	p, err := spec.Plan()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return t.measurePlan(name, x, p, repeat)
}

func (t *task) measurePlan(name string, x float64, p *pairs.Plan, repeat int) ([]row, error) {
	r, err := t.trainPlan(p, repeat, nil, 0)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	accuracy, err := t.accuracy(r.w)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	objective, err := t.objective(p.Spec, r.w)
	return []row{{name, x, repeat, accuracy, objective}}, err
}

// sweep varies one option at epsilon = 4 and T = 3 (Figure 11).
func (s settings) sweep(a axes, values []float64, methods []method, curve bool,
	set func(spec *pairs.Spec, v float64)) ([]row, axes, error) {
	tasks, err := s.tasks()
	if err != nil {
		return nil, a, err
	}
	varied := a.other
	var jobs []func() ([]row, error)
	for i, t := range tasks {
		for _, m := range methods {
			for _, v := range values {
				jobs = append(jobs, func() ([]row, error) {
					spec := t.spec()
					spec.Budget.Epsilon = 4
					m.change(&spec)
					set(&spec, v)
					if !curve {
						return t.measure(m.name, v, spec, i)
					}
					return t.progress(fmt.Sprintf("%s %g", varied, v), spec, i, nil)
				})
			}
		}
	}
	if curve {
		a.other = ""
	}
	rows, err := s.each(jobs)
	return rows, a, err
}

// progress trains and gives the objective along the run, by epochs.
func (t *task) progress(name string, spec pairs.Spec, repeat int, replace noiser) ([]row, error) {
	const points = 12
	r, err := t.train(spec, repeat, replace, points)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	var out []row
	for k, v := range r.curve {
		if k >= points {
			break
		}
		out = append(out, row{name, float64(k+1) * float64(spec.Epochs) / points, repeat, v, 0})
	}
	return out, nil
}

var laplace = methods[1:2]

// clips is Figure 11a.
func (s settings) clips() ([]row, axes, error) {
	return s.sweep(axes{"Objective by clip h, DPP Laplace, epsilon 4", "epoch", "objective", "h"},
		[]float64{0.05, 0.1, 0.5, 2}, laplace, true, func(spec *pairs.Spec, v float64) { spec.Clip = v })
}

// batches is Figure 11b.
func (s settings) batches() ([]row, axes, error) {
	return s.sweep(axes{"Objective by batch |B|, DPP Laplace, epsilon 4", "epoch", "objective", "batch"},
		[]float64{50, 200, 1000, 4000}, laplace, true, func(spec *pairs.Spec, v float64) { spec.Batch = int(v) })
}

// margins is Figure 11c, not private as in the paper, and private.
func (s settings) margins() ([]row, axes, error) {
	return s.sweep(axes{"Accuracy by margin ratio rho", "rho", "accuracy", "objective"}, []float64{0.25, 0.5, 1, 2, 4},
		[]method{methods[0], methods[1], methods[3]}, false,
		func(spec *pairs.Spec, v float64) { spec.Loss = embedding.Contrastive{Margin: v * margin} })
}

// dimensions is Figure 11d.
func (s settings) dimensions() ([]row, axes, error) {
	return s.sweep(axes{"Accuracy by dimensions d'", "rows", "accuracy", "objective"}, []float64{2, 4, 8, 16, 32},
		[]method{methods[0], methods[1], methods[3]}, false, func(spec *pairs.Spec, v float64) { spec.Rows = int(v) })
}

// steps is a sweep that the paper does not show: the first step eta0, which it does not
// give.
func (s settings) steps() ([]row, axes, error) {
	return s.sweep(axes{"Accuracy by first step eta0, epsilon 4", "eta0", "accuracy", "objective"},
		[]float64{0.2, 1, 5, 20, 80, 320}, []method{methods[0], methods[1], methods[3]}, false,
		func(spec *pairs.Spec, v float64) { spec.StepSize = v })
}
