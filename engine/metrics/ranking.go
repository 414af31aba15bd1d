package metrics

import (
	"cmp"
	"slices"
)

// RankingAccuracy returns the share of pairs with different labels that the scores order in the same way as the
// labels. A tie in score counts as one half:
//
//	for i, j with y_i > y_j in the same group {
//		total++
//		if s_i > s_j { right++ } else if s_i == s_j { right += 1/2 }
//	}
//	return right / total
//
// averaged over the groups. With binary labels and one group it equals AUC. A group of m records takes O(m log m) time.
// Labels can be any finite numbers. Scores can be infinite but not NaN. The counts of a group are exact and its
// quotient is the nearest float64.
func RankingAccuracy(scores, labels []float64, g Grouping) (GroupMean, error) {
	if err := checkGraded(scores, labels, "labels"); err != nil {
		return GroupMean{}, err
	}
	return g.mean(len(scores), func(rows []int) (float64, bool) {
		all := make([]ranked, len(rows))
		for k, i := range rows {
			all[k] = ranked{labels[i], orderKey(scores[i])}
		}
		slices.SortFunc(all, func(a, b ranked) int {
			if a.label != b.label {
				return cmp.Compare(a.label, b.label)
			}
			return cmp.Compare(a.key, b.key)
		})
		var levels [][]uint64 // the keys of each label, smallest label first
		keys, from := make([]uint64, len(all)), 0
		for k, r := range all {
			if keys[k] = r.key; k+1 == len(all) || all[k+1].label != r.label {
				levels, from = append(levels, keys[from:k+1]), k+1
			}
		}
		_, pairs, right2 := concordance(levels)
		if pairs == 0 {
			return 0, false
		}
		return quotient(right2, 2*pairs), true
	})
}

// ranked is a record with a label and the key of its score.
type ranked struct {
	label float64
	key   uint64
}

// concordance returns the keys of all levels, which are sorted, in ascending order. pairs is the number of pairs of
// keys of different levels, and right2 is twice the number of such pairs whose higher level has the larger key, with
// equal keys counting one half. Both are at most m^2 for m <= 2^31 keys. Each pair is counted once, at the step that
// separates its levels.
func concordance(levels [][]uint64) (keys []uint64, pairs, right2 uint64) {
	if len(levels) == 1 {
		return levels[0], 0, 0
	}
	mid := len(levels) / 2
	lower, pairs, right2 := concordance(levels[:mid])
	upper, others, othersRight2 := concordance(levels[mid:])
	pairs, right2 = pairs+others+uint64(len(lower))*uint64(len(upper)), right2+othersRight2
	eachPlacement(upper, lower, func(a uint64) { right2 += a })
	keys = make([]uint64, 0, len(lower)+len(upper))
	at := 0
	for _, key := range upper {
		for ; at < len(lower) && lower[at] <= key; at++ {
			keys = append(keys, lower[at])
		}
		keys = append(keys, key)
	}
	return append(keys, lower[at:]...), pairs, right2
}
