package dataset

import (
	"fmt"
	"slices"

	"dyad/engine"
	"dyad/engine/dataset/schema"
)

// PersonMode says what a reader does about a column with role person.
type PersonMode int

// The person modes.
const (
	// RefusePersons is the default: rows that are read one by one would be protected one by
	// one, and the schema says that the person is what counts.
	RefusePersons PersonMode = iota
	// KeepPersons makes records of persons (engine.Records.GroupPersons).
	KeepPersons
	// IgnorePersons is for what says nothing of persons, such as prediction.
	IgnorePersons
)

// people number persons by their normalised ids, by first appearance.
type people struct {
	of      *blocks[int32]   // person of each row
	text    map[string]int32 // by the text of the file
	number  map[string]int32 // by IDKey
	missing map[string]bool  // IDKeys that are not ids
}

// newPeople takes the values for which the schema says that they mean missing as not ids, and NaN, which always does:
// rows of unknown persons are not those of one.
func newPeople(s *schema.Schema) *people {
	p := &people{of: newBlocks[int32](0), text: map[string]int32{}, number: map[string]int32{}, missing: map[string]bool{"": true, "nan": true}}
	if s.Missing != nil {
		for _, v := range s.Missing.Values {
			p.missing[schema.IDKey(v)] = true
		}
	}
	return p
}

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
