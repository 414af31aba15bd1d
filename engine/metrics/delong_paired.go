package metrics

import (
	"errors"
	"math"
	"sort"
)

// AUCDifference is the difference of the AUCs of two scores of the same records, with DeLong's
// estimate of its sampling variance.
type AUCDifference struct {
	Difference float64 // AUC of the first less that of the second, in [-1, 1]
	Variance   float64
}

// DeLongDifference compares two scores of the same records (DeLong, DeLong & Clarke-Pearson 1988):
// with V10_i and V01_j the difference of what DeLong has for each of the scores, the variance is
// again that of V10 over P plus that of V01 over N. It takes O(n log n) time. Errors are as in
// DeLong.
func DeLongDifference(first, second, labels []float64) (AUCDifference, error) {
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
	d := AUCDifference{Difference: a.AUC - b.AUC}
	for _, positive := range []bool{true, false} {
		var n, sum, square float64
		for i, y := range labels {
			if (y > 0) == positive {
				n++
				sum += u[i] - v[i]
			}
		}
		for i, y := range labels {
			if (y > 0) == positive {
				e := u[i] - v[i] - sum/n
				square += e * e
			}
		}
		d.Variance += square / ((n - 1) * n)
	}
	return d, nil
}

// Interval is a two-sided interval for the difference, for a level in (0, 1): asymptotic, cut to
// [-1, 1]. ErrDegenerate is returned for variance 0.
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

// placements are, for a positive record, the share of negatives below it, for a negative one that
// of positives above it, ties counted half.
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
	share := func(sorted []float64, s float64) float64 { // below, ties half
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
