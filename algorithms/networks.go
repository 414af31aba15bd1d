package algorithms

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"dyad/privacy"
)

// fewFeatures and manyRecords are where networks lost to linear scores in every comparison on data (docs/networks.md#results): with more
// features than the one and fewer records than the other.
const fewFeatures, manyRecords = 6, 8000

// NetworkChoice is the algorithm of a network of n records of d features unless one is named. The reason says where a linear score was better,
// by these public numbers.
func NetworkChoice(l2 *float64, n, d int, scores bool) Choice {
	c := Choice{
		Algorithm: GradientPerturbation{Optimizer: NetworkOptimizer()},
		Reason:    "a network: its loss is not convex, so every gradient gets noise; Adam chooses the steps",
	}
	if scores && d > fewFeatures && n < manyRecords {
		c.Reason += fmt.Sprintf("; with d > %d and n < %d a linear score (--model linear) had the higher AUC in every comparison of docs/networks.md", fewFeatures, manyRecords)
	}
	if l2 != nil {
		c.L2 = *l2
	}
	return c
}

// TakesNetworks refuses algorithms whose guarantee is not one of single gradients; the error has no prefix.
func TakesNetworks(a Algorithm) error {
	switch a.(type) {
	case GradientPerturbation, SubsampledDescent, DPGDC2:
		return nil
	}
	return fmt.Errorf("%s does not train networks: they are trained by noisy gradients, with gradient-perturbation, dpgdc2 or, on secret batches of records, subsampled-descent", a.Info().Name)
}

// StartOf says where the start of a network comes from, for the guarantee and for checkpoints: a public seed, or the weights of a model of
// data with a guarantee.
func StartOf(seed uint64, weights []float64, dataID string, g privacy.Guarantee) string {
	if weights == nil {
		return fmt.Sprintf("public start of seed %d", seed)
	}
	text, _ := json.Marshal(weights)
	sum := sha256.Sum256(text)
	from := "public data"
	if g.Kind != privacy.Public {
		from = fmt.Sprintf("data %q that has a guarantee of its own, epsilon %s at delta %s", dataID, privacy.FormatUp(g.Epsilon), privacy.FormatUp(g.Delta))
	}
	return fmt.Sprintf("the start is a model of %s (weights %s), which was not chosen by looking at these records; what it cost is not in this guarantee", from, hex.EncodeToString(sum[:8]))
}
