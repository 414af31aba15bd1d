package metrics

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
)

// relevances maps labels y in [-1, 1] to relevances in [0, 4], the usual range of graded judgements: the labels -1,
// -1/2, 0, 1/2, 1 become 0 to 4.
func relevances(labels []float64) ([]float64, error) {
	out := make([]float64, len(labels))
	for i, y := range labels {
		if !(y >= -1 && y <= 1) {
			return nil, fmt.Errorf("metrics: a label is not in [-1, 1]; pass your own relevances")
		}
		out[i] = 4 * ((y + 1) / 2)
	}
	return out, nil
}

// NDCG returns the normalised discounted cumulative gain of the k highest scores, averaged over the groups:
//
//	DCG = sum_{r=1..k} gain(relevance at rank r) / log2(r + 1)
//	NDCG = DCG(order of the scores) / DCG(order of the relevances), in [0, 1].
//
// If k is 0 or above the size of the group, the whole group counts. If records have equal scores, DCG is the exact
// average over all orders of these records. So each of them counts with the mean of their gains (McSherry & Najork
// 2008). A group in which every relevance is 0 has no NDCG. A group of m records takes O(m log m) time, and its
// relative error is below (2m + 4k + 100) 2^-53. The reason is that both DCGs are plain sums of non-negative terms:
// at most m gains of a tie, k discounts and k ties. Scores can be infinite but not NaN. The gain is 2^rel - 1
// (Burges et al. 2005) for rel in [0, 512].
func NDCG(scores, relevance []float64, k int, g Grouping) (GroupMean, error) {
	if err := checkGraded(scores, relevance, "relevances"); err != nil {
		return GroupMean{}, err
	}
	if k < 0 {
		return GroupMean{}, fmt.Errorf("metrics: the k of NDCG is %d, but it must be at least 1, or 0 for the whole "+
			"group", k)
	}
	gains := make([]float64, len(relevance))
	for i, r := range relevance {
		switch {
		case r < 0 || r > 512:
			return GroupMean{}, errors.New("metrics: a relevance is not in [0, 512]")
		case r < 1: // Expm1 avoids cancellation, and the error of r*Ln2 is not magnified
			gains[i] = math.Expm1(r * math.Ln2)
		default:
			gains[i] = math.Exp2(r) - 1
		}
	}
	return g.mean(len(scores), func(rows []int) (float64, bool) {
		top := len(rows)
		if k > 0 {
			top = min(k, top)
		}
		ideal := expectedDCG(gains, gains, rows, top)
		if ideal == 0 {
			return 0, false
		}
		return min(1, expectedDCG(scores, gains, rows, top)/ideal), true
	})
}

// expectedDCG returns the mean of DCG over all orders of tied records. It sorts rows by descending score.
func expectedDCG(scores, gains []float64, rows []int, top int) float64 {
	var dcg float64
	eachTie(scores, rows, top, func(tied []int, first, slots int) {
		var gain, discount float64
		for _, i := range tied {
			gain += gains[i]
		}
		for r := first; r < first+slots; r++ {
			discount += 1 / math.Log2(float64(r+2))
		}
		dcg += gain / float64(len(tied)) * discount
	})
	return dcg
}

// eachTie sorts rows by descending score and visits the runs of equal score that have a rank below top. first
// is the rank of the run, from 0, and slots is the number of its ranks below top.
func eachTie(scores []float64, rows []int, top int, visit func(tied []int, first, slots int)) {
	slices.SortFunc(rows, func(a, b int) int {
		if scores[a] != scores[b] {
			return cmp.Compare(scores[b], scores[a])
		}
		return cmp.Compare(a, b) // fixes the order of the sums
	})
	for first := 0; first < top; {
		end := first + 1
		for end < len(rows) && scores[rows[end]] == scores[rows[first]] {
			end++
		}
		visit(rows[first:end], first, min(end, top)-first)
		first = end
	}
}

// precisionAt returns the share of positive records (label above 0) among the k highest scores, averaged over
// the groups. k is at least 1. For a group with fewer than k records, the count is still divided by k, as if
// the group were padded with negatives. A tie in score can cross rank k. In this case, the expected number of
// positives over all orders counts: the share of positives in the tie times the number of remaining ranks. A
// group without positives has no precision. The error of a group is below 2^-51.
func precisionAt(scores, labels []float64, k int, g Grouping) (GroupMean, error) {
	if err := checkGraded(scores, labels, "labels"); err != nil {
		return GroupMean{}, err
	}
	if k < 1 {
		return GroupMean{}, fmt.Errorf("metrics: the k of precision is %d, but it must be at least 1", k)
	}
	return g.mean(len(scores), func(rows []int) (float64, bool) {
		if !slices.ContainsFunc(rows, func(i int) bool { return labels[i] > 0 }) {
			return 0, false
		}
		var found float64
		eachTie(scores, rows, min(k, len(rows)), func(tied []int, _, slots int) {
			positives := 0
			for _, i := range tied {
				if labels[i] > 0 {
					positives++
				}
			}
			if slots == len(tied) {
				found += float64(positives)
			} else {
				found += float64(positives) * float64(slots) / float64(len(tied))
			}
		})
		return found / float64(k), true
	})
}
