package dataset

import (
	"fmt"

	"dyad/engine/dataset/csv"
	"dyad/engine/dataset/source"
)

// csvReader returns a CSV reader with the options of the schema.
func (t *table) csvReader(src *source.Lines) *csv.Reader {
	delim, _ := t.e.Schema().CSV.Separator()
	return csv.NewReader(src, delim, t.e.Schema().CSV.Comment)
}

// addCSVRows adds the remaining rows of r.
func (t *table) addCSVRows(l *layout, r *csv.Reader) error {
	return source.Each(r.Next, func(row [][]byte) error { return t.addCSVRow(l, row, r.Row) })
}

func (t *table) addCSVRow(l *layout, row [][]byte, number int) error {
	if len(row) != len(l.fields) {
		return t.widthError(len(row), len(l.fields), number)
	}
	return t.addRow(l, row, nil, number)
}

func (t *table) widthError(got, want, row int) error {
	rule := fmt.Sprintf("row has %d fields, want %d", got, want)
	if want-got == 1 && t.o.Labels == LabelsRequired {
		rule += "; if the label is missing, add it (dyad predict needs no label)"
	} else if got == 1 {
		rule += "; check csv.delimiter, or remove the row"
	} else {
		rule += "; quote a field that contains the delimiter, or correct the row or the schema"
	}
	return t.errorf(row, "", 0, rule)
}
