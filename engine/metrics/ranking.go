package metrics

import (
	"cmp"
	"slices"
)

// RankingAccuracy returns the share of pairs with different labels that the scores order like the labels, with ties in
// score counting one half:
//
//	for i, j with y_i > y_j in the same group {
//		total++
//		if s_i > s_j { right++ } else if s_i == s_j { right += 1/2 }
//	}
//	return right / total
//
// averaged over the groups. With binary labels and one group it equals AUC. A group of m records takes O(m log m) time.
// Labels can be any finite numbers. Scores can be infinite but not NaN. The counts of a group are exact and its quotient
// is the nearest float64.
func RankingAccuracy(scores, labels []float64, g Grouping) (GroupMean, error) {
	if err := checkGraded(scores, labels, "labels"); err != nil {
		return GroupMean{}, err
	}
	return g.mean(len(scores), func(rows []int) (float64, bool) {
		c := newConcordance(scores, labels, rows)
		c.split(0, len(c.level)-1)
		if c.pairs == 0 {
			return 0, false
		}
		return quotient(c.right2, 2*c.pairs), true
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

	pairs, right2 uint64 // at most m^2, m <= 2^31
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
// of the scores. Each pair is counted once, at the step that separates its levels.
func (c *concordance) split(from, to int) {
	if to-from < 2 {
		return
	}
	mid := (from + to) / 2
	c.split(from, mid)
	c.split(mid, to)
	lower := c.records[c.level[from]:c.level[mid]]
	upper := c.records[c.level[mid]:c.level[to]]
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
