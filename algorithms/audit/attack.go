package audit

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// threshold chooses a score, a threshold and a side on the first half of the runs. It bounds epsilon by
// Clopper-Pearson on the second half.
func (c *campaign) threshold(trials [2][]keptTrial, delta, alpha float64) (Bound, [2][]float64) {
	half := len(trials[0]) / 2
	pilot, held := [2][]keptTrial{trials[0][:half], trials[1][:half]}, [2][]keptTrial{trials[0][half:], trials[1][half:]}
	type named struct {
		name string
		of   func(keptTrial) float64
	}
	var scores []named
	for i, s := range c.scores {
		scores = append(scores, named{s.name, func(t keptTrial) float64 { return t.Scores[i] }})
	}
	for name, features := range map[string]func(keptTrial) []float64{
		"learned direction of the releases": func(t keptTrial) []float64 { return t.Released },
		"learned direction of the result":   func(t keptTrial) []float64 { return t.Result },
	} {
		if of, ok := learnedScore(pilot, features); ok {
			scores = append(scores, named{name, of})
		}
	}
	slices.SortFunc(scores, func(a, b named) int { return cmp.Compare(a.name, b.name) })
	best := Guess{promise: math.Inf(-1)}
	of := scores[0].of
	for i, s := range scores {
		a := BestGuess(scoresOf(pilot[0], s.of), scoresOf(pilot[1], s.of), len(held[0]), delta, alpha)
		if a.name = s.name; i == 0 || a.promise > best.promise {
			best, of = a, s.of
		}
	}
	shown := [2][]float64{scoresOf(held[0], of), scoresOf(held[1], of)}
	e := best.Count(shown[0], shown[1])
	return Bound{
		Method: "Clopper-Pearson", Attack: best.String(), Epsilon: ClopperPearson(e, delta, alpha), Confidence: 1 - alpha,
		Runs: len(trials[0]), Assumes: "nothing but independent runs",
	}, shown
}

func scoresOf(trials []keptTrial, of func(keptTrial) float64) []float64 {
	v := make([]float64, len(trials))
	for i, t := range trials {
		v[i] = of(t)
	}
	return v
}

// Guess is a rule for guessing which of two data sets was used (0 data, 1 neighbour). It compares a score with
// a threshold and guesses one data set if the score is on one side of the threshold.
type Guess struct {
	// name is the name of the score.
	name      string
	threshold float64
	above     bool
	likely    int
	// promise is the bound that the pilot runs lead to expect.
	promise float64
}

// String returns a description of the guess.
func (a Guess) String() string {
	relation, guess := "below", "data"
	if a.above {
		relation = "at least"
	}
	if a.likely == 1 {
		guess = "neighbour"
	}
	return fmt.Sprintf("guess %s if the %s is %s %.6g", guess, a.name, relation, a.threshold)
}

// Count counts the scores of each data set that are on the guess's side of the threshold.
// The scores must not have been used to choose the guess.
func (a Guess) Count(data, neighbour []float64) Event {
	hits := func(v []float64) (n int) {
		for _, x := range v {
			if (x >= a.threshold) == a.above {
				n++
			}
		}
		return n
	}
	sides := [2][]float64{data, neighbour}
	likely, rare := sides[a.likely], sides[1-a.likely]
	return Event{hits(likely), len(likely), hits(rare), len(rare)}
}

// BestGuess returns the threshold with the largest expected bound on the held-out runs, which are not used
// for the choice. The expectation uses normal approximations and allows for the selection effect in the
// pilot runs. It influences only the choice of the threshold.
func BestGuess(data, neighbour []float64, held int, delta, alpha float64) Guess {
	data, neighbour = slices.Clone(data), slices.Clone(neighbour)
	slices.Sort(data)
	slices.Sort(neighbour)
	all := slices.Compact(slices.Sorted(slices.Values(slices.Concat(data, neighbour))))
	z := distuv.UnitNormal.Quantile(1 - alpha/2)
	half := func(n int, values []float64) (p, margin float64) {
		m := float64(len(values))
		p = (float64(n) + 0.5) / (m + 1)
		return p, z * math.Sqrt(p*(1-p)*(1/float64(held)+1/m))
	}
	best := Guess{threshold: all[0], above: true, promise: math.Inf(-1)}
	for i := 0; i < len(all); i += 1 + len(all)/400 {
		below0, _ := slices.BinarySearch(data, all[i])
		below1, _ := slices.BinarySearch(neighbour, all[i])
		for _, above := range []bool{false, true} {
			n0, n1 := below0, below1
			if above {
				n0, n1 = len(data)-below0, len(neighbour)-below1
			}
			p0, margin0 := half(n0, data)
			p1, margin1 := half(n1, neighbour)
			for likely, promise := range []float64{
				promised(p0-margin0-delta, p1+margin1), promised(p1-margin1-delta, p0+margin0),
			} {
				if promise > best.promise {
					best = Guess{threshold: all[i], above: above, likely: likely, promise: promise}
				}
			}
		}
	}
	return best
}

func promised(p, q float64) float64 {
	if p <= 0 {
		return math.Inf(-1)
	}
	return math.Log(p / q)
}
