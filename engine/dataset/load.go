package dataset

import (
	"io"

	"dyad/engine/dataset/drafts"
	"dyad/engine/dataset/schema"
	"dyad/engine/dataset/source"
)

// Load reads a file, gzip or zstd or neither; or several, as if their rows were in one: name
// is then what Expand takes. Each has the columns of the schema, a header if the schema says so, and
// any format that one file may have. Content that breaks a rule gives a
// *ParseError. Every rule is about the number of rows or about one row, by itself and
// where it stands, never about what the rows have in common: so whether Load succeeds is
// the same for all files of n rows that the schema accepts. Its memory is about that of the records: lines
// are counted first, and guessed by the first of them in a compressed file. (A Fortran-ordered array
// inside a compressed file is held as well.)
func Load(name string, s *schema.Schema, o Options) (*Dataset, error) {
	t, err := loadTable(name, s, o, nil)
	if err != nil {
		return nil, err
	}
	d, err := t.finish()
	if err != nil {
		return nil, err
	}
	d.Files, d.DataFiles = append(t.files, t.labels...), len(t.files)
	return d, nil
}

// LoadReader is Load from r; name stands for the file in errors, and names the
// folder of a labels file. Its peak memory is about twice that of the records;
// formats that are not read in one go (Parquet, NPY, NPZ, IDX) are held as well.
func LoadReader(name string, r io.Reader, s *schema.Schema, o Options) (*Dataset, error) {
	e, err := encoderFor(s, o)
	if err != nil {
		return nil, err
	}
	t := newTable(name, e, o, nil)
	t.sink = sinkOf(e)
	if err := t.read(&source.Input{Name: name, R: r}); err != nil {
		return nil, err
	}
	return t.finish()
}

func loadTable(name string, s *schema.Schema, o Options, scan *scanner) (*table, error) {
	e, err := encoderFor(s, o)
	if err != nil {
		return nil, err
	}
	files, err := Expand(append([]string{name}, o.Also...)...)
	if err != nil {
		return nil, err
	}
	t := newTable(listName(files), e, o, scan)
	t.files = files
	if scan == nil {
		t.sink = sinkOf(e)
	}
	return t, t.readFiles()
}

// Draft guesses a schema for the file at path, as drafts.New describes.
func Draft(path string, o drafts.Options) (*drafts.Drafted, error) {
	return drafts.New(path, o, func(path string, s *schema.Schema, show func(*schema.Row) error) error {
		return Scan(path, s, Options{}, show)
	})
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
