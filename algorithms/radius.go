package algorithms

import (
	"math"

	"dyad/privacy"
	"dyad/privacy/account"
)

// DefaultRadius is the public rule for the radius r of the domain when the user
// gives none, for the AUC loss with R = 1:
//
//	r = min(10, max(0.05, 0.05 (q/50)^2)),   q = n mu / sqrt(d),
//
// with mu = noiseMu of the budget. AUC does not change when w is scaled, and the replace-one
// diameter Dg = 4 sigm(4r) falls with r, so where noise dominates (small q) a
// small radius is free and better; where it does not, a larger one lets the model
// leave the direction of the difference of the class means. The sweeps behind
// the numbers are bench/results/radius-*.csv. Non-private runs use 10.
func DefaultRadius(n, d int, b privacy.Budget, m Mode) float64 {
	if m == NonPrivate {
		return 10
	}
	if b.Validate() != nil {
		return 1
	}
	q := float64(n) * noiseMu(b, d) / math.Sqrt(float64(d))
	return min(10, max(0.05, 0.05*(q/50)*(q/50)))
}

// noiseMu is the sensitivity over the root mean square of a coordinate of the
// noise that meets the budget with d coordinates, the one number by which the
// public rules know how much noise there will be: GDPMu for Gaussian noise, and
// for delta = 0 epsilon/sqrt(d+1), as E||Z||^2 = d(d+1) (sensitivity/epsilon)^2
// for K-norm noise.
func noiseMu(b privacy.Budget, d int) float64 {
	if b.Delta == 0 {
		return b.Epsilon / math.Sqrt(float64(d)+1)
	}
	return account.GDPMu(b.Epsilon, b.Delta)
}

// DefaultL2 is the weight of the L2 term when the user gives none: 0 for the algorithms
// whose papers are about convex objectives, by their names in the catalogue, else 0.001.
func DefaultL2(algorithm string) float64 {
	switch algorithm {
	case "offpairc", "dpgdc", "dpgdc2", "dpegd", "moments", "moment-metric":
		return 0
	}
	return 0.001
}
