package algorithms

import (
	"context"
	"math"
	"slices"

	"dyad/engine"
	"dyad/privacy"
)

// MomentsDescent minimises an explicit pairwise loss of scores with a few noisy gradients. It starts at the
// model of Moments and takes damped Newton-like steps. The released second moments give the curvature. Let x^ =
// clip(x - c, R) X/R be the records of Moments scaled back to the norm bound X. Then
//
//	w_0: the direction of Moments, with the length that minimises the loss (marginModel)
//	w_t = Pi_C[w_(t-1) - (H_t + alpha I + lambda_t I)^-1 (g_t + alpha w_(t-1))],  t = 1..K
//
// where g_t is the mean gradient of the loss over all pairs of x^, plus noise. H_t is a multiple of the
// cleaned second moments, and lambda_t is computed from the noise of g_t (dampedStep). Differences x^ - x^' do
// not depend on the centre. So scores w.x order records as w.x^ does, except for the effect of clipping.
//
// In Certified mode the algorithm is (epsilon, delta)-DP for replacing one record, by the exact composition of
// Gaussian releases. If delta is 0 it is epsilon-DP, by K-norm noise (docs/theory.md#moments-descent). The
// guarantee covers all releases and every iterate.
type MomentsDescent struct {
	// Moments holds the options of the releases at the start. These releases share the part of the budget that
	// is not spent on the gradients.
	Moments Moments `options:"Second CountShare CentreShare SecondShare ClipRadius Ridge Centre Balance"`
	// Steps is the number of gradients K, at most MaxMomentsSteps. If it is 0, the public rule applies.
	Steps int
	// GradientShare is the share of mu^2 (or of epsilon if delta is 0) that is spent on all gradients together.
	// It is in (0, 1). If it is 0, the public rule applies.
	GradientShare float64 `within:"[0,1)" called:"share of the gradients"`
}

// MaxMomentsSteps is the largest number of gradients of MomentsDescent.
const MaxMomentsSteps = 20

// Info describes the algorithm.
func (MomentsDescent) Info() Info {
	return Described("moments-descent", Info{Modes: []Mode{Certified}, PureModes: []Mode{Certified}, ScoresOnly: true,
		Withholds: true})
}

// Train releases the moments and then the gradients, and returns the last iterate. After every release it may
// save the released values, which are the state of the training, in a checkpoint.
func (a MomentsDescent) Train(ctx context.Context, ev engine.Evaluator, p *Plan, s privacy.Session,
	t Tracker) ([]float64, error) {
	m, problem := p.Moments(), p.Spec.Kernel.Problem()
	released, w, errors := m.released(problem.D), make([]float64, problem.D), make([]float64, problem.D)
	total := m.Passes + m.Gradients
	done, err := t.Restore(nil, released.first, released.last, w, errors)
	if err != nil {
		return nil, err
	}
	keep := func(done int) {
		t.Keep(done, nil, released.first, released.last, w, errors)
		t.Step(done, total)
	}
	start := done < m.Passes
	if err := m.collect(ctx, ev, s, p.Releases, released, min(done, m.Passes), func(done int) {
		if done < m.Passes {
			keep(done)
		}
	}); err != nil {
		return nil, err
	}
	model, err := newMarginModel(ctx, p, released)
	if err != nil {
		return nil, err
	}
	domain := problem.Domain()
	if start {
		w0, errors0 := model.start()
		copy(w, w0)
		copy(errors, errors0)
		if err := domain.Project(w, normAbove(w)); err != nil {
			return nil, err
		}
		keep(m.Passes)
	}
	if done >= total {
		return w, nil
	}
	pairs := problem.Pairs()
	gradient, count := make([]float64, len(w)), float64(pairs.Len())
	for done = max(done, m.Passes); done < total; done++ {
		if err := ev.Sum(ctx, gradient, engine.Query{Pairs: pairs, W: w, Centre: released.centre,
			Radius: m.ClipRadius}); err != nil {
			return nil, err
		}
		for k := range gradient {
			gradient[k] /= count
		}
		r := p.Releases[len(p.Releases)-total+done]
		if err := s.Release(gradient, r.Certificate, r.Noise); err != nil {
			return nil, err
		}
		model.step(w, errors, gradient, m.GradientNoise)
		if err := domain.Project(w, normAbove(w)); err != nil {
			return nil, err
		}
		keep(done + 1)
	}
	return w, nil
}

// marginModel is the model of margins computed from releases. The margin of a pair of different classes is u =
// (y - y') w.(x^ - x^'), and l = 2 B is the difference of their labels. u is about normal with mean l w.delta,
// delta = cov/(2 p q), and variance 2 l^2 w^T (C - p q delta delta^T) w. C holds the second moments of x^, and
// cov its covariance with the class. The model is post-processing.
type marginModel struct {
	basis  spectrum
	c, cov []float64 // the diagonal of C, and cov, along the basis
	first  []float64 // the start along the basis, with the length of least squares
	errors []float64 // variances of the errors of first
	ridge  float64   // the ridge for the errors left in C
	pq     float64
	label  float64 // l
	slope  func(u float64) float64
	reach  float64 // largest |u|
	l2     float64
	radius float64
}

// newMarginModel returns the model of released moments.
func newMarginModel(ctx context.Context, p *Plan, r *releasedMoments) (*marginModel, error) {
	m, problem := p.Moments(), p.Spec.Kernel.Problem()
	n, X, R := float64(problem.N), problem.Bounds.FeatureNorm, m.ClipRadius
	basis, err := m.spectrum(ctx, r.second(), problem.D, n)
	if err != nil {
		return nil, err
	}
	// nothing exceeds the noise: use the multiple of the identity with the largest trace
	if slices.Max(basis.values) == 0 {
		basis.values = slices.Repeat([]float64{n / float64(problem.D)}, problem.D)
	}
	a := basis.along(r.sum())
	for i := range a {
		a[i] /= R
	}
	loss := problem.Loss.(engine.ScoreLoss) // Info.ScoresOnly
	model := &marginModel{
		basis: basis, c: make([]float64, len(a)), cov: make([]float64, len(a)), errors: make([]float64, len(a)),
		ridge: m.Ridge / (R * R) / n * X * X, pq: r.share * (1 - r.share), label: 2 * problem.Bounds.LabelAbs,
		slope: loss.DPhi, l2: p.Spec.L2, radius: problem.Radius,
	}
	model.reach = 2 * X * model.radius * model.label
	s1, ridge := m.SumNoise/R, m.Ridge/(R*R)
	model.first = momentsSolution(a, basis.values, momentsRidge(a, basis.values, s1, n, ridge))
	scale := (1 + math.Abs(r.offset)) / X // the factor by which the signed sum was divided
	lambda := momentsRidge(a, basis.values, s1, n, 0)
	if math.IsInf(lambda, 1) {
		// Without a signal, lambda is taken as ten times the mean eigenvalue.
		var trace float64
		for _, x := range basis.values {
			trace += x
		}
		lambda = 10*trace/float64(len(a)) + 1
		scale /= lambda
	}
	for i, x := range basis.values {
		shrunk := model.first[i] * scale * ridge / (x + ridge)
		model.errors[i] = scale*scale*s1*s1/((x+ridge)*(x+ridge+lambda)) + shrunk*shrunk
		model.first[i] *= scale
		model.c[i] = x / n * X * X
		model.cov[i] = model.c[i] * model.first[i] // the covariance from v without its noise
	}
	return model, nil
}

// margin returns the mean and the standard deviation of u at the w with coordinates a.
func (m *marginModel) margin(a []float64) (mean, deviation float64) {
	var delta, square float64
	for i, x := range a {
		delta += x * m.cov[i] / (2 * m.pq)
		square += x * m.c[i] * x
	}
	// Labels explain at most 19/20 of the variance.
	within := max(square-m.pq*delta*delta, square/20)
	return m.label * delta, m.label * math.Sqrt(2*within)
}

// normalMean returns the mean of f(z) for a standard normal z, by the trapezoidal rule.
func normalMean(f func(z float64) float64) float64 {
	var sum, total float64
	for k := -50; k <= 50; k++ {
		z := float64(k) / 10
		weight := math.Exp(-z * z / 2)
		sum += weight * f(z)
		total += weight
	}
	return sum / total
}

func (m *marginModel) slopeAt(u float64) float64 { return m.slope(min(max(u, -m.reach), m.reach)) }

// start returns w_0, which has the direction of the model of moments. Its length, at most r, is the length at
// which the expected loss of a normal margin, with the L2 term, stops falling.
func (m *marginModel) start() (w, errors []float64) {
	mean, deviation := m.margin(m.first)
	var square float64
	for _, x := range m.first {
		square += x * x
	}
	falls := func(t float64) bool {
		return normalMean(func(z float64) float64 {
			u := mean + deviation*z
			return m.slopeAt(t*u) * u
		})+m.l2*t*square/(2*m.pq) < 0
	}
	lo, hi := 0.0, m.radius/math.Sqrt(square)
	if !(square > 0) {
		hi = 0
	}
	if falls(hi) {
		lo = hi
	}
	for range 60 {
		if mid := lo + (hi-lo)/2; falls(mid) {
			lo = mid
		} else {
			hi = mid
		}
	}
	w, errors = m.basis.sum(m.first), slices.Clone(m.errors)
	for k := range w {
		w[k] *= lo
		errors[k] *= lo * lo
	}
	return w, errors
}

// step moves w by a damped step for a noisy mean gradient at w. noise is the standard deviation of an entry of
// the gradient. errors are the variances of the errors of w along the basis.
func (m *marginModel) step(w, errors, gradient []float64, noise float64) {
	a, g := m.basis.along(w), m.basis.along(gradient)
	factor := 4 * m.pq * m.curvature(a) * m.label * m.label
	h := make([]float64, len(a))
	for i := range a {
		h[i] = factor*(m.c[i]+m.ridge) + m.l2
		g[i] += m.l2 * a[i]
	}
	dampedStep(g, h, a, errors, noise)
	for k, x := range m.basis.sum(g) {
		w[k] -= x
	}
}

// curvature returns E phi” of a normal margin at the w with coordinates a. It uses Stein's identity E phi'(u)
// (u - E u) = Var u E phi”, so phi may have kinks. The result has a lower bound: a small share of the steepest
// slope, at 0 or where margins are, divided by the range of margins.
func (m *marginModel) curvature(a []float64) float64 {
	mean, deviation := m.margin(a)
	deviation = max(deviation, m.reach/1000)
	steepest := math.Abs(m.slopeAt(0))
	h := normalMean(func(z float64) float64 {
		s := m.slopeAt(mean + deviation*z)
		steepest = max(steepest, math.Abs(s))
		return s * z
	}) / deviation
	return max(h, steepest/(8*m.reach))
}

// dampedStep replaces the noisy gradient g at w by a step, and errors by the variances that are left after the
// step. h is the diagonal of H, and noise is the standard deviation of an entry of g.
//
// To first order g = H (w - w*) + noise. Let w - w* ~ N(0, P) with a diagonal P. The best linear estimate of w
// - w* is P H (H P H + noise^2 I)^-1 g. The variance of its error is P noise^2 (H P H + noise^2 I)^-1 (Kalman).
// P = errors + kappa H^-1. errors are caused by the noise of the releases that led to w. kappa represents the
// distance between the minimisers of least squares and of the loss, which is assumed alike in all directions in
// the metric of H. kappa is estimated by moments: |g|^2 less its mean without kappa and a standard deviation of
// its noise, over trace H. It is at most largestKappa w^T H w/d. So a gradient within its noise only corrects
// the errors of the start.
func dampedStep(g, h, w, errors []float64, noise float64) {
	d, square := float64(len(g)), noise*noise
	excess, trace, length := -square*math.Sqrt(2*d), 0.0, 0.0
	for i := range g {
		excess += g[i]*g[i] - square - h[i]*h[i]*errors[i]
		trace += h[i]
		length += w[i] * h[i] * w[i]
	}
	var kappa float64
	if trace > 0 {
		kappa = min(max(excess/trace, 0), largestKappa*length/d)
	}
	for i := range g {
		if !(h[i] > 0) { // the objective is flat here, so the gradient gives no direction
			g[i] = 0
			continue
		}
		p := errors[i] + kappa/h[i]
		gain := h[i] * p / (h[i]*p*h[i] + square)
		g[i] *= gain
		errors[i] = p * (1 - gain*h[i])
	}
}

// largestKappa is the largest value of kappa divided by the mean of w^T H w along an axis. In one step 0.05 and
// 0.25 gave equal results; with more steps the value 1 follows the noise
// (bench/results/momentsdescent-study.csv).
const largestKappa = 0.05
