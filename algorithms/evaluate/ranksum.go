package evaluate

import (
	"fmt"
	"math"

	"dyad/algorithms"
	"dyad/privacy"
)

// maxRecords bounds n, so that all counts and rank sums are integers below 2^53.
const maxRecords = 1 << 26

// Size is the public size of a data set: n records, or n persons with at most PersonRows > 0 rows each.
type Size struct{ Records, PersonRows int }

// Unit names the unit that n counts.
func (z Size) Unit() string {
	if z.PersonRows > 0 {
		return "persons"
	}
	return "records"
}

// Problem returns the reason why ranks cannot be computed for this size. It returns "" if they can be computed.
func (z Size) Problem() string {
	switch {
	case z.Records < 2 || z.Records > maxRecords:
		return fmt.Sprintf("%d %s, want from 2 to 2^26", z.Records, z.Unit())
	case z.PersonRows < 0:
		return fmt.Sprintf("the maximum number of rows per person is %d; want at least 1, or 0 without persons", z.PersonRows)
	case z.PersonRows > math.MaxInt32/z.Records:
		return fmt.Sprintf("%d persons with up to %d rows each could have 2^31 rows or more; lower "+
			"max_rows_per_person", z.Records, z.PersonRows)
	}
	return ""
}

// Tell adds the fact about the rows of persons.
func (z Size) Tell(f *algorithms.Facts) {
	if rows := f.AddSome("max_rows_per_person", z.PersonRows); rows != 0 {
		f.Line("persons", "up to %d rows each; each person counts as one record; rows of one person form no pairs", rows)
	}
}

// Ranks holds the rank sum T of scores and the number of positives. T is the sum of sign(s - s') over all pairs
// of a positive record with score s and a negative record with score s'. It equals (2 AUC - 1) n+ n-. For
// persons, the sum is over pairs of rows of different persons, and each pair is weighted by the shares of its
// two rows (docs/theory.md#person-figures). The total weight of the pairs depends on classes and shares alone.
// So among candidates for the same records, the candidate with the largest T has the largest AUC.
type Ranks struct {
	Sum, Positives float64 // exact for records, nearest float64 for persons
	// Floor is the largest integer that is at most T. Its sensitivity is the sensitivity of T, which is an
	// integer (docs/theory.md#selection).
	Floor int64
}

// RankQuery returns a query of n records, or of n persons with at most personRows > 0 rows each. The
// sensitivity of the query bounds the change of two numbers: Ranks.Sum, and Ranks.Positives times CountWeight.
func RankQuery(n, personRows int, manhattan bool) privacy.ClassPairSum {
	q := privacy.ClassPairSum{Records: n, Levels: 1, Counted: true, Manhattan: manhattan, Name: rankName}
	q.Error = Options{Records: n, PersonRows: personRows}.rounding(float64(n)/4 + q.CountWeight())
	return q
}

// Ranks returns the ranks of n records, or of n persons with at most personRows > 0 rows each. A score that is
// NaN counts as 0.
func (d Data) Ranks(n, personRows int) (Ranks, error) {
	if _, err := d.checkScores(Options{Records: n, PersonRows: personRows}); err != nil {
		return Ranks{}, err
	}
	return d.weighed().ranks(), nil
}

// weighed returns the data with the shares of their rows.
func (d Data) weighed() Data {
	if d.First != nil {
		d.weight = shares(d.First)
	}
	return d
}
