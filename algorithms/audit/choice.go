package audit

import (
	"math"
	"slices"

	"dyad/privacy"
)

// choice is one of candidates by their scores, as the strongest adversary sees it.
type choice struct {
	scores               []int64
	epsilon, sensitivity float64
	place                int
}

// Choose implements privacy.Session.
func (o observer) Choose(scores []int64, c privacy.Certificate, epsilon float64) (int, error) {
	made := choice{slices.Clone(scores), epsilon, math.Ceil(c.Sensitivity()), 0}
	var err error
	if made.place, err = o.Session.Choose(scores, c, epsilon); err == nil {
		o.observed.choices = append(o.observed.choices, made)
	}
	return made.place, err
}

// Choose answers with the recorded choice.
func (p replayer) Choose(scores []int64, c privacy.Certificate, epsilon float64) (int, error) {
	i := len(p.observed.choices)
	if i >= len(p.choices) {
		return 0, errMoreReleases
	}
	p.observed.choices = append(p.observed.choices, choice{slices.Clone(scores), epsilon, math.Ceil(c.Sensitivity()), p.choices[i].place})
	return p.choices[i].place, nil
}

// move is the largest move of a score between two data sets, over the sensitivity.
func (c choice) move(other choice) (most float64) {
	for i, q := range c.scores {
		most = max(most, math.Abs(float64(q-other.scores[i])))
	}
	return most / c.sensitivity
}

// logChance is the log of the probability that permute-and-flip chooses a place: with a uniform time for each candidate, it
// is reached at time u if all earlier ones were refused, which has the chance of the product of 1 - p_i u. A score for attacks: bounds rest on
// what the session chose.
func (c choice) logChance(place int) float64 {
	best := slices.Max(c.scores)
	chance := func(i int) float64 { return math.Exp(c.epsilon / (2 * c.sensitivity) * float64(c.scores[i]-best)) }
	poly := []float64{1} // in u, low powers first
	for i := range c.scores {
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
