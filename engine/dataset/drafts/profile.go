package drafts

import (
	"bytes"
	"os"

	"dyad/engine/dataset/schema"
	"dyad/engine/dataset/source"
)

// Options are the options of New. The zero value needs no input from the user.
type Options struct {
	// Label is the name of the label column, and Positive is the class that should score high. If Label is
	// empty and only one column has two values, that column is the label. If Positive is empty, the positive
	// class is guessed by words that often name it.
	Label, Positive string
	// Sheet is the name of the sheet of a workbook to read. If it is empty, the workbook must have only one
	// sheet with cells.
	Sheet string
	// Decimal is the decimal separator, "." or ",". It is used if the file does not determine the separator.
	Decimal string
	// Answers maps the name of a column to facts about the column that are known without the data.
	Answers map[string]schema.Answer
	// Progress, if not nil, is called from time to time with the number of rows read so far. If it returns an
	// error, the draft stops and New returns the error.
	Progress func(rows int) error
}

// Drafted is the result of New.
type Drafted struct {
	Schema []byte // the drafted schema in YAML
	// Memory is the content of the file that records which values of the schema were taken from the data. The file
	// must be in the folder of the schema. Its name is the name of the schema file followed by DraftedEnding.
	// Memory is private like the data. It is nil if the draft took no value from the data.
	Memory []byte
	// Label is the column that was given as the label. If none was given, Label is the only column with
	// two values. It is "" if several columns have two values (then see Candidates) or the columns have
	// no names.
	Label      string
	Candidates []string
	Ignored    []string // columns that are left out; the draft states the reasons
	FromData   []string // columns whose range or categories were taken from the data
	Persons    int      // number of persons that an answer gave
	// Columns lists all columns of a file with named columns, together with the facts that a person needs to check
	// them. It contains values of records, so show it only to people who may see the file.
	Columns []DraftedColumn
}

// DraftedColumn describes what a draft decided about a column. It contains texts of the file.
type DraftedColumn struct {
	schema.Column
	Why     string   // reason why the draft leaves the column out, or advice on what to check
	Samples []Sample // up to draftSamples different values from the top of the file, and the longest value
	Classes []string // if the column can be the label: the likely positive class, then the negative class
	// Asks is true if the file does not show whether the column has decimal points or decimal commas. An Answer
	// can state the decimal separator.
	Asks bool
	// MayNamePersons reports whether the values look like identifiers and some of them repeat. Persons is the number of
	// distinct values by IDKey, or 0 if they were not counted.
	MayNamePersons bool
	Persons        int
	// Suggested is the suggestion of the built-in code book for the column, or nil. The draft uses it only if the
	// caller returns it as an Answer.
	Suggested *Suggestion
}

// Sample holds a value of the file. Raw is the text in the file, and Read is the value that the schema reads.
type Sample struct{ Raw, Read string }

// Suggestion holds facts of the code book about a column.
type Suggestion struct {
	Quantity, Unit string
	Answer         schema.Answer
}

// draftColumn is a column of a draft together with the reasons for its kind.
type draftColumn struct {
	schema.Column
	comment string
}

// Scan is a function that checks each row of a file against a schema and then calls show with the row.
type Scan func(path string, s *schema.Schema, show func(*schema.Row) error) error

// profile collects the facts about a file from which a draft is made.
type profile struct {
	scan    Scan
	path    string
	sheet   []byte // the sheet of a workbook, converted to CSV
	o       Options
	draft   Drafted
	format  string
	csv     schema.CSVOptions
	grouped bool // the rows of a LIBSVM file have query ids
	typed   bool // the element type of an array determines the range

	// The fields below are set for formats with named columns. A column without a name is left out.
	names []string
	stats []*columnStats
	rows  int
	bytes bool             // some field is not valid UTF-8
	odd   []oddRow         // rows of a CSV file that are not records
	skips map[string][]int // maps a prefix in CSVOptions.Comment that was added for such rows to the numbers of the rows
}

type oddRow struct {
	row    int    // number of the row in the file
	prefix string // beginning of the row's line
}

// read opens the file, decompresses it if needed, and calls look.
func (p *profile) read(look func(in *source.Input, u *source.Unpacked) error) error {
	pipe := p.errorf(0, "a draft reads the file several times, but this file is a pipe; store its data in a file first")
	// opening a pipe would wait for a writer
	if info, err := os.Stat(p.path); err == nil && info.Mode()&os.ModeNamedPipe != 0 {
		return pipe
	}
	in, err := source.OpenInput(p.path, "data")
	if err != nil {
		return err
	}
	if in.At == nil {
		return in.Close(pipe)
	}
	u, err := source.Unpack(p.path, in.R)
	if err == nil && p.sheet != nil {
		u.Close()
		u, err = source.Unpack(p.path, bytes.NewReader(p.sheet))
	}
	if err != nil {
		return in.Close(err)
	}
	defer u.Close()
	return in.Close(look(in, u))
}

func (p *profile) errorf(row int, rule string) error {
	return &source.ParseError{File: p.path, Row: row, Rule: rule}
}
