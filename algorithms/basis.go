package algorithms

import (
	"fmt"
	"math"

	"dyad/privacy"
)

// curvedBasis is the basis that ChooseBasis takes (engine/dataset) if n mu/sqrt d', d' the features with it, is at least leastCurved: the
// bends that noise makes are shrunk (straighten), and below that the linear part itself loses: of 48 cells from 300 to 400 none loses more than
// 0.002, but of those from 350 on none more than 0.001. docs/curves.md has the measurements.
const (
	noBasis     = "none"
	curvedBasis = "spike:6"
	leastCurved = 350
	// mostCurved bounds the numbers of the records with the basis, 1 GiB: a default must not take several times the memory of the file.
	// The program asks for all records of the file, also those that are held out.
	mostCurved = 1 << 27
)

// ChooseBasis returns the basis of a schema that leaves it to the training, and why: a function of public numbers. n counts the records, or
// persons, to train with, and rows their rows at most; dim is d' with a basis, and ok is false where that is too many features.
func ChooseBasis(n, rows int, b privacy.Budget, dim func(basis string) (d int, ok bool)) (basis, reason string) {
	if b.Delta == 0 {
		return noBasis, "the rule for bases was measured with delta > 0"
	}
	d, ok := dim(curvedBasis)
	if !ok {
		return noBasis, fmt.Sprintf("%s makes too many features", curvedBasis)
	}
	if plain, ok := dim(noBasis); ok && plain == d {
		return noBasis, "no column has numbers that a basis could bend"
	}
	if numbers := float64(rows) * float64(d); numbers > mostCurved {
		return noBasis, fmt.Sprintf("%s makes %.3g numbers of %d rows, and by default it makes at most %d (1 GiB); name it to have it", curvedBasis, numbers, rows, mostCurved)
	}
	t := float64(n) * noiseMu(b, d) / math.Sqrt(float64(d))
	if t >= leastCurved {
		return curvedBasis, fmt.Sprintf("n mu/sqrt d = %.3g with its %d features is at least %d", t, d, leastCurved)
	}
	return noBasis, fmt.Sprintf("n mu/sqrt d = %.3g with the %d features of %s, and %d would pay for them", t, d, curvedBasis, leastCurved)
}
