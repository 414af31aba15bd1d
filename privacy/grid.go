package privacy

import "math"

// GridFor returns the grid for noise of standard deviation sigma. The grid is the power of two g with 2^28 <=
// sigma/g < 2^29, but at least 2^-1074, the smallest positive float64. It depends on sigma only, so it
// reveals nothing about the data. Rounding to the grid changes a coordinate by at most sigma * 2^-29, and
// multiples up to 2^53 g are float64 numbers. GridFor returns 0 unless sigma is positive and finite.
func GridFor(sigma float64) float64 {
	if !(sigma > 0) || math.IsInf(sigma, 0) {
		return 0
	}
	_, e := math.Frexp(sigma) // sigma in [2^(e-1), 2^e)
	return math.Ldexp(1, max(e-29, -1074))
}

// RoundToGrid rounds every x[i] exactly to the nearest multiple of grid, which is a power of two. A number
// halfway between two multiples is rounded to the even multiple. A number of magnitude 2^53 grid or more
// is already a multiple and stays unchanged.
func RoundToGrid(x []float64, grid float64) {
	for i, v := range x {
		if r := math.RoundToEven(v / grid); math.Abs(r) < 0x1p53 {
			x[i] = r*grid + 0 // never -0
		}
	}
}
