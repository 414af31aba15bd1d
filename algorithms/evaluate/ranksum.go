package evaluate

import "dyad/privacy"

// Ranks are the rank sum T of scores and the number of positives. T is the sum of sign(s - s') over all pairs
// of the score s of a positive and s' of a negative record, (2 AUC - 1) n+ n-; for persons over the
// pairs of rows of different persons, by their shares (docs/theory.md#person-figures). The weight of all pairs
// depends on classes and shares alone, so of candidates for the same records the one with the largest T has
// the largest AUC.
type Ranks struct {
	Sum, Positives float64 // exact for records, nearest float64 for persons
	// Floor is the largest integer that is at most T. It has the sensitivity of T, which is an integer
	// (docs/theory.md#selection).
	Floor int64
}

// RankQuery is what Sum and CountWeight times Positives move by, for n records, or n persons with at most
// personRows > 0 rows each.
func RankQuery(n, personRows int, manhattan bool) privacy.ClassPairSum {
	q := privacy.ClassPairSum{Records: n, Levels: 1, Counted: true, Manhattan: manhattan, Name: rankName}
	q.Error = Options{Records: n, PersonRows: personRows}.rounding(float64(n)/4 + q.CountWeight())
	return q
}

// Ranks returns the ranks of n records, or of n persons with at most personRows > 0 rows each. NaN counts as 0.
func (d Data) Ranks(n, personRows int) (Ranks, error) {
	if _, err := d.checkScores(Options{Records: n, PersonRows: personRows}); err != nil {
		return Ranks{}, err
	}
	return d.weighed().ranks(), nil
}

// weighed are the data with the shares of their rows.
func (d Data) weighed() Data {
	if d.First != nil {
		d.weight = shares(d.First)
	}
	return d
}
