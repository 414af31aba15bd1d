// Package sampler draws random bits, and noise that is exact: the result is the rounding
// of query + continuous noise to a grid, decided from as many random digits as it takes.
package sampler

// The functions below replace every x[i] by the multiple of grid nearest to x[i] + Z_i
// (a tie goes up), where x[i] is the exact dyadic number that the float64 is and Z is
// drawn exactly from its continuous law. All x[i] must be finite; sigma and scale positive
// and finite; grid a power of two.

// NoiseGaussian adds independent N(0, sigma^2) noise.
func Gaussian(x []float64, sigma, grid float64, src *Bits) {
	gaussian(x, sigma, grid, releaseDigits(src))
}

// NoiseLaplace adds independent noise of density exp(-|z|/scale)/(2 scale).
func Laplace(x []float64, scale, grid float64, src *Bits) {
	laplace(x, scale, grid, releaseDigits(src))
}

// NoiseKNorm adds a vector of density proportional to exp(-||z||_2/scale).
func KNorm(x []float64, scale, grid float64, src *Bits) {
	knorm(x, scale, grid, releaseDigits(src))
}

// Normal is an exact standard normal draw cut to about 2^-52 relative to its whole part
// and 1. It is for coins that no guarantee rests on, never for noise.
func Normal(src *Bits) float64 {
	z := releaseDigits(src).normal()
	return z.float64()
}

// releaseDigits draws digits as releases do: 64 bits at a time.
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
