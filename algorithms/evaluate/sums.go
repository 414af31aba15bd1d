package evaluate

import (
	"math"
	"math/big"
	"slices"
	"sort"
)

// scoreLevels and lossLevels are the integers to which scores and losses are rounded where
// their size matters: a score to a multiple of B/scoreLevels, a loss to one of half its range
// over lossLevels.
const (
	scoreLevels = 1 << 12
	lossLevels  = 1 << 16
)

// total maps a score that is not a number to 0, so that every score has a place in the order.
func total(s float64) float64 {
	if math.IsNaN(s) {
		return 0
	}
	return s
}

// level is the score of one record as an integer in [-scoreLevels, scoreLevels].
func level(s, bound float64) int {
	t := total(s) / bound // may be infinite, and is never NaN: bound is positive and finite
	return int(math.RoundToEven(min(max(t, -1), 1) * scoreLevels))
}

// rankSum is the sum of sign(s - s') over all pairs of a positive score s and a negative score
// s', which is (2 AUC - 1) n+ n-, and n+. It is exact for n <= 2^31.
//
// It equals
//
//	for p in positives { for q in negatives { sum += cmp(p, q) } }
//
// and takes O(n log n) time: from below, a group of equal scores with a positives and b
// negatives adds (a)(negatives below) and takes (b)(positives below).
func rankSum(scores []float64, positive []bool) (sum int64, positives int) {
	type ranked struct {
		score    float64
		positive bool
	}
	all := make([]ranked, len(scores))
	for i, s := range scores {
		all[i] = ranked{total(s), positive[i]}
	}
	slices.SortFunc(all, func(a, b ranked) int {
		switch {
		case a.score < b.score:
			return -1
		case a.score > b.score:
			return 1
		}
		return 0
	})
	var below [2]int64 // negatives and positives
	for i := 0; i < len(all); {
		var here [2]int64
		for first := all[i].score; i < len(all) && all[i].score == first; i++ {
			if all[i].positive {
				here[1]++
			} else {
				here[0]++
			}
		}
		sum += here[1]*below[0] - here[0]*below[1]
		below[0] += here[0]
		below[1] += here[1]
	}
	return sum, int(below[1])
}

// centreSum is the sum of the levels of the scores, and spreadSum that of their distances to a
// level: exact for n <= 2^40.
func centreSum(scores []float64, bound float64) float64 {
	var sum int64
	for _, s := range scores {
		sum += int64(level(s, bound))
	}
	return float64(sum)
}

func spreadSum(scores []float64, bound float64, centre int) float64 {
	var sum int64
	for _, s := range scores {
		q := int64(level(s, bound) - centre)
		sum += max(q, -q)
	}
	return float64(sum)
}

// cellCounts counts the records by class and score: positives of each cell first, then
// negatives. A score is in the cell after all thresholds that it reaches; thresholds do not
// decrease.
func cellCounts(dst, scores []float64, positive []bool, thresholds []float64) {
	cells := len(thresholds) + 1
	clear(dst)
	for i, s := range scores {
		s = total(s)
		cell := sort.Search(len(thresholds), func(k int) bool { return thresholds[k] > s })
		if !positive[i] {
			cell += cells
		}
		dst[cell]++
	}
}

// lossTerms are the losses of pairs whose scores differ by a number of levels, index 0 for -2
// scoreLevels: from -lossLevels at Low to lossLevels at High.
func lossTerms(l *Loss, bound float64) []int64 {
	terms := make([]int64, 4*scoreLevels+1)
	for i := range terms {
		terms[i] = int64(math.RoundToEven(l.at(float64(i-2*scoreLevels)/scoreLevels*bound) * lossLevels))
	}
	return terms
}

// at is the loss of a difference of scores, from -1 at Low to 1 at High and where it is not a
// number.
func (l *Loss) at(difference float64) float64 {
	v := l.Phi(2 * difference)
	if math.IsNaN(v) {
		return 1
	}
	return min(max((v-(l.Low/2+l.High/2))/(l.High/2-l.Low/2), -1), 1)
}

// lossSum is the sum of the terms over all pairs of a positive and a negative record, the
// float64 nearest to the exact integer, which is at most lossLevels n^2/4. Scores are rounded to
// levels, so it takes O(n + scoreLevels^2).
func lossSum(scores []float64, positive []bool, l *Loss, bound float64) float64 {
	var counts [2][2*scoreLevels + 1]int64
	for i, s := range scores {
		class := 0
		if positive[i] {
			class = 1
		}
		counts[class][level(s, bound)+scoreLevels]++
	}
	terms := lossTerms(l, bound)
	var levels []int // of negatives
	for b, negatives := range counts[0] {
		if negatives != 0 {
			levels = append(levels, b)
		}
	}
	sum, one := new(big.Int), new(big.Int)
	for a, positives := range counts[1] {
		if positives == 0 {
			continue
		}
		var inner int64 // at most n 2^16 < 2^43
		for _, b := range levels {
			inner += counts[0][b] * terms[a-b+2*scoreLevels]
		}
		sum.Add(sum, one.Mul(big.NewInt(positives), big.NewInt(inner)))
	}
	v, _ := new(big.Float).SetInt(sum).Float64()
	return v
}

// right counts the records that each classifier gets right.
func right(dst []float64, correct [][]bool) {
	for k, of := range correct {
		dst[k] = 0
		for _, ok := range of {
			if ok {
				dst[k]++
			}
		}
	}
}
