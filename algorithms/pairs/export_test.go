package pairs

import (
	"context"

	"dyad/algorithms"
	"dyad/engine/embedding"
	"dyad/privacy"
)

// BatchSum lets tests train with sums of their own.
type BatchSum = batchSum

func (p *Plan) Sums(data *embedding.Data, classes []int32) (BatchSum, error) {
	sum, _, err := p.sums(data, classes, Options{Workers: 1})
	return sum, err
}

func (p *Plan) Descend(sum BatchSum, session privacy.Session) ([]float64, error) {
	return p.descend(context.Background(), sum, session, algorithms.Tracker{})
}

// Shares are the mechanisms of a coordinate of one batch.
func (s Spec) Shares() (Staircase, Duchi) { return s.shares() }
