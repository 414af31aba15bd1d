package dyad

import (
	"fmt"

	"dyad/engine"
	"dyad/engine/metrics"
	"dyad/engine/pairgraph"
	"dyad/engine/terms"
	"dyad/internal/input"
)

// PairLoss is the loss of a metric that was learned from pairs or tuples, in a model
// file.
type PairLoss struct {
	Name        string  `json:"name"`
	Margin      float64 `json:"margin,omitempty"`
	Temperature float64 `json:"temperature,omitempty"`
	Tuple       int     `json:"tuple,omitempty"` // records of a tuple; 0: pairs
}

// metricOf are the coordinates of W^T W of a row-major rows x dim matrix.
func metricOf(w []float64, rows, dim int) []float64 {
	square := make([]float64, dim*dim)
	for row := range rows {
		v := w[row*dim : (row+1)*dim]
		for i, a := range v {
			for j, b := range v {
				square[i*dim+j] += a * b
			}
		}
	}
	s := engine.Symmetric{Dim: dim}
	packed := make([]float64, s.Len())
	s.Pack(packed, square)
	return packed
}

// evaluationSeed draws the tuples of an evaluation.
const evaluationSeed = 1

// mean is the mean loss of a metric on records with labels: contrastive over all pairs,
// the others over tuples drawn from the order of the records. It also says what it is.
func (l PairLoss) mean(metric []float64, r *engine.Records) (float64, string, error) {
	factor, err := metrics.FactorMetric(metricMatrix(metric, r.Dim()), r.Dim())
	if err != nil {
		return 0, "", err
	}
	if factor.Rank == 0 { // one row of zeros has the same distances
		factor.Rank, factor.L = 1, make([]float64, r.Dim())
	}
	order := make([]int32, r.Len())
	for i := range order {
		order[i] = int32(i)
	}
	none, err := pairgraph.New(r.Len(), nil)
	if err != nil {
		return 0, "", err
	}
	data, err := individuals(r, order, terms.L2, publicBound(terms.L2, r.Dim()), none, nil)
	if err != nil {
		return 0, "", err
	}
	classes := classesOf(r, order)
	if l.Name == contrastive {
		all, err := terms.NewAllPairs(data, classes, terms.Contrastive{Margin: l.Margin}, factor.Rank, 1)
		if err != nil {
			return 0, "", err
		}
		return all.Objective(factor.L), fmt.Sprintf("mean contrastive loss of all pairs, margin %g", l.Margin), nil
	}
	var loss terms.TupleLoss = terms.Triplet{Margin: l.Margin}
	parameter := fmt.Sprintf("margin %g", l.Margin)
	switch l.Name {
	case triplet:
	case npair:
		loss, parameter = terms.NPair{Temperature: l.Temperature}, fmt.Sprintf("temperature %g", l.Temperature)
	default:
		return 0, "", input.Errorf("dyad: the model has loss %q, which is unknown to this program", l.Name)
	}
	members, err := terms.DrawTuples(r.Len(), l.Tuple, evaluationSeed, 0)
	if err != nil {
		return 0, "", input.As(err)
	}
	tuples, err := terms.NewTuples(data, classes, loss, factor.Rank, l.Tuple, 1)
	if err != nil {
		return 0, "", input.As(err)
	}
	return tuples.Objective(factor.L, members), fmt.Sprintf("mean %s loss of tuples of %d, %s", l.Name, l.Tuple, parameter), nil
}
