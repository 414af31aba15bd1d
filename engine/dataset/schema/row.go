package schema

import (
	"dyad/engine/dataset/source"
)

// Row is one row of a file before encoding. Its slices are valid until the function that received the row
// returns.
type Row struct {
	Number int // number of the row as in ParseError.Row
	// Fields holds the texts of the columns given by Encoder.Columns. A text is empty if the file has no value.
	// Fields is nil if features are numbered.
	Fields [][]byte
	// Index and Value hold the features stored in the row if features are numbered. Indices count from 0. Index
	// is nil for arrays, which store all features; a value can then be NaN, which means missing.
	Index []int32
	Value []float64
	// Label is the text of the label, or empty if there are no labels. Y is the label of the record.
	Label string
	Y     float64
	ID    string // text of the column with role person; without such a column, text of the column with role id
	Group string // text of the column with role group
}

// EncodeRow returns the features of a row passed on by Scan. They have the same bits as the features that Load
// returns. An error is a *ParseError without file and row.
func (e *Encoder) EncodeRow(r *Row) ([]float64, error) {
	x := make([]float64, e.dim)
	if r.Fields == nil && e.schema.IsSparse() {
		for j, k := range r.Index {
			f, _ := e.Feature(int(k))
			x[k] = f.Scale(r.Value[j])
		}
		return x, e.project(x)
	}
	values := r.Value
	if r.Fields == nil && len(values) < e.dim {
		values = make([]float64, e.dim) // an index absent from the row stands for 0
		for j, k := range r.Index {
			values[k] = r.Value[j]
		}
	}
	for k := range e.Width() {
		f, offset := e.Feature(k)
		out, rule := x[offset:offset+f.Width], ""
		switch {
		case r.Fields != nil:
			rule = f.Encode(r.Fields[k], out)
		case values[k] != values[k]: // NaN, in an array
			rule = f.EncodeMissing(out)
		default:
			rule = f.EncodeNumber(values[k], out)
		}
		if rule != "" {
			return nil, e.refuse(k, rule)
		}
	}
	return x, e.project(x)
}

// refuse returns an error about feature field k.
func (e *Encoder) refuse(k int, rule string) error {
	return &source.ParseError{Column: e.FeatureName(k), Position: k + 1, Rule: rule}
}
