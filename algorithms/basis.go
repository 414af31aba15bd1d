package algorithms

import (
	"fmt"
	"math"

	"dyad/privacy"
)

// curvedBasis is the basis (engine/dataset) that ChooseBasis takes if n mu/sqrt d' is at least leastCurved, where d' is
// the number of features with the basis. Bends that noise causes are shrunk (straighten). Below the threshold even the
// linear part loses accuracy. In the measurements, 48 cells have values from 300 to 400. None of them loses more than
// 0.002 of AUC, and none with a value from 350 on loses more than 0.001. docs/curves.md has the measurements.
const (
	noBasis     = "none"
	curvedBasis = "spike:6"
	leastCurved = 350
	// mostCurved bounds the number of values of the records with the basis: 2^27 values need 1 GiB. A default must not
	// need several times the memory of the file. The program counts all records of the file, including the held-out
	// ones.
	mostCurved = 1 << 27
)

// ChooseBasis chooses the basis if the schema does not name one, and returns the reason. It uses public numbers only. n
// is the number of records, or persons, to train with. rows is the largest number of rows that they have in total. dim
// returns the number d of features that a basis makes, and ok = false if there are too many features.
func ChooseBasis(n, rows int, b privacy.Budget, dim func(basis string) (d int, ok bool)) (basis, reason string) {
	if b.Delta == 0 {
		return noBasis, "the rule for bases was measured for delta > 0 only"
	}
	d, ok := dim(curvedBasis)
	if !ok {
		return noBasis, fmt.Sprintf("%s makes too many features", curvedBasis)
	}
	if plain, ok := dim(noBasis); ok && plain == d {
		return noBasis, "there is no column of numbers for a basis"
	}
	if numbers := float64(rows) * float64(d); numbers > mostCurved {
		return noBasis, fmt.Sprintf("%s needs %.3g numbers for %d rows, above the limit of %d (1 GiB); to use this "+
			"basis, name it in the schema", curvedBasis, numbers,
			rows, mostCurved)
	}
	t := float64(n) * noiseMu(b, d) / math.Sqrt(float64(d))
	if t >= leastCurved {
		return curvedBasis, fmt.Sprintf("n mu/sqrt d = %.3g is enough (n records, budget mu, d = %d features); "+
			"this basis needs %d", t,
			d, leastCurved)
	}
	return noBasis, fmt.Sprintf("n mu/sqrt d = %.3g is too small for a basis (n records, budget mu, d = %d "+
		"features of %s); want at least %d", t, d,
		curvedBasis, leastCurved)
}
