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
	encoded := func(k int, rule string) error {
		if rule == "" {
			return nil
		}
		return &source.ParseError{Column: e.FeatureName(k), Position: k + 1, Rule: rule}
	}
	if r.Fields != nil {
		for k, field := range r.Fields {
			f, offset := e.Feature(k)
			if err := encoded(k, f.Encode(field, x[offset:offset+f.Width])); err != nil {
				return nil, err
			}
		}
		return x, e.project(x)
	}
	value := func(k int, v float64) string {
		f, _ := e.Feature(k)
		switch {
		case e.schema.IsSparse():
			x[k] = f.Scale(v)
			return ""
		case v != v: // of an array
			return f.EncodeMissing(x[k : k+1])
		}
		return f.EncodeNumber(v, x[k:k+1])
	}
	if r.Index == nil || !e.schema.IsSparse() && len(r.Index) < e.dim {
		stored := make([]float64, e.dim) // an index that is left out is 0
		if r.Index == nil {
			copy(stored, r.Value)
		}
		for j, k := range r.Index {
			stored[k] = r.Value[j]
		}
		for k, v := range stored {
			if err := encoded(k, value(k, v)); err != nil {
				return nil, err
			}
		}
		return x, e.project(x)
	}
	for j, k := range r.Index {
		if err := encoded(int(k), value(int(k), r.Value[j])); err != nil {
			return nil, err
		}
	}
	return x, e.project(x)
}
