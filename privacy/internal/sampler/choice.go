package sampler

import (
	"math/bits"
	"slices"
)

// PermuteAndFlip returns the place of a score: scores are looked at in a uniformly random order,
// and score q is taken with probability exp(-(largest - q) num/den), until one is. It is exact: no
// rounded operation takes part. scores is not empty, differences fit in an int64, num > 0, and
// den is positive and below 2^63.
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

// Exponential returns place i of the scores with a probability in proportion to exp(q_i num/den): places are drawn uniformly until one is
// taken with probability exp(-(largest - q_i) num/den). It is as exact as PermuteAndFlip, for the same arguments.
func Exponential(scores []int64, num, den uint64, src *Bits) int {
	largest := slices.Max(scores)
	for {
		if i := int(src.Uint64n(uint64(len(scores)))); flip(uint64(largest-scores[i]), num, den, src) {
			return i
		}
	}
}

// flip is true with probability exp(-gap num/den).
func flip(gap, num, den uint64, src *Bits) bool {
	hi, lo := bits.Mul64(gap, num)
	if hi >= den { // exp(-2^64) or less: the trials of the whole part would not end in a lifetime otherwise
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

// expMinusPart is true with probability exp(-a/b), 0 < a <= b. Draw coins of probability (a/b)/k for
// k = 1, 2, ... until one fails: the probability that the first failure is at k > j is
// (a/b)^j/j!, so that it is at an odd k is the alternating series of exp(-a/b)
// [Canonne, Kamath and Steinke 2020, Algorithm 1].
func expMinusPart(a, b uint64, src *Bits) bool {
	k := uint64(1)
	for src.Uint64n(k) == 0 && src.Uint64n(b) < a {
		k++
	}
	return k%2 == 1
}
