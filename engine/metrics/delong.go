package metrics

import (
	"errors"
	"fmt"
	"math"
)

// ErrOneRecord is returned if a class has only one record or person, because the variance needs two of each class.
var ErrOneRecord = errors.New("metrics: a class has one record, and DeLong's variance needs at least two records of " +
	"each class")

// ErrDegenerate is returned if a normal approximation has no meaning because the estimated variance is 0. The
// variance is 0 if all records of a class are ranked equally well, for example if the scores separate the
// classes.
var ErrDegenerate = errors.New("metrics: the estimated variance is 0, so there is no interval or test; use more " +
	"records")

// AUCEstimate is an AUC with DeLong's estimate of its sampling variance.
type AUCEstimate struct {
	// AUC is the result of the function AUC, in [0, 1].
	AUC float64
	// Variance estimates the variance of AUC over samples that have the same number of records of each class as
	// this sample. It is at least 0.
	Variance float64
}

// DeLong returns the AUC and the variance estimate of DeLong, DeLong & Clarke-Pearson 1988. Let k(p, q) = 1,
// 1/2 or 0 if the positive score p is above, equal to or below the negative score q. Then
//
//	V10_i = 1/N sum_j k(p_i, q_j),   V01_j = 1/P sum_i k(p_i, q_j)
//	Variance = 1/(P(P-1)) sum_i (V10_i - AUC)^2 + 1/(N(N-1)) sum_j (V01_j - AUC)^2.
//
// The variance equals the sum of two jackknife variances, which leave out one record of a class at a time. The
// computation takes O(n log n) time by ranks (Sun & Xu 2014). The sums are integers and exact; AUC and Variance
// are the nearest float64. Scores must not be NaN; infinite scores are allowed. DeLong returns the same errors
// as AUC, and also ErrOneRecord.
func DeLong(scores, labels []float64) (AUCEstimate, error) {
	if err := check(scores, labels); err != nil {
		return AUCEstimate{}, err
	}
	pos, neg := classMoments(scores, labels)
	if min(pos.n, neg.n) < 2 {
		return AUCEstimate{}, ErrOneRecord
	}
	v := pos.variance(neg.n)
	variance, _ := v.Add(v, neg.variance(pos.n)).Float64()
	return AUCEstimate{AUC: quotient(pos.sum, 2*pos.n*neg.n), Variance: variance}, nil
}

// deLongOfPersons is DeLong for rows of persons, which are not independent (Obuchowski 1997). first has the first row
// of each person and then the number of rows, as engine.Records.FirstRows. AUC compares all rows. Let S10_k and S01_k be
// the sums of V10_i - AUC and of V01_j - AUC over the rows of person k, I of K persons have a positive row, and J have a
// negative row. Then
//
//	Variance = I/((I-1) P^2) sum_k S10_k^2 + J/((J-1) N^2) sum_k S01_k^2 + 2 K/((K-1) P N) sum_k S10_k S01_k.
//
// With one row for each person, or without persons, this is the variance of DeLong. deLongOfPersons returns ErrOneRecord
// if I or J is 1.
func deLongOfPersons(scores, labels []float64, first []int) (AUCEstimate, error) {
	e, err := DeLong(scores, labels)
	if err == nil && first != nil {
		e.Variance, err = spread(placements(scores, labels), labels, first)
	}
	return e, err
}

// spread returns the variance in the comment of deLongOfPersons of the difference of the mean of values over positive
// rows and its expectation, where values has V10 of positive and V01 of negative rows, or differences of them.
func spread(values, labels []float64, first []int) (float64, error) {
	class := func(i int) int {
		if labels[i] > 0 {
			return 1
		}
		return 0
	}
	var n, sum, units, squares [2]float64
	for i, v := range values {
		n[class(i)]++
		sum[class(i)] += v
	}
	persons, both := len(values), 0.0
	if first != nil {
		persons = len(first) - 1
	}
	for k := range persons {
		from, to := k, k+1
		if first != nil {
			from, to = first[k], first[k+1]
		}
		var of, has [2]float64
		for i := from; i < to; i++ {
			c := class(i)
			of[c] += values[i] - sum[c]/n[c]
			has[c] = 1
		}
		for c := range of {
			units[c] += has[c]
			squares[c] += of[c] * of[c]
		}
		both += of[0] * of[1]
	}
	if min(units[0], units[1]) < 2 {
		return 0, ErrOneRecord
	}
	variance := 2 * both / (n[0] * n[1]) * float64(persons) / float64(persons-1)
	for c := range n {
		variance += squares[c] / ((units[c] - 1) * n[c] * (n[c] / units[c]))
	}
	return variance, nil
}

// Interval returns the two-sided interval log(A/(1-A)) -+ z s/(A(1-A)), transformed back to (0, 1), for the AUC of the
// distribution of the records. A is AUC, s is the square root of Variance, and z is the normal quantile of (1 +
// level)/2. The level is in (0, 1), such as 0.95. The coverage is asymptotic. Near 0 and 1, the coverage is better than
// the coverage of A -+ z s (Pepe 2003, 5.2.4). Interval returns ErrDegenerate if Variance is 0.
func (e AUCEstimate) Interval(level float64) (low, high float64, err error) {
	z, err := normalQuantile(level)
	if err != nil {
		return 0, 0, err
	}
	if !(e.Variance > 0 && e.AUC > 0 && e.AUC < 1) {
		return 0, 0, ErrDegenerate
	}
	g := math.Log(e.AUC) - math.Log1p(-e.AUC)
	h := z * math.Sqrt(e.Variance) / (e.AUC * (1 - e.AUC))
	return 1 / (1 + math.Exp(h-g)), 1 / (1 + math.Exp(-h-g)), nil
}

// normalQuantile returns z with P(|Z| <= z) = level for a standard normal Z.
func normalQuantile(level float64) (float64, error) {
	if !(level > 0 && level < 1) {
		return 0, fmt.Errorf("metrics: the confidence level is %v, but it must be in (0, 1), for example 0.95", level)
	}
	return math.Sqrt2 * math.Erfcinv(1-level), nil
}
