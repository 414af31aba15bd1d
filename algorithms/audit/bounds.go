package audit

import (
	"math"

	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat/distuv"
)

// binomialAtMost is P(X <= k) for X ~ Bin(n, p): I_(1-p)(n-k, k+1).
func binomialAtMost(k, n int, p float64) float64 {
	switch {
	case k < 0:
		return 0
	case k >= n || p <= 0:
		return 1
	case p >= 1:
		return 0
	}
	return mathext.RegIncBeta(float64(n-k), float64(k+1), 1-p)
}

// binomialAtLeast is P(X >= k) for X ~ Bin(n, p): I_p(k, n-k+1).
func binomialAtLeast(k, n int, p float64) float64 {
	switch {
	case k <= 0:
		return 1
	case k > n || p <= 0:
		return 0
	case p >= 1:
		return 1
	}
	return mathext.RegIncBeta(float64(k), float64(n-k+1), p)
}

// proportionUpper returns the Clopper-Pearson upper bound of a probability from k successes in n independent
// trials. For every n, the bound is below the true probability with probability at most alpha. This holds
// exactly. Arguments must have 0 <= k <= n, n >= 1 and alpha in (0, 1).
func proportionUpper(k, n int, alpha float64) float64 {
	lo, hi := float64(k)/float64(n), 1.0
	for range 60 { // binomialAtMost falls with p
		if mid := (lo + hi) / 2; binomialAtMost(k, n, mid) > alpha {
			lo = mid
		} else {
			hi = mid
		}
	}
	return hi
}

// proportionLower returns the Clopper-Pearson lower bound, 1 - proportionUpper(n-k).
func proportionLower(k, n int, alpha float64) float64 {
	return 1 - proportionUpper(n-k, n, alpha)
}

// Event holds how often an event happened in runs on each of two data sets.
type Event struct {
	// Likely counts the runs with the event on the data set where the event is likelier. LikelyRuns counts
	// all runs on that data set.
	Likely, LikelyRuns int
	// Rare counts the runs with the event on the other data set. RareRuns counts all runs on that data set.
	Rare, RareRuns int
}

// ClopperPearson returns a lower bound on the epsilon of any (epsilon, delta)-DP mechanism for which the counts
// of e were observed in independent runs (docs/theory.md#audit-bounds). The bound is too large with probability
// at most alpha, whatever the mechanism. It is 0 if the counts show no difference.
//
// Proof. (epsilon, delta)-DP gives p <= e^epsilon q + delta for the probabilities p, q of every event. Let p >=
// p- and q <= q+, where each inequality is wrong with probability at most alpha/2. Then epsilon >= ln((p- -
// delta)/q+). QED. The event must not have been chosen by looking at these runs.
func ClopperPearson(e Event, delta, alpha float64) float64 {
	p := proportionLower(e.Likely, e.LikelyRuns, alpha/2)
	q := proportionUpper(e.Rare, e.RareRuns, alpha/2)
	if !(p > delta) {
		return 0
	}
	return max(0, math.Log((p-delta)/q))
}

// Shift is the distance between the means of a score under two data sets, in standard deviations.
type Shift struct {
	Mu            float64 `json:"mu"`             // the estimate of gap/sd
	StandardError float64 `json:"standard_error"` // the standard error of Mu
	Lower         float64 `json:"lower"`          // lower bound of gap/sd with probability at least 1 - alpha
	Upper         float64 `json:"upper"`          // upper bound of gap/sd with probability at least 1 - alpha
}

// gaussianModel estimates gap/sd of a score whose laws under the two data sets are normal with equal variances.
// Under this assumption, telling the data sets apart by thresholds of the score has exactly the trade-off curve
// of mu-GDP, mu = gap/sd. So Lower is a lower bound on the mu of the mechanism, and GDPEpsilon(Lower, delta) is
// a lower bound on its epsilon.
//
// The bounds are exact for normal scores. With probability 1 - alpha/2 the sd is below its chi-square bound
// sd+. With probability 1 - alpha/2 the observed gap is within z sd root of the true gap, with root = sqrt(1/n0
// + 1/n1) and z = Phi^-1(1 - alpha/4). Then mu >= gap/sd - z root >= gap/sd+ - z root. The bound Upper follows
// in the same way. low and high need at least two values each. The means may be in any order.
func gaussianModel(low, high []float64, alpha float64) Shift {
	m0, s0 := meanSquares(low)
	m1, s1 := meanSquares(high)
	n0, n1 := float64(len(low)), float64(len(high))
	nu := n0 + n1 - 2
	gap, sd := math.Abs(m1-m0), math.Sqrt((s0+s1)/nu)
	if !(sd > 0) {
		if gap == 0 {
			return Shift{}
		}
		return Shift{Mu: unlimited, Lower: unlimited, Upper: unlimited}
	}
	root := math.Sqrt(1/n0 + 1/n1)
	z := distuv.UnitNormal.Quantile(1 - alpha/4)
	chi := distuv.ChiSquared{K: nu}
	sdUpper := sd * math.Sqrt(nu/chi.Quantile(alpha/2))
	sdLower := sd * math.Sqrt(nu/chi.Quantile(1-alpha/2))
	mu := gap / sd
	return Shift{
		Mu:            mu,
		StandardError: math.Sqrt(root*root + mu*mu/(2*nu)),
		Lower:         max(0, gap/sdUpper-z*root),
		Upper:         gap/sdLower + z*root,
	}
}

// meanSquares returns the mean and the sum of squared deviations from the mean.
func meanSquares(v []float64) (mean, squares float64) {
	for _, x := range v {
		mean += x
	}
	mean /= float64(len(v))
	for _, x := range v {
		squares += (x - mean) * (x - mean)
	}
	return mean, squares
}

// unlimited stands for every larger number. A lower bound may be lowered, and JSON has no infinity.
const unlimited = 1e9
