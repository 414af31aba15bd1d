package audit

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"dyad/algorithms"
	"dyad/algorithms/attack"
	"dyad/engine"
	"dyad/privacy"
)

// CanaryOptions are the options of a one-run audit.
type CanaryOptions struct {
	// Canaries is the number m of canaries. If it is 0, m is min(d, n/2), the largest possible number.
	Canaries int
	// Guesses is the number of guessed bits, chosen before the run. If it is 0, m/4 applies.
	Guesses int
	// Confidence is the confidence of the bounds. If it is 0, 0.999 applies.
	Confidence float64
	Seed       uint64
	Tracker    algorithms.Tracker
}

// Canaries audits a plan by one run [SNJ23]. Record i < m is a canary with the features S_i R e_i along axis i
// and the label b, where the S_i are m independent fair signs. All other records are at the origin with label
// -b. A released vector that has learned from canary i points along S_i e_i. So the adversary guesses S_i as
// the sign of the sum of the i-th released coordinates, for the canaries with the largest absolute sums.
// Changing a sign replaces one record, so the neighbouring relation matches the guarantees.
//
// If there are few canaries or much noise, the bound is weak, because it rests on one run. The data set has
// many unusual records at once. Canaries needs an engine.ScoreLoss, whose parameters lie along the features.
func Canaries(ctx context.Context, a algorithms.Algorithm, p *algorithms.Plan, o CanaryOptions) (*Report, error) {
	problem := p.Spec.Kernel.Problem()
	most := min(problem.D, problem.N/2)
	o.Canaries = cmp.Or(o.Canaries, most)
	o.Guesses = cmp.Or(o.Guesses, max(1, o.Canaries/4))
	if o.Canaries < 1 || o.Canaries > most || o.Guesses < 1 || o.Guesses > o.Canaries {
		return nil, fmt.Errorf("audit: there are %d canaries and %d guesses; want M = 1 to %d canaries (min(d, "+
			"n/2)) and 1 to M guesses", o.Canaries, o.Guesses, most)
	}
	if err := fillConfidence(&o.Confidence); err != nil {
		return nil, err
	}
	if _, ok := problem.Loss.(engine.ScoreLoss); !ok {
		return nil, fmt.Errorf("audit: canaries need a loss that is a function of score differences, but loss %s "+
			"is not", problem.Loss.Name())
	}
	signs := canarySigns(o.Canaries, o.Seed)
	records, err := canaryRecords(problem, signs)
	if err != nil {
		return nil, err
	}
	if err := (Target{Algorithm: a, Plan: p, Data: records, Neighbour: records}).check(); err != nil {
		return nil, err
	}
	var recorded attack.Recorder
	if _, err := algorithms.Run(ctx, records, spy{a, &recorded}, p,
		algorithms.Options{Public: true, Source: privacy.NewSeededSource(o.Seed), Tracker: o.Tracker}); err != nil {
		return nil, err
	}
	seen := Observation{Releases: recorded.Made(attack.Release)}
	g := guessSigns(signs, seen, o.Guesses)
	r := newReport(claimOf(p, p.Spec.Kernel.Problem()), o.Confidence)
	r.Access, r.Runs, r.Seed = "one run with canaries", 1, o.Seed
	r.Instance = fmt.Sprintf("%d canaries, %d of %d guesses correct", g.Canaries, g.Correct, g.Made)
	alpha := 1 - o.Confidence
	if r.Mu > 0 && r.Delta > 0 {
		alpha /= 2
		r.Bounds = append(r.Bounds, Bound{
			Method: "one run, GDP", Attack: "signs of the canaries' coordinates", Confidence: 1 - alpha,
			Epsilon: OneRunGDPEpsilon(g, r.Delta, alpha), Assumes: "the claim is mu-GDP; epsilon follows from the " +
				"bound on mu",
		})
	}
	r.Bounds = append(r.Bounds, Bound{
		Method: "one run", Attack: "signs of the canaries' coordinates", Confidence: 1 - alpha,
		Epsilon: OneRunEpsilon(g, r.Delta, alpha), Assumes: "nothing",
	})
	r.Values, r.OffGrid = OffGrid([]Observation{seen})
	r.Repeated = Repeated([]Observation{seen})
	r.finish()
	return r, nil
}

// canarySigns returns m independent fair signs.
func canarySigns(m int, seed uint64) []float64 {
	source := privacy.NewSeededSource(runSeed(seed, m))
	signs := make([]float64, m)
	for i := range signs {
		signs[i] = float64(2*int(source.Uint64()>>63) - 1)
	}
	return signs
}

func canaryRecords(p engine.Problem, signs []float64) (*engine.Records, error) {
	x, y := make([]float64, p.N*p.D), make([]float64, p.N)
	for i := range y {
		y[i] = -p.Bounds.LabelAbs
		if i < len(signs) {
			y[i] = p.Bounds.LabelAbs
			x[i*p.D+i] = signs[i] * p.Bounds.FeatureNorm
		}
	}
	return engine.AdoptRecords(x, y, p.D, p.Bounds)
}

// guessSigns guesses the bits of the canaries whose coordinates are largest. Ties are broken by index, which is
// independent of the bits.
func guessSigns(signs []float64, seen Observation, guesses int) Guesses {
	score := make([]float64, len(signs))
	for _, r := range seen.Releases {
		if len(r.After) < len(score) { // not along the features: the vector holds the number of positives
			continue
		}
		for i := range score {
			score[i] += r.After[i]
		}
	}
	order := make([]int, len(signs))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(math.Abs(score[b]), math.Abs(score[a])) })
	g := Guesses{Canaries: len(signs), Made: guesses}
	for _, i := range order[:guesses] {
		if score[i]*signs[i] > 0 {
			g.Correct++
		}
	}
	return g
}
