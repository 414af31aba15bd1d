package algorithms

import (
	"math"

	"dyad/engine"
	"dyad/privacy"
	"dyad/privacy/account"
)

// DefaultRadius returns the radius r of the domain by the public rule, which applies if the user gives none.
// For losses of scores with R = 1 and labels -1 and 1 the rule is
//
//	r = min(10, r_2, max(0.01, 0.05 (q/50)^2)),   q = n mu / sqrt(d),
//
// with mu = noiseMu of the budget. r_2 is the largest radius r with |phi'(-2 r)| <= 2 |phi'(0)|. The largest
// margin is 4 r, so at half of this margin phi is at most twice as steep as at 0. AUC does not change when w is
// scaled, and the replace-one diameter of a pair gradient falls with r (Dg = 4 sigm(4r) for the AUC loss). So
// where noise dominates (small q) a small radius has no disadvantage and is better. Where noise does not
// dominate, a larger radius lets the model leave the direction of the difference of the class means. Noise
// grows with the steepest slope and signal with the slope at 0, so r_2 bounds the cost of the radius. The
// quotient of the two slopes is 3 for the square loss and its hinge, whose r_2 is 1/2, and 4 for the
// exponential loss, whose r_2 is (ln 2)/2. The logistic loss never reaches r_2, as its quotient is at most 2;
// the hinge has no r_2. The sweeps behind the numbers are in bench/results/radius-*.csv.
//
// Paper mode uses the radius of the papers, 1: [Xue21] Example 2 has ||w|| <= 1.
//
// Non-private runs use 10. MomentsDescent, recognised by its name in the catalogue, also uses 10, because it
// damps noise by itself and a small ball keeps its model from the minimiser (docs/moments.md).
func DefaultRadius(algorithm string, n, d int, b privacy.Budget, m Mode, loss engine.Loss) float64 {
	if m == Paper {
		return paperRadius
	}
	if m == NonPrivate || algorithm == (MomentsDescent{}).Info().Name {
		return largestRadius
	}
	if b.Validate() != nil {
		return 1
	}
	q := float64(n) * noiseMu(b, d) / math.Sqrt(float64(d))
	return min(slopeRadius(loss), max(0.01, 0.05*(q/50)*(q/50)))
}

// paperRadius is the default radius of Paper mode.
const paperRadius = 1

// largestRadius is the largest default radius.
const largestRadius = 10

// slopeRadius returns r_2 of DefaultRadius, at most largestRadius. A scan finds the first interval in which the
// slope exceeds twice the slope at 0, and bisection finds the point.
func slopeRadius(loss engine.Loss) float64 {
	score, ok := loss.(engine.ScoreLoss)
	if !ok {
		return largestRadius
	}
	most := 2 * math.Abs(score.DPhi(0))
	steep := func(r float64) bool { return math.Abs(score.DPhi(-2*r)) > most }
	if most == 0 {
		return largestRadius // phi is flat at 0, so there is no slope to compare with
	}
	for lo := 0x1p-10; lo < largestRadius; lo *= 1.125 {
		hi := min(lo*1.125, largestRadius)
		if !steep(hi) {
			continue
		}
		for range 50 {
			if mid := lo + (hi-lo)/2; steep(mid) {
				hi = mid
			} else {
				lo = mid
			}
		}
		return lo
	}
	return largestRadius
}

// noiseMu returns the sensitivity divided by the root mean square of one coordinate of the noise that meets the
// budget with d coordinates. The public rules use this number alone to measure noise. It is GDPMu for Gaussian
// noise. For delta = 0 it is epsilon/sqrt(d+1), as E||Z||^2 = d(d+1) (sensitivity/epsilon)^2 for K-norm noise.
func noiseMu(b privacy.Budget, d int) float64 {
	if b.Delta == 0 {
		return b.Epsilon / math.Sqrt(float64(d)+1)
	}
	return account.GDPMu(b.Epsilon, b.Delta)
}

// usualL2 is the weight of the papers. It is Info.DefaultL2 of algorithms whose papers are about strongly
// convex objectives.
const usualL2 = 0.001
