package evaluate

import (
	"cmp"
	"math"
	"math/big"
	"slices"
	"sort"
)

// scoreLevels and lossLevels set the grids to which scores and losses are rounded when their size matters. A
// score is rounded to a multiple of B/scoreLevels. A loss is rounded to a multiple of half its range over
// lossLevels.
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

// level returns the score of one record as an integer in [-scoreLevels, scoreLevels].
func level(s, bound float64) int {
	t := total(s) / bound // may be infinite, and is never NaN: bound is positive and finite
	return int(math.RoundToEven(min(max(t, -1), 1) * scoreLevels))
}

// rankSum returns the sum of sign(s - s') over all pairs of a positive score s and a negative score s', and n+.
// The sum is (2 AUC - 1) n+ n-. It is exact for n <= 2^31.
//
// It equals
//
//	for p in positives { for q in negatives { sum += cmp(p, q) } }
//
// and takes O(n log n) time. In rising order, a group of equal scores with a positives and b negatives adds
// (a)(negatives below) and subtracts (b)(positives below).
func rankSum(scores []float64, positive []bool) (sum int64, positives int) {
	var below [2]int64 // negatives and positives
	eachTie(scores, positive, nil, func(here [2]int64) {
		sum += here[1]*below[0] - here[0]*below[1]
		below[0] += here[0]
		below[1] += here[1]
	})
	return sum, int(below[1])
}

// eachTie calls visit for each distinct score in rising order, with the weights of the negatives and of the
// positives with this score. If weight is nil, each row has weight 1.
func eachTie(scores []float64, positive []bool, weight []int64, visit func(here [2]int64)) {
	type ranked struct {
		score    float64
		weight   int64
		positive bool
	}
	all := make([]ranked, len(scores))
	for i, s := range scores {
		all[i] = ranked{total(s), 1, positive[i]}
		if weight != nil {
			all[i].weight = weight[i]
		}
	}
	slices.SortFunc(all, func(a, b ranked) int { return cmp.Compare(a.score, b.score) })
	for i := 0; i < len(all); {
		var here [2]int64
		for first := all[i].score; i < len(all) && all[i].score == first; i++ {
			if all[i].positive {
				here[1] += all[i].weight
			} else {
				here[0] += all[i].weight
			}
		}
		visit(here)
	}
}

// centreSum returns the sum of the levels of the scores, and spreadSum the sum of their distances to a level.
// Both are exact for n <= 2^40. For persons they are exact for n <= 2^26 except for the conversion to float64.
func (d Data) centreSum(bound float64) float64 {
	var sum int64
	for i, s := range d.Scores {
		sum += d.weigh(i) * int64(level(s, bound))
	}
	return d.persons(sum)
}

func (d Data) spreadSum(bound float64, centre int) float64 {
	var sum int64
	for i, s := range d.Scores {
		q := int64(level(s, bound) - centre)
		sum += d.weigh(i) * max(q, -q)
	}
	return d.persons(sum)
}

// weigh returns the share of a row as an integer. It is 1 if each row is a record.
func (d Data) weigh(i int) int64 {
	if d.weight == nil {
		return 1
	}
	return d.weight[i]
}

// persons converts a sum of integers times weigh to units of records.
func (d Data) persons(sum int64) float64 {
	if d.weight == nil {
		return float64(sum)
	}
	return float64(sum) / shareUnit
}

// cellCounts counts the records by class and score. dst has the positives of each cell first, then the
// negatives. A score belongs to the cell after all thresholds that it reaches. Thresholds must not decrease.
func (d Data) cellCounts(dst, thresholds []float64) {
	cells := len(thresholds) + 1
	counts := make([]int64, len(dst))
	for i, s := range d.Scores {
		s = total(s)
		cell := sort.Search(len(thresholds), func(k int) bool { return thresholds[k] > s })
		if !d.Positive[i] {
			cell += cells
		}
		counts[cell] += d.weigh(i)
	}
	for k, c := range counts {
		dst[k] = d.persons(c)
	}
}

// lossTerms returns the rounded losses of pairs by the difference of their scores in levels, with index 0 for
// -2 scoreLevels. The losses range from -lossLevels at Low to lossLevels at High.
func lossTerms(l *ClampedLoss, bound float64) []int64 {
	terms := make([]int64, 4*scoreLevels+1)
	for i := range terms {
		terms[i] = int64(math.RoundToEven(l.at(float64(i-2*scoreLevels)/scoreLevels*bound) * lossLevels))
	}
	return terms
}

// at returns the loss of a difference of scores, from -1 at Low to 1 at High. If the loss is not a number, it
// returns 1.
func (l *ClampedLoss) at(difference float64) float64 {
	v := l.Phi(2 * difference)
	if math.IsNaN(v) {
		return 1
	}
	return min(max((v-(l.Low/2+l.High/2))/(l.High/2-l.Low/2), -1), 1)
}

// lossSum returns the sum of the terms over all pairs of a positive and a negative record. It is the float64
// nearest to the exact sum, which is at most lossLevels n^2/4. For persons the pairs are pairs of rows of
// different persons, weighted by their shares. Scores are rounded to levels, so the time is O(n +
// scoreLevels^2), and at most m^2 more for a person with m rows.
func (d Data) lossSum(l *ClampedLoss, bound float64) float64 {
	terms := lossTerms(l, bound)
	sum := new(levelCounts).of(d, 0, len(d.Scores), bound, terms)
	if d.weight == nil {
		v, _ := new(big.Float).SetInt(sum).Float64()
		return v
	}
	var own levelCounts
	for p, from := range d.First[:len(d.First)-1] {
		if to := d.First[p+1]; to-from > 1 {
			sum.Sub(sum, own.of(d, from, to, bound, terms))
		}
	}
	return overUnit(sum)
}

// levelCounts holds the weights of negatives and positives at each level.
type levelCounts struct {
	counts [2][2*scoreLevels + 1]int64
	seen   [2][]int // levels whose weight is not 0
}

// of returns the sum of the terms over the pairs of rows with indices from, ..., to-1. The counts are
// empty before and after the call.
func (c *levelCounts) of(d Data, from, to int, bound float64, terms []int64) *big.Int {
	for i := from; i < to; i++ {
		if d.weigh(i) == 0 {
			continue
		}
		class, at := 0, level(d.Scores[i], bound)+scoreLevels
		if d.Positive[i] {
			class = 1
		}
		if c.counts[class][at] == 0 {
			c.seen[class] = append(c.seen[class], at)
		}
		c.counts[class][at] += d.weigh(i)
	}
	sum, one := new(big.Int), new(big.Int)
	for _, a := range c.seen[1] {
		var inner int64 // at most n 2^16 < 2^43 for rows, 2^62 for persons
		for _, b := range c.seen[0] {
			inner += c.counts[0][b] * terms[a-b+2*scoreLevels]
		}
		sum.Add(sum, one.Mul(big.NewInt(c.counts[1][a]), big.NewInt(inner)))
	}
	for class := range c.seen {
		for _, at := range c.seen[class] {
			c.counts[class][at] = 0
		}
		c.seen[class] = c.seen[class][:0]
	}
	return sum
}

// right counts the records that each classifier classifies correctly.
func (d Data) right(dst []float64) {
	for k, of := range d.Correct {
		var sum int64
		for i, ok := range of {
			if ok {
				sum += d.weigh(i)
			}
		}
		dst[k] = d.persons(sum)
	}
}
