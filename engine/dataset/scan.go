package dataset

// Row is one row of a file as it is there, before encoding. Its slices are valid
// until the function that got it returns.
type Row struct {
	Number int // as in ParseError.Row
	// Fields are the texts of the columns that Encoder.Columns names, empty
	// where the file has none; nil if features are numbered.
	Fields [][]byte
	// Index, from 0, and Value are the features stored in the row if features
	// are numbered. Index is nil for arrays, which store all of them; a value
	// may then be NaN, which means missing.
	Index []int32
	Value []float64
	// Label is the text of the label, empty without labels, and Y the label of
	// the record.
	Label string
	Y     float64
	ID    string // text of the column with role person, or else with role id
	Group string // text of the column with role group
}

// scanner shows the rows of a file.
type scanner struct {
	row  Row
	show func(*Row) error
}

// Scan calls show for each row that Load would use, in order, after the same
// checks; an error of show stops it and is returned. Its memory does not grow
// with the file (except for query groups, and as Load says for compressed
// Fortran-ordered arrays).
func Scan(path string, s *Schema, o Options, show func(*Row) error) error {
	t, err := loadTable(path, s, o, &scanner{show: show})
	if err != nil {
		return err
	}
	return t.check()
}

// showRow hands out the row that endRow ends, and forgets it.
func (t *table) showRow(number int, y float64) error {
	r := &t.scan.row
	r.Number, r.Y = number, y
	if err := t.scan.show(r); err != nil {
		return err
	}
	t.label.reset()
	if t.e.schema.IsSparse() {
		t.start.reset()
		t.start.add(0)
		t.index.reset()
		t.value.reset()
	} else {
		t.dense.reset()
	}
	if t.e.group != nil {
		t.groups.of.reset()
	}
	r.Index, r.Value, r.ID, r.Group, r.Label = r.Index[:0], r.Value[:0], "", "", ""
	return nil
}

// addPair notes one numbered feature.
func (s *scanner) addPair(k int, v float64) {
	s.row.Index = append(s.row.Index, int32(k))
	s.row.Value = append(s.row.Value, v)
}
