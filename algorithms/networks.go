package algorithms

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"dyad/privacy"
)

// NetworkChoice is the algorithm of a network unless one is named.
func NetworkChoice(l2 *float64) Choice {
	c := Choice{
		Algorithm: GradientPerturbation{Optimizer: NetworkOptimizer()},
		Reason:    "a network: its loss is not convex, so every gradient gets noise; the steps are those of Adam",
	}
	if l2 != nil {
		c.L2 = *l2
	}
	return c
}

// TakesNetworks refuses algorithms whose guarantee is not one of single gradients.
func TakesNetworks(a Algorithm) error {
	switch a.(type) {
	case GradientPerturbation, SubsampledDescent, DPGDC2:
		return nil
	}
	return fmt.Errorf("algorithms: %s does not train networks: they are trained by noisy gradients, with gradient-perturbation, dpgdc2 or, on secret batches of records, subsampled-descent", a.Info().Name)
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
