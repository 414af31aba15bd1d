// Package local has randomisers that run at a user, whose message is private against
// everybody who receives it: an answer (RandomizedResponse), a direction (Direction) and a
// whole vector (Vector). Each costs its user an event of pure epsilon.
package local

import (
	"fmt"
	"math"
	"math/bits"

	"dyad/privacy"
	"dyad/privacy/internal/round"
)

// MaxEpsilon bounds the epsilon of one local randomiser: beyond it there is
// no protection left to speak of. MinEpsilon bounds it from below: an answer
// says nothing there, and the proof of placeLaw needs room for rounding.
const (
	MaxEpsilon = 50
	MinEpsilon = 0x1p-30
)

func checkLocalEpsilon(epsilon float64) error {
	if !(epsilon >= MinEpsilon && epsilon <= MaxEpsilon) {
		return fmt.Errorf("local: the epsilon of a local randomiser is %v, must be between %.3g and %d", epsilon, MinEpsilon, MaxEpsilon)
	}
	return nil
}

// placeLaw is a law on the places 0..n-1: the places below k are equally likely, the
// others are equally likely, and one of the former is at most e^epsilon times as likely
// as one of the latter. All local randomisers draw a place and send the answer that
// stands there; what is private decides only which answers stand below k.
//
// Guarantee: if every input puts the n answers at the n places in some order, and a
// mixture of orders is allowed, the answer sent is epsilon-locally private for any two
// inputs, exactly, also in floating point.
//
// Proof. Place and order are independent. Given the order an answer has one of two
// probabilities, that of a place below k or that of another, at most e^epsilon apart;
// a mixture stays between the two. With q the probability of a place not below k, the
// odds are ((1-q)/k)/(q/(n-k)), which fall with q, and are e^epsilon at
// q = (n-k)r/(k + (n-k)r), r = e^-epsilon. Whichever of q and 1-q is at most 1/2 is
// computed with a relative error below 2^-45, q rounded up and 1-q rounded down, so that
// the odds are at most e^epsilon, and at least e^epsilon (1 - 2^-43) >= e^-epsilon. The
// number drawn is an integer multiple of 2^-128 and is compared exactly. QED
//
// Work: draw takes four words of the stream (but for the rejections of Uint64n, which
// look at the stream alone) and has no branch, so its time tells neither the place nor
// anything else.
type placeLaw struct {
	n, k   uint64
	hi, lo uint64 // 2^128 (1-q)
}

// newPlaceLaw is the law for 1 <= k <= n/2, n <= 2^31 and epsilon within the bounds of
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

// fixed128 is 2^128 x for 2^-75 <= x < 1, exactly.
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

// below is 1 if a < b, and 0 if not, without a branch.
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

// pick is a if bit is 1, and b if it is 0, without a branch.
func pick(bit, a, b uint64) uint64 { return b ^ (a^b)&-bit }
