package sampler

import (
	"math"
	"math/big"
	"math/bits"
)

// dyadic returns the integer m and the exponent e with v = m 2^e and 2^52 <= |m| < 2^53. It returns m = 0 for
// v = 0. v must be finite.
func dyadic(v float64) (m int64, e int) {
	f, e := math.Frexp(v)
	return int64(f * 0x1p53), e - 53
}

// rounder computes the cell of x + sigma Z in the grid g Z, which is the integer
//
//	m = floor((x + sigma Z)/g + 1/2)
//
// for dyadic numbers x, sigma = S 2^es, g = 2^eg and an exact real Z of a continuous law (normal or Laplace).
// The digits of Z drawn so far give an enclosure of Z. The rounder draws more digits until both ends of the
// enclosure have the same m. So m is the cell of the real number, and no rounded operation is used
// (docs/theory.md#cells).
type rounder struct {
	draw  karney
	s     uint64 // S
	es    int
	eg    int
	g     float64
	shift int // g = 2^shift units of 2^(es-64)
}

func newRounder(sigma, grid float64, draw karney) rounder {
	s, es := dyadic(sigma)
	_, e := math.Frexp(grid) // grid = 2^(e-1)
	return rounder{draw: draw, s: uint64(s), es: es, eg: e - 1, g: grid, shift: e - 1 - es + 64}
}

// noisy returns m g, with the m of rounder. The conversion to float64 rounds for |m| > 2^53 and saturates at
// the largest float64. It is a function of m alone, hence post-processing. Zero is always +0.
func (r *rounder) noisy(x float64, z *lazyReal) float64 {
	if m, ok := r.fast(x, z); ok {
		return saturate(float64(m) * r.g)
	}
	return gridPoint(r.slow(x, z), r.eg)
}

// gridPoint returns the float64 of m 2^eg, with the roundings described at noisy.
func gridPoint(m *big.Int, eg int) float64 {
	v, _ := new(big.Float).SetMantExp(new(big.Float).SetInt(m), eg).Float64()
	return saturate(v)
}

func saturate(v float64) float64 {
	return max(-math.MaxFloat64, min(v, math.MaxFloat64))
}

// fast decides m from the first 64-bit digit of Z in 128-bit integers, in units of 2^(es-64). It returns
// false if it cannot decide m, with probability near 2^-35 for the grid of GridFor and |x| < 2^32 sigma. With
// first digit U, Z is in s [K, K+1] 2^-64, where s is the sign of Z and K = k 2^64 + U, so sigma Z is in s S
// [K, K+1] units. x is split exactly into q g + rest, where |rest| < g and rest has the sign of x. A part of
// rest below one unit is enclosed by [0, 1] units.
func (r *rounder) fast(x float64, z *lazyReal) (m int64, ok bool) {
	// The noise is below 2^53 (k+1) 2^64 <= 2^122 and rest is below 2^124, so no sum in this function
	// overflows 127 bits. The cell is below 2^62 + 1.
	if r.draw.width != 64 || r.shift < 62 || r.shift > 124 || z.k >= 16 {
		return 0, false
	}
	mx, ex := dyadic(x)
	negative := mx < 0
	if negative {
		mx = -mx
	}
	var q int64
	var rest int128
	var slack uint64 // 1 if bits of x below one unit were cut
	switch d := r.eg - ex; {
	case mx == 0:
	case d <= 0: // a multiple of g
		if d < -8 {
			return 0, false // |x| >= 2^60 g
		}
		q = mx << -d
	default:
		if d < 53 {
			q = mx >> d
			mx &= 1<<d - 1
		}
		if up := ex - r.es + 64; up >= 0 { // mx 2^up < 2^shift
			rest = shl128(uint64(mx), uint(up))
		} else if up > -64 {
			rest.lo = uint64(mx) >> -up
			if rest.lo<<-up != uint64(mx) {
				slack = 1
			}
		} else {
			slack = 1
		}
	}

	var noise int128
	noise.hi, noise.lo = mul(r.s, z.x.head)
	noise.hi += int64(r.s * z.k)

	// [lo, hi] encloses rest + sigma Z + g/2.
	lo := shl128(1, uint(r.shift-1))
	hi := lo
	if z.negative {
		hi = hi.sub(noise)
		lo = lo.sub(noise.add(int128{lo: r.s}))
	} else {
		lo = lo.add(noise)
		hi = hi.add(noise.add(int128{lo: r.s}))
	}
	if negative {
		hi = hi.sub(rest)
		lo = lo.sub(rest.add(int128{lo: slack}))
		q = -q
	} else {
		lo = lo.add(rest)
		hi = hi.add(rest.add(int128{lo: slack}))
	}
	m = lo.shr(uint(r.shift))
	return q + m, m == hi.shr(uint(r.shift))
}

// slow decides m for any arguments, in big integers, with as many digits as necessary. The loop ends with
// probability 1, because the real number x + sigma Z lies on the boundary of a cell with probability 0.
func (r *rounder) slow(x float64, z *lazyReal) *big.Int {
	mx, ex := dyadic(x)
	for n := 1; ; n++ {
		lo, hi := r.enclose(mx, ex, z, n)
		if lo.Cmp(hi) == 0 {
			return lo
		}
	}
}

// enclose returns the cells of both ends of the enclosure of x + sigma Z that follows from the first n digits
// of Z. Here x = mx 2^ex.
func (r *rounder) enclose(mx int64, ex int, z *lazyReal, n int) (lo, hi *big.Int) {
	k := r.draw.digits(z, n)
	s := new(big.Int).SetUint64(r.s)
	near := new(big.Int).Mul(s, k) // |sigma Z| is in [near, near+s] 2^(es-n w)
	return cellsBetween(mx, ex, near, new(big.Int).Add(near, s), z.negative, r.es-n*int(r.draw.width), r.eg)
}

// digits returns floor(|z| B^n), B = 2^width, so |z| is in [digits, digits+1] B^-n.
func (s karney) digits(z *lazyReal, n int) *big.Int {
	k := new(big.Int).SetUint64(z.k)
	return k.Lsh(k, uint(n)*s.width).Add(k, s.prefix(&z.x, n))
}

// cellsBetween returns the cells, in the grid of multiples of 2^eg, of both ends of mx 2^ex + [near, far]
// 2^en. If negative is true, the interval is subtracted. It requires 0 <= near <= far and overwrites near and
// far.
func cellsBetween(mx int64, ex int, near, far *big.Int, negative bool, en, eg int) (lo, hi *big.Int) {
	unit := min(ex, en, eg-1)
	if negative {
		near.Neg(near)
		far.Neg(far)
		near, far = far, near
	}
	base := big.NewInt(mx)
	base.Lsh(base, uint(ex-unit))
	base.Add(base, new(big.Int).Lsh(big.NewInt(1), uint(eg-1-unit)))
	lo = near.Lsh(near, uint(en-unit)).Add(near, base)
	hi = far.Lsh(far, uint(en-unit)).Add(far, base)
	cell := uint(eg - unit)
	return lo.Rsh(lo, cell), hi.Rsh(hi, cell) // Rsh rounds towards minus infinity
}

// int128 is a two's complement integer of 128 bits.
type int128 struct {
	hi int64
	lo uint64
}

func mul(a, b uint64) (hi int64, lo uint64) {
	h, l := bits.Mul64(a, b)
	return int64(h), l
}

// shl128 returns v 2^n for 0 <= n < 127 and v 2^n < 2^127.
func shl128(v uint64, n uint) int128 {
	if n >= 64 {
		return int128{hi: int64(v << (n - 64))}
	}
	return int128{hi: int64(v >> (64 - n)), lo: v << n}
}

func (a int128) add(b int128) int128 {
	lo, c := bits.Add64(a.lo, b.lo, 0)
	return int128{hi: a.hi + b.hi + int64(c), lo: lo}
}

func (a int128) sub(b int128) int128 {
	lo, c := bits.Sub64(a.lo, b.lo, 0)
	return int128{hi: a.hi - b.hi - int64(c), lo: lo}
}

// shr returns floor(a 2^-n), 1 <= n < 128. The caller guarantees that the result fits in 64 bits.
func (a int128) shr(n uint) int64 {
	if n >= 64 {
		return a.hi >> (n - 64)
	}
	return a.hi<<(64-n) | int64(a.lo>>n)
}
