package dataset

import (
	"fmt"
	"slices"

	"dyad/engine"
)

// IDsPublic is Schema.IDs of a file whose person ids are public.
const IDsPublic = "public"

// DefaultRowsPerPerson is the cap of a schema with persons that declares none.
const DefaultRowsPerPerson = 1000

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

// ByPerson says that a column has role person.
func (s *Schema) ByPerson() bool { return s.column(RolePerson) != nil }

// PersonCap is the public cap of the rows of a person, 0 without persons.
func (s *Schema) PersonCap() int {
	switch {
	case !s.ByPerson():
		return 0
	case s.MaxRowsPerPerson > 0:
		return s.MaxRowsPerPerson
	}
	return DefaultRowsPerPerson
}

func (v *validator) persons(count, groups int) {
	s := v.s
	switch label := s.column(RoleLabel); {
	case count > 1:
		v.addf("%d columns have role: person, want at most 1", count)
	case count == 1 && groups > 0:
		v.addf("role: person and role: group together; a person's rows would be in several groups, and replacing a person would change all of them")
	case count == 1 && label != nil && label.Others != "":
		v.addf("role: person and others: drop together; whether a person has a row left would depend on labels")
	}
	if s.IDs != "" && s.IDs != IDsPublic {
		v.addf("ids is %q, want public, or leave it out and declare persons", s.IDs)
	}
	for _, n := range []struct {
		name  string
		value int
	}{{"persons", s.Persons}, {"max_rows_per_person", s.MaxRowsPerPerson}, {"rows_per_person", s.RowsPerPerson}} {
		if n.value < 0 {
			v.addf("%s is %d, want at least 1", n.name, n.value)
		}
	}
	switch {
	case count == 0 && (s.Persons != 0 || s.IDs != "" || s.MaxRowsPerPerson != 0):
		v.addf("persons, ids and max_rows_per_person are for a schema with a column of role: person")
	case count == 0:
	case s.RowsPerPerson != 0:
		v.addf("rows_per_person is for a schema without role: person, where one row is protected; the cap of the rows of a person is max_rows_per_person")
	case s.Persons != 0 && s.IDs != "":
		v.addf("persons and ids: public together; give the public number of persons, or say that the ids are public")
	case s.Persons == 0 && s.IDs == "" && !s.Public:
		v.addf("role: person needs persons: N, the public number of different ids, or ids: public")
	case s.Persons == 1:
		v.addf("persons is 1; a pairwise loss needs at least 2")
	}
}

// people number persons by their normalised ids, by first appearance.
type people struct {
	of      *blocks[int32]   // person of each row
	text    map[string]int32 // by the text of the file
	number  map[string]int32 // by IDKey
	missing map[string]bool  // IDKeys that are not ids
}

// newPeople takes the values for which the schema says that they mean missing as not ids, and NaN, which always does:
// rows of unknown persons are not those of one.
func newPeople(s *Schema) *people {
	p := &people{of: newBlocks[int32](0), text: map[string]int32{}, number: map[string]int32{}, missing: map[string]bool{"": true, "nan": true}}
	if s.Missing != nil {
		for _, v := range s.Missing.Values {
			p.missing[IDKey(v)] = true
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
		key := IDKey(string(field))
		if p.missing[key] {
			return t.errorf(row, t.e.person.Name, position, ruleNoPerson)
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
	r, err = r.GroupPersons(of, count, t.e.schema.PersonCap())
	if err != nil {
		return nil, fmt.Errorf("dataset: %w", err)
	}
	return r, nil
}

// persons are the places of the rows' persons, from 0 to count-1. With public ids they are in the
// order of these, otherwise in that of their first rows (docs/theory.md#persons). Errors tell
// neither ids nor numbers.
func (t *table) persons() (of []int32, count int, err error) {
	s, p := t.e.schema, t.people
	count, of = len(p.number), p.of.join()
	switch {
	case s.Persons > 0 && count != s.Persons:
		return nil, 0, t.errorf(0, t.e.person.Name, 0, ruleOtherPersons)
	case count < 2 && t.o.Labels == LabelsRequired:
		return nil, 0, t.errorf(0, t.e.person.Name, 0, ruleOnePerson)
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
