package evaluate

import (
	"math"
	"slices"
)

// ratio is an unknown share theta of a released numerator in a released denominator, for example of true
// positives in positives. theta lies in [low, high].
type ratio struct {
	numerator, denominator float64
	low, high              float64
	// numeratorNoise and denominatorNoise are the variances of the noise. sampling returns the variance of the
	// numerator without noise, given theta.
	numeratorNoise, denominatorNoise float64
	sampling                         func(theta float64) float64
	laplace                          bool // the noise has Laplace tails
}

// interval inverts a test (docs/theory.md#evaluation-intervals): it is the hull of all theta for which
//
//	|numerator - theta denominator| <= z sqrt(variance at theta)
//
// (Fieller 1954 for the noise, Wilson 1927 for the sampling). If the denominator may be zero, the interval is
// wide, up to the whole range of theta, but never unstable. Both sides squared are nearly quadratic in theta.
// So the set is an interval or the complement of an interval, and a grid that contains the estimate finds it.
func (r ratio) interval(confidence float64) Figure {
	z := math.Sqrt2 * math.Erfinv(confidence)
	excess := func(theta float64) float64 {
		top, bottom := r.numeratorNoise, r.denominatorNoise*theta*theta
		variance := top + bottom + max(r.sampling(theta), 0)
		kurtosis := 0.0 // excess kurtosis of the sum
		if r.laplace && variance > 0 {
			kurtosis = 3 * (top*top + bottom*bottom) / (variance * variance)
		}
		return math.Abs(r.numerator-theta*r.denominator) - quantile(z, kurtosis)*math.Sqrt(variance)
	}
	f := Figure{Value: (r.low + r.high) / 2}
	if r.denominator > 0 {
		f.Value = min(max(r.numerator/r.denominator, r.low), r.high)
	}
	const grid = 64
	points := make([]float64, 0, grid+2)
	for k := range grid + 1 {
		points = append(points, r.low+(r.high-r.low)*float64(k)/grid)
	}
	points[grid] = r.high
	at, _ := slices.BinarySearch(points, f.Value)
	points = slices.Insert(points, at, f.Value) // an interval may be narrower than the grid spacing
	fits := func(theta float64) bool { return excess(theta) <= 0 }
	first := slices.IndexFunc(points, fits)
	if first < 0 {
		// No theta of the range fits the numbers, because the noise moved the estimate beyond an end of the range. The
		// end alone would look like a share without an error, so the interval is computed for an estimate at the end.
		r.numerator = f.Value * r.denominator
		first = max(slices.IndexFunc(points, fits), 0)
	}
	last := len(points) - 1
	for last > first && !fits(points[last]) {
		last--
	}
	f.Low, f.High = points[first], points[last]
	if first > 0 {
		f.Low = bisect(excess, points[first-1], f.Low)
	}
	if last < len(points)-1 {
		f.High = bisect(excess, points[last+1], f.High)
	}
	f.Low, f.High = min(f.Low, f.Value), max(f.High, f.Value)
	return f
}

// bisect narrows a change of sign between outside, where f > 0, and inside. It returns the outer end.
func bisect(f func(float64) float64, outside, inside float64) float64 {
	for range 40 {
		if middle := (outside + inside) / 2; f(middle) > 0 {
			outside = middle
		} else {
			inside = middle
		}
	}
	return outside
}

// quantile converts a normal quantile z, with P(|Z| <= z) = confidence, to the quantile of a symmetric law with
// variance 1 and this excess kurtosis. It uses the term of Cornish and Fisher.
func quantile(z, kurtosis float64) float64 {
	return z + max(kurtosis*(z*z*z-3*z)/24, 0)
}
