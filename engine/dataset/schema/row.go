package schema

import (
	"dyad/engine/dataset/source"
)

// Row is one row of a file as it is there, before encoding. Its slices are valid
// until the function that got it returns.
type Row struct {
	Number int // as in ParseError.Row
	// Fields are the texts of the columns that Encoder.Columns names, empty
	// where the file has none; nil if features are numbered.
	Fields [][]byte
	// Index, from 0, and Value are the features stored in the row if features
	// are numbered. Index is nil for arrays, which store all of them; a value
	// may then be NaN, which means missing.
	Index []int32
	Value []float64
	// Label is the text of the label, empty without labels, and Y the label of
	// the record.
	Label string
	Y     float64
	ID    string // text of the column with role person, or else with role id
	Group string // text of the column with role group
}

// EncodeRow returns the features of a row that Scan has shown: the same bits as
// Load gives. An error is a *ParseError without file and row.
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
		values = make([]float64, e.dim) // an index that is left out is 0
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
		case values[k] != values[k]: // of an array
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

// refuse is an error about feature field k.
func (e *Encoder) refuse(k int, rule string) error {
	return &source.ParseError{Column: e.FeatureName(k), Position: k + 1, Rule: rule}
}
