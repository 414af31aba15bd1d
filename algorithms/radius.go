package algorithms

import (
	"math"

	"dyad/privacy"
)

// DefaultRadius is the public rule for the radius r of the domain when the user
// gives none, for the AUC loss with R = 1:
//
//	r = min(10, max(0.05, 0.05 (q/50)^2)),   q = n mu / sqrt(d),
//
// with mu of the budget. AUC does not change when w is scaled, and the replace-one
// diameter Dg = 4 sigm(4r) falls with r, so where noise dominates (small q) a
// small radius is free and better; where it does not, a larger one lets the model
// leave the direction of the difference of the class means. The sweeps behind
// the numbers are bench/results/radius-*.csv. Non-private runs use 10.
func DefaultRadius(n, d int, b privacy.Budget, m Mode) float64 {
	if m == NonPrivate {
		return 10
	}
	if b.Validate() != nil || b.Delta == 0 {
		return 1
	}
	q := float64(n) * privacy.GDPMu(b.Epsilon, b.Delta) / math.Sqrt(float64(d))
	return min(10, max(0.05, 0.05*(q/50)*(q/50)))
}
