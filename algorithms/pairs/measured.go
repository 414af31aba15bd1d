package pairs

import (
	"fmt"
	"math"

	"dyad/engine"
	"dyad/engine/embedding"
	"dyad/engine/metrics"
	"dyad/engine/pairgraph"
)

// Stated describes the loss of a metric that was learned from pairs or tuples, as stated in a model file.
type Stated struct {
	Name        string  `json:"name"`
	Margin      float64 `json:"margin,omitempty"`
	Temperature float64 `json:"temperature,omitempty"`
	Tuple       int     `json:"tuple,omitempty"` // the number of records of a tuple; 0 for pairs
}

// evaluationSeed is the seed of the tuples of an evaluation.
const evaluationSeed = 1

// Mean returns the mean loss of a metric on records with labels, and a description of this measure. matrix is
// row-major. The contrastive loss is averaged over all pairs. The other losses are averaged over random
// tuples. The draw uses the positions of the records and not their values.
func (l Stated) Mean(matrix []float64, r *engine.Records) (float64, string, error) {
	factor, err := metrics.FactorMetric(matrix, r.Dim())
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
	data, err := DataOf(r, order, embedding.L2, PublicBound(embedding.L2, r.Dim()), none, nil)
	if err != nil {
		return 0, "", err
	}
	classes := ClassesOf(r, order)
	if l.Name == (embedding.Contrastive{}).Name() {
		all, err := embedding.NewAllPairs(data, classes, embedding.Contrastive{Margin: l.Margin}, factor.Rank, 1)
		if err != nil {
			return 0, "", err
		}
		return all.Objective(factor.L), fmt.Sprintf("mean contrastive loss of all pairs, margin %g", l.Margin), nil
	}
	named, err := embedding.TermLossOf(l.Name, l.Margin, l.Temperature)
	loss, ok := named.(embedding.TupleLoss)
	if err != nil || !ok {
		return 0, "", fmt.Errorf("pairs: this program does not know the loss %q of the model", l.Name)
	}
	parameter, value := loss.Parameter()
	members, err := embedding.DrawTuples(r.Len(), l.Tuple, evaluationSeed, 0)
	if err != nil {
		return 0, "", err
	}
	tuples, err := embedding.NewTuples(data, classes, loss, factor.Rank, l.Tuple, 1)
	if err != nil {
		return 0, "", err
	}
	return tuples.Objective(factor.L, members), fmt.Sprintf("mean %s loss of tuples of %d records, %s %g", l.Name, l.Tuple,
		parameter, value), nil
}

// ClassesOf returns the classes of the records in the given order. Equal labels are one class. Classes are
// numbered from 0 in the order of their first occurrence.
func ClassesOf(r *engine.Records, order []int32) []int32 {
	classes, known := make([]int32, len(order)), map[float64]int32{}
	for to, from := range order {
		label := r.Label(int(from))
		if _, ok := known[label]; !ok {
			known[label] = int32(len(known))
		}
		classes[to] = known[label]
	}
	return classes
}

// DataOf returns the records in the given order as embedding.Data, with pairs and their labels.
func DataOf(r *engine.Records, order []int32, norm embedding.Norm, bound float64, g *pairgraph.Graph,
	labels []bool) (*embedding.Data, error) {
	x := make([]float64, len(order)*r.Dim())
	for to, from := range order {
		r.Row(int(from), x[to*r.Dim():(to+1)*r.Dim()])
	}
	data, err := embedding.NewData(x, r.Dim(), norm, bound, g, labels)
	if err != nil {
		return nil, fmt.Errorf("pairs: %w", err)
	}
	return data, nil
}

// PublicBound returns a bound on the given norm of an encoded record. The Euclidean norm of every
// encoded record is at most 1, so its L1 norm is at most sqrt(d). With these bounds no record is scaled,
// and a model applies to encoded records without scaling.
func PublicBound(norm embedding.Norm, features int) float64 {
	if norm == embedding.L1 {
		return math.Ceil(1e4*math.Sqrt(float64(features))+1) / 1e4
	}
	return 1
}
