package algorithms

import (
	"math"
	"slices"

	"dyad/engine"
)

const (
	// From leastTopVectors features on, only the eigenvectors that exceed the noise are computed, and all others share
	// one eigenvalue. With fewer features all eigenvectors are computed. All eigenvectors are also computed if too
	// many exceed the noise, provided that there are at most mostAllVectors features.
	leastTopVectors = maxRuleMoments + 1
	mostAllVectors  = 2048
	// beyondEdge is the factor by which an eigenvalue must exceed the edge of the noise. At the edge an eigenvector has
	// no information.
	beyondEdge = 1.05
)

// wideSpectrum returns the spectrum of full second moments of many features, in units of R^2. The eigenvalues of
// their noise fill [-e, e] with e = sqrt(2 d) s2.
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

// topSpectrum is momentsSpectrum for a matrix with only its largest eigenvalues known. The unknown eigenvalues enter by
// the semicircle law with their mean and variance v. Its Stieltjes transform at a distance z from the mean is (z -
// sqrt(z^2 - 4 v))/(2 v) for z > 2 sqrt(v), and z/(2 v) within. The unknown eigenvalues all become their mean, which
// keeps the sum of all eigenvalues. The result is in the order of t, with the unknown eigenvalues last.
func topSpectrum(t engine.TopValues, s2, n float64) []float64 {
	k, d := len(t.Values), float64(len(t.Values)+t.Rest)
	var trace, left float64
	xi := make([]float64, k+t.Rest) // ascending: the unknown eigenvalues first
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
