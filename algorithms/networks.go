package algorithms

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"dyad/privacy"
)

// fewFeatures and manyRecords are thresholds. Networks lost to linear scores in every comparison on data with more than
// fewFeatures features and fewer than manyRecords records (docs/networks.md#results).
const fewFeatures, manyRecords = 6, 8000

// NetworkChoice returns the algorithm that trains a network on n records of d features unless the user names one. The
// reason states whether a linear score was better for these public numbers.
func NetworkChoice(l2 *float64, n, d int, scores bool) Choice {
	c := Choice{
		Algorithm: GradientPerturbation{Optimizer: NetworkOptimizer()},
		Reason:    "every gradient gets noise, because the loss of a network is not convex; Adam sets the step sizes",
	}
	if scores && d > fewFeatures && n < manyRecords {
		c.Reason += fmt.Sprintf("; with d > %d and n < %d a linear score (--model linear) had the higher AUC in every "+
			"comparison of docs/networks.md", fewFeatures, manyRecords)
	}
	if l2 != nil {
		c.L2 = *l2
	}
	return c
}

// TakesNetworks returns an error for algorithms whose guarantee is not about single gradients. The error has no
// package prefix.
func TakesNetworks(a Algorithm) error {
	switch a.(type) {
	case GradientPerturbation, SubsampledDescent, DPGDC2:
		return nil
	}
	return fmt.Errorf("%s does not train networks; use gradient-perturbation, dpgdc2 or subsampled-descent (secret "+
		"batches)", a.Info().Name)
}

// StartOf tells where the start of a network comes from, for the guarantee and for checkpoints. The start is drawn
// from a public seed, or it is the weights of a model. This model was trained on public data or has a guarantee of
// its own.
func StartOf(seed uint64, weights []float64, dataID string, g privacy.Guarantee) string {
	if weights == nil {
		return fmt.Sprintf("public start of seed %d", seed)
	}
	text, _ := json.Marshal(weights)
	sum := sha256.Sum256(text)
	from := "public data"
	if g.Kind != privacy.Public {
		from = fmt.Sprintf("data %q with their own guarantee, epsilon %s at delta %s", dataID,
			privacy.FormatUp(g.Epsilon), privacy.FormatUp(g.Delta))
	}
	return fmt.Sprintf("the start is a model of %s (weights %s), chosen without looking at these records; this "+
		"guarantee does not include the cost of that model", from, hex.EncodeToString(sum[:8]))
}
