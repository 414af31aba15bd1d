package dataset

import (
	"fmt"
	"slices"

	"dyad/engine"
	"dyad/engine/dataset/schema"
)

// addPerson notes the person of the row that the next endRow ends.
func (t *table) addPerson(field []byte, row, position int) error {
	p := t.people
	if p == nil {
		return nil
	}
	k, ok := p.text[string(field)]
	if !ok {
		key := schema.IDKey(string(field))
		if p.missing[key] {
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

// group makes r records of persons.
func (t *table) group(r *engine.Records) (*engine.Records, error) {
	of, count, err := t.persons()
	if err != nil {
		return nil, err
	}
	r, err = r.GroupPersons(of, count, t.e.Schema().PersonCap())
	if err != nil {
		return nil, fmt.Errorf("dataset: %w", err)
	}
	return r, nil
}

// persons are the places of the rows' persons, from 0 to count-1. With public ids they are in the
// order of these, otherwise in that of their first rows (docs/theory.md#persons). Errors tell
// neither ids nor numbers.
func (t *table) persons() (of []int32, count int, err error) {
	s, p := t.e.Schema(), t.people
	count, of = len(p.number), p.of.join()
	switch {
	case s.Persons > 0 && count != s.Persons:
		return nil, 0, t.errorf(0, t.e.PersonColumn.Name, 0, ruleOtherPersons)
	case count < 2 && t.o.Labels == LabelsRequired:
		return nil, 0, t.errorf(0, t.e.PersonColumn.Name, 0, ruleOnePerson)
	}
	if s.Persons == 0 {
		keys := make([]string, 0, count)
		for key := range p.number {
			keys = append(keys, key)
		}
		slices.Sort(keys)
		place := make([]int32, count)
		for i, key := range keys {
			place[p.number[key]] = int32(i)
		}
		for i, k := range of {
			of[i] = place[k]
		}
	}
	return of, count, nil
}
