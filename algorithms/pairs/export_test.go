package pairs

import (
	"context"

	"dyad/engine/pairgraph"
	"dyad/privacy"
)

// BatchSum lets tests train with sums of their own.
type BatchSum = batchSum

func (p *TuplePlan) Sums(data *pairgraph.Data, classes []int32) (BatchSum, error) {
	return p.sums(data, classes, 1)
}

func (p *TuplePlan) Descend(sum BatchSum, session privacy.Session) ([]float64, error) {
	return p.descend(context.Background(), sum, session, nil)
}
