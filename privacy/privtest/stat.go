package privtest

import (
	"fmt"
	"math"
	"slices"
)

// relativeEntropy is the Kullback-Leibler divergence of Bernoulli(q) from
// Bernoulli(p), in nats.
func relativeEntropy(q, p float64) float64 {
	return xlogy(q, q/p) + xlogy(1-q, (1-q)/(1-p))
}

func xlogy(x, y float64) float64 {
	if x == 0 {
		return 0
	}
	return x * math.Log(y)
}

// CheckBinomial tests whether the number of successes in n independent draws fits a success probability of
// p. Its false-alarm rate is alpha. It rejects if n KL(successes/n || p) > ln(2/alpha): by Chernoff's bound,
// each of the two tails has probability at most exp(-n KL) <= alpha/2.
func CheckBinomial(successes, n int, p, alpha float64) error {
	if n <= 0 || successes < 0 || successes > n || !(p >= 0 && p <= 1) || !(alpha > 0 && alpha < 1) {
		return fmt.Errorf("privtest: the arguments of a binomial check are out of range: %d successes of %d, p = %v, "+
			"alpha = %v", successes, n, p, alpha)
	}
	q := float64(successes) / float64(n)
	if stat, limit := float64(n)*relativeEntropy(q, p), math.Log(2/alpha); stat > limit {
		return fmt.Errorf("privtest: %d successes of %d, want probability %.6g: n KL = %.4g > %.4g", successes, n,
			p, stat, limit)
	}
	return nil
}

// CheckMultinomial tests whether counts are independent draws from the law probs. Its false-alarm rate is
// alpha. probs must sum to 1 within 1e-9, and cells with probability 0 must be empty. Each of the following
// tests uses a = alpha/3:
//   - the distribution function: sup |F_n - F| <= sqrt(ln(2/a)/(2n))
//     (Dvoretzky-Kiefer-Wolfowitz with Massart's constant, valid for every law);
//   - the likelihood-ratio chi-square: n KL(counts/n || probs) <= t, where
//     exp(-t+m) (t/m)^m = a for m = cells-1 (Agrawal 2020, "Finite-sample
//     concentration of the multinomial in relative entropy", IEEE Trans. Inf.
//     Theory 66(10): the moment generating function of n KL is at most the one of
//     a Gamma(m, 1) variable, and the limit t is the Chernoff bound for it);
//   - CheckBinomial for every cell, with rate a/cells.
func CheckMultinomial(counts []int, probs []float64, alpha float64) error {
	n, total := 0, 0.0
	for i, c := range counts {
		n += c
		if i < len(probs) {
			total += probs[i]
		}
	}
	if len(counts) != len(probs) || len(counts) < 2 || n == 0 || !(math.Abs(total-1) <= 1e-9) {
		return fmt.Errorf("privtest: got %d counts (sum %d) and %d probabilities (sum %v); want 2 or more of each, "+
			"in equal numbers; the counts must have a sum > 0, the probabilities the sum 1", len(counts), n, len(probs), total)
	}
	a := alpha / 3
	cum, cumP, kl := 0, 0.0, 0.0
	limit := dkw(n, a)
	for i, c := range counts {
		cum += c
		cumP += probs[i]
		if d := math.Abs(float64(cum)/float64(n) - cumP); d > limit {
			return fmt.Errorf("privtest: distribution function off by %.4g > %.4g after cell %d of %d (n = %d)", d, limit, i,
				len(counts), n)
		}
		q := float64(c) / float64(n)
		kl += xlogy(q, q/probs[i])
	}
	if stat, limit := float64(n)*kl, gammaLimit(len(counts)-1, a); !(stat <= limit) {
		return fmt.Errorf("privtest: likelihood ratio n KL = %.4g > %.4g (n = %d, %d cells)", stat, limit, n, len(counts))
	}
	for i, c := range counts {
		if err := CheckBinomial(c, n, min(1, probs[i]), a/float64(len(counts))); err != nil {
			return fmt.Errorf("cell %d of %d: %w", i, len(counts), err)
		}
	}
	return nil
}

// CheckCDF tests whether samples were drawn independently with the continuous distribution function cdf. Its
// false-alarm rate is alpha. It uses the Dvoretzky-Kiefer-Wolfowitz-Massart bound.
func CheckCDF(samples []float64, cdf func(float64) float64, alpha float64) error {
	n := len(samples)
	if n == 0 {
		return fmt.Errorf("privtest: no samples")
	}
	sorted := slices.Clone(samples)
	slices.Sort(sorted)
	limit := dkw(n, alpha)
	for i, v := range sorted {
		f := cdf(v)
		if d := max(f-float64(i)/float64(n), float64(i+1)/float64(n)-f); !(d <= limit) {
			return fmt.Errorf("privtest: distribution function off by %.4g > %.4g at %.6g (n = %d)", d, limit, v, n)
		}
	}
	return nil
}

func dkw(n int, alpha float64) float64 {
	return math.Sqrt(math.Log(2/alpha) / (2 * float64(n)))
}

// gammaLimit returns the t > m with -t + m + m ln(t/m) = ln(alpha), rounded up.
func gammaLimit(m int, alpha float64) float64 {
	k := float64(m)
	lo, hi := k, 2*k+1
	bound := func(t float64) float64 { return -t + k + k*math.Log(t/k) }
	for ; bound(hi) > math.Log(alpha); hi *= 2 {
		lo = hi
	}
	for range 60 {
		if mid := (lo + hi) / 2; bound(mid) > math.Log(alpha) {
			lo = mid
		} else {
			hi = mid
		}
	}
	return hi
}
