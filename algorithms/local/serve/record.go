package serve

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"

	"dyad/engine"
	"dyad/engine/dataset"
	"dyad/internal/input"
)

// RecordFile describes the location of the record of a user.
type RecordFile struct {
	Path    string
	Reader  io.Reader // read instead of the file, if not nil
	Row     int       // the number of the record, from 1
	Encoder *dataset.Encoder
	Options dataset.Options // all options except Labels
}

// Read reads the one record. unusable is the reason why the record cannot be used, or "" if it can be used. For
// an unusable record, Read returns the label NaN, and the features if they are readable or else zeros. From
// such a record local.Client makes a message that contributes nothing to the learning. Errors must not depend
// on the record, because an error while the server waits for a message would reveal the record. So only these
// cases are errors: the file cannot be opened, is not in the format of the schema, lacks a column of the schema
// in its header, or has too few rows. These errors wrap ErrInput, and an error of ctx is returned unchanged. In
// all other cases Read returns a record.
func (f RecordFile) Read(ctx context.Context) (z engine.Record, unusable string, err error) {
	schema := f.Encoder.Schema()
	if schema.IsGraded() {
		return z, "", inputError("local learners need labels of two classes")
	}
	scan := recordScan{RecordFile: f}
	if z, unusable, err = scan.read(ctx, dataset.LabelsRequired); unusable == "" {
		return z, "", err
	}
	// The features may still be readable, and prestige-label sends them in clear. Without labels, rows that
	// the schema leaves out by their label are counted too, so another row could be selected.
	if z.X == nil && (f.Row == 1 || !schema.SelectsByLabel()) {
		again, _, err := scan.read(ctx, dataset.LabelsIgnored)
		if ctx.Err() != nil {
			return z, "", err
		}
		z.X = again.X
	}
	if z.X == nil {
		z.X = make([]float64, f.Encoder.Dim())
	}
	z.Y = math.NaN()
	return z, unusable, nil
}

// recordScan searches the record of a client.
type recordScan struct {
	RecordFile
	input bytes.Buffer // the bytes read from Reader
}

var errRecordFound = errors.New("record found")

// read reads the record with its label, or without it for LabelsIgnored.
func (r *recordScan) read(ctx context.Context, labels dataset.LabelMode) (z engine.Record, unusable string, err error) {
	s, count := r.Encoder.Schema(), 0
	var parse *dataset.ParseError
	show := func(row *dataset.Row) error {
		if count++; count != r.Row {
			return ctx.Err()
		}
		x, err := r.Encoder.EncodeRow(row)
		if errors.As(err, &parse) {
			parse.Row = row.Number
		}
		if err != nil {
			return err
		}
		z = engine.Record{X: x, Y: row.Y}
		return errRecordFound // the following rows are other records
	}
	o := r.Options
	o.Labels = labels
	if r.Reader != nil {
		before := bytes.NewReader(bytes.Clone(r.input.Bytes()))
		err = dataset.ScanReader("standard input", io.MultiReader(before, io.TeeReader(r.Reader, &r.input)), s, o, show)
	} else {
		err = dataset.Scan(r.Path, s, o, show)
	}
	switch {
	case errors.Is(err, errRecordFound):
		return z, "", nil
	case ctx.Err() != nil:
		return z, "", ctx.Err()
	case errors.As(err, &parse) && parse.Row > 0 && !parse.Header:
		return z, err.Error(), nil
	case count < r.Row && s.SelectsByLabel() && (err == nil || parse != nil && parse.Row == 0):
		return z, "the schema leaves this record out because of its label", nil
	case err != nil && (parse == nil || count == 0):
		return z, "", input.As(err)
	}
	return z, "", inputError("row %d was requested, but there are only %d rows", r.Row, count)
}
