package evaluate

import (
	"errors"
	"fmt"
	"math/big"
	"math/bits"
)

// shareUnit is the sum of the shares of the rows of a person, as integers. It is a multiple of all numbers from
// 1 to 16, so persons with up to 16 rows have equal shares for their rows.
const shareUnit = 720720

// shares returns the shares of the rows of persons (docs/theory.md#person-figures). Each of m rows has the
// whole part of shareUnit/m. The first rows of the person have one more, so that all shares add up to
// shareUnit. The shares are a function of the number of rows of this person alone. If a person has more than
// shareUnit rows, the last rows have the share 0.
func shares(first []int) []int64 {
	weight := make([]int64, first[len(first)-1])
	for p, from := range first[:len(first)-1] {
		rows := weight[from:first[p+1]]
		for i := range rows {
			rows[i] = int64(shareUnit / len(rows))
			if i < shareUnit%len(rows) {
				rows[i]++
			}
		}
	}
	return weight
}

// count returns the number of rows of d. It returns an error if First does not fit a plan with options o.
func (d Data) count(o Options) (rows int, err error) {
	n := o.Records
	if o.PersonRows == 0 {
		if d.First != nil {
			return 0, errors.New("evaluate: Data.First gives persons, but the plan counts rows; set " +
				"Options.PersonRows")
		}
		return n, nil
	}
	if len(d.First) != n+1 || d.First[0] != 0 {
		return 0, fmt.Errorf("evaluate: Data.First must begin with 0 and have one entry more than the %d persons", n)
	}
	for k, from := range d.First[:n] {
		if m := d.First[k+1] - from; m < 1 || m > o.PersonRows {
			return 0, errors.New("evaluate: a person has no rows, or more rows than Options.PersonRows")
		}
	}
	return d.First[n], nil
}

// checkScores returns an error unless each row has a score and a class.
func (d Data) checkScores(o Options) (rows int, err error) {
	if rows, err = d.count(o); err == nil && (len(d.Scores) != rows || len(d.Positive) != rows) {
		err = fmt.Errorf("evaluate: each row of the %d %s needs one score and one class", o.Records, o.size().Unit())
	}
	return rows, err
}

// rounding bounds the rounding error of released numbers of n persons whose magnitudes add up to at most size
// n. Each exact sum is converted to float64, and divided or multiplied at most twice. The error is 0 if each
// row is a record, since rows are counted.
func (o Options) rounding(size float64) float64 {
	if o.PersonRows == 0 {
		return 0
	}
	return 4 * 0x1p-53 * size * float64(o.Records) * (1 + 0x1p-40)
}

// wide is a sum of products of non-negative numbers, below 2^128.
type wide struct{ hi, lo uint64 }

func (w *wide) add(a, b int64) {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	var carry uint64
	w.lo, carry = bits.Add64(w.lo, lo, 0)
	w.hi, _ = bits.Add64(w.hi, hi, carry)
}

func (w wide) int() *big.Int {
	v := new(big.Int).SetUint64(w.hi)
	return v.Or(v.Lsh(v, 64), new(big.Int).SetUint64(w.lo))
}

// ranks returns the ranks of the rows. With persons, the sum is over pairs of rows of different persons. A pair of a
// positive row with score s and share a and a negative row with score s' and share a' adds a a' sign(s - s').
func (d Data) ranks() Ranks {
	if d.weight == nil {
		s, p := rankSum(d.Scores, d.Positive)
		return Ranks{Sum: float64(s), Positives: float64(p), Floor: s}
	}
	sum, positives := d.rankOf(0, len(d.Scores))
	for p, from := range d.First[:len(d.First)-1] {
		if to := d.First[p+1]; to-from > 1 {
			own, _ := d.rankOf(from, to)
			sum.Sub(sum, own)
		}
	}
	return Ranks{Sum: overUnit(sum), Positives: float64(positives) / shareUnit, Floor: floorUnit(sum)}
}

// floorUnit returns the largest integer that is at most v/shareUnit^2. The floor of the nearest float64 can be larger.
func floorUnit(v *big.Int) int64 {
	return new(big.Int).Div(v, big.NewInt(shareUnit*shareUnit)).Int64()
}

// overUnit returns the float64 nearest to v/shareUnit^2.
func overUnit(v *big.Int) float64 {
	f, _ := new(big.Rat).SetFrac(v, big.NewInt(shareUnit*shareUnit)).Float64()
	return f
}

// rankOf returns the rank sum of the rows with indices from, ..., to-1, weighted by their shares, in units of
// 1/shareUnit^2. It also returns the sum of the shares of the positives, in units of 1/shareUnit. The magnitude of
// the first is at most (n shareUnit)^2/4 < 2^90.
func (d Data) rankOf(from, to int) (*big.Int, int64) {
	var plus, minus wide
	var below [2]int64
	eachTie(d.Scores[from:to], d.Positive[from:to], d.weight[from:to], func(here [2]int64) {
		plus.add(here[1], below[0])
		minus.add(here[0], below[1])
		below[0] += here[0]
		below[1] += here[1]
	})
	sum := plus.int()
	return sum.Sub(sum, minus.int()), below[1]
}
