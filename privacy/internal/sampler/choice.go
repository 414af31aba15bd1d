package sampler

import (
	"math/bits"
	"slices"
)

// PermuteAndFlip returns the index of a score. It visits the scores in a uniformly random order and accepts
// score q with probability exp(-(largest - q) num/den). It stops at the first score that it accepts. The
// result is exact, because no rounded operation is used. scores must not be empty, differences of scores
// must fit in an int64, num must be positive, and den must be positive and below 2^63.
func PermuteAndFlip(scores []int64, num, den uint64, src *Bits) int {
	largest := scores[0]
	order := make([]int, len(scores))
	for i, q := range scores {
		order[i], largest = i, max(largest, q)
	}
	for i := range order {
		j := i + int(src.Uint64n(uint64(len(order)-i)))
		order[i], order[j] = order[j], order[i]
		if flip(uint64(largest-scores[order[i]]), num, den, src) {
			return order[i]
		}
	}
	return order[len(order)-1] // not reached: the largest score is taken with probability 1
}

// Exponential returns index i of the scores with probability proportional to exp(q_i num/den). It draws
// indices uniformly and accepts index i with probability exp(-(largest - q_i) num/den), until it accepts an
// index. The result is exact. The arguments must satisfy the conditions of PermuteAndFlip.
func Exponential(scores []int64, num, den uint64, src *Bits) int {
	largest := slices.Max(scores)
	for {
		if i := int(src.Uint64n(uint64(len(scores)))); flip(uint64(largest-scores[i]), num, den, src) {
			return i
		}
	}
}

// flip returns true with probability exp(-gap num/den).
func flip(gap, num, den uint64, src *Bits) bool {
	hi, lo := bits.Mul64(gap, num)
	// the probability is exp(-2^64) or less; without this limit the trials of the whole part would not end in a lifetime
	if hi >= den {
		hi, lo = den-1, ^uint64(0)
	}
	whole, rest := bits.Div64(hi, lo, den)
	for range whole {
		if !expMinusPart(1, 1, src) {
			return false
		}
	}
	return rest == 0 || expMinusPart(rest, den, src)
}

// expMinusPart returns true with probability exp(-a/b), 0 < a <= b. It tosses coins of probability (a/b)/k
// for k = 1, 2, ... until one fails. The probability that the first failure is at k > j is (a/b)^j/j!. So the
// probability of a first failure at an odd k is the alternating series of exp(-a/b) [Canonne, Kamath and
// Steinke 2020, Algorithm 1].
func expMinusPart(a, b uint64, src *Bits) bool {
	k := uint64(1)
	for src.Uint64n(k) == 0 && src.Uint64n(b) < a {
		k++
	}
	return k%2 == 1
}
