package metrics

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
)

// ErrNothingToRank is returned if the measure is undefined for every group.
var ErrNothingToRank = errors.New("metrics: no group can be ranked; a group needs two different labels or a " +
	"relevant record")

// Grouping divides records into query groups. Records are compared only within their group. The zero value is
// one group of all records.
type Grouping struct {
	// IDs holds the group of each record. If it is nil, all records are in one group.
	IDs []int
}

// GroupMean is the unweighted mean of a measure over the groups for which it is defined. RankingAccuracy needs two
// different labels, NDCG needs a record of positive relevance, and precisionAt needs a positive record.
type GroupMean struct {
	// Mean is the mean, in [0, 1].
	Mean float64
	// Groups is the number of groups in Mean.
	Groups int
	// Undefined is the number of groups for which the measure is not defined. They are not counted in Groups.
	Undefined int
}

// mean averages measure over the groups of n records in ascending order of the group ids. rows are the records
// of a group in ascending order; measure may reorder them. measure returns false if it is not defined for the
// group.
func (g Grouping) mean(n int, measure func(rows []int) (value float64, defined bool)) (GroupMean, error) {
	ids := g.IDs
	if ids == nil {
		ids = make([]int, n)
	}
	if len(ids) != n {
		return GroupMean{}, fmt.Errorf("metrics: there are %d group ids for %d records, but the numbers must be equal",
			len(ids), n)
	}
	rows := make([]int, n)
	for i := range rows {
		rows[i] = i
	}
	slices.SortStableFunc(rows, func(a, b int) int { return cmp.Compare(ids[a], ids[b]) })
	var sum compensated
	var m GroupMean
	for len(rows) > 0 {
		end := 1
		for end < len(rows) && ids[rows[end]] == ids[rows[0]] {
			end++
		}
		value, defined := measure(rows[:end:end])
		rows = rows[end:]
		if !defined {
			m.Undefined++
			continue
		}
		sum.add(value)
		m.Groups++
	}
	if m.Groups == 0 {
		return m, ErrNothingToRank
	}
	m.Mean = sum.value() / float64(m.Groups)
	return m, nil
}

// compensated is Neumaier's compensated sum. For n values of one sign, the relative error is at most about u +
// 2 n^2 u^2, u = 2^-53.
type compensated struct{ sum, low float64 }

func (c *compensated) add(v float64) {
	t := c.sum + v
	if math.Abs(c.sum) >= math.Abs(v) {
		c.low += (c.sum - t) + v
	} else {
		c.low += (v - t) + c.sum
	}
	c.sum = t
}

func (c *compensated) value() float64 { return c.sum + c.low }

func checkGraded(scores, labels []float64, what string) error {
	if len(scores) != len(labels) || int64(len(scores)) > 1<<31 || len(scores) == 0 {
		return fmt.Errorf("metrics: there are %d scores and %d %s; both lists must have the same length, 1 to 2^31",
			len(scores), len(labels), what)
	}
	for i, s := range scores {
		if math.IsNaN(s) || math.IsNaN(labels[i]) || math.IsInf(labels[i], 0) {
			return fmt.Errorf("metrics: a score is NaN, or one of the %s is not finite; the model may have diverged",
				what)
		}
	}
	return nil
}
