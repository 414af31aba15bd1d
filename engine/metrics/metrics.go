// Package metrics evaluates models. For binary labels it computes the AUC with DeLong's variance, accuracy and
// the confusion matrix. For graded labels and query groups it computes ranking accuracy, NDCG and precision at
// k. For a Mahalanobis metric it classifies by nearest neighbours. The package adds no noise, so a measure of
// private records is not a private release. Publish measures only for public data or for test data that may be
// published.
//
// For binary labels, a record is positive if its label is above 0 and negative otherwise. Tied scores count as
// the average over all orders of the tied records, so the order of the file does not matter.
package metrics

import (
	"errors"
	"fmt"
	"math"
	"math/big"

	"dyad/engine"
	"dyad/internal/pages"
)

// ErrOneClass is returned if a measure needs both classes and one class is empty.
var ErrOneClass = errors.New("metrics: all labels are of one class; a ranking measure needs both classes")

// Scores returns the n linear scores w.x_i of the records r. It returns an error if the length of w is not
// r.Dim().
func Scores(r *engine.Records, w []float64) ([]float64, error) {
	if len(w) != r.Dim() {
		return nil, fmt.Errorf("metrics: there are %d weights for %d features, but the numbers must be equal",
			len(w), r.Dim())
	}
	out := pages.Make[float64](r.Len())
	if !r.IsSparse() {
		row := make([]float64, r.Dim())
		for i := range out {
			var s float64
			for k, v := range r.Rows(row, i, 1) {
				s += w[k] * v
			}
			out[i] = s
		}
		return out, nil
	}
	start, index, value := r.Sparse()
	for i := range out {
		var s float64
		for k := start[i]; k < start[i+1]; k++ {
			s += w[index[k]] * value[k]
		}
		out[i] = s
	}
	return out, nil
}

// AUC returns the area under the ROC curve. The area is the share of pairs of a positive and a negative
// record in which the positive record scores higher. A tie counts as one half. The share equals the
// Mann-Whitney statistic divided by the number of pairs. It equals
//
//	var u2 int
//	for p in positives { for q in negatives {
//		if p > q { u2 += 2 } else if p == q { u2++ }
//	} }
//	return u2 / (2 P N)
//
// but takes O(n log n) time. The count is exact, and the quotient is the nearest float64. len(scores) must
// equal len(labels) and be at most 2^31. A NaN score is an error; infinite scores are allowed. If a class is
// empty, AUC returns ErrOneClass.
func AUC(scores, labels []float64) (float64, error) {
	if err := check(scores, labels); err != nil {
		return 0, err
	}
	pos, neg := sortedClasses(scores, labels)
	var u2 uint64 // twice the statistic, at most 2 P N <= n^2/2 <= 2^61
	eachPlacement(pos, neg, func(a uint64) { u2 += a })
	return quotient(u2, 2*uint64(len(pos))*uint64(len(neg))), nil
}

// quotient returns the float64 nearest to a/b, b > 0.
func quotient(a, b uint64) float64 {
	q, _ := new(big.Rat).SetFrac(new(big.Int).SetUint64(a), new(big.Int).SetUint64(b)).Float64()
	return q
}

// Accuracy returns the share of records that are classified correctly if a record with a score of at least
// threshold is predicted as positive. It returns the same errors as AUC. threshold must not be NaN.
func Accuracy(scores, labels []float64, threshold float64) (float64, error) {
	if err := check(scores, labels); err != nil {
		return 0, err
	}
	if math.IsNaN(threshold) {
		return 0, errors.New("metrics: the threshold is not a number")
	}
	right := 0
	for i, s := range scores {
		if (s >= threshold) == (labels[i] > 0) {
			right++
		}
	}
	return float64(right) / float64(len(scores)), nil
}

func check(scores, labels []float64) error {
	if len(scores) != len(labels) || int64(len(scores)) > 1<<31 {
		return fmt.Errorf("metrics: there are %d scores and %d labels, but the numbers must be equal and at most 2^31",
			len(scores), len(labels))
	}
	positives := 0
	for i, s := range scores {
		if math.IsNaN(s) || math.IsNaN(labels[i]) {
			return errors.New("metrics: a score or label is not a number; the model may have diverged")
		}
		if labels[i] > 0 {
			positives++
		}
	}
	if positives == 0 || positives == len(scores) {
		return ErrOneClass
	}
	return nil
}
