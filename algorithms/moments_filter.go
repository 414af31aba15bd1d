package algorithms

import (
	"math"
	"slices"

	"dyad/engine"
)

// The functions of this file compute only from the releases of Moments and the levels of their noise, so they
// are post-processing. The standard deviation of the noise is s1 for an entry of the signed sum and s2 for a
// diagonal entry of the second moments (for an isometric coordinate). It is sc for an entry of the sum of
// records, and sn for the number of positives. An off-diagonal entry of the second moments has s2/sqrt 2. So
// their noise is a matrix of the Gaussian orthogonal ensemble, and its eigenvalues fill [-sqrt(2 d) s2, sqrt(2
// d) s2].

// momentsCentre shrinks the released mean towards the origin by the factor of James and Stein and returns the
// factor. The mean is sum/n, and each coordinate has noise of standard deviation s = sc/n. keep = 0 means that
// the centre has no information, and keep = 1 means that it is exact. centre is overwritten. The caller
// projects it on the norm bound afterwards.
func momentsCentre(centre []float64, s float64) (keep float64) {
	var square float64 // in units of s, so that it does not overflow for any norm bound
	for _, x := range centre {
		square += x / s * (x / s)
	}
	if square > 0 {
		keep = max(0, 1-float64(len(centre))/square)
	}
	for i := range centre {
		centre[i] *= keep
	}
	return keep
}

// balance returns 2 p - 1 for the released or declared share p of positives. A released share is shrunk: the
// noise of the count has standard deviation sn, and a uniformly distributed count has variance n^2/12.
func (m *MomentsPlan) balance(count, n float64) float64 {
	if m.Balance > 0 {
		count = m.Balance * n
	}
	k := (2*count/n - 1) / (1 + 12*m.CountNoise*m.CountNoise/(n*n))
	return min(max(k, 2/n-1), 1-2/n)
}

// offset returns momentsOffset for the noise levels of the plan. A declared centre is exact.
func (m *MomentsPlan) offset(balance, X, keep float64) float64 {
	return momentsOffset(balance, m.ClipRadius, X, m.SumNoise, m.CentreNoise, keep)
}

// momentsOffset returns the offset b of the signed sum, sum (y - b) x~.
//
// At b = k = 2 p - 1, the balance, the centre drops out of the sum. Moving b towards 0 adds a part of the mean of x~,
// which is 0 up to the error of the centre. The move saves noise, as the sum of (y - b) x~ has noise (1 + |b|) s1.
// The expected square error is
//
//	d ((1 + |b|)^2 s1^2 + (|k| - |b|)^2 keep sc^2 (R/rho)^2),  rho: distance of records to the centre.
//
// The error is smallest at |b| = (|k| - r)/(1 + r) with r = (s1 rho/(R sc))^2/keep; the rule uses rho = X/2. If
// the centre is not usable, b = 0. If the centre is declared, b = k.
func momentsOffset(k, R, X, s1, sc, keep float64) float64 {
	if keep <= 0 {
		return 0
	}
	if sc == 0 {
		return k
	}
	q := s1 * (X / 2) / (R * sc)
	r := q * q / keep
	return math.Copysign(max(0, (math.Abs(k)-r)/(1+r)), k)
}

// spectrum is an estimate Xi of the matrix of second moments without noise.
type spectrum struct {
	vectors [][]float64   // orthonormal eigenvectors of Xi; nil: the vectors of frame
	frame   *engine.Frame // if vectors and frame are nil, the vectors are the axes
	values  []float64     // eigenvalues of Xi, >= 0
}

// along returns the coordinates of v along the vectors.
func (s spectrum) along(v []float64) []float64 {
	switch {
	case s.frame != nil:
		return s.frame.Along(v)
	case s.vectors == nil:
		return slices.Clone(v)
	}
	a := make([]float64, len(v))
	for i, u := range s.vectors {
		for k := range u {
			a[i] += u[k] * v[k]
		}
	}
	return a
}

// sum returns the vector with the coordinates a along the vectors.
func (s spectrum) sum(a []float64) []float64 {
	switch {
	case s.frame != nil:
		return s.frame.Sum(a)
	case s.vectors == nil:
		return slices.Clone(a)
	}
	w := make([]float64, len(a))
	for i, x := range a {
		for k, u := range s.vectors[i] {
			w[k] += x * u
		}
	}
	return w
}

// row returns the coordinates of axis k along the vectors. The spectrum must have vectors or a frame.
func (s spectrum) row(k int) []float64 {
	if s.frame != nil {
		axis := make([]float64, len(s.values))
		axis[k] = 1
		return s.frame.Along(axis)
	}
	row := make([]float64, len(s.vectors))
	for i, u := range s.vectors {
		row[i] = u[k]
	}
	return row
}

// momentsSpectrum returns the eigenvalues of Xi = E[M_0 | M] for the eigenvalues of the released M, in
// ascending order. Xi is the rotation-invariant estimate of the matrix M_0 without noise (Bun, Allez, Bouchaud,
// Potters 2016, "Rotational invariant estimator for general noisy matrices"). Eigenvalue l_i becomes l_i - 2
// sigma^2 h(l_i) with sigma^2 = d s2^2/2, where h is the real part of the Stieltjes transform 1/d sum_j 1/(l_i
// - l_j), smoothed over s2. An eigenvalue that stands out becomes l - sigma^2/l. Eigenvalues of pure noise
// become their mean, so that w has the direction of v there; no rule has to decide whether to use the matrix.
// Then the eigenvalues are made nondecreasing (pool adjacent violators) and not negative. Their mean is moved
// into [0.1, 1] n R^2/d, a range that is public (trace M_0 <= n R^2).
func momentsSpectrum(values []float64, s2, n, R float64) []float64 {
	d := float64(len(values))
	var mean float64
	for _, l := range values {
		mean += l / d
	}
	public := min(max(mean, 0.1*n*R*R/d), n*R*R/d)
	xi := make([]float64, len(values))
	for i, l := range values {
		var h float64
		for _, m := range values {
			if l != m { // 0/0 without noise
				h += (l - m) / ((l-m)*(l-m) + s2*s2)
			}
		}
		xi[i] = l - d*s2*s2*(h/d) // 2 sigma^2 = d s2^2
	}
	nondecreasing(xi)
	for i := range xi {
		xi[i] = max(xi[i]+public-mean, 0)
	}
	return xi
}

// momentsRidge returns lambda = s1^2/tau^2 + ridge. a holds the coordinates of the released signed sum along
// the vectors of Xi. lambda is +Inf if a does not exceed its noise s1. By the public rule, ridge is s2 sqrt d.
//
// The term s1^2/tau^2: suppose w* ~ N(0, tau_0^2 M_0^-1), so that coefficients of standardised features are
// alike, and labels have unit noise. Then v ~ N(0, tau^2 M_0 + s1^2 I), and the best linear estimate of w* is
// (Xi + (s1^2/tau^2) I)^-1 v. tau^2 is estimated by moments as (|v|^2 - d s1^2)/trace Xi, at most n/d + 1.
//
// The term s2 sqrt d accounts for the errors left in Xi. It is 1/sqrt 2 of the edge of the noise. This factor
// alone is fixed by experiment: factors from 0.75 to 1.5 gave equal results.
func momentsRidge(a, xi []float64, s1, n, ridge float64) float64 {
	tau := signalPerEigenvalue(a, xi, s1)
	if tau == 0 {
		return math.Inf(1)
	}
	return s1*s1/min(tau, n/float64(len(a))+1) + ridge
}

// signalPerEigenvalue returns the part of |a|^2 that exceeds noise of standard deviation s in each coordinate,
// divided by the trace of Xi. It returns 0 if there is no such part.
func signalPerEigenvalue(a, xi []float64, s float64) float64 {
	var signal, trace float64
	for i, x := range xi {
		signal += a[i]*a[i] - s*s
		trace += x
	}
	if !(signal > 0 && trace > 0) {
		return 0
	}
	return signal / trace
}

// momentsSolution returns (Xi + lambda I)^-1 a. If lambda is infinite it returns a, which has the direction of
// the limit.
func momentsSolution(a, xi []float64, lambda float64) []float64 {
	w := slices.Clone(a)
	if !math.IsInf(lambda, 1) {
		for i := range w {
			w[i] /= xi[i] + lambda
		}
	}
	return w
}

// nondecreasing replaces x by the nondecreasing sequence that is nearest in least squares (pool adjacent
// violators).
func nondecreasing(x []float64) {
	type block struct {
		mean float64
		n    int
	}
	var s []block
	for _, v := range x {
		s = append(s, block{v, 1})
		for len(s) > 1 && s[len(s)-2].mean >= s[len(s)-1].mean {
			p, q := s[len(s)-2], s[len(s)-1]
			s = append(s[:len(s)-2], block{(p.mean*float64(p.n) + q.mean*float64(q.n)) / float64(p.n+q.n), p.n + q.n})
		}
	}
	i := 0
	for _, b := range s {
		for range b.n {
			x[i] = b.mean
			i++
		}
	}
}
