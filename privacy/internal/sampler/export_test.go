package sampler

import "math/big"

// Doors for the tests of the noise, which live outside the package because
// privtest imports it.

// Normal draws with digits of width bits and returns sign, k and x to 64 bits
// or more.
func (s *Bits) Normal(width uint) (negative bool, k uint64, x float64) {
	z := karney{src: s, width: width}.normal()
	scale, x := 1.0, 0.0
	for i := -1; i < 64/int(width); i++ {
		d := z.x.head
		if i >= 0 {
			d = karney{src: s, width: width}.digitAt(&z.x, i)
		}
		scale /= float64(uint64(1)<<(width-1)) * 2
		x += float64(d) * scale
	}
	return z.negative, z.k, x
}

// AddGaussian, AddLaplace and AddKNorm are the functions that releases call, with digits of
// width bits.
func AddGaussian(x []float64, sigma, grid float64, src *Bits, width uint) {
	gaussian(x, sigma, grid, karney{src: src, width: width})
}
func AddLaplace(x []float64, scale, grid float64, src *Bits, width uint) {
	laplace(x, scale, grid, karney{src: src, width: width})
}
func AddKNorm(x []float64, scale, grid float64, src *Bits, width uint) {
	knorm(x, scale, grid, karney{src: src, width: width})
}

// CellCase is one decision of a grid cell: x + sigma Z, with Z given by its
// sign, k and the digits drawn so far.
type CellCase struct {
	X, Sigma, Grid float64
	Negative       bool
	K              uint64
	Digits         []uint64 // 64 bits each, at least one
}

// Fast is the 128-bit decision from the first digit.
func (c CellCase) Fast() (m int64, ok bool) {
	r := newRounder(c.Sigma, c.Grid, karney{width: 64})
	return r.fast(c.X, &lazyReal{negative: c.Negative, k: c.K, x: urand{head: c.Digits[0]}})
}

// Slow is the decision in big integers; digits beyond Digits come from src. It
// returns the number of digits used, at least len(Digits).
func (c CellCase) Slow(src *Bits) (m *big.Int, digits int) {
	r := newRounder(c.Sigma, c.Grid, karney{src: src, width: 64})
	z := lazyReal{negative: c.Negative, k: c.K, x: urand{head: c.Digits[0], tail: c.Digits[1:]}}
	m = r.slow(c.X, &z)
	return m, 1 + len(z.x.tail)
}
