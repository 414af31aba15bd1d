package metrics

import (
	"context"
	"errors"

	"dyad/engine"
)

// Evaluation are figures of a model on labelled records.
type Evaluation struct {
	Task    string `json:"task"`
	Records int    `json:"records"`
	// Objective is a mean loss without the L2 term, ObjectiveOf says which; a model of
	// pairs that does not name its loss has none, nor has one of moments.
	Objective   *float64 `json:"objective,omitempty"`
	ObjectiveOf string   `json:"objective_of,omitempty"`

	// For scores of two classes:
	AUC        *float64 `json:"auc,omitempty"`
	AUCLow     *float64 `json:"auc_low,omitempty"` // DeLong interval
	AUCHigh    *float64 `json:"auc_high,omitempty"`
	Confidence float64  `json:"confidence,omitempty"`
	Threshold  float64  `json:"threshold"`
	Accuracy   *float64 `json:"accuracy,omitempty"`

	// For graded labels or query groups, means over groups:
	Ranking   *float64 `json:"ranking_accuracy,omitempty"`
	Top       int      `json:"top,omitempty"`
	NDCG      *float64 `json:"ndcg,omitempty"`
	Precision *float64 `json:"precision,omitempty"`

	// For a metric:
	KNN []KNNAccuracy `json:"knn,omitempty"`

	Guarantee string `json:"guarantee"`
}

// relevanceScale maps labels in [-1, 1] to relevances in [0, 4], the usual range
// of graded judgements.
const relevanceScale = 4

// Rank adds the figures within groups, or of all records as one group. Graded labels have no precision.
func (e *Evaluation) Rank(scores, labels []float64, g Grouping, graded bool, top int) error {
	e.Top = top
	accuracy, err := RankingAccuracy(scores, labels, Equal, g)
	if err != nil {
		return err
	}
	e.Ranking = &accuracy.Mean
	relevance, err := Relevance(labels, relevanceScale)
	if err != nil {
		return err
	}
	ndcg, err := NDCG(scores, relevance, top, Exponential, g)
	if err != nil {
		return err
	}
	e.NDCG = &ndcg.Mean
	if graded {
		return nil
	}
	precision, err := PrecisionAt(scores, labels, top, g)
	if err != nil {
		return err
	}
	e.Precision = &precision.Mean
	return nil
}

// Classes adds the figures of scores of two classes, with the DeLong interval where the records allow one.
func (e *Evaluation) Classes(scores, labels []float64, threshold, confidence float64) error {
	auc, err := AUC(scores, labels)
	if err != nil {
		return err
	}
	accuracy, err := Accuracy(scores, labels, threshold)
	if err != nil {
		return err
	}
	e.AUC, e.Accuracy, e.Threshold = &auc, &accuracy, threshold
	estimate, err := DeLong(scores, labels)
	if errors.Is(err, ErrOneRecord) {
		return nil
	}
	if err != nil {
		return err
	}
	low, high, err := estimate.Interval(confidence, Logit)
	if errors.Is(err, ErrDegenerate) {
		return nil
	}
	e.AUCLow, e.AUCHigh, e.Confidence = &low, &high, confidence
	return err
}

// NeighbourRanks are the numbers of neighbours of the classifiers that judge a metric.
var NeighbourRanks = []int{3, 5}

// Neighbours are the classifications by each of NeighbourRanks, of learned[0] by the metric with neighbours among learned[1], then of raw by the
// identity. Records among themselves are left out one by one.
func Neighbours(ctx context.Context, metric []float64, learned, raw [2]*engine.Records) (all [][2]Classification, err error) {
	for _, k := range NeighbourRanks {
		var both [2]Classification
		for i, by := range [2][2]*engine.Records{learned, raw} {
			o := KNNOptions{K: k}
			if i == 0 {
				o.Metric = metric
			}
			if by[0] == by[1] {
				both[i], err = KNNLeaveOneOut(ctx, by[0], o)
			} else {
				both[i], err = KNN(ctx, by[1], by[0], o)
			}
			if err != nil {
				return nil, err
			}
		}
		all = append(all, both)
	}
	return all, nil
}

// Neighbours adds the accuracies of Neighbours.
func (e *Evaluation) Neighbours(ctx context.Context, metric []float64, learned, raw [2]*engine.Records) error {
	all, err := Neighbours(ctx, metric, learned, raw)
	for i, both := range all {
		e.KNN = append(e.KNN, KNNAccuracy{K: NeighbourRanks[i], Learned: both[0].Accuracy(), Identity: both[1].Accuracy()})
	}
	return err
}
