package privacy

import (
	"fmt"
	"math"
)

// MaxLocalEpsilon bounds the epsilon of one local randomiser: beyond it there is
// no protection left to speak of.
const MaxLocalEpsilon = 50

func checkLocalEpsilon(epsilon float64) error {
	if !(epsilon > 0 && epsilon <= MaxLocalEpsilon) {
		return fmt.Errorf("privacy: the epsilon of a local randomiser is %v, must be positive and at most %d", epsilon, MaxLocalEpsilon)
	}
	return nil
}

// chooseLocally returns an answer of 0..n-1 such that every favoured answer is
// equally likely, every other one equally likely, and a favoured one at most
// e^epsilon times as likely as another. All local randomisers are this choice.
//
// Guarantee: if the number of favoured answers is the same for every input, the
// choice is epsilon-locally differentially private for any two inputs, exactly,
// also in floating point.
//
// Proof. A trial draws an answer uniformly and keeps it if it is favoured, and
// with probability r otherwise, independent of everything else. So the answer has
// probability 1/(k + (n-k) r) if it is favoured and r/(k + (n-k) r) if not, with k
// the number of favoured ones. Two inputs share k, so the ratio of the
// probabilities of an answer is at most 1/r, and acceptFalse has r >= e^-epsilon.
// The number of trials is independent of the answer and has the same law for every
// input. QED
func (s *Source) chooseLocally(n int, epsilon float64, favoured func(answer int) bool) int {
	k := karney{src: s, width: 64}
	for {
		i := int(s.uint64n(uint64(n)))
		if favoured(i) || k.acceptFalse(epsilon) {
			return i
		}
	}
}

// acceptFalse is true with a probability of at least e^-x and at most
// e^-x (1 + m 2^-63), where m = ceil(2x).
//
// x is cut into m parts of at most 1/2, each exact. A part y is replaced by a
// random y' in [floor(2^64 y) - 1, floor(2^64 y)) 2^-64, uniform: a urand whose
// first digit is floor(2^64 y) - 1. So y - 2^-63 <= y' < y, and expMinus is true with
// probability E e^-y' >= e^-y. For y < 2^-64 it is taken as true.
func (s karney) acceptFalse(x float64) bool {
	for x > 0 {
		y := min(x, 0.5)
		x -= y
		first := uint64(math.Ldexp(y, int(s.width)))
		if first == 0 {
			continue
		}
		if u := (urand{head: first - 1}); !s.expMinus(&u) {
			return false
		}
	}
	return true
}
