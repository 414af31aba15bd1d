package bench

import "math"

// MeanAndError is the mean of at least two values and its standard error.
func MeanAndError(v []float64) (mean, standardError float64) {
	for _, x := range v {
		mean += x / float64(len(v))
	}
	for _, x := range v {
		standardError += (x - mean) * (x - mean)
	}
	return mean, math.Sqrt(standardError / float64(len(v)-1) / float64(len(v)))
}
