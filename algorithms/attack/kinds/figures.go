package kinds

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"dyad/algorithms"
	"dyad/algorithms/evaluate"
)

// mostNumbers is the largest number of thresholds of an evaluation.
const mostNumbers = 1000

// figuresOf draws neighbours for the figures of an evaluation, of a threshold or of two models. A record moves from
// below all scores to above them, or its label is flipped. A person then has another number of rows.
func figuresOf(of string) Draw {
	return func(rng *rand.Rand, at Size) (string, int, int, Pair) {
		o := evaluate.Options{Records: 2 + rng.IntN(40), Budget: budget(rng)}
		d := 1
		if !at.drawn() {
			o.Records = at.Records
		}
		number := func(drawn int) int {
			if at.drawn() {
				return drawn
			}
			return min(at.Features, mostNumbers)
		}
		switch of {
		case "figures", "mean loss":
			o.ScoreBound = pick(rng, 1e-3, 1, 50)
			count := number(1 + rng.IntN(6))
			for d = range count {
				o.Thresholds = append(o.Thresholds, o.ScoreBound*(float64(d)/float64(max(6, count))-0.5))
			}
			if of == "mean loss" {
				o.Loss = &evaluate.ClampedLoss{Name: "step", Phi: func(u float64) float64 { return -1e6 * u }, Low: -1,
					High: pick(rng, 1.0, 3)}
			}
		case "threshold": // cells are placed by a released centre and spread
			o.ScoreBound, o.At = pick(rng, 1e-3, 1, 50), []float64{0}
		case "classifiers":
			for d = range number(1 + rng.IntN(4)) {
				o.Classifiers = append(o.Classifiers, fmt.Sprint(d))
			}
		case "two models":
			o.Compared = "another"
		}
		if of != "two models" {
			o.PersonRows = pick(rng, 0, 0, 3)
		}
		return fmt.Sprintf("eps=%g delta=%g persons=%d", o.Budget.Epsilon, o.Budget.Delta, o.PersonRows), o.Records, d + 1, func(rng *rand.Rand) (data, neighbour algorithms.Job, err error) {
			p, err := evaluate.New(o)
			if err != nil {
				return data, neighbour, err
			}
			victim, turned, positive, seed := rng.IntN(o.Records), rng.IntN(3) == 0, rng.IntN(2) == 0, rng.Uint64()
			others := pick(rng, 0, 1, 2) // all of the other class, all equal, or random
			ties, far := rng.IntN(3) == 0, pick(rng, 10+o.ScoreBound, math.Inf(1))
			if !at.drawn() {
				victim, others, turned = at.Unit, 0, rng.IntN(2) == 0
			}
			side := func(second bool) (d evaluate.Data) {
				for range o.Classifiers {
					d.Correct = append(d.Correct, nil)
				}
				for i := range o.Records {
					rng, rows := rand.New(rand.NewPCG(seed, uint64(i))), 1
					if o.PersonRows > 0 {
						d.First, rows = append(d.First, len(d.Scores)), 1+i%o.PersonRows
						if second && i == victim { // one row more, or one in place of the most
							rows = 1 + rows%o.PersonRows
						}
					}
					for range rows {
						s, class := o.ScoreBound*rng.NormFloat64()*0.1, [3]bool{!positive, positive, rng.IntN(2) == 0}[others]
						right := rng.IntN(2) == 0
						if ties {
							s = 0
						}
						if i == victim {
							s, class, right = -far, positive, second
							if second && turned {
								class = !class
							} else if second {
								s = -s
							}
						}
						for k := range d.Correct {
							d.Correct[k] = append(d.Correct[k], right)
						}
						d.Scores, d.Positive = append(d.Scores, s), append(d.Positive, class)
						if o.Compared != "" {
							d.Other = append(d.Other, -s)
						}
					}
				}
				if o.PersonRows > 0 {
					d.First = append(d.First, len(d.Scores))
				}
				return d
			}
			job := func(d evaluate.Data) algorithms.Job {
				return p.Job(func(context.Context) (evaluate.Data, error) { return d, nil })
			}
			return job(side(false)), job(side(true)), nil
		}
	}
}
