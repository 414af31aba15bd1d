package pairs

import (
	"context"

	"dyad/algorithms"
	"dyad/engine/embedding"
	"dyad/privacy"
)

// BatchSum lets tests train with sums of their own. step is the number of the batch in the run, from 0.
type BatchSum func(ctx context.Context, dst, w []float64, step int, members []int32, clip float64) error

func (p *Plan) Sums(data *embedding.Data, classes []int32) (BatchSum, error) {
	sum, _, err := p.sums(data, classes, Options{Workers: 1})
	return func(ctx context.Context, dst, w []float64, _ int, members []int32, clip float64) error {
		return sum(ctx, dst, w, members, clip)
	}, err
}

func (p *Plan) Descend(sum BatchSum, session privacy.Session) ([]float64, error) {
	step := -1
	return p.descend(context.Background(), func(ctx context.Context, dst, w []float64, members []int32, clip float64) error {
		step++
		return sum(ctx, dst, w, step, members, clip)
	}, session, algorithms.Tracker{})
}

// Shares are the mechanisms of a coordinate of one batch.
func (s Spec) Shares() (Staircase, Duchi) { return s.shares() }
