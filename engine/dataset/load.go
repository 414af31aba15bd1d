package dataset

import (
	"bytes"
	"fmt"
	"io"

	"dyad/engine"
	"dyad/engine/dataset/drafts"
	"dyad/engine/dataset/schema"
	"dyad/engine/dataset/sniff"
	"dyad/engine/dataset/source"
	"dyad/engine/dataset/workbook"
)

// LabelMode says what a reader does about labels.
type LabelMode int

// The label modes.
const (
	// LabelsRequired is for training: every row has a label and there are at least
	// 2 rows. Whether they have anything to compare, Dataset.CheckPairs says.
	LabelsRequired LabelMode = iota
	// LabelsOptional is for prediction: the label column may be absent from the
	// file, in which case Dataset.HasLabels is false; if it is there, every row
	// must have a valid label. 1 row and 1 class are enough.
	LabelsOptional
	// LabelsIgnored is LabelsOptional without reading the labels.
	LabelsIgnored
)

// Options of Load. The zero value is for training.
type Options struct {
	Labels LabelMode
	// KeepIDs fills Dataset.IDs from the column with role id.
	KeepIDs bool
	// Persons says what to do about a column with role person.
	Persons PersonMode
	// IgnoreOthers drops named columns that the schema lacks, as its ignore_others does. It is for
	// a use that is not training, such as scoring.
	IgnoreOthers bool
	// Also are further files, folders or patterns, whose rows follow those of the first name.
	Also []string
	// LabelsFile is the file of the labels of FormatNPY and FormatIDX. Empty
	// means what Schema.LabelsFile says.
	LabelsFile string
	// InMemory copies the records of a pack; otherwise they stay in its file, which must not be
	// changed while the program runs.
	InMemory bool
	// Progress, if not nil, is called now and then with the rows read so far;
	// an error stops the load and is returned.
	Progress func(rows int) error

	rowByRow bool // CSV is read as rows one after the other, which tests compare with
}

// Dataset is a file read by a schema.
type Dataset struct {
	// Records have labels -1 and +1, or in [-1, 1] if they are graded, or all 0
	// without HasLabels. With Options.KeepPersons they are those of persons.
	Records *engine.Records
	Encoder *schema.Encoder
	// HasLabels says that the file had labels and that they were read.
	HasLabels bool
	// Positives and Negatives count the two classes; both are 0 for graded
	// labels and of persons. They are private like the records; no report may show them
	// unless the data are public.
	Positives, Negatives int
	// IDs are n texts with Options.KeepIDs and an id column, otherwise and of persons nil.
	IDs []string
	// Groups are the n query groups of the column with role group, numbered from
	// 0 to GroupCount-1 by first appearance, otherwise nil. They are public.
	Groups     []int32
	GroupCount int
	// Files are those that Load read: DataFiles of them with rows, in this order, then those
	// that the labels came from.
	Files     []string
	DataFiles int
	// Pack is the file if that is a pack, else nil.
	Pack *Used
	// Others says that Options.IgnoreOthers dropped columns.
	Others bool

	name string // of the file, for errors
}

// Name is the file, or the files, that the data were read from, for messages.
func (d *Dataset) Name() string { return d.name }

// Schema is the schema that the data were read by.
func (d *Dataset) Schema() *schema.Schema { return d.Encoder.Schema() }

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

// encoderFor is the encoder of a schema that has the labels that o wants.
func encoderFor(s *schema.Schema, o Options) (*schema.Encoder, error) {
	if o.Labels == LabelsRequired && s.Unlabelled() {
		return nil, fmt.Errorf("dataset: %s: its schema has no label column, as the labels were those of pairs, and labels are needed here; train with a schema that names one (role: label)", s.DataID)
	}
	if s.ByPerson() && o.Persons == RefusePersons {
		return nil, fmt.Errorf("dataset: %s: its schema has a column with role: person, and this command works on rows, one by one; it would protect a row where the schema asks for the person. Train with dyad train, or give the column role: ignore to work on rows", s.DataID)
	}
	return schema.NewEncoder(s)
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

// read finds the format and reads all rows.
func (t *table) read(in *source.Input) error {
	u, err := source.Unpack(in.Name, in.R)
	if err != nil {
		return err
	}
	defer func() { u.Close() }()
	head, _ := u.Peek(sniff.Bytes) // an error comes again when the rows are read
	if isPack(head) {
		if u.Compressed {
			return t.errorf(0, "", 0, rulePackStream)
		}
		if len(t.files) > 1 {
			return t.errorf(0, "", 0, rulePackInList)
		}
		return t.readPack(in)
	}
	format, err := formatOf(t.e.Schema(), in.Name, head)
	if err != nil {
		return err
	}
	switch format {
	case schema.FormatParquet, schema.FormatNPZ, schema.FormatXLSX:
		if u.Compressed {
			return t.errorf(0, "", 0, rulePackedTwice)
		}
		if in.At == nil {
			if in, err = in.Hold(u); err != nil {
				return err
			}
		}
		switch format {
		case schema.FormatParquet:
			return readParquet(t, in)
		case schema.FormatXLSX:
			return t.readWorkbook(in)
		}
		return readNPZ(t, in)
	case schema.FormatNPY, schema.FormatIDX:
		return readArrayFiles(t, format, in, u)
	}
	if u.Compressed && in.Opened != nil {
		u.ReadAhead()
	}
	src := source.NewLines(in.Name, u, t.e.Schema().CSV.Encoding)
	var z source.Sizes
	if in.At != nil && t.label == nil {
		if z, err = t.countLines(in.Name, format); err != nil {
			return err
		}
	}
	switch format {
	case schema.FormatLIBSVM:
		return readLIBSVM(t, src, z)
	case schema.FormatARFF:
		return readARFF(t, src, z)
	case schema.FormatJSONL:
		return readJSONL(t, src, z)
	}
	return readCSV(t, src, z)
}

// readWorkbook reads a sheet as a CSV file.
func (t *table) readWorkbook(in *source.Input) error {
	s := t.e.Schema()
	delim, _ := s.CSV.Separator()
	text, err := workbook.Text(in, s.Sheet, delim)
	if err != nil {
		return err
	}
	u, err := source.Unpack(in.Name, bytes.NewReader(text))
	if err != nil {
		return err
	}
	defer u.Close()
	var z source.Sizes
	z.Count(text, false)
	return readCSV(t, source.NewLines(in.Name, u, ""), z)
}

// Draft guesses a schema for the file at path; drafts.New says how.
func Draft(path string, o drafts.Options) (*drafts.Drafted, error) {
	return drafts.New(path, o, func(path string, s *schema.Schema, show func(*schema.Row) error) error {
		return Scan(path, s, Options{}, show)
	})
}
