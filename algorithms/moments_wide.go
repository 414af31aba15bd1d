package algorithms

import (
	"math"
	"slices"

	"dyad/engine"
)

const (
	// Above so many features the eigenvectors that stand out of the noise are found, and the others have one eigenvalue in common.
	// Below, and up to mostAllVectors where too many stand out, all are.
	leastTopVectors = maxRuleMoments + 1
	mostAllVectors  = 2048
	// beyondEdge is how far above the edge of the noise an eigenvalue stands out, of the edge. At the edge a vector says nothing.
	beyondEdge = 1.05
)

// wideSpectrum is spectrum of wide full second moments, in units of R^2. Their noise fills [-e, e], e = sqrt(2 d) s2.
func wideSpectrum(second []float64, d int, s2, n float64) spectrum {
	full := engine.Symmetric{Dim: d}
	mean := full.Rest(second, nil).Mean
	values, frame, all := full.Top(second, max(mean, 0)+beyondEdge*math.Sqrt(2*float64(d))*s2)
	if !all && d <= mostAllVectors {
		values, vectors := full.Eigen(second)
		return spectrum{vectors: vectors, values: momentsSpectrum(values, s2, n, 1)}
	}
	return spectrum{frame: frame, values: topSpectrum(full.Rest(second, values), s2, n)}
}

// topSpectrum is momentsSpectrum where only the eigenvalues that stand out are known: the others enter by the semicircle law with their mean and
// variance, whose Stieltjes transform at a distance z > 2 sqrt(v) from the mean is (z - sqrt(z^2 - 4 v))/(2 v), and z/(2 v) within. They all become their
// mean, which makes the sum of all eigenvalues what it was. The result is in the order of t, the others last.
func topSpectrum(t engine.TopValues, s2, n float64) []float64 {
	k, d := len(t.Values), float64(len(t.Values)+t.Rest)
	var trace, left float64
	xi := make([]float64, k+t.Rest) // ascending: the others first
	for i, l := range t.Values {
		var h float64
		for _, m := range t.Values {
			if l != m {
				h += (l - m) / ((l-m)*(l-m) + s2*s2)
			}
		}
		if z, v := l-t.Mean, t.Variance; t.Rest > 0 && v > 0 {
			h += float64(t.Rest) * (z - math.Sqrt(max(z*z-4*v, 0))) / (2 * v)
		}
		x := l - s2*s2*h
		xi[len(xi)-1-i] = x
		trace, left = trace+l, left+x
	}
	trace += t.Mean * float64(t.Rest)
	for i := range t.Rest {
		xi[i] = (trace - left) / float64(t.Rest)
	}
	mean := trace / d
	public := min(max(mean, 0.1*n/d), n/d)
	nondecreasing(xi)
	for i := range xi {
		xi[i] = max(xi[i]+public-mean, 0)
	}
	slices.Reverse(xi)
	return xi
}
