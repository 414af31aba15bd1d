package dataset

import (
	"fmt"
	"io"
	"math"
	"os"

	"dyad/engine"
)

// LabelMode says what a reader does about labels.
type LabelMode int

// The label modes.
const (
	// LabelsRequired is for training: every row has a label, both classes occur
	// and there are at least 2 rows.
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
	// Progress, if not nil, is called now and then with the rows read so far;
	// an error stops the load and is returned.
	Progress func(rows int) error
}

// Dataset is a file read by a schema.
type Dataset struct {
	Records *engine.Records // labels -1 and +1, or all 0 without HasLabels
	Encoder *Encoder
	// HasLabels says that the file had labels and that they were read.
	HasLabels bool
	// Positives and Negatives count the classes. They are private like the
	// records; no report may show them unless the data are public.
	Positives, Negatives int
	// IDs are n texts with Options.KeepIDs and an id column, otherwise nil.
	IDs []string
}

// Schema is the schema that the data were read by.
func (d *Dataset) Schema() *Schema { return d.Encoder.Schema() }

// Load reads a file, gzipped or not. Content that breaks a rule gives a
// *ParseError. Its memory is about that of the records: a first pass over the
// file counts rows.
func Load(path string, s *Schema, o Options) (*Dataset, error) {
	e, err := NewEncoder(s)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("dataset: cannot read data: %w", err)
	}
	defer f.Close()
	var z sizes
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() { // a pipe can be read only once
		z = countFile(path)
	}
	return read(path, f, e, o, z)
}

// LoadReader is Load from r; name stands for the file in errors. Its peak memory
// is about twice that of the records.
func LoadReader(name string, r io.Reader, s *Schema, o Options) (*Dataset, error) {
	e, err := NewEncoder(s)
	if err != nil {
		return nil, err
	}
	return read(name, r, e, o, sizes{})
}

func read(name string, r io.Reader, e *Encoder, o Options, z sizes) (*Dataset, error) {
	src, err := openSource(name, r)
	if err != nil {
		return nil, err
	}
	t := &table{e: e, o: o, src: src, hasLabels: o.Labels == LabelsRequired}
	if e.schema.IsLIBSVM() {
		err = readLIBSVM(t, z)
	} else {
		err = readCSV(t, z)
	}
	if err != nil {
		return nil, err
	}
	return t.finish()
}

// progressRows is how often Options.Progress is called.
const progressRows = 1 << 16

// table collects the rows of a file.
type table struct {
	e         *Encoder
	o         Options
	src       *source
	hasLabels bool // of the file; settled by the first row
	rows      int
	positives int
	ids       []string

	dense *blocks[float64]
	label *blocks[float64]
	start *blocks[int64] // sparse
	index *blocks[int32]
	value *blocks[float64]
}

// allocate makes room for what the first pass counted. Every row has at least
// fields bytes, so that a small file cannot ask for much memory.
func (t *table) allocate(z sizes, fields int) {
	rows := min(z.rows, int(z.bytes/int64(max(fields, 1))))
	t.label = newBlocks[float64](rows)
	if t.e.schema.IsSparse() {
		t.start = newBlocks[int64](rows + 1)
		t.start.add(0)
		t.index = newBlocks[int32](z.colons)
		t.value = newBlocks[float64](z.colons)
		return
	}
	if t.e.dim > 0 && rows > math.MaxInt/16/t.e.dim {
		rows = 0
	}
	t.dense = newBlocks[float64](rows * t.e.dim)
}

// endRow counts a row with label y.
func (t *table) endRow(y float64) error {
	t.rows++
	t.label.add(y)
	if y > 0 {
		t.positives++
	}
	if t.o.Progress != nil && t.rows%progressRows == 0 {
		return t.o.Progress(t.rows)
	}
	return nil
}

// errorf is a ParseError at a row of this file.
func (t *table) errorf(row int, column string, position int, rule string) error {
	return &ParseError{File: t.src.name, Row: row, Column: column, Position: position, Rule: rule}
}

// finish checks the file as a whole and builds the records.
func (t *table) finish() (*Dataset, error) {
	n, e := t.rows, t.e
	labels := t.hasLabels && t.o.Labels != LabelsIgnored
	switch {
	case n == 0:
		return nil, t.errorf(0, "", 0, ruleEmpty)
	case t.o.Labels != LabelsRequired:
	case n < 2:
		return nil, t.errorf(0, "", 0, ruleTooFew)
	case t.positives == 0:
		return nil, t.errorf(0, e.label.Name, 0, ruleNoPositive)
	case t.positives == n:
		return nil, t.errorf(0, e.label.Name, 0, ruleNoNegative)
	}
	d := &Dataset{Encoder: e, HasLabels: labels, IDs: t.ids}
	if labels {
		d.Positives, d.Negatives = t.positives, n-t.positives
	}
	y := t.label.join()
	var err error
	if e.schema.IsSparse() {
		d.Records, err = engine.NewSparseRecords(t.start.join(), t.index.join(), t.value.join(), y, e.dim, e.Bounds())
	} else {
		d.Records, err = engine.AdoptRecords(t.dense.join(), y, e.dim, e.Bounds())
	}
	if err != nil {
		return nil, fmt.Errorf("dataset: %w", err)
	}
	return d, nil
}
