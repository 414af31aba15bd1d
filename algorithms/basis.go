package algorithms

import (
	"fmt"
	"math"

	"dyad/privacy"
)

// Bases that ChooseBasis chooses among (engine/dataset), and the least t' = n mu/sqrt d' that pays for them, d' the features with
// that basis. docs/curves.md has the measurements.
const (
	noBasis             = "none"
	fewBends, leastFew  = "curve:2", 400
	manyBends, leastAll = "cosine:6", 700
)

// ChooseBasis is the basis of a schema with basis: auto, and why: a function of public numbers. n are the records, or persons, to
// train with, and dim is d' with a basis; ok is false where that is too many features.
func ChooseBasis(n int, b privacy.Budget, dim func(basis string) (d int, ok bool)) (basis, reason string) {
	if b.Delta == 0 {
		return noBasis, "the rule for bases was measured with delta > 0"
	}
	for _, c := range []struct {
		basis string
		least float64
	}{{manyBends, leastAll}, {fewBends, leastFew}} {
		d, ok := dim(c.basis)
		if !ok {
			reason = fmt.Sprintf("%s makes too many features", c.basis)
			continue
		}
		t := float64(n) * noiseMu(b, d) / math.Sqrt(float64(d))
		if t >= c.least {
			return c.basis, fmt.Sprintf("n mu/sqrt d = %.3g with its %d features is at least %g", t, d, c.least)
		}
		reason = fmt.Sprintf("n mu/sqrt d = %.3g with the %d features of %s, and %g would pay for them", t, d, c.basis, c.least)
	}
	return noBasis, reason
}
