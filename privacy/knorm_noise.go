package privacy

import (
	"fmt"
	"math"
)

// KNorm adds to a vector of m coordinates a vector of density proportional to
// exp(-||z||_2/Scale), drawn exactly, and rounds every coordinate of the sum to
// the grid of multiples of Grid. It is the K-norm mechanism [Hardt and Talwar
// 2010] for the Euclidean ball: E||z||^2 = m(m+1) Scale^2, smaller than that of
// Laplace noise for the same guarantee by the factor 2m/(m+1) (privacy.md 1.5).
//
// Guarantee: epsilon = Delta/Scale, Delta the L2 sensitivity, for any m. Proof:
// for queries q, q' the ratio of the output densities at y is
// exp((||y-q'|| - ||y-q||)/Scale) <= exp(||q-q'||/Scale); rounding is
// post-processing. QED. Floating point enters through the certificate.
type KNorm struct {
	Scale float64 // Delta/epsilon, > 0 and finite
	Grid  float64 // a power of two; 0 means GridFor(Scale)
}

// Event is a PureEvent with epsilon = c.Sensitivity()/Scale, rounded up.
func (m KNorm) Event(c Certificate) Event {
	if c.joint() {
		return PureEvent{Epsilon: math.Inf(1), Count: 1} // a joint L2 bound says nothing about pure epsilon
	}
	return c.pureEvent(c.Sensitivity(), m.Scale)
}

// Validate returns an error unless Scale and Grid are in range.
func (m KNorm) Validate() error { return checkScale("K-norm scale", m.Scale, m.Grid) }

// NoiseNorm is Scale sqrt(m(m+1)), m = coordinates.
func (m KNorm) NoiseNorm(coordinates int) float64 {
	return m.Scale * math.Sqrt(float64(coordinates)) * math.Sqrt(float64(coordinates)+1)
}

// GridSize is Grid, or GridFor(Scale).
func (m KNorm) GridSize() float64 { return gridOr(m.Grid, m.Scale) }

// Name returns "K-norm".
func (KNorm) Name() string { return "K-norm" }

// String returns e.g. "K-norm noise (density exp(-||z||/scale)) of scale 0.5".
func (m KNorm) String() string {
	return fmt.Sprintf("K-norm noise (density exp(-||z||/scale)) of scale %.6g", m.Scale)
}

func (m KNorm) add(x []float64, src *Source) error {
	if err := checkRelease(m, x, src); err != nil {
		clear(x)
		return err
	}
	m.addDigits(x, karney{src: src, width: 64})
	return nil
}

func (m KNorm) addDigits(x []float64, draw karney) {
	if len(x) == 0 {
		return
	}
	d := newRadial(m.Scale, m.GridSize(), len(x), draw)
	for i, v := range x {
		x[i] = d.noisy(i, v)
	}
}

// radial is the noise vector of one KNorm release, as lazily drawn reals:
//
//	z = scale (E_1 + ... + E_m) (N_1, ..., N_m) / sqrt(N_1^2 + ... + N_m^2)
//
// with independent exact exponential reals E_j and normal reals N_j.
//
// Law. In polar coordinates the density exp(-||z||/scale) makes the direction
// uniform and, independently, the radius of density proportional to
// r^(m-1) exp(-r/scale): the law of the sum of m exponential reals of mean scale.
// The law of (N_1, ..., N_m) is invariant under rotations, so its direction is
// uniform and independent of its length. QED
//
// The cell of x_i + z_i is a function of these reals. It is decided by an
// enclosure that contains the real number: first in float64 from the first
// digits (fast), then in big integers with as many digits as it takes (slow).
// Both are true statements about the same reals, so which of them decides has no
// influence on the law (see urand for why digits may be drawn late, also where
// several coordinates share them).
type radial struct {
	draw         karney
	scale        float64
	s            uint64 // scale = s 2^es
	es, eg       int    // grid = 2^eg
	grid         float64
	normals      []lazyReal
	exponentials []lazyReal
	factor       float64     // of fast; 0: fast cannot be used
	bounds       []normBound // of slow, by the number of digits less one
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
