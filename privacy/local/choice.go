// Package local has local randomisers. They run on a user's device, and the user's message is
// private against everybody who receives it. A message contains an answer (RandomizedResponse),
// a direction (Direction) or a whole vector (Vector). The privacy cost of a message for its user
// is an event of pure epsilon-DP.
package local

import (
	"fmt"
	"math"
	"math/bits"

	"dyad/privacy"
	"dyad/privacy/internal/round"
)

// MaxEpsilon is the largest epsilon of one local randomiser. A larger epsilon would give
// negligible protection. MinEpsilon is the smallest epsilon. With a smaller epsilon an answer
// would contain negligible information, and rounding errors would break the proof of placeLaw.
const (
	MaxEpsilon = 50
	MinEpsilon = 0x1p-30
)

func checkLocalEpsilon(epsilon float64) error {
	if !(epsilon >= MinEpsilon && epsilon <= MaxEpsilon) {
		return fmt.Errorf("local: the epsilon of a local randomiser is %v, but must be between %.3g and %d", epsilon,
			MinEpsilon, MaxEpsilon)
	}
	return nil
}

// placeLaw is a probability law on the places 0..n-1. The places below k are equally likely, and
// the other places are equally likely. A place below k is at most e^epsilon times as likely as
// another place. All local randomisers draw a place and send the answer at this place. Private data
// only decide which answers are at the places below k.
//
// Guarantee: suppose that every input puts the n answers at the n places in some order, or in a
// mixture of orders. Then the sent answer is epsilon-locally private for any two inputs, exactly,
// in floating point, too.
//
// Proof. Place and order are independent. Given the order, an answer has one of two probabilities:
// the probability of a place below k, or the probability of another place. The two are at most
// e^epsilon apart, and a mixture stays between them. Let q be the probability of a place not below
// k. The odds are ((1-q)/k)/(q/(n-k)). They fall with q, and are e^epsilon at q = (n-k)r/(k +
// (n-k)r), r = e^-epsilon. The smaller of q and 1-q is computed with a relative error below 2^-45.
// q is rounded up and 1-q is rounded down. So the odds are at most e^epsilon, and at least
// e^epsilon (1 - 2^-43) >= e^-epsilon. The number drawn is an integer multiple of 2^-128 and is
// compared exactly. QED
//
// Work: draw takes four words of the stream and has no branch. Only the rejections of Uint64n take
// more, and they depend on the stream alone. So the time of draw reveals neither the place nor
// anything else.
type placeLaw struct {
	n, k   uint64
	hi, lo uint64 // 2^128 (1-q)
}

// newPlaceLaw returns the law for 1 <= k <= n/2, n <= 2^31 and epsilon within the bounds of
// checkLocalEpsilon.
func newPlaceLaw(n, k int, epsilon float64) placeLaw {
	l := placeLaw{n: uint64(n), k: uint64(k)}
	few, rest := float64(k), float64(n-k)*round.Up(math.Exp(-epsilon), 32)
	if q := rest / (few + rest); q <= 0.5 {
		hi, lo := fixed128(round.Up(q, 32))
		l.lo, l.hi = bits.Sub64(0, lo, 0)
		l.hi, _ = bits.Sub64(0, hi, l.hi)
	} else {
		l.hi, l.lo = fixed128(few / (few + rest) * (1 - 32*0x1p-52))
	}
	return l
}

// fixed128 returns 2^128 x for 2^-75 <= x < 1, exactly.
func fixed128(x float64) (hi, lo uint64) {
	x *= 0x1p64
	hi = uint64(x)
	return hi, uint64((x - math.Floor(x)) * 0x1p64)
}

// draw draws a place.
func (l *placeLaw) draw(s *privacy.Source) uint64 {
	low := s.Uint64n(l.k)
	high := l.k + s.Uint64n(l.n-l.k)
	lo, hi := s.Uint64(), s.Uint64()
	return pick(below128(hi, lo, l.hi, l.lo), low, high)
}

// below returns 1 if a < b and 0 otherwise, without a branch.
func below(a, b uint64) uint64 {
	_, borrow := bits.Sub64(a, b, 0)
	return borrow
}

// below128 is below for numbers of two words.
func below128(aHigh, aLow, bHigh, bLow uint64) uint64 {
	_, borrow := bits.Sub64(aLow, bLow, 0)
	_, borrow = bits.Sub64(aHigh, bHigh, borrow)
	return borrow
}

// pick returns a if bit is 1 and b if bit is 0, without a branch.
func pick(bit, a, b uint64) uint64 { return b ^ (a^b)&-bit }
