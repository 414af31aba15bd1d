package audit

import (
	"math"
	"slices"

	"dyad/algorithms/attack"
)

// logChance returns the log of the probability that permute-and-flip chooses a place. Give each candidate a uniform
// time. The place is reached at time u if all earlier candidates were refused, which has the probability of the
// product of 1 - p_i u. The result is a score for attacks; bounds rest on the choices of the session.
func logChance(c attack.Call, place int) float64 {
	best := slices.Max(c.Scores)
	chance := func(i int) float64 {
		return math.Exp(c.Epsilon / (2 * math.Ceil(c.Certificate.Sensitivity())) * float64(c.Scores[i]-best))
	}
	poly := []float64{1} // in u, low powers first
	for i := range c.Scores {
		if i == place {
			continue
		}
		next := make([]float64, len(poly)+1)
		for k, a := range poly {
			next[k] += a
			next[k+1] -= chance(i) * a
		}
		poly = next
	}
	sum := 0.0
	for k, a := range poly {
		sum += a / float64(k+1)
	}
	return math.Log(chance(place) * max(sum, 1e-300))
}
