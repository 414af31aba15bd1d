package sampler

import "math"

// radial is the noise vector of one KNorm release, represented by lazily drawn reals:
//
//	z = scale (E_1 + ... + E_m) (N_1, ..., N_m) / sqrt(N_1^2 + ... + N_m^2)
//
// with independent exact exponential reals E_j and normal reals N_j.
//
// Law: docs/theory.md#k-norm-noise and #cells.
//
// The cell of x_i + z_i is a function of these reals. It is decided by an enclosure that contains the real
// number. The method fast computes an enclosure in float64 from the first digits. If it does not decide the
// cell, slow computes enclosures in big integers with as many digits as necessary. Both enclosures are true
// statements about the same reals, so the choice between fast and slow does not change the law. See urand for
// the reason that digits may be drawn late, even where several coordinates share them.
type radial struct {
	draw         karney
	scale        float64
	s            uint64 // scale = s 2^es
	es, eg       int    // grid = 2^eg
	grid         float64
	normals      []lazyReal
	exponentials []lazyReal
	factor       float64     // factor of fast; 0 means that fast cannot be used
	bounds       []normBound // bounds of slow, by the number of digits less one
}

func newRadial(scale, grid float64, m int, draw karney) *radial {
	s, es := dyadic(scale)
	_, e := math.Frexp(grid) // grid = 2^(e-1)
	d := &radial{
		draw: draw, scale: scale, s: uint64(s), es: es, eg: e - 1, grid: grid,
		normals: make([]lazyReal, m), exponentials: make([]lazyReal, m),
	}
	for j := range d.normals {
		d.normals[j] = draw.normal()
	}
	for j := range d.exponentials {
		d.exponentials[j] = draw.exponential()
	}
	d.factor = d.fastFactor()
	return d
}

// noisy returns m g, m = floor((x + z_i)/g + 1/2), as rounder.noisy does.
func (d *radial) noisy(i int, x float64) float64 {
	if m, ok := d.fast(i, x); ok {
		return saturate(float64(m) * d.grid)
	}
	return gridPoint(d.slow(i, x), d.eg)
}
