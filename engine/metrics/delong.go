package metrics

import (
	"errors"
	"fmt"
	"math"
	"math/big"
)

// ErrOneRecord is returned where a variance needs two records of each class.
var ErrOneRecord = errors.New("metrics: a class has one record; DeLong's variance needs at least two of each")

// ErrDegenerate is returned where a normal approximation has no meaning because
// the estimated variance is 0: all records of a class are ranked equally well,
// for example because the scores separate the classes.
var ErrDegenerate = errors.New("metrics: DeLong's variance is 0, so it gives no interval or test; use the Hoeffding interval or more records")

// AUCEstimate is an AUC with DeLong's estimate of its sampling variance.
type AUCEstimate struct {
	// AUC is in [0, 1], as by the function AUC.
	AUC float64
	// Variance estimates the variance of AUC over samples of this many positive
	// and negative records; at least 0.
	Variance float64
	// Positives and Negatives are P and N, at least 2 each.
	Positives, Negatives int
}

// DeLong returns the AUC and the variance estimate of DeLong, DeLong &
// Clarke-Pearson 1988. With k(p, q) = 1, 1/2 or 0 as the positive score p is
// above, equal to or below the negative score q,
//
//	V10_i = 1/N sum_j k(p_i, q_j),   V01_j = 1/P sum_i k(p_i, q_j)
//	Variance = 1/(P(P-1)) sum_i (V10_i - AUC)^2 + 1/(N(N-1)) sum_j (V01_j - AUC)^2.
//
// It is also the sum of the two jackknife variances that leave out one record of
// a class at a time. It takes O(n log n) time by ranks (Sun & Xu 2014). The sums
// are integers and exact; AUC and Variance are the nearest float64. Scores must
// not be NaN, infinite ones are allowed. Errors are those of AUC and ErrOneRecord.
func DeLong(scores, labels []float64) (AUCEstimate, error) {
	if err := check(scores, labels); err != nil {
		return AUCEstimate{}, err
	}
	a := placements(scores, labels)
	pos, neg := classMoments(a, a, labels)
	if min(pos.n, neg.n) < 2 {
		return AUCEstimate{}, ErrOneRecord
	}
	return estimate(pos.n, neg.n, pos.a, variance(pos, neg, momentsAA)), nil
}

func estimate(p, n, u2 uint64, v *big.Rat) AUCEstimate {
	variance, _ := v.Float64()
	return AUCEstimate{AUC: quotient(u2, 2*p*n), Variance: variance, Positives: int(p), Negatives: int(n)}
}

func momentsAA(m moments) (uint64, uint64, wide) { return m.a, m.a, m.aa }
func momentsBB(m moments) (uint64, uint64, wide) { return m.b, m.b, m.bb }
func momentsAB(m moments) (uint64, uint64, wide) { return m.a, m.b, m.ab }

// variance is the exact (co)variance of the two AUCs that pick names.
func variance(pos, neg moments, pick func(moments) (uint64, uint64, wide)) *big.Rat {
	sa, sb, sab := pick(pos)
	v := meanCovariance(pos.n, sa, sb, sab, neg.n)
	sa, sb, sab = pick(neg)
	return v.Add(v, meanCovariance(neg.n, sa, sb, sab, pos.n))
}

// StandardError is the square root of Variance.
func (e AUCEstimate) StandardError() float64 { return math.Sqrt(e.Variance) }

// IntervalMethod says how a confidence interval of an AUC is formed.
type IntervalMethod int

// The methods of AUCEstimate.Interval. z is the normal quantile of (1 + level)/2
// and s the standard error.
const (
	// Logit is the image of log(A/(1-A)) -+ z s/(A(1-A)), A = AUC: asymptotic,
	// always within (0, 1), the better one near 0 and 1 (Pepe 2003, 5.2.4).
	Logit IntervalMethod = iota
	// Wald is AUC -+ z s, cut to [0, 1]: asymptotic.
	Wald
	// Hoeffding is AUC -+ sqrt(log(2/(1-level)) / (2 min(P, N))), cut to [0, 1].
	// It covers the true AUC with at least the level for every sample size and
	// distribution (Hoeffding 1963, 5.7), given independent records. It is wide.
	Hoeffding
)

// Interval returns a two-sided confidence interval for the AUC of the
// distribution that the records were drawn from, for a level in (0, 1) such as
// 0.95. Logit and Wald return ErrDegenerate if Variance is 0.
func (e AUCEstimate) Interval(level float64, method IntervalMethod) (low, high float64, err error) {
	z, err := normalQuantile(level)
	if err != nil {
		return 0, 0, err
	}
	if method != Hoeffding && !(e.Variance > 0) {
		return 0, 0, ErrDegenerate
	}
	switch method {
	case Logit:
		if !(e.AUC > 0 && e.AUC < 1) {
			return 0, 0, ErrDegenerate
		}
		g := math.Log(e.AUC) - math.Log1p(-e.AUC)
		h := z * e.StandardError() / (e.AUC * (1 - e.AUC))
		return 1 / (1 + math.Exp(h-g)), 1 / (1 + math.Exp(-h-g)), nil
	case Wald:
		h := z * e.StandardError()
		return max(0, e.AUC-h), min(1, e.AUC+h), nil
	case Hoeffding:
		k := min(e.Positives, e.Negatives)
		if k < 1 {
			return 0, 0, ErrOneClass
		}
		h := math.Sqrt(math.Log(2/(1-level)) / (2 * float64(k)))
		return max(0, e.AUC-h), min(1, e.AUC+h), nil
	}
	return 0, 0, fmt.Errorf("metrics: interval method %d, want Logit, Wald or Hoeffding", method)
}

// normalQuantile is z with P(|Z| <= z) = level for a standard normal Z.
func normalQuantile(level float64) (float64, error) {
	if !(level > 0 && level < 1) {
		return 0, fmt.Errorf("metrics: confidence level %v, want one in (0, 1) such as 0.95", level)
	}
	return math.Sqrt2 * math.Erfcinv(1-level), nil
}

// AUCComparison compares the AUCs of two score vectors on the same records.
type AUCComparison struct {
	A, B AUCEstimate
	// Difference is A.AUC - B.AUC before rounding, in [-1, 1].
	Difference float64
	// Covariance is DeLong's estimate of the covariance of the two AUCs.
	Covariance float64
	// StandardError is the root of A.Variance + B.Variance - 2 Covariance.
	StandardError float64
	// Z is Difference/StandardError, 0 if both are 0.
	Z float64
	// PValue is the two-sided P(|N(0, 1)| >= |Z|), in [0, 1]: small if equal AUCs
	// would rarely differ as much. It is asymptotic in both class sizes.
	PValue float64
}

// CompareAUC is the paired test of DeLong, DeLong & Clarke-Pearson 1988 for the
// score vectors a and b of the same records with the same labels. Covariance is
// DeLong's formula with products of the deviations of a and b in place of
// squares. Difference, Covariance and the variance under the root of
// StandardError are computed exactly and rounded once, so two vectors that rank
// alike have exactly Difference 0, StandardError 0, Z 0 and PValue 1. The errors
// are those of DeLong, and ErrDegenerate if the variance of the difference is 0
// but the difference is not.
func CompareAUC(a, b, labels []float64) (AUCComparison, error) {
	for _, s := range [][]float64{a, b} {
		if err := check(s, labels); err != nil {
			return AUCComparison{}, err
		}
	}
	pos, neg := classMoments(placements(a, labels), placements(b, labels), labels)
	if min(pos.n, neg.n) < 2 {
		return AUCComparison{}, ErrOneRecord
	}
	va, vb, cov := variance(pos, neg, momentsAA), variance(pos, neg, momentsBB), variance(pos, neg, momentsAB)
	c := AUCComparison{A: estimate(pos.n, neg.n, pos.a, va), B: estimate(pos.n, neg.n, pos.b, vb)}
	if pos.a >= pos.b {
		c.Difference = quotient(pos.a-pos.b, 2*pos.n*neg.n)
	} else {
		c.Difference = -quotient(pos.b-pos.a, 2*pos.n*neg.n)
	}
	c.Covariance, _ = cov.Float64()
	v := va.Add(va, vb)
	v.Sub(v, cov.Add(cov, cov))
	ofDifference, _ := v.Float64()
	c.StandardError = math.Sqrt(ofDifference)
	switch {
	case c.StandardError > 0:
		c.Z = c.Difference / c.StandardError
	case c.Difference != 0:
		return AUCComparison{}, ErrDegenerate
	}
	c.PValue = math.Erfc(math.Abs(c.Z) / math.Sqrt2)
	return c, nil
}

// Interval is the asymptotic confidence interval Difference -+ z StandardError,
// cut to [-1, 1], for a level in (0, 1). It is ErrDegenerate if StandardError is 0.
func (c AUCComparison) Interval(level float64) (low, high float64, err error) {
	z, err := normalQuantile(level)
	if err != nil {
		return 0, 0, err
	}
	if !(c.StandardError > 0) {
		return 0, 0, ErrDegenerate
	}
	h := z * c.StandardError
	return max(-1, c.Difference-h), min(1, c.Difference+h), nil
}
