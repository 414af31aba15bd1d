package algorithms

import "fmt"

// NetworkChoice is the algorithm of a network unless one is named.
func NetworkChoice(l2 float64) Choice {
	return Choice{
		Algorithm: GradientPerturbation{Optimizer: NetworkOptimizer()}, L2: l2,
		Reason: "a network: its loss is not convex, so every gradient gets noise; the steps are those of Adam",
	}
}

// TakesNetworks refuses algorithms whose guarantee is not one of single gradients.
func TakesNetworks(a Algorithm) error {
	switch a.(type) {
	case GradientPerturbation, SubsampledDescent, DPGDC2:
		return nil
	}
	return fmt.Errorf("algorithms: %s does not train networks: they are trained by noisy gradients, with gradient-perturbation, dpgdc2 or, on secret batches of records, subsampled-descent", a.Info().Name)
}
