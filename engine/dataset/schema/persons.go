package schema

// IDsPublic is the value of Schema.IDs for a file whose person ids are public.
const IDsPublic = "public"

// DefaultRowsPerPerson is the cap on the rows of a person if a schema with persons does not declare a cap.
const DefaultRowsPerPerson = 1000

// PersonCap returns the public cap on the rows of a person, or 0 if there are no persons.
func (s *Schema) PersonCap() int {
	switch {
	case !s.ByPerson():
		return 0
	case s.MaxRowsPerPerson > 0:
		return s.MaxRowsPerPerson
	}
	return DefaultRowsPerPerson
}

func (v *validator) persons(count int) {
	s := v.s
	v.addIf(count == 1 && s.label().Others != "",
		"`role: person` and `others: drop` exclude each other; remove one of the two")
	v.addIf(s.IDs != "" && s.IDs != IDsPublic,
		"ids is %q, but must be public; for private ids, declare persons instead", s.IDs)
	for _, n := range []struct {
		name  string
		value int
	}{{"persons", s.Persons}, {"max_rows_per_person", s.MaxRowsPerPerson}, {"rows_per_person", s.RowsPerPerson}} {
		v.addIf(n.value < 0, "%s is %d, but it must be at least 1", n.name, n.value)
	}
	switch {
	case count == 0 && (s.Persons != 0 || s.IDs != "" || s.MaxRowsPerPerson != 0):
		v.addf("persons, ids and max_rows_per_person are only for a schema with a column of role: person")
	case count == 0:
	case s.RowsPerPerson != 0:
		v.addf("with role: person, set max_rows_per_person, not rows_per_person")
	case s.Persons != 0 && s.IDs != "":
		v.addf("a schema cannot have both persons and ids: public; give the public number of persons, or declare " +
			"the ids public")
	case s.Persons == 0 && s.IDs == "" && !s.Public:
		v.addf("`role: person` needs `persons: N`, the public number of persons, or `ids: public`")
	case s.Persons == 1:
		v.addf("persons is 1, but a pairwise loss needs at least 2")
	}
}
