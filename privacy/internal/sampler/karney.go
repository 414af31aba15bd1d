package sampler

import "math/big"

// urand is a uniform random real of [0, 1] that has only those digits which a decision needed ("u-rand" in
// Karney 2016, after von Neumann). Its value is sum_i digit_i * B^-i, i >= 1, B = 2^width.
//
// Drawing digits late is exact (docs/theory.md#lazy-digits): the joint law is the same as with all digits
// drawn at the start. A urand must not be copied and then used twice, because the two copies would draw
// different digits for the same real.
type urand struct {
	head uint64   // digit 1
	tail []uint64 // digits 2, 3, ... drawn so far; usually nil
}

// karney draws exact reals digit by digit, as in Karney, "Sampling exactly from the normal distribution", ACM
// TOMS 42(1), 2016. The width is the number of bits of a digit, 1 to 64. Releases use 64. Tests also use
// small widths, for which nearly every draw needs a second digit; with 64 bits this is rare.
type karney struct {
	src   *Bits
	width uint
}

// fresh returns a new urand with one digit.
func (s karney) fresh() urand { return urand{head: s.digit()} }

func (s karney) digit() uint64 { return s.src.Uint64() >> (64 - s.width) }

// digitAt returns digit i+2 of u. If necessary, it draws this digit and the digits before it.
func (s karney) digitAt(u *urand, i int) uint64 {
	for len(u.tail) <= i {
		u.tail = append(u.tail, s.digit())
	}
	return u.tail[i]
}

// prefix returns floor(u B^n) for n >= 1, so u is in [prefix, prefix+1] B^-n.
func (s karney) prefix(u *urand, n int) *big.Int {
	v := new(big.Int).SetUint64(u.head)
	for i := range n - 1 {
		v.Lsh(v, s.width).Add(v, new(big.Int).SetUint64(s.digitAt(u, i)))
	}
	return v
}
