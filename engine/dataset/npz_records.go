package dataset

import (
	"encoding/binary"
	"fmt"
	"io"

	"dyad/engine"
	"dyad/engine/dataset/schema"
)

// WriteNPZ writes records as NumPy's NPZ: X of n rows and d columns and, if labels is
// set, y of n labels, both float64. Other programs thus read what Dyad trains on.
func WriteNPZ(w io.Writer, r *engine.Records, labels bool) error {
	columns := make([]outColumn, r.Dim(), r.Dim()+1)
	for k := range columns {
		columns[k] = outColumn{role: schema.RoleFeature, number: true}
	}
	if labels {
		columns = append(columns, outColumn{role: schema.RoleLabel, number: true})
	}
	s, err := newNPZSink(w, columns, r.Len())
	if err != nil {
		return err
	}
	row := outRow{numbers: make([]float64, r.Dim(), r.Dim()+1)}
	for i := range r.Len() {
		r.Row(i, row.numbers[:r.Dim()])
		if labels {
			row.numbers = append(row.numbers[:r.Dim()], r.Label(i))
		}
		if err := s.write(&row); err != nil {
			return err
		}
	}
	return s.close()
}

// WriteNPY writes numbers as NumPy's NPY, float64: a vector if columns is 0, otherwise a
// row-major matrix. So a program reads scores without parsing text.
func WriteNPY(w io.Writer, values []float64, columns int) error {
	shape := fmt.Sprintf("(%d,)", len(values))
	if columns > 0 {
		shape = fmt.Sprintf("(%d, %d)", len(values)/columns, columns)
	}
	if _, err := w.Write(npyHeader("<f8", shape)); err != nil {
		return err
	}
	return binary.Write(w, binary.LittleEndian, values)
}
