package kinds

import (
	"context"
	"fmt"
	"math/rand/v2"

	"dyad/algorithms"
	"dyad/algorithms/attack"
	"dyad/algorithms/curve"
	"dyad/algorithms/search"
	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/privacy"
)

// choice draws a private choice among released models by their ranks. A positive record moves from below all other
// records to above them, for every model.
func choice(rng *rand.Rand, at Size) (string, int, int, Pair) {
	o := search.Options{Records: 3 + rng.IntN(40), Budget: privacy.Budget{Epsilon: pick(rng, 0.1, 1, 4), Delta: 1e-6}}
	count := 2 + rng.IntN(4)
	if !at.drawn() {
		o.Records, count = at.Records, min(max(at.Features, 2), search.MaxCandidates)
	}
	for i := range count {
		o.Models = append(o.Models, search.Model{Name: fmt.Sprint("m", i), Digest: fmt.Sprint(i)})
	}
	return fmt.Sprintf("models=%d eps=%g", len(o.Models), o.Budget.Epsilon), o.Records, len(o.Models), func(rng *rand.Rand) (data, neighbour algorithms.Job, err error) {
		p, err := search.New(o)
		if err != nil {
			return data, neighbour, err
		}
		victim, apart, positives, seed := rng.IntN(o.Records), rng.IntN(2) == 0, rng.IntN(o.Records), rng.Uint64()
		if !at.drawn() {
			victim, positives = at.Unit, 0
		}
		job := func(second bool) algorithms.Job {
			r := search.Records{Scores: func(_ context.Context, model int, _ []float64) (scores []float64, err error) {
				rng := rand.New(rand.NewPCG(seed, uint64(model)))
				for i := range o.Records {
					s := rng.NormFloat64()
					if i == victim {
						if s = -10; second != (apart && model%2 == 0) {
							s = 10
						}
					}
					scores = append(scores, s)
				}
				return scores, nil
			}}
			for i := range o.Records {
				r.Positive = append(r.Positive, i == victim || i < positives)
			}
			return p.Job(r)
		}
		return job(false), job(true), nil
	}
}

// trainings draws a search among trainings that release the sum of a public score of the records; road selects the
// kind of search. The attacked unit is a record or a person at any place. It is a positive below all other records,
// or above all of them. So it moves the released sum and the ranks of every model by the whole certificate. The
// ranks of the other records fall in steps as the released weight grows, and the steps lie within three standard
// deviations of its noise. So the best run is the least likely run of the attacked side
// (docs/theory.md#stopping-profile).
func trainings(road search.Road) Draw {
	return func(rng *rand.Rand, at Size) (string, int, int, Pair) {
		o := search.Options{
			Records: 40 + rng.IntN(200), Budget: privacy.Budget{Epsilon: pick(rng, 0.1, 1, 4), Delta: pick(rng, 1e-6, 1e-2)},
			Road: road, PersonRows: pick(rng, 0, 0, 3),
		}
		if !at.drawn() {
			o.Records = at.Records
		}
		for i := range 2 + rng.IntN(4) {
			o.Settings = append(o.Settings, search.Setting{Name: fmt.Sprint("s", i), Plan: planSum})
		}
		if road == search.RandomStopping {
			o.Runs = 2 + rng.IntN(15)
		}
		text := fmt.Sprintf("settings=%d runs=%d eps=%g delta=%g persons=%d", len(o.Settings), o.Runs, o.Budget.Epsilon,
			o.Budget.Delta, o.PersonRows)
		return text, o.Records, len(o.Settings), func(rng *rand.Rand) (data, neighbour algorithms.Job, err error) {
			p, err := search.New(o)
			if err != nil {
				return data, neighbour, err
			}
			positives := max(2, o.Records/8)
			victim := pick(rng, 0, o.Records/2, o.Records-1, rng.IntN(o.Records))
			if !at.drawn() {
				victim, positives = at.Unit, 0 // without the attacked unit
			}
			job := func(above bool) algorithms.Job {
				side := 1.0
				if above {
					side = -1
				}
				r := search.Records{}
				// weights, in standard deviations, at which positives fall below the negatives
				steps := make([]float64, 0, o.Records)
				for i, count := 0, 0; i < o.Records; i++ {
					rows := 1
					if o.PersonRows > 0 {
						r.First, rows = append(r.First, len(steps)), 1+i%o.PersonRows
						if above && i == victim { // all rows of a person are replaced, by more or fewer
							rows = 1 + rows%o.PersonRows
						}
					}
					positive := i == victim || i*positives/o.Records != (i+1)*positives/o.Records
					at := 0.0
					if positive {
						at = 6*float64(count)/float64(max(1, positives)) - 3
						count++
					}
					for range rows {
						r.Positive, steps = append(r.Positive, positive), append(steps, at)
					}
				}
				if o.PersonRows > 0 {
					r.First = append(r.First, len(steps))
				}
				first, rows := victim, 1
				if o.PersonRows > 0 {
					first, rows = r.First[victim], r.First[victim+1]-r.First[victim]
				}
				r.Train = func(_ context.Context, _ int, t *algorithms.Plan, s privacy.Session) ([]float64, error) {
					w := []float64{side}
					return w, s.Release(w, t.Certificate(), t.Noise())
				}
				r.Scores = func(_ context.Context, i int, weights []float64) ([]float64, error) {
					noise, _ := p.Trainings[i].Noise().(privacy.Gaussian)
					scores := make([]float64, len(steps))
					for k := range scores {
						if r.Positive[k] {
							scores[k] = 1
							if weights[0] > steps[k]*noise.Sigma {
								scores[k] = -1
							}
						}
					}
					for k := range rows {
						scores[first+k] = -10 * side
					}
					return scores, nil
				}
				return p.Job(r)
			}
			return job(false), job(true), nil
		}
	}
}

// planSum plans the release of a sum of one score of every record. A score is -1 or 1.
func planSum(b privacy.Budget) (*algorithms.Plan, error) {
	c, err := privacy.ScoreSum{Levels: 1, Name: "scores"}.Certify()
	if err != nil {
		return nil, err
	}
	rows := algorithms.Releases{{Name: "sum of scores", Coordinates: 1, Certificate: c, Share: 1}}
	return &algorithms.Plan{Algorithm: "sum", Releases: rows}, rows.Calibrate(b)
}

// curves draws a learning curve of private data: trainings on a part of the records, and figures of the models on
// the other records. The replaced record, at any place, is trained on in some splits and held out in others.
func curves(rng *rand.Rand, at Size) (string, int, int, Pair) {
	n, d, splits := 30+rng.IntN(40), 1+rng.IntN(3), 1+rng.IntN(3)
	if !at.drawn() {
		n, d, splits = at.Records, at.Features, 2
	}
	budget, held := privacy.Budget{Epsilon: pick(rng, 0.5, 2), Delta: 1e-6},
		privacy.Budget{Epsilon: pick(rng, 0.5, 2), Delta: 1e-6}
	name := pick(rng, "moments", "dpgdsc")
	text := fmt.Sprintf("%s splits=%d eps=%g held=%g", name, splits, budget.Epsilon, held.Epsilon)
	return text, n, d, func(rng *rand.Rand) (data, neighbour algorithms.Job, err error) {
		unit := pick(rng, 0, n/2, n-1, rng.IntN(n))
		if !at.drawn() {
			unit = at.Unit
		}
		one, other := attack.WorstCase(n, d, unit, engine.UnitBounds())
		o := curve.Options{Records: n, Training: 2 * n / 3, Splits: splits, Held: held}
		a, err := algorithms.ByName(name)
		if err != nil {
			return data, neighbour, err
		}
		for split := range splits {
			spec, err := algorithms.NewSpec(cpu.Backend{},
				engine.Problem{N: o.Training, D: d, Bounds: one.Bounds(), Loss: engine.Logistic{}, Radius: 1}, 0, budget,
				algorithms.Certified)
			if err != nil {
				return data, neighbour, err
			}
			p, err := algorithms.Choice{Algorithm: a, L2: algorithms.DefaultL2(a, o.Training, false)}.Plan(spec)
			if err != nil {
				return data, neighbour, err
			}
			o.Runs = append(o.Runs, curve.Run{Name: name, Split: split, Algorithm: a, Training: p})
		}
		c, err := curve.New(o)
		if err != nil {
			return data, neighbour, err
		}
		return c.Job(one), c.Job(other), nil
	}
}
