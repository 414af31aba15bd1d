package audit

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"

	"dyad/privacy/account"
)

// Guesses is the outcome of a one-run audit. The field Canaries is the number of independent fair bits,
// one for each canary record. Made is the number of bits that the adversary guessed, and Correct is the
// number of right guesses. The adversary may use the releases to choose which bits, and how many, to
// guess. Apart from the releases, this choice must not depend on the bits. If the number of guesses was
// tuned on the outcome, a union bound is needed.
type Guesses struct{ Canaries, Made, Correct int }

// oneRunPValue bounds the probability of at least as many correct guesses as in g if the mechanism is (epsilon,
// delta)-DP for changing one bit [SNJ23, Theorem 5.2; docs/theory.md#audit-one-run]:
//
//	P(W >= v) + 2 m delta max_{i >= 1} P(v > W >= v - i)/i,
//	W ~ Bin(Made, e^epsilon/(1 + e^epsilon)),  v = Correct,  m = Canaries.
//
// Changing a bit replaces one record here, so the neighbouring relation is replace-one.
func oneRunPValue(g Guesses, epsilon, delta float64) float64 {
	q := 1 / (1 + math.Exp(-epsilon))
	beta := binomialAtLeast(g.Correct, g.Made, q)
	if delta == 0 || beta >= 1 {
		return beta
	}
	// This is the sum over the terms of W, downwards from v-1. P(W = v-1) is computed from the log of the
	// binomial law, and the next terms from ratios of successive terms.
	v, r := g.Correct, g.Made
	term := math.Exp(logBinomial(r, v-1) + float64(v-1)*math.Log(q) + float64(r-v+1)*math.Log1p(-q))
	worst, sum := 0.0, 0.0
	for i := 1; i <= v; i++ {
		sum += term
		worst = max(worst, sum/float64(i))
		k := float64(v - i) // term is P(W = k)
		next := term * k / (float64(r) - k + 1) * (1 - q) / q
		if next < term && next*float64(i) <= sum {
			break // terms fall from here on, so averages fall
		}
		term = next
	}
	return min(1, beta+2*float64(g.Canaries)*delta*worst)
}

func logBinomial(n, k int) float64 {
	a, _ := math.Lgamma(float64(n + 1))
	b, _ := math.Lgamma(float64(k + 1))
	c, _ := math.Lgamma(float64(n - k + 1))
	return a - b - c
}

// OneRunEpsilon returns the largest epsilon that g refutes at level alpha. With probability at least 1 - alpha
// it is a lower bound on the epsilon of the mechanism. It is 0 if the guesses refute no epsilon.
func OneRunEpsilon(g Guesses, delta, alpha float64) float64 {
	return largestRefuted(func(epsilon float64) bool { return oneRunPValue(g, epsilon, delta) < alpha })
}

// OneRunGDPEpsilon is like OneRunEpsilon, but tests the stronger claim that the mechanism is mu-GDP. Every plan
// with Gaussian noise makes this claim. OneRunGDPEpsilon finds the largest mu that g refutes ([MMC24], Theorem
// 3.1, Algorithm "audit") and returns the epsilon of this mu at delta.
func OneRunGDPEpsilon(g Guesses, delta, alpha float64) float64 {
	return largestRefuted(func(epsilon float64) bool {
		return refutesGDP(g, account.GDPMu(epsilon, delta), alpha)
	})
}

// refutesGDP runs the recursion. With m canaries, k guesses and v correct guesses, r and h start as alpha v/m
// and alpha (k-v)/m. For i = v-1, ..., 0
//
//	h' = max(h, Phi(Phi^-1(r) - mu)),   r' = r + i/(k-i) (h' - h);
//
// mu-GDP is refuted if r + h ends above k/m.
func refutesGDP(g Guesses, mu, alpha float64) bool {
	m, k := float64(g.Canaries), float64(g.Made)
	r, h := alpha*float64(g.Correct)/m, alpha*(k-float64(g.Correct))/m
	for i := float64(g.Correct - 1); i >= 0; i-- {
		next := max(h, distuv.UnitNormal.CDF(distuv.UnitNormal.Quantile(r)-mu))
		if next == h {
			break // neither r nor h can change any more
		}
		r, h = min(1, r+i/(k-i)*(next-h)), next
	}
	return r+h > k/m
}

// largestRefuted returns the largest epsilon, to 1e-7, for which refuted holds. refuted must hold up to some
// epsilon and not beyond it. The result is 0 if refuted never holds, and unlimited if it holds beyond 1000.
func largestRefuted(refuted func(epsilon float64) bool) float64 {
	if !refuted(0x1p-30) {
		return 0
	}
	lo, hi := 0x1p-30, 1.0
	for refuted(hi) {
		if hi > 1000 {
			return unlimited
		}
		lo, hi = hi, 2*hi
	}
	for hi-lo > 1e-7 {
		if mid := (lo + hi) / 2; refuted(mid) {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo
}
