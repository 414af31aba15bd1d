// Package sampler draws random bits and exact noise. Adding noise returns the sum of the query and
// continuous noise, rounded to a grid. The functions draw as many random digits as the rounding requires.
package sampler

// The functions Gaussian, Laplace and KNorm replace every x[i] by the multiple of grid nearest to x[i] + Z_i.
// If two multiples are equally near, the larger multiple is used. Here x[i] is the exact dyadic number that
// the float64 represents, and Z is drawn exactly from its continuous law. All x[i] must be finite. sigma and
// scale must be positive and finite, and grid must be a power of two.

// Gaussian adds independent N(0, sigma^2) noise.
func Gaussian(x []float64, sigma, grid float64, src *Bits) {
	gaussian(x, sigma, grid, releaseDigits(src))
}

// Laplace adds independent noise of density exp(-|z|/scale)/(2 scale).
func Laplace(x []float64, scale, grid float64, src *Bits) {
	laplace(x, scale, grid, releaseDigits(src))
}

// KNorm adds a vector of density proportional to exp(-||z||_2/scale).
func KNorm(x []float64, scale, grid float64, src *Bits) {
	knorm(x, scale, grid, releaseDigits(src))
}

// Normal returns a standard normal number. The number is drawn exactly and then truncated. The truncation
// error is about 2^-52 times (k + 1), where k is the whole part of the number. It is used for random
// choices that no guarantee depends on, and never for noise.
func Normal(src *Bits) float64 {
	z := releaseDigits(src).normal()
	return z.float64()
}

// releaseDigits returns a karney with the digits that releases use: 64 bits at a time.
func releaseDigits(src *Bits) karney { return karney{src: src, width: 64} }

func gaussian(x []float64, sigma, grid float64, draw karney) {
	r := newRounder(sigma, grid, draw)
	for i, v := range x {
		z := draw.normal()
		x[i] = r.noisy(v, &z)
	}
}

func laplace(x []float64, scale, grid float64, draw karney) {
	r := newRounder(scale, grid, draw)
	for i, v := range x {
		z := draw.exponential()
		z.negative = draw.src.Bit() == 1
		x[i] = r.noisy(v, &z)
	}
}

func knorm(x []float64, scale, grid float64, draw karney) {
	if len(x) == 0 {
		return
	}
	d := newRadial(scale, grid, len(x), draw)
	for i, v := range x {
		x[i] = d.noisy(i, v)
	}
}
