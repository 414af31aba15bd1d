package main

import (
	"bytes"
	"errors"
	"io"
	"math"

	"dyad/engine"
	"dyad/engine/dataset"
)

// record reads the one record. unusable says why it cannot be used, "" if it can: it then
// has no label, and its features or zeros, and local.Client makes a message of it that
// contributes nothing. Only what the record does not decide is an error: a file that
// cannot be opened, is not in the schema's format or lacks the schema's columns in its
// header, or too few rows. To fail where the server waits for a message would tell of the
// record, so every doubt is decided for a message.
func (c *localClientCmd) record(a *app, e *dataset.Encoder) (z engine.Record, unusable string, err error) {
	if e.Schema().IsGraded() {
		return z, "", badInput("local learners need labels of two classes")
	}
	scan := recordScan{c: c, a: a, e: e}
	if z, unusable, err = scan.read(dataset.LabelsRequired); unusable == "" {
		return z, "", err
	}
	// The features may still be there; prestige-label sends them in clear. Rows that a
	// schema leaves out by their label count again here, so that another row could come.
	if z.X == nil && (c.Row == 1 || !e.Schema().SelectsByLabel()) {
		again, _, err := scan.read(dataset.LabelsIgnored)
		if a.ctx.Err() != nil {
			return z, "", err
		}
		z.X = again.X
	}
	if z.X == nil {
		z.X = make([]float64, e.Dim())
	}
	z.Y = math.NaN()
	return z, unusable, nil
}

// recordScan looks for the record of a client.
type recordScan struct {
	c     *localClientCmd
	a     *app
	e     *dataset.Encoder
	input bytes.Buffer // what was read from standard input
}

var errRecordFound = errors.New("record found")

// read reads the record with its label or, with LabelsIgnored, without.
func (r *recordScan) read(labels dataset.LabelMode) (z engine.Record, unusable string, err error) {
	s, count := r.e.Schema(), 0
	show := func(row *dataset.Row) error {
		if count++; count != r.c.Row {
			return r.a.ctx.Err()
		}
		x, err := r.e.EncodeRow(row)
		if err != nil {
			return rowError(err, row.Number)
		}
		z = engine.Record{X: x, Y: row.Y}
		return errRecordFound // what follows is about other records
	}
	o := r.c.options(dataset.Options{Labels: labels})
	if r.c.Data == "-" {
		before := bytes.NewReader(bytes.Clone(r.input.Bytes()))
		err = dataset.ScanReader("standard input", io.MultiReader(before, io.TeeReader(r.a.stdin, &r.input)), s, o, show)
	} else {
		err = dataset.Scan(r.c.Data, s, o, show)
	}
	var parse *dataset.ParseError
	switch {
	case errors.Is(err, errRecordFound):
		return z, "", nil
	case r.a.ctx.Err() != nil:
		return z, "", r.a.ctx.Err()
	case errors.As(err, &parse) && parse.Row > 0 && !parse.Header:
		return z, err.Error(), nil
	case count < r.c.Row && s.SelectsByLabel() && (err == nil || parse != nil && parse.Row == 0):
		return z, "the schema leaves its label out", nil
	case err != nil && (parse == nil || count == 0):
		return z, "", asInput(err)
	}
	return z, "", badInput("--row is %d, and there are %d rows", r.c.Row, count)
}

// rowError is an error of Encoder.EncodeRow with its row.
func rowError(err error, row int) error {
	var parse *dataset.ParseError
	if errors.As(err, &parse) {
		parse.Row = row
	}
	return err
}
