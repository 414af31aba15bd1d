package algorithms

import (
	"fmt"
	"math"

	"dyad/privacy"
)

// curvedBasis is the basis that ChooseBasis takes (engine/dataset) if n mu/sqrt d', d' the features with it, is at least leastCurved: the
// bends that noise makes are shrunk (straighten), and below that the linear part itself loses. docs/curves.md has the measurements.
const (
	noBasis     = "none"
	curvedBasis = "cosine:6"
	leastCurved = 400
)

// ChooseBasis is the basis of a schema with basis: auto, and why: a function of public numbers. n are the records, or persons, to
// train with, and dim is d' with a basis; ok is false where that is too many features.
func ChooseBasis(n int, b privacy.Budget, dim func(basis string) (d int, ok bool)) (basis, reason string) {
	if b.Delta == 0 {
		return noBasis, "the rule for bases was measured with delta > 0"
	}
	d, ok := dim(curvedBasis)
	if !ok {
		return noBasis, fmt.Sprintf("%s makes too many features", curvedBasis)
	}
	t := float64(n) * noiseMu(b, d) / math.Sqrt(float64(d))
	if t >= leastCurved {
		return curvedBasis, fmt.Sprintf("n mu/sqrt d = %.3g with its %d features is at least %d", t, d, leastCurved)
	}
	return noBasis, fmt.Sprintf("n mu/sqrt d = %.3g with the %d features of %s, and %d would pay for them", t, d, curvedBasis, leastCurved)
}
