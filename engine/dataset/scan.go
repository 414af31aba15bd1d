package dataset

import (
	"io"

	"dyad/engine/dataset/schema"
	"dyad/engine/dataset/source"
)

// scanner shows the rows of a file.
type scanner struct {
	row  schema.Row
	show func(*schema.Row) error
}

// Scan calls show for each row that Load would use, in order, after the same
// checks; an error of show stops it and is returned. Its memory does not grow
// with the file (except for query groups, and as Load says for compressed
// Fortran-ordered arrays).
func Scan(path string, s *schema.Schema, o Options, show func(*schema.Row) error) error {
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
	if t.e.Schema().IsSparse() {
		t.start.reset()
		t.start.add(0)
		t.index.reset()
		t.value.reset()
	} else {
		t.dense.reset()
	}
	if t.e.GroupColumn != nil {
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

// ScanReader is Scan from r, which is read as its rows are shown, so that r may be
// a stream that goes on while they are used. name stands for the file in errors.
// The format is looked for in the first bytes, so the first row is shown once
// there are 4096 of them, or r ends.
func ScanReader(name string, r io.Reader, s *schema.Schema, o Options, show func(*schema.Row) error) error {
	e, err := encoderFor(s, o)
	if err != nil {
		return err
	}
	t := newTable(name, e, o, &scanner{show: show})
	if err := t.read(&source.Input{Name: name, R: r}); err != nil {
		return err
	}
	return t.check()
}
