package dataset

import (
	"io"

	"dyad/engine/dataset/drafts"
	"dyad/engine/dataset/schema"
	"dyad/engine/dataset/source"
)

// Load reads a data file, which may be compressed with gzip or zstd. name is expanded by Expand and can stand
// for several files, which are read as if their rows were in one file. Each file has the columns of the schema,
// a header if the schema requires one, and any supported format. If the content breaks a rule, Load returns a
// *ParseError. Two rules concern persons. The number of persons, which is public, must equal the declared
// number. All rows of a person must be in the same public query group. Every other rule concerns either the
// number of rows, or one row and its position. No other rule compares the contents of rows. So whether Load
// succeeds is the same for all files of n rows that the schema accepts. The memory needed is about the memory
// of the records, because lines are counted before they are read. In a compressed file, the number of lines is
// estimated from the first lines. (A Fortran-ordered array inside a compressed file is held in memory in
// addition.)
func Load(name string, s *schema.Schema, o Options) (*Dataset, error) {
	t, err := loadTable(name, nil, s, o, nil)
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

// LoadReader reads data from r like Load. Errors use name as the name of the file. A labels file is in the
// folder of name unless Options.LabelsFile is set. The peak memory is about twice the memory of the records.
// Data in formats that are not read sequentially (Parquet, NPY, NPZ, IDX) are also held in memory.
func LoadReader(name string, r io.Reader, s *schema.Schema, o Options) (*Dataset, error) {
	t, err := loadTable(name, r, s, o, nil)
	if err != nil {
		return nil, err
	}
	return t.finish()
}

// loadTable reads data from r, or from the files that name stands for if r is nil.
func loadTable(name string, r io.Reader, s *schema.Schema, o Options, scan *scanner) (*table, error) {
	e, err := encoderFor(s, o)
	if err != nil {
		return nil, err
	}
	t := newTable(name, e, o, scan)
	if scan == nil {
		t.sink = sinkOf(e)
	}
	if r != nil {
		return t, t.read(&source.Input{Name: name, R: r})
	}
	if t.files, err = Expand(append([]string{name}, o.Also...)...); err != nil {
		return nil, err
	}
	return t, t.readFiles()
}

// Draft guesses a schema for the file at path (see drafts.New).
func Draft(path string, o drafts.Options) (*drafts.Drafted, error) {
	return drafts.New(path, o, func(path string, s *schema.Schema, show func(*schema.Row) error) error {
		return Scan(path, s, Options{}, show)
	})
}

// Scan calls show for each row that Load would use, in order, after the same checks. If show returns an error,
// Scan stops and returns the error. The memory needed does not grow with the file, except for query groups and
// for Fortran-ordered arrays in compressed files (see Load).
func Scan(path string, s *schema.Schema, o Options, show func(*schema.Row) error) error {
	return scan(path, nil, s, o, show)
}

func scan(name string, r io.Reader, s *schema.Schema, o Options, show func(*schema.Row) error) error {
	t, err := loadTable(name, r, s, o, &scanner{show: show})
	if err != nil {
		return err
	}
	return t.check()
}

// ScanReader scans data from r like Scan. Rows are shown while r is read, so r may be a stream that continues
// to grow. name stands for the file in errors. The format is detected from the first 4096 bytes, so the first
// row is shown once these bytes have arrived or r ends.
func ScanReader(name string, r io.Reader, s *schema.Schema, o Options, show func(*schema.Row) error) error {
	return scan(name, r, s, o, show)
}
