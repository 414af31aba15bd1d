package algorithms

import (
	"errors"
	"fmt"
	"math"

	"dyad/engine"
)

// maxMomentsSteps bounds Moments.Steps: more gradients share the budget to no use.
const maxMomentsSteps = 20

// checkSteps says why steps cannot be taken.
func (a Moments) checkSteps(s Spec, second engine.SecondMoments) error {
	switch {
	case a.Steps < 1 || a.Steps > maxMomentsSteps:
		return fmt.Errorf("%d steps, want at least 1 for a share of steps and at most %d", a.Steps, maxMomentsSteps)
	case s.Budget.Delta == 0:
		return errors.New("steps need delta > 0: pure epsilon adds up over releases and leaves too little for each; leave the steps out")
	case s.L2 > 0:
		return errors.New("an L2 term has no place in the steps, whose loss is not that of the start; leave it or the steps out")
	case second == engine.NoSecond:
		return errors.New("steps need second moments, and none are released here; say diagonal or full, or leave the steps out")
	}
	return nil
}

// momentsLogit is a logistic model of clipped records, log odds = w.x~/R + intercept, with w along
// the vectors of a spectrum. Like momentsFilter, its functions see releases, the levels of their
// noise and public numbers only: post-processing. inUnits bounds the releases, so all numbers are finite for any of them.
type momentsLogit struct {
	w            []float64
	intercept, h float64
}

// logit is the start of the steps: the linear discriminant as a model of the log odds. p is the
// share of positives and b the offset of the signed sum.
//
// With delta = v/(2 n p q), the difference of the class means, u = n (Xi + lambda I)^-1 delta is
// the discriminant for the covariance of all records, and u/(1 - pq delta.u) that for the
// covariance within the classes (Sherman and Morrison), whose log odds of two normal
// distributions are w.x + log(p/q) - (q - p)/2 w.delta around the mean of the records. pq delta.u
// is the part of the variance of labels that is explained: below 1 but for noise.
//
// h = sqrt(p q (1 - pq delta.u)/4) is the geometric mean of the weight p(1-p) of Newton's matrix at
// the start, as least squares has it, and of its bound 1/4: the first oscillates for rare classes,
// with the second steps are monotone (Boehning and Lindsay 1988) and slow.
//
// With noise s in each coordinate of v, which the steps correct and a model without them does not, delta.u is larger by what the noise
// alone gives it, trace((Xi + lambda I)^-1) s^2 in the units of v: this part is taken off.
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

// maxLogit bounds intercepts: far beyond, a sigmoid does not change.
const maxLogit = 1000

// bounded keeps w where scores do not overflow; w of a sane run is not changed.
func bounded(w []float64) []float64 {
	engine.ProjectBall(w, 0x1p400)
	return w
}

// step takes a released gradient along the vectors of Xi, with noise s in each coordinate.
//
// l = s^2/tau^2, tau^2 the signal in g per eigenvalue of h Xi: with w* - w ~ N(0, tau^2 (h Xi)^-1)
// the best linear estimate of w* - w is (h Xi + l I)^-1 of what was released, as for the signed
// sum in momentsRidge. A gradient that does not stand out of its noise makes no step. In
// scores, whose variance is w^T h Xi w, the model is as close to w* as to 0, or closer, so tau^2
// is at most w^T h Xi w/d: where the estimate of tau^2 is noise itself, this bound keeps the model.
//
// by is what g was divided by, nil where no step was made.
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

// take replaces the model of the fit by one that steps improved, and returns true. If neither signed sum
// nor gradients stood out of their noise, the model stays and take returns false.
func (f *momentsFit) take(l momentsLogit) (taken bool) {
	for _, x := range l.w {
		if x != 0 {
			f.w = l.w
			return true
		}
	}
	return false
}

// odds are the numbers of a metrics.LogOdds of the model w.x~/R + c of n records: intercept, slope for scores of norm r, R, limit and centre.
func (l momentsLogit) odds(centre []float64, n float64, d int, r, R float64) []float64 {
	out := append([]float64{l.intercept, min(normAbove(l.w)/(r*R), mostError), R, math.Log(n + 1)}, make([]float64, d)...) // a run must not fail by what it drew
	copy(out[4:], centre)
	return out
}

// appends reports whether a appends anything to the weights.
func (a Moments) appends() bool { return a.Intervals || a.LogOdds || a.Blocks != nil }

// Parts are the weights of d features, and what a appended to them: standard errors, log odds and the noise of blocks, nil where it is not there.
func (a Moments) Parts(all []float64, d int) (w, errors, odds, noise []float64) {
	w, rest := all[:d:d], all[d:] // nothing more where no direction was found
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
