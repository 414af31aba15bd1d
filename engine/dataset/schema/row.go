package schema

import (
	"context"
	"fmt"
	"runtime"

	"dyad/engine"
	"dyad/engine/dataset/source"
	"dyad/internal/tasks"
)

// Row is one row of a file before encoding. Its slices are valid until the function that received the row
// returns.
type Row struct {
	Number int // number of the row as in ParseError.Row
	// Fields holds the texts of the columns given by Encoder.Columns. A text is empty if the file has no value.
	// Fields is nil if features are numbered.
	Fields [][]byte
	// Index and Value hold the features stored in the row if features are numbered. Indices count from 0. Index
	// is nil for arrays, because arrays store all features. A value of an array can be NaN, which means
	// missing.
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

// Multiply writes the products of interactions into a row. The columns of the row must be
// encoded and not yet projected.
func (e *Encoder) Multiply(x []float64) {
	for _, p := range e.interactions {
		a, b := x[e.columns[p.A].Offset:][:p.WidthA], x[e.columns[p.B].Offset:][:p.WidthB]
		block := x[p.Offset:][:p.WidthA*p.WidthB]
		for i, u := range a {
			u *= p.Scale
			for j, v := range b {
				block[i*p.WidthB+j] = u * v
			}
		}
	}
}

// MultiplyRows applies Multiply to all rows of x.
func (e *Encoder) MultiplyRows(x []float64) {
	if e.interactions == nil {
		return
	}
	rows := len(x) / e.dim
	const piece = 1 << 10
	// the context is never cancelled
	_ = tasks.Each(context.Background(), runtime.GOMAXPROCS(0), (rows+piece-1)/piece, func(_, k int) {
		for i := k * piece; i < min((k+1)*piece, rows); i++ {
			e.Multiply(x[i*e.dim:][:e.dim])
		}
	})
}

// Encode returns the record of one row, with norm at most 1. It has the same bits as the record that Load
// returns. fields are the texts of the columns given by Columns, in that order and in the schema's notation.
// For a LIBSVM schema, an index that is absent from the row has the text "0". An error is a *ParseError without
// file and row.
func (e *Encoder) Encode(fields []string) ([]float64, error) {
	if len(fields) != e.Width() {
		return nil, &source.ParseError{Rule: fmt.Sprintf("row has %d feature fields, want %d", len(fields), e.Width())}
	}
	texts := make([][]byte, len(fields))
	for k, field := range fields {
		texts[k] = []byte(field)
		if f, _ := e.Feature(k); f.Writes(texts[k]) {
			var rule string
			if texts[k], rule = f.Notation.Plain(nil, texts[k]); rule != "" {
				return nil, e.refuse(k, rule)
			}
		}
	}
	return e.EncodeRow(&Row{Fields: texts})
}

// project projects one encoded row in place, in the same way as Load.
func (e *Encoder) project(x []float64) error {
	if !e.schema.IsSparse() {
		e.ProjectDense(x)
		return nil
	}
	var index []int32
	var value []float64
	for k, v := range x {
		if v != 0 {
			index, value = append(index, int32(k)), append(value, v)
		}
	}
	if bound := e.NonZerosPerRow(); len(value) > bound {
		return &source.ParseError{Rule: TooManyNonZeros(bound)}
	}
	r, err := engine.NewSparseRecords([]int64{0, int64(len(value))}, index, value, make([]float64, 1), e.dim, e.Bounds())
	if err != nil {
		return err
	}
	r.Row(0, x)
	return nil
}

// ProjectDense completes a dense row whose columns are encoded. It writes the products of interactions, projects the
// row to norm at most 1, and rounds it toward zero if records are stored in float32 (docs/theory.md#stored-records).
// The result depends on this row alone.
func (e *Encoder) ProjectDense(x []float64) {
	e.Multiply(x)
	engine.ProjectBall(x, e.Bounds().FeatureNorm)
	if e.schema.IsNarrow() {
		for k, v := range x {
			x[k] = float64(engine.TowardZero(v))
		}
	}
}

// TooManyNonZeros returns the rule broken by a row with more stored features than the schema allows.
func TooManyNonZeros(bound int) string {
	return fmt.Sprintf("the row has more than %d features that are not 0; raise nonzeros in the schema", bound)
}
