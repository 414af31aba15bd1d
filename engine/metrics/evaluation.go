package metrics

import (
	"context"
	"errors"

	"dyad/engine"
)

// Evaluation holds measures of a model on labelled records.
type Evaluation struct {
	Task    string `json:"task"`
	Records int    `json:"records"`
	Unit    string `json:"unit,omitempty"` // Unit is "person" if Records counts persons
	// Objective is the mean loss without the L2 term, and ObjectiveOf names the loss. It is absent for a pair
	// model that does not name its loss and for a model of algorithm moments.
	Objective   *float64 `json:"objective,omitempty"`
	ObjectiveOf string   `json:"objective_of,omitempty"`

	// The fields below are for scores of two classes.
	AUC        *float64 `json:"auc,omitempty"`
	AUCLow     *float64 `json:"auc_low,omitempty"` // AUCLow and AUCHigh are the DeLong interval, see deLongOfPersons
	AUCHigh    *float64 `json:"auc_high,omitempty"`
	Confidence float64  `json:"confidence,omitempty"`
	Threshold  float64  `json:"threshold"`
	Accuracy   *float64 `json:"accuracy,omitempty"`

	// The fields below are means over groups, for graded labels or query groups.
	Ranking   *float64 `json:"ranking_accuracy,omitempty"`
	Top       int      `json:"top,omitempty"`
	NDCG      *float64 `json:"ndcg,omitempty"`
	Precision *float64 `json:"precision,omitempty"`

	// KNN is for a metric.
	KNN []KNNAccuracy `json:"knn,omitempty"`

	Guarantee string `json:"guarantee"`
}

// Rank adds the ranking measures within groups. Without groups, all records form one group. For graded labels,
// there is no precision.
func (e *Evaluation) Rank(scores, labels []float64, g Grouping, graded bool, top int) error {
	e.Top = top
	accuracy, err := RankingAccuracy(scores, labels, g)
	if err != nil {
		return err
	}
	e.Ranking = &accuracy.Mean
	relevance, err := relevances(labels)
	if err != nil {
		return err
	}
	ndcg, err := NDCG(scores, relevance, top, g)
	if err != nil {
		return err
	}
	e.NDCG = &ndcg.Mean
	if graded {
		return nil
	}
	precision, err := precisionAt(scores, labels, top, g)
	if err != nil {
		return err
	}
	e.Precision = &precision.Mean
	return nil
}

// Classes adds the measures of the scores of r, which has two classes, with the DeLong interval if the records allow
// it. All measures count rows, and the interval takes the rows of a person together. The argument known is false if the
// rows belong to persons but r does not group them by person. Then there is no interval.
func (e *Evaluation) Classes(scores []float64, r *engine.Records, known bool, threshold, confidence float64) error {
	labels := r.Labels()
	auc, err := AUC(scores, labels)
	if err != nil {
		return err
	}
	accuracy, err := Accuracy(scores, labels, threshold)
	if err != nil {
		return err
	}
	e.AUC, e.Accuracy, e.Threshold = &auc, &accuracy, threshold
	if r.ByPerson() {
		e.Unit = "person"
	}
	estimate, err := deLongOfPersons(scores, labels, r.FirstRows())
	if !known || errors.Is(err, ErrOneRecord) {
		return nil
	}
	if err != nil {
		return err
	}
	low, high, err := estimate.Interval(confidence)
	if errors.Is(err, ErrDegenerate) {
		return nil
	}
	e.AUCLow, e.AUCHigh, e.Confidence = &low, &high, confidence
	return err
}

// NeighbourRanks lists the numbers of neighbours of the classifiers with which a metric is evaluated.
var NeighbourRanks = []int{3, 5}

// Neighbours returns two classifications for each number of neighbours in NeighbourRanks. The first classification uses
// the metric. It classifies the records learned[0] by their neighbours in learned[1]. The second classification uses
// the identity as the metric. It classifies the records raw[0] by their neighbours in raw[1]. If the two sets of
// records are the same, each record is left out of its own neighbours.
func Neighbours(ctx context.Context, metric []float64, learned,
	raw [2]*engine.Records) (all [][2]Classification, err error) {
	for _, k := range NeighbourRanks {
		var both [2]Classification
		for i, by := range [2][2]*engine.Records{learned, raw} {
			o := KNNOptions{K: k}
			if i == 0 {
				o.Metric = metric
			}
			if by[0] == by[1] {
				both[i], err = knnLeaveOneOut(ctx, by[0], o)
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

// Neighbours calls the function Neighbours and adds the accuracies of its classifications to e.KNN.
func (e *Evaluation) Neighbours(ctx context.Context, metric []float64, learned, raw [2]*engine.Records) error {
	all, err := Neighbours(ctx, metric, learned, raw)
	for i, both := range all {
		e.KNN = append(e.KNN, KNNAccuracy{K: NeighbourRanks[i], Learned: both[0].Accuracy(), Identity: both[1].Accuracy()})
	}
	return err
}
