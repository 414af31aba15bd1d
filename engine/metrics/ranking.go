package metrics

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
)

// PairWeight is the weight of a pair of records with labels y != y'.
type PairWeight int

const (
	// Equal is the weight 1 for every pair of different labels.
	Equal PairWeight = iota
	// LabelGap is the weight |y - y'|.
	LabelGap
)

// RankingAccuracy returns the weighted share of pairs with different labels that the scores order like the
// labels, with ties in score counting one half:
//
//	for i, j with y_i > y_j in the same group {
//		total += weight
//		if s_i > s_j { right += weight } else if s_i == s_j { right += weight/2 }
//	}
//	return right / total
//
// averaged over the groups. With binary labels and one group it equals AUC. A group of m records takes O(m log
// m) time. Labels can be any finite numbers. Scores can be infinite but not NaN. For Equal, the counts of a
// group are exact and its quotient is the nearest float64. For LabelGap, the relative error of the quotient is
// below 2^-49 + A^2 2^-104, A = m ceil(log2 m), unless there is underflow. Labels must be at most 2^900 apart.
func RankingAccuracy(scores, labels []float64, weight PairWeight, g Grouping) (GroupMean, error) {
	if err := checkGraded(scores, labels, "labels"); err != nil {
		return GroupMean{}, err
	}
	if weight != Equal && weight != LabelGap {
		return GroupMean{}, fmt.Errorf("metrics: the pair weight is %d, want Equal or LabelGap", weight)
	}
	if weight == LabelGap {
		if gap := slices.Max(labels) - slices.Min(labels); gap > 0x1p900 {
			return GroupMean{}, errors.New("metrics: labels are more than 2^900 apart; rescale them")
		}
	}
	return g.mean(len(scores), func(rows []int) (float64, bool) {
		c := newConcordance(scores, labels, rows)
		c.split(0, len(c.level)-1)
		if c.pairs == 0 {
			return 0, false
		}
		if weight == Equal {
			return quotient(c.right2, 2*c.pairs), true
		}
		return min(1, c.gapRight2.value()/(2*c.gap.value())), true
	})
}

// ranked is a record with a score key and a label.
type ranked struct {
	key   uint64
	label float64
}

// concordance counts the ordered pairs of one group.
type concordance struct {
	records, merged []ranked
	level           []int // level[l] is the index of the first record with the l-th smallest label

	pairs, right2  uint64 // at most m^2, m <= 2^31
	gap, gapRight2 compensated
}

func newConcordance(scores, labels []float64, rows []int) *concordance {
	c := &concordance{records: make([]ranked, len(rows)), merged: make([]ranked, len(rows))}
	for k, i := range rows {
		c.records[k] = ranked{orderKey(scores[i]), labels[i]}
	}
	slices.SortFunc(c.records, func(a, b ranked) int {
		if a.label != b.label {
			return cmp.Compare(a.label, b.label)
		}
		return cmp.Compare(a.key, b.key)
	})
	for k, r := range c.records {
		if k == 0 || r.label != c.records[k-1].label {
			c.level = append(c.level, k)
		}
	}
	c.level = append(c.level, len(c.records))
	return c
}

// split counts the pairs of different labels among the levels [from, to) and leaves their records in the order
// of the scores. Each pair is counted once, at the step that separates its levels. Let m be the lowest label of
// the upper half. Then a pair's gap y_i - y_j is (y_i - m) + (m - y_j). Both terms are at least 0, so no sum
// cancels. The error of LabelGap, with u = 2^-53, is as follows. A difference, its product with an exact count,
// and the compensated sum of at most A + A terms each have an error within u. The sum has an additional error
// of up to 4 A^2 u^2 (Ogita, Rump & Oishi 2005, Sum2). The quotient doubles this error and adds u.
func (c *concordance) split(from, to int) {
	if to-from < 2 {
		return
	}
	mid := (from + to) / 2
	c.split(from, mid)
	c.split(mid, to)
	lower := c.records[c.level[from]:c.level[mid]]
	upper := c.records[c.level[mid]:c.level[to]]
	// After the recursion, the halves are in the order of the scores, so the lowest label of the upper half has
	// to be searched.
	m := math.Inf(1)
	for _, r := range upper {
		m = min(m, r.label)
	}
	c.pairs += uint64(len(lower)) * uint64(len(upper))
	below, upTo := 0, 0
	for _, r := range upper {
		for below < len(lower) && lower[below].key < r.key {
			below++
		}
		for upTo < len(lower) && lower[upTo].key <= r.key {
			upTo++
		}
		c.right2 += uint64(below) + uint64(upTo)
		c.gap.add((r.label - m) * float64(len(lower)))
		c.gapRight2.add((r.label - m) * float64(below+upTo))
	}
	below, upTo = 0, 0
	for _, r := range lower {
		for below < len(upper) && upper[below].key < r.key {
			below++
		}
		for upTo < len(upper) && upper[upTo].key <= r.key {
			upTo++
		}
		c.gap.add((m - r.label) * float64(len(upper)))
		c.gapRight2.add((m - r.label) * float64(2*len(upper)-below-upTo))
	}
	merge(c.merged[c.level[from]:c.level[to]], lower, upper)
	copy(c.records[c.level[from]:c.level[to]], c.merged[c.level[from]:c.level[to]])
}

// merge merges a and b, sorted by key, into dst.
func merge(dst, a, b []ranked) {
	for k := range dst {
		if len(b) == 0 || len(a) > 0 && a[0].key <= b[0].key {
			dst[k], a = a[0], a[1:]
		} else {
			dst[k], b = b[0], b[1:]
		}
	}
}
