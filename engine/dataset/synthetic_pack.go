package dataset

import (
	"fmt"
	"io"
	"math"

	"dyad/engine/dataset/schema"
	"dyad/engine/dataset/source"
)

// UniformSchema returns the schema of synthetic records of d numbers in [-1, 1], named f1 to fd, and a label y
// of two classes. It is marked public.
func UniformSchema(d int) (*schema.Schema, error) {
	if d < 1 {
		return nil, fmt.Errorf("dataset: synthetic-uniform: there are %d features, but at least 1 is needed", d)
	}
	s := &schema.Schema{DataID: "synthetic-uniform", Description: "synthetic records of uniform numbers", Public: true,
		Format: schema.FormatCSV, CSV: schema.CSVOptions{Header: true}}
	for k := range d {
		s.Columns = append(s.Columns, schema.Column{Name: fmt.Sprintf("f%d", k+1), Range: []float64{-1, 1}})
	}
	s.Columns = append(s.Columns, schema.Column{Name: "y", Role: schema.RoleLabel, Positive: "1", Negative: "0"})
	return s, s.Validate()
}

// PackUniform writes n synthetic records of UniformSchema as a pack. They are the records of SyntheticScores,
// up to the rounding of the encoder's public factor. The memory needed does not grow with n.
func PackUniform(w io.Writer, n int, s *schema.Schema, seed uint64, o PackOptions) (*Packed, error) {
	if n < 2 || n > math.MaxInt32 {
		return nil, fmt.Errorf("dataset: synthetic-uniform: %d records, want 2 to %d", n, math.MaxInt32)
	}
	return pack(w, s.DataID, s, o, func(t *table) error {
		t.allocate(source.Sizes{}, 1)
		rows := newUniformRows(t.e.Dim(), seed, t.e.Factor())
		for i := range n {
			if err := t.endRow(i+1, rows.next(t.dense.grow(t.e.Dim()))); err != nil {
				return err
			}
		}
		return nil
	})
}

// uniformRows generates the rows of SyntheticScores.
type uniformRows struct {
	coins
	v      []float64 // direction of the scores
	factor float64
	drawn  int
}

func newUniformRows(d int, seed uint64, factor float64) *uniformRows {
	r := &uniformRows{coins: newCoins(seed, scoresStream), v: make([]float64, d), factor: factor}
	for k := range r.v {
		r.v[k] = 2*float64(r.below(2)) - 1
	}
	return r
}

// next sets row to the next row and returns its label. The first two labels are +1 and -1.
func (r *uniformRows) next(row []float64) float64 {
	var score float64
	for k := range row {
		row[k] = r.factor * (2*r.uniform() - 1)
		score += r.v[k] * row[k]
	}
	y := r.logistic(4 * score)
	if r.drawn++; r.drawn <= 2 {
		y = float64(3 - 2*r.drawn)
	}
	return y
}

// scoresStream selects the stream of random bits for SyntheticScores.
const scoresStream = 0x5c02e5
