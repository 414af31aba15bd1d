package metrics

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// ErrNothingToRank is returned if the measure is undefined for every group.
var ErrNothingToRank = errors.New("metrics: no group has records to rank; every group lacks records of different " +
	"labels, or a relevant record")

// Undefined is the treatment of a group for which a measure is not defined. RankingAccuracy needs two different
// labels, NDCG needs a record of positive relevance, and PrecisionAt needs a positive record.
type Undefined int

const (
	// Skip leaves the group out of the mean.
	Skip Undefined = iota
	// AsZero counts the group as 0.
	AsZero
	// AsOne counts the group as 1.
	AsOne
)

// Grouping divides records into query groups. Records are compared only within their group. The zero value is
// one group of all records.
type Grouping struct {
	// IDs holds the group of each record. If it is nil, all records are in one group.
	IDs []int
	// Undefined is the policy for groups for which the measure is not defined.
	Undefined Undefined
}

// GroupMean is the unweighted mean of a measure over groups.
type GroupMean struct {
	// Mean is the mean, in [0, 1].
	Mean float64
	// Groups is the number of groups in Mean.
	Groups int
	// Undefined is the number of groups for which the measure is not defined. Under Skip, these groups are not
	// counted in Groups; otherwise they are.
	Undefined int
}

// mean averages measure over the groups of n records in ascending order of the group ids. rows are the records
// of a group in ascending order; measure may reorder them. measure returns false if it is not defined for the
// group.
func (g Grouping) mean(n int, measure func(rows []int) (value float64, defined bool)) (GroupMean, error) {
	if g.IDs != nil && len(g.IDs) != n {
		return GroupMean{}, fmt.Errorf("metrics: there are %d group ids for %d records, want equal numbers", len(g.IDs), n)
	}
	if g.Undefined < Skip || g.Undefined > AsOne {
		return GroupMean{}, fmt.Errorf("metrics: Undefined is %d, want Skip, AsZero or AsOne", g.Undefined)
	}
	rows := make([]int, n)
	for i := range rows {
		rows[i] = i
	}
	if g.IDs != nil {
		slices.SortStableFunc(rows, func(a, b int) int {
			if g.IDs[a] < g.IDs[b] {
				return -1
			}
			if g.IDs[a] > g.IDs[b] {
				return 1
			}
			return 0
		})
	}
	var sum compensated
	var m GroupMean
	for len(rows) > 0 {
		end := len(rows)
		if g.IDs != nil {
			id := g.IDs[rows[0]]
			for end = 1; end < len(rows) && g.IDs[rows[end]] == id; {
				end++
			}
		}
		value, defined := measure(rows[:end:end])
		rows = rows[end:]
		if !defined {
			m.Undefined++
			if g.Undefined == Skip {
				continue
			}
			value = float64(g.Undefined - AsZero)
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
		return fmt.Errorf("metrics: there are %d scores and %d %s, want equal numbers from 1 to 2^31", len(scores),
			len(labels), what)
	}
	for i, s := range scores {
		if math.IsNaN(s) || math.IsNaN(labels[i]) || math.IsInf(labels[i], 0) {
			return fmt.Errorf("metrics: a score is not a number or one of the %s is not finite; the model may have diverged",
				what)
		}
	}
	return nil
}
