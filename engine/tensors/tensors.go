// Package tensors converts between records and tensors of gorgonia.org/tensor. ToRecords
// takes a matrix of features and a vector of labels, and FromRecords returns a matrix and
// a vector. Both functions copy the data.
//
// A tensor that is a view, transposed or column-major is read by its indices, so it
// means the same matrix as its contiguous copy. Rows and labels that exceed the
// public bounds are projected as by engine.NewRecords. No other package of Dyad
// imports gorgonia.org/tensor for data.
package tensors

import (
	"fmt"

	"dyad/engine"

	"gorgonia.org/tensor"
)

// ToRecords copies an n x d matrix x and n labels y, both of type float64, and enforces b
// as engine.NewRecords does. It refuses only wrong shapes, types and bounds.
func ToRecords(x, y *tensor.Dense, b engine.Bounds) (*engine.Records, error) {
	switch {
	case x == nil || y == nil:
		return nil, fmt.Errorf("tensors: ToRecords: the features or the labels are nil")
	case x.Dims() != 2 || y.Dims() != 1 || x.Shape()[0] != y.Shape()[0]:
		return nil, fmt.Errorf("tensors: ToRecords: want shapes (n, d) and (n), got %v and %v", x.Shape(), y.Shape())
	case x.Dtype() != tensor.Float64 || y.Dtype() != tensor.Float64:
		return nil, fmt.Errorf("tensors: ToRecords: want float64, got %v and %v", x.Dtype(), y.Dtype())
	}
	n, d := x.Shape()[0], x.Shape()[1]
	features := make([]float64, 0, n*d)
	if flat := x.Float64s(); len(flat) == n*d && !x.RequiresIterator() && !x.DataOrder().IsColMajor() {
		features = append(features, flat...)
	} else {
		for i := range n {
			for j := range d {
				v, err := x.At(i, j)
				if err != nil {
					return nil, fmt.Errorf("tensors: ToRecords: feature %d of record %d: %w", j, i, err)
				}
				features = append(features, v.(float64))
			}
		}
	}
	labels := make([]float64, n)
	for i := range labels {
		v, err := y.At(i)
		if err != nil {
			return nil, fmt.Errorf("tensors: ToRecords: label %d: %w", i, err)
		}
		labels[i] = v.(float64)
	}
	return engine.AdoptRecords(features, labels, d, b)
}

// FromRecords returns copies of the features (n x d, dense) and of the labels (n). The
// copied values are within the bounds of r, which r enforces.
func FromRecords(r *engine.Records) (x, y *tensor.Dense) {
	n, d := r.Len(), r.Dim()
	flat := make([]float64, n*d)
	for i := range n {
		r.Row(i, flat[i*d:(i+1)*d])
	}
	x = tensor.New(tensor.WithShape(n, d), tensor.WithBacking(flat))
	y = tensor.New(tensor.WithShape(n), tensor.WithBacking(append([]float64(nil), r.Labels()...)))
	return x, y
}
