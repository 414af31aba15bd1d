package metrics

import (
	"errors"
	"math"
	"sort"
)

// AUCDifference is the difference of the AUCs of two scores on the same records, with DeLong's estimate of its
// sampling variance.
type AUCDifference struct {
	Difference float64 // AUC of the first score minus AUC of the second score, in [-1, 1]
	Variance   float64
}

// DeLongDifference compares two scores on the same records (DeLong, DeLong & Clarke-Pearson 1988). The comment
// of DeLong defines V10_i and V01_j for one score. Here V10_i and V01_j are the differences of these numbers
// between the two scores. The variance is again the sample variance of V10 over P plus the sample variance of
// V01 over N, or for rows of persons the variance of deLongOfPersons. rows has the first row of each person and then the
// number of rows, or is nil if every record is a person. Variance is 0 if only one person has a row of a class. The
// computation takes O(n log n) time. DeLongDifference returns the same errors as DeLong.
func DeLongDifference(first, second, labels []float64, rows []int) (AUCDifference, error) {
	if len(first) != len(second) {
		return AUCDifference{}, errors.New("metrics: two models gave different numbers of scores")
	}
	a, err := DeLong(first, labels)
	if err != nil {
		return AUCDifference{}, err
	}
	b, err := DeLong(second, labels)
	if err != nil {
		return AUCDifference{}, err
	}
	u, v := placements(first, labels), placements(second, labels)
	for i := range u {
		u[i] -= v[i]
	}
	d := AUCDifference{Difference: a.AUC - b.AUC}
	d.Variance, _ = spread(u, labels, rows)
	return d, nil
}

// Interval returns a two-sided confidence interval for the difference, cut to [-1, 1]. The level is in (0, 1).
// The coverage is asymptotic. If the variance is 0, Interval returns ErrDegenerate.
func (d AUCDifference) Interval(level float64) (low, high float64, err error) {
	z, err := normalQuantile(level)
	if err != nil {
		return 0, 0, err
	}
	if !(d.Variance > 0) {
		return 0, 0, ErrDegenerate
	}
	h := z * math.Sqrt(d.Variance)
	return max(-1, d.Difference-h), min(1, d.Difference+h), nil
}

// placements returns a share for each record: for a positive record, the share of negatives with lower scores,
// and for a negative record, the share of positives with higher scores. Ties count one half.
func placements(scores, labels []float64) []float64 {
	var of [2][]float64
	for i, s := range scores {
		class := 0
		if labels[i] > 0 {
			class = 1
		}
		of[class] = append(of[class], s)
	}
	sort.Float64s(of[0])
	sort.Float64s(of[1])
	share := func(sorted []float64, s float64) float64 { // share of scores below s, ties counted half
		below := sort.SearchFloat64s(sorted, s)
		to := below + sort.Search(len(sorted)-below, func(k int) bool { return sorted[below+k] > s })
		return (float64(below) + float64(to)) / 2 / float64(len(sorted))
	}
	out := make([]float64, len(scores))
	for i, s := range scores {
		if labels[i] > 0 {
			out[i] = share(of[0], s)
		} else {
			out[i] = 1 - share(of[1], s)
		}
	}
	return out
}
