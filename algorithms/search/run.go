package search

import (
	"context"
	"errors"
	"fmt"

	"dyad/algorithms"
	"dyad/algorithms/evaluate"
	"dyad/privacy"
)

// Records holds the private inputs of a search.
type Records struct {
	// Positive holds, for each row in order, whether the row is positive. A row is a record or belongs to a
	// person.
	Positive []bool
	// First holds the index of the first row of each person and, at the end, the number of rows. It is nil
	// if each row is a record.
	First []int
	// Train trains setting i by its plan.
	Train func(ctx context.Context, i int, p *algorithms.Plan, s privacy.Session) ([]float64, error)
	// Scores returns the score of each row under candidate i with the given weights. A score must be a function
	// of its row and the weights only, bit for bit. weights is nil for Models.
	Scores func(ctx context.Context, i int, weights []float64) ([]float64, error)
}

// Found holds the releases of a search.
type Found struct {
	Winner int // index in Options.Settings or Models
	// AUC is the released AUC of the winner. It is 0 unless Options.Road is RandomStopping, because no other
	// road releases an AUC. On average the released AUC is larger than the AUC on new records, because the
	// winner is the best of several models on the records of their training.
	AUC     float64
	Weights []float64 // weights of the winner; nil for Models
}

// Read returns the releases from the result of a Job.
func (p *Plan) Read(result []float64) (Found, error) {
	head := 1
	if p.Options.Road == RandomStopping {
		head = 3
	}
	if len(result) < head || !(result[0] >= 0 && result[0] < float64(len(p.names()))) {
		return Found{}, errors.New("search: these numbers do not fit this search")
	}
	f := Found{Winner: int(result[0]), Weights: result[head:]}
	if head == 3 {
		n := float64(p.Options.Records)
		positives := min(max(result[2]/p.counted.CountWeight(), 1), n-1)
		f.AUC = min(max(0.5+result[1]/(2*positives*(n-positives)), 0), 1)
	}
	return f, nil
}

// Job returns the job of the search for algorithms.Execute. A resumed search starts again from its beginning,
// with fresh noise, because a checkpoint would have to hold the secret number of runs. The job reports no
// progress, because progress would reveal which setting is being trained.
func (p *Plan) Job(r Records) algorithms.Job {
	return algorithms.Job{
		Plan:      &p.Plan,
		Withholds: true, // all weights and scores stay in the closure
		Train: func(ctx context.Context, s privacy.Session, _ algorithms.Tracker) ([]float64, error) {
			if p.Options.Road == RandomStopping {
				return p.best(ctx, r, s)
			}
			return p.choose(ctx, r, s)
		},
	}
}

// ranks returns the ranks of the records under candidate i with the given weights.
func (p *Plan) ranks(ctx context.Context, r Records, i int, weights []float64) (evaluate.Ranks, error) {
	scores, err := r.Scores(ctx, i, weights)
	if err != nil {
		return evaluate.Ranks{}, err
	}
	ranks, err := evaluate.Data{Scores: scores, Positive: r.Positive, First: r.First}.Ranks(p.Options.Records,
		p.Options.PersonRows)
	return ranks, errors.Join(err, ctx.Err())
}

// choose trains all settings, unless the candidates are models, and chooses a candidate.
func (p *Plan) choose(ctx context.Context, r Records, s privacy.Session) ([]float64, error) {
	count := len(p.Options.Settings) + len(p.Options.Models)
	weights, sums := make([][]float64, count), make([]int64, count)
	for i := range count {
		var err error
		if len(p.Trainings) > 0 {
			weights[i], err = r.Train(ctx, i, p.Trainings[i], s)
		}
		if err == nil {
			var ranks evaluate.Ranks
			ranks, err = p.ranks(ctx, r, i, weights[i])
			sums[i] = ranks.Floor
		}
		if err != nil {
			return nil, err
		}
	}
	winner, err := s.Choose(sums, p.rank, p.choice)
	if err != nil {
		return nil, err
	}
	return append([]float64{float64(winner)}, weights[winner]...), nil
}

// best makes the runs of random stopping.
func (p *Plan) best(ctx context.Context, r Records, s privacy.Session) ([]float64, error) {
	winner, released, err := s.Best(p.selection, func(i int, s privacy.Session) ([]float64, error) {
		weights, err := r.Train(ctx, i, p.Trainings[i], s)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil && !errors.Is(err, privacy.ErrUnplanned) {
			return nil, fmt.Errorf("%w: %w", privacy.ErrFailedRun, err)
		}
		if err != nil {
			return nil, err
		}
		ranks, err := p.ranks(ctx, r, i, weights)
		if err != nil {
			return nil, err
		}
		score := []float64{ranks.Sum, p.counted.CountWeight() * ranks.Positives}
		if err := s.Release(score, p.joint, p.score); err != nil {
			return nil, err
		}
		return append(score, weights...), nil
	})
	if err != nil {
		return nil, err
	}
	return append([]float64{float64(winner)}, released...), nil
}
