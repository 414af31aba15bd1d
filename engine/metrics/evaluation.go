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

// Neighbours adds the accuracy of nearest neighbour classifiers on learned[0] with neighbours among learned[1], and that on raw with the
// identity.
func (e *Evaluation) Neighbours(ctx context.Context, metric []float64, learned, raw [2]*engine.Records) error {
	for _, k := range []int{3, 5} {
		row := KNNAccuracy{K: k}
		for _, by := range []struct {
			to      *float64
			metric  []float64
			records [2]*engine.Records
		}{{&row.Learned, metric, learned}, {&row.Identity, nil, raw}} {
			o, r, among := KNNOptions{K: k, Metric: by.metric}, by.records[0], by.records[1]
			var found Classification
			var err error
			if among == r {
				found, err = KNNLeaveOneOut(ctx, r, o)
			} else {
				found, err = KNN(ctx, among, r, o)
			}
			if err != nil {
				return err
			}
			*by.to = found.Accuracy()
		}
		e.KNN = append(e.KNN, row)
	}
	return nil
}
