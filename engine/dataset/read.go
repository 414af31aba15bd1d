package dataset

import (
	"bytes"
	"os"

	"dyad/engine/dataset/array"
	"dyad/engine/dataset/parquet"
	"dyad/engine/dataset/schema"
	"dyad/engine/dataset/sniff"
	"dyad/engine/dataset/source"
	"dyad/engine/dataset/workbook"
)

// read detects the format and reads all rows.
func (t *table) read(in *source.Input) error {
	u, err := source.Unpack(in.Name, in.R)
	if err != nil {
		return err
	}
	defer func() { u.Close() }()
	head, _ := u.Peek(sniff.Bytes) // an error will recur when the rows are read
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
	if t.o.LabelsFile != "" && format != schema.FormatNPY && format != schema.FormatIDX {
		return t.errorf(0, "", 0, ruleOwnLabels)
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
	case schema.FormatImages:
		return t.readImage(in, u)
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

// readFiles reads files one after the other, as if they were one.
func (t *table) readFiles() error {
	files := t.files
	t.name = listName(files)
	if len(files) > 1 && (t.o.LabelsFile != "" || t.e.Schema().LabelsFile != "") {
		return t.errorf(0, "", 0, ruleListLabels)
	}
	for _, name := range files[1:] {
		z, err := t.countRows(name)
		if err != nil {
			return err
		}
		t.rest.Rows, t.rest.Bytes, t.rest.Colons = t.rest.Rows+z.Rows, t.rest.Bytes+z.Bytes, t.rest.Colons+z.Colons
	}
	var inputs []*source.Input
	for i, name := range files {
		in, err := source.OpenInput(name, "data")
		if err != nil {
			return err
		}
		labelled := t.hasLabels
		t.name, t.first = name, t.seen
		if err := in.Close(t.read(in)); err != nil {
			return err
		}
		if i > 0 && t.hasLabels != labelled {
			return t.errorf(0, t.e.LabelColumn.Name, 0, ruleListMixed)
		}
		inputs = append(inputs, in)
	}
	t.name = listName(files)
	for _, in := range inputs[:len(files)-1] { // check the files that were closed while other files were read
		if now, err := os.Stat(in.Name); in.Opened != nil && (err != nil || in.Changed(now)) {
			return in.ErrChanged()
		}
	}
	return nil
}

// countRows returns upper bounds of the sizes of a file, unless it can be read only once. Errors are left to
// the reader, except for errors of Progress.
func (t *table) countRows(name string) (source.Sizes, error) {
	var z source.Sizes
	if info, err := os.Stat(name); t.scan != nil || err != nil || !info.Mode().IsRegular() {
		return z, nil
	}
	in, err := source.OpenInput(name, "data")
	if err != nil {
		return z, nil
	}
	defer in.File.Close()
	u, err := source.Unpack(name, in.R)
	if err != nil {
		return z, nil
	}
	defer u.Close()
	head, _ := u.Peek(sniff.Bytes)
	format, err := formatOf(t.e.Schema(), name, head)
	if err != nil {
		return z, nil
	}
	switch format {
	case schema.FormatImages:
		return source.Sizes{Rows: 1, Bytes: in.Size}, nil
	case schema.FormatXLSX: // the text of a workbook is created when it is read
		return z, nil
	case schema.FormatParquet:
		if r, err := parquet.Open(in); err == nil {
			return r.Sizes(in), nil
		}
	case schema.FormatNPY, schema.FormatIDX:
		if a, err := array.Open(format, in, u); err == nil {
			return source.Sizes{Rows: a.Rows, Bytes: a.Size}, nil
		}
	case schema.FormatNPZ:
		if z, err := t.npzSizes(in); err == nil {
			return z, nil
		}
	default:
		return t.countLines(name, format)
	}
	return z, nil
}

// countLines returns upper bounds of the sizes of a regular file's lines, unless they are only shown.
func (t *table) countLines(name, format string) (source.Sizes, error) {
	if t.scan != nil {
		return source.Sizes{}, nil
	}
	return source.CountLines(name, format == schema.FormatLIBSVM, func() error {
		if t.o.Progress == nil {
			return nil
		}
		return t.o.Progress(t.seen)
	})
}
