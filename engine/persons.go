package engine

import (
	"fmt"
	"slices"
)

// GroupPersons returns the rows of r ordered by person. The rows of one person are in the
// order of r. of[i], from 0 to count-1, is the person of row i. Every person has at least
// one row. The position of a person must not depend on the rows of other persons
// (docs/theory.md#persons). If a person has more rows than the limit `most`, GroupPersons
// keeps only the first `most` rows of this person. GroupPersons fails if the argument
// `of` does not fit r and count, if a person has no row, if count < 1, or if most < 1.
func (r *Records) GroupPersons(of []int32, count, most int) (*Records, error) {
	if len(of) != r.n {
		return nil, fmt.Errorf("engine: GroupPersons: the argument has the persons of %d rows, but there are %d rows",
			len(of), r.n)
	}
	rows, first, err := GroupRows(of, count, most)
	if err != nil {
		return nil, err
	}
	s := r.Subset(rows)
	s.persons = &persons{first}
	return s, nil
}

// GroupRows returns the order in which GroupPersons puts the rows. It also returns the position
// of the first row of each person in this order, with the number of rows appended.
func GroupRows(of []int32, count, most int) (rows, first []int, err error) {
	if count < 1 || most < 1 {
		return nil, nil, fmt.Errorf("engine: GroupPersons: there are %d persons with at most %d rows each, but both "+
			"numbers must be at least 1", count, most)
	}
	first = make([]int, count+1)
	for _, p := range of {
		if p < 0 || int(p) >= count {
			return nil, nil, fmt.Errorf("engine: GroupPersons: the person of a row is outside 0 to %d", count-1)
		}
		first[p+1] = min(first[p+1]+1, most)
	}
	for k := range count {
		if first[k+1] == 0 {
			return nil, nil, fmt.Errorf("engine: GroupPersons: a person has no row")
		}
		first[k+1] += first[k]
	}
	rows, next := make([]int, first[count]), append([]int(nil), first[:count]...)
	for i, p := range of {
		if next[p] < first[p+1] {
			rows[next[p]] = i
			next[p]++
		}
	}
	return rows, first, nil
}

// WithPersons returns the rows of r as rows of persons. Person k has the rows first[k] to
// first[k+1]-1. WithPersons fails unless every row belongs to a person and every person has
// at least 1 and at most `most` rows.
func (r *Records) WithPersons(first []int, most int) (*Records, error) {
	if len(first) < 2 || first[0] != 0 || first[len(first)-1] != r.n {
		return nil, fmt.Errorf("engine: WithPersons: the row ranges of %d persons do not cover %d rows", len(first)-1, r.n)
	}
	for k, from := range first[:len(first)-1] {
		if rows := first[k+1] - from; rows < 1 || rows > most {
			return nil, fmt.Errorf("engine: WithPersons: each person needs 1 to %d rows", most)
		}
	}
	out := *r
	out.persons = &persons{slices.Clone(first)}
	return &out, nil
}

// PersonsOf groups the rows of r by the persons of the records `like`. Row i of r belongs to the person of row i
// of `like`. If `like` has no persons, each row of the result is a record. PersonsOf fails if the numbers of
// rows differ.
func (r *Records) PersonsOf(like *Records) (*Records, error) {
	if r.n != like.n {
		return nil, fmt.Errorf("engine: PersonsOf: there are %d rows, but persons are given for %d rows", r.n, like.n)
	}
	out := *r
	out.persons = like.persons
	return &out, nil
}

// ByPerson reports whether the rows are grouped by person.
func (r *Records) ByPerson() bool { return r.persons != nil }

// Units returns the public number of persons, or n if each row is a separate record.
func (r *Records) Units() int {
	if r.persons == nil {
		return r.n
	}
	return len(r.persons.first) - 1
}

// UnitRows returns the range [from, to) of the rows of person k. Without persons the
// range contains only row k. The number of rows of a person is private.
func (r *Records) UnitRows(k int) (from, to int) {
	if r.persons == nil {
		return k, k + 1
	}
	return r.persons.first[k], r.persons.first[k+1]
}

// RowsOf repeats the number of each unit once for each row of the unit. It returns nil if units is nil.
func (r *Records) RowsOf(units []int) []int {
	if r.persons == nil || units == nil {
		return units
	}
	of := make([]int, 0, r.n)
	for k, v := range units {
		from, to := r.UnitRows(k)
		of = append(of, slices.Repeat([]int{v}, to-from)...)
	}
	return of
}

// FirstRows returns the first row of each person, with the number of rows appended. It returns nil if each
// row is a separate record. The result is private.
func (r *Records) FirstRows() []int {
	if r.persons == nil {
		return nil
	}
	return slices.Clone(r.persons.first)
}

// UnitSubset copies the persons with the given positions, in the given order. Without
// persons it copies the rows with these positions.
func (r *Records) UnitSubset(units []int) *Records {
	if r.persons == nil {
		return r.Subset(units)
	}
	rows, first := make([]int, 0, len(units)), make([]int, 1, len(units)+1)
	for _, k := range units {
		for i := r.persons.first[k]; i < r.persons.first[k+1]; i++ {
			rows = append(rows, i)
		}
		first = append(first, len(rows))
	}
	s := r.Subset(rows)
	s.persons = &persons{first}
	return s
}

// unitRange returns the persons with positions in [from, to) without a copy. Without
// persons it returns the rows with these positions.
func (r *Records) unitRange(from, to int) *Records {
	if r.persons == nil {
		return r.Range(from, to)
	}
	first := slices.Clone(r.persons.first[from : to+1])
	s := r.Range(first[0], first[to-from])
	for k := range first {
		first[k] -= r.persons.first[from]
	}
	s.persons = &persons{first}
	return s
}

// mostRows returns the largest number of rows of a person, or 0 if each row is a record.
func (r *Records) mostRows() (most int) {
	if r.persons == nil {
		return 0
	}
	for k, from := range r.persons.first[:r.Units()] {
		most = max(most, r.persons.first[k+1]-from)
	}
	return most
}
