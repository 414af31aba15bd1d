package algorithms

import (
	"errors"
	"fmt"
	"math"

	"dyad/engine"
)

// maxMomentsSteps bounds Moments.Steps. Dividing the budget among more gradients has no benefit.
const maxMomentsSteps = 20

// checkSteps returns an error with the reason if steps cannot be taken.
func (a Moments) checkSteps(s Spec, second engine.SecondMoments) error {
	switch {
	case a.Steps < 1 || a.Steps > maxMomentsSteps:
		return fmt.Errorf("the number of steps is %d, but it must be 1 to %d; for no steps, leave out --steps and "+
			"--step-share",
			a.Steps, maxMomentsSteps)
	case s.Budget.Delta == 0:
		return errors.New("steps need delta > 0: pure epsilon adds up over releases and leaves too little for each; leave " +
			"the steps out")
	case s.L2 > 0:
		return errors.New("steps and an L2 term exclude each other; leave one of them out")
	case second == engine.NoSecond:
		return errors.New("steps need second moments; choose diagonal or full second moments, or leave the steps out")
	}
	return nil
}

// momentsLogit is a logistic model of clipped records with log odds w.x~/R + intercept. w is given along the vectors of
// a spectrum. Like the functions of moments_filter.go, its functions use only releases, the levels of their noise and
// public numbers, so they are post-processing. inUnits bounds the releases, so all numbers are finite for all releases.
type momentsLogit struct {
	w            []float64
	intercept, h float64
}

// logit returns the start of the steps, which is the linear discriminant as a model of the log odds. p is the
// share of positives and b is the offset of the signed sum.
//
// Let delta = v/(2 n p q) be the difference of the class means. Then u = n (Xi + lambda I)^-1 delta is the
// discriminant for the covariance of all records. The discriminant for the covariance within the classes is
// u/(1 - pq delta.u) (Sherman and Morrison). For two normal distributions its log odds are w.x + log(p/q) - (q
// - p)/2 w.delta around the mean of the records. The number pq delta.u is the explained part of the variance of
// labels. It is below 1 except for noise.
//
// The factor h = sqrt(p q (1 - pq delta.u)/4) is the geometric mean of two weights: the weight p(1-p) of
// Newton's matrix at the start, in the least-squares approximation, and its bound 1/4. Steps with the first
// weight oscillate for rare classes. Steps with the second weight are monotone (Boehning and Lindsay 1988)
// but slow.
//
// v has noise s in each coordinate. Steps correct this noise; a model without steps contains it. The noise increases
// delta.u by trace((Xi + lambda I)^-1) s^2 in the units of v, and this part is subtracted.
func (f momentsFit) logit(n, p, b, s float64) momentsLogit {
	q := 1 - p
	delta, w := make([]float64, len(f.w)), make([]float64, len(f.w))
	var explained, noise float64
	for i, v := range f.signed {
		delta[i] = v * (1 + math.Abs(b)) / (2 * n * p * q)
		w[i] = n * delta[i] / (f.values[i] + f.lambda)
		explained += p * q * delta[i] * w[i]
		noise += s * s / (f.values[i] + f.lambda)
	}
	if noise > 0 {
		noise *= (1 + math.Abs(b)) * (1 + math.Abs(b)) / (4 * n * p * q)
		keep := max(0, 1-noise/explained)
		for i := range w {
			w[i] *= keep
		}
		explained *= keep
	}
	rest := max(1-explained, 0.05)
	var apart float64
	for i := range w {
		w[i] /= rest
		apart += w[i] * delta[i]
	}
	c := math.Log(p/q) - (q-p)/2*apart
	return momentsLogit{w: bounded(w), intercept: max(-maxLogit, min(maxLogit, c)), h: math.Sqrt(p * q * rest / 4)}
}

// maxLogit bounds intercepts. A sigmoid is constant far beyond this value.
const maxLogit = 1000

// bounded shrinks w so that scores do not overflow. In a run with usable noise it does not change w.
func bounded(w []float64) []float64 {
	engine.ProjectBall(w, 0x1p400)
	return w
}

// step moves the model by a released gradient, which is given along the vectors of Xi and has noise s in each
// coordinate.
//
// The damping is l = s^2/tau^2, where tau^2 is the signal in g per eigenvalue of h Xi. With w* - w ~ N(0, tau^2
// (h Xi)^-1), the best linear estimate of w* - w is (h Xi + l I)^-1 times the released gradient, as for the
// signed sum in momentsRidge. A gradient that does not exceed its noise makes no step. Measured by the variance
// of scores, w^T h Xi w, the model is at least as close to w* as 0 is, so tau^2 is at most w^T h Xi w/d. If the
// estimate of tau^2 is itself noise, this bound keeps the model.
//
// by holds the divisors of g. It is nil if no step was made.
func (l *momentsLogit) step(g, xi []float64, s, ridge float64) (by []float64) {
	var energy float64
	for i, x := range l.w {
		energy += l.h * xi[i] * x * x
	}
	tau := min(signalPerEigenvalue(g, xi, s)/l.h, energy/float64(len(xi)))
	if !(tau > 0) {
		return nil
	}
	by = make([]float64, len(l.w))
	for i := range l.w {
		by[i] = l.h*(xi[i]+ridge) + s*s/tau
		l.w[i] -= g[i] / by[i]
	}
	bounded(l.w)
	return by
}

// take replaces the model of the fit by a model that steps improved, and returns true. If neither the signed
// sum nor the gradients exceeded their noise, take keeps the model and returns false.
func (f *momentsFit) take(l momentsLogit) (taken bool) {
	for _, x := range l.w {
		if x != 0 {
			f.w = l.w
			return true
		}
	}
	return false
}

// odds returns the numbers of a metrics.LogOdds for the model w.x~/R + c of n records: intercept, slope for scores of
// norm r, R, limit and centre.
func (l momentsLogit) odds(centre []float64, n float64, d int, r, R float64) []float64 {
	// a run must not fail because of its noise
	out := append([]float64{l.intercept, min(normAbove(l.w)/(r*R), mostError), R, math.Log(n + 1)}, make([]float64, d)...)
	copy(out[4:], centre)
	return out
}

// appends reports whether a appends anything to the weights.
func (a Moments) appends() bool { return a.Intervals || a.LogOdds || a.Blocks != nil }

// Parts splits a result into the weights of d features and the appended parts: standard errors, log odds and the noise
// of blocks. A part that was not appended is nil.
func (a Moments) Parts(all []float64, d int) (w, errors, odds, noise []float64) {
	w, rest := all[:d:d], all[d:] // training appends nothing if it found no direction
	if a.Intervals && len(rest) > 0 {
		errors, rest = rest[:d:d], rest[d:]
	}
	if a.LogOdds && len(rest) > 0 {
		odds, rest = rest[:4+d:4+d], rest[4+d:]
	}
	if len(rest) > 0 {
		noise = rest
	}
	return w, errors, odds, noise
}
