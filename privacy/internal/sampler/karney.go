package sampler

import "math/big"

// urand is a uniform random real of [0, 1] of which only the digits that some
// decision needed have been drawn: "u-rand" in Karney 2016, after von Neumann.
// Its value is sum_i digit_i * B^-i, i >= 1, B = 2^width.
//
// Laziness is exact (docs/theory.md#lazy-digits): drawing digits late gives the same joint law as
// drawing all of them at the start. A urand must not be copied and then used
// twice: the two copies would draw different digits for the same real.
type urand struct {
	head uint64   // digit 1
	tail []uint64 // digits 2, 3, ... as far as drawn; mostly nil
}

// karney draws exact reals digit by digit, as Karney, "Sampling exactly from the
// normal distribution", ACM TOMS 42(1), 2016. width is the number of bits of a
// digit, 1 to 64. Releases use 64; tests also use small widths, where decisions
// that need a second digit, which are rare otherwise, happen in nearly every draw.
type karney struct {
	src   *Bits
	width uint
}

// fresh returns a new urand with one digit.
func (s karney) fresh() urand { return urand{head: s.digit()} }

func (s karney) digit() uint64 { return s.src.Uint64() >> (64 - s.width) }

// digitAt returns digit i+2 of u and draws it, and those before it, if needed.
func (s karney) digitAt(u *urand, i int) uint64 {
	for len(u.tail) <= i {
		u.tail = append(u.tail, s.digit())
	}
	return u.tail[i]
}

// prefix returns floor(u B^n): u is in [prefix, prefix+1] B^-n. n >= 1.
func (s karney) prefix(u *urand, n int) *big.Int {
	v := new(big.Int).SetUint64(u.head)
	for i := range n - 1 {
		v.Lsh(v, s.width).Add(v, new(big.Int).SetUint64(s.digitAt(u, i)))
	}
	return v
}
