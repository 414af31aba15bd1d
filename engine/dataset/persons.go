package dataset

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"dyad/engine/dataset/schema"
)

// addPerson records the person of the current row.
func (t *table) addPerson(field []byte, row, position int) error {
	p := t.people
	if p == nil {
		return nil
	}
	k, ok := p.text[string(field)]
	if !ok {
		key := schema.IDKey(string(field))
		switch {
		case p.missing[key] && t.o.AnyPersons:
			p.unknown = true
			return nil
		case p.missing[key]:
			return t.errorf(row, t.e.PersonColumn.Name, position, ruleNoPerson)
		}
		if k, ok = p.number[key]; !ok {
			k = int32(len(p.number))
			p.number[key] = k
		}
		p.text[string(field)] = k
	}
	p.of.add(k)
	return nil
}

// group groups the records of d by person and assigns query groups to persons.
func (t *table) group(d *Dataset) error {
	of, count, err := t.persons()
	most := t.e.Schema().PersonCap()
	if t.o.AnyPersons {
		most = math.MaxInt32
	}
	if err != nil || t.o.AnyPersons && (len(of) == 0 || t.people.unknown) {
		return err
	}
	if d.Groups, err = t.personGroups(d.Groups, of, count); err != nil {
		return err
	}
	if d.Records, err = d.Records.GroupPersons(of, count, most); err != nil {
		return fmt.Errorf("dataset: %w", err)
	}
	return nil
}

// personGroups returns the query groups of persons, or nil if there are no groups. They are numbered in the order of
// their first appearance among persons, so the result depends only on which person is in which group and not on the
// order of rows. All rows of a person must be in one group, including the rows beyond the cap.
func (t *table) personGroups(rows, of []int32, count int) ([]int32, error) {
	if t.e.GroupColumn == nil {
		return nil, nil
	}
	groups := slices.Repeat([]int32{-1}, count)
	for i, k := range of {
		g := rows[i]
		if groups[k] != g && groups[k] >= 0 {
			return nil, t.errorf(0, t.e.GroupColumn.Name, 0, ruleTwoGroups)
		}
		groups[k] = g
	}
	number := make(map[int32]int32)
	for i, g := range groups {
		if _, ok := number[g]; !ok {
			number[g] = int32(len(number))
		}
		groups[i] = number[g]
	}
	return groups, nil
}

// persons returns the index of each row's person, from 0 to count-1. If ids are public, persons are ordered by
// id; otherwise by their first rows (docs/theory.md#persons). Errors contain neither ids nor numbers.
func (t *table) persons() (of []int32, count int, err error) {
	s, p := t.e.Schema(), t.people
	count, of = len(p.number), p.of.join()
	switch {
	case t.o.AnyPersons:
	case s.Persons > 0 && count != s.Persons:
		return nil, 0, t.errorf(0, t.e.PersonColumn.Name, 0, ruleOtherPersons)
	case count < 2 && t.o.Labels == LabelsRequired:
		return nil, 0, t.errorf(0, t.e.PersonColumn.Name, 0, ruleOnePerson)
	}
	if s.Persons == 0 {
		place := make([]int32, count)
		for i, key := range slices.Sorted(maps.Keys(p.number)) {
			place[p.number[key]] = int32(i)
		}
		for i, k := range of {
			of[i] = place[k]
		}
	}
	return of, count, nil
}
