package metrics

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Gain turns the relevance of a record into its gain in NDCG.
type Gain int

const (
	// Exponential is 2^rel - 1 (Burges et al. 2005); rel is in [0, 512].
	Exponential Gain = iota
	// Linear is rel (Jarvelin & Kekalainen 2002); rel is in [0, 2^900].
	Linear
)

func (g Gain) of(relevance float64) float64 {
	if g == Linear {
		return relevance
	}
	if relevance < 1 { // no cancellation, and no error of relevance*Ln2 magnified
		return math.Expm1(relevance * math.Ln2)
	}
	return math.Exp2(relevance) - 1
}

// Relevance maps labels in [-1, 1] to relevances scale (y + 1)/2 in [0, scale],
// scale positive and finite: labels -1, -1/2, 0, 1/2, 1 and scale 4 become 0 to 4.
func Relevance(labels []float64, scale float64) ([]float64, error) {
	if !(scale > 0) || math.IsInf(scale, 0) {
		return nil, fmt.Errorf("metrics: relevance scale %v, want a positive finite number", scale)
	}
	out := make([]float64, len(labels))
	for i, y := range labels {
		if !(y >= -1 && y <= 1) {
			return nil, fmt.Errorf("metrics: a label is not in [-1, 1]; give relevances of your own")
		}
		out[i] = scale * ((y + 1) / 2)
	}
	return out, nil
}

// NDCG is the normalised discounted cumulative gain of the k highest scores,
// averaged over the groups:
//
//	DCG = sum_{r=1..k} gain(relevance at rank r) / log2(r + 1)
//	NDCG = DCG(order of the scores) / DCG(order of the relevances), in [0, 1].
//
// k = 0 or above the size of the group means the whole group. Records of equal
// score count as the exact average of DCG over all their orders: each takes the
// mean gain of its tie (McSherry & Najork 2008). A group in which every relevance
// is 0 has no NDCG; see Undefined. A group of m records takes O(m log m) time and
// its relative error is below (2m + 4k + 100) 2^-53: both DCGs are plain sums of
// at most m gains of a tie, k discounts and k ties, none negative. Scores may be
// infinite but not NaN; Gain gives the range of relevances.
func NDCG(scores, relevance []float64, k int, gain Gain, g Grouping) (GroupMean, error) {
	if err := checkGraded(scores, relevance, "relevances"); err != nil {
		return GroupMean{}, err
	}
	if gain != Exponential && gain != Linear {
		return GroupMean{}, fmt.Errorf("metrics: gain %d, want Exponential or Linear", gain)
	}
	if k < 0 {
		return GroupMean{}, fmt.Errorf("metrics: NDCG at %d, want at least 1, or 0 for the whole group", k)
	}
	most := 512.0
	if gain == Linear {
		most = 0x1p900
	}
	gains := make([]float64, len(relevance))
	for i, r := range relevance {
		if r < 0 || r > most {
			return GroupMean{}, fmt.Errorf("metrics: a relevance is not in [0, %v]", most)
		}
		gains[i] = gain.of(r)
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

// expectedDCG sorts rows by descending score.
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

// eachTie sorts rows by descending score and visits the runs of equal score that
// reach into the first top ranks: first is the rank of the run, from 0, and slots
// the number of its ranks below top.
func eachTie(scores []float64, rows []int, top int, visit func(tied []int, first, slots int)) {
	slices.SortFunc(rows, func(a, b int) int {
		if scores[a] != scores[b] {
			return cmp.Compare(scores[b], scores[a])
		}
		return cmp.Compare(a, b) // a fixed order of the sums
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

// PrecisionAt is the share of positive records (label above 0) among the k
// highest scores, k at least 1, averaged over the groups. A group of fewer than k
// records is divided by k all the same, as if padded with negatives. Of a tie in
// score that crosses rank k the expected number over all orders counts: its share
// of positives times the ranks left. A group without positives has no precision;
// see Undefined, where AsZero is the usual choice besides Skip. The error of a
// group is below 2^-51.
func PrecisionAt(scores, labels []float64, k int, g Grouping) (GroupMean, error) {
	if err := checkGraded(scores, labels, "labels"); err != nil {
		return GroupMean{}, err
	}
	if k < 1 {
		return GroupMean{}, fmt.Errorf("metrics: precision at %d, want at least 1", k)
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
