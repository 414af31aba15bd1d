package tensors_test

import (
	"testing"

	"dyad/engine"
	"dyad/engine/tensors"
	"dyad/internal/must"

	"gorgonia.org/tensor"
)

func TestThereAndBack(t *testing.T) {
	values := []float64{0.1, 0.2, 0.3, -0.4, 0.5, 0.6}
	y := tensor.New(tensor.WithShape(3), tensor.WithBacking([]float64{1, -1, 1}))
	x := tensor.New(tensor.WithShape(3, 2), tensor.WithBacking(append([]float64(nil), values...)))
	r := must.Get(tensors.ToRecords(x, y, engine.UnitBounds()))(t)
	check := func(name string, r *engine.Records) {
		t.Helper()
		row := make([]float64, 2)
		for i := range 3 {
			r.Row(i, row)
			if row[0] != values[2*i] || row[1] != values[2*i+1] {
				t.Errorf("%s: row %d is %v", name, i, row)
			}
		}
	}
	check("row-major", r)
	back, labels := tensors.FromRecords(r)
	if again, err := tensors.ToRecords(back, labels, engine.UnitBounds()); err != nil {
		t.Error(err)
	} else {
		check("back and forth", again)
	}
	// A transposed view and a column-major tensor mean the same matrix.
	transposed := tensor.New(tensor.WithShape(2, 3), tensor.WithBacking([]float64{0.1, 0.3, 0.5, 0.2, -0.4, 0.6}))
	must.Do(t, transposed.T())
	if r, err := tensors.ToRecords(transposed, y, engine.UnitBounds()); err != nil {
		t.Error(err)
	} else {
		check("transposed view", r)
	}
	column := tensor.New(tensor.WithShape(3, 2), tensor.AsFortran(append([]float64(nil), values...))) // transposes its backing
	if r, err := tensors.ToRecords(column, y, engine.UnitBounds()); err != nil {
		t.Error(err)
	} else {
		check("column-major", r)
	}
	// So do a run of rows, a run of columns, and labels that are a column, of a larger matrix.
	large := tensor.New(tensor.WithShape(5, 4), tensor.WithBacking([]float64{
		9, 9, 9, 9,
		9, 0.1, 0.2, 1,
		9, 0.3, -0.4, -1,
		9, 0.5, 0.6, 1,
		9, 9, 9, 9,
	}))
	view := func(of *tensor.Dense, by ...tensor.Slice) *tensor.Dense {
		t.Helper()
		v := must.Get(of.Slice(by...))(t)
		return v.(*tensor.Dense)
	}
	rows := view(large, tensor.S(1, 4))
	if r, err := tensors.ToRecords(view(rows, nil, tensor.S(1, 3)), view(large, tensor.S(1, 4), tensor.S(3)), engine.UnitBounds()); err != nil {
		t.Error(err)
	} else {
		check("view of columns", r)
		if r.Label(0) != 1 || r.Label(1) != -1 || r.Label(2) != 1 {
			t.Errorf("labels of a column are %v", r.Labels())
		}
	}
	if r, err := tensors.ToRecords(rows, y, engine.Bounds{FeatureNorm: 100, LabelAbs: 1}); err != nil {
		t.Error(err)
	} else if row := make([]float64, 4); true {
		if r.Row(1, row); row[0] != 9 || row[1] != 0.3 || row[2] != -0.4 || row[3] != -1 {
			t.Errorf("view of rows: row 1 is %v", row)
		}
	}
	// The caller's tensor is not aliased.
	x.Set(0, 0.9)
	check("after a change of the tensor", r)
	for name, bad := range map[string][2]*tensor.Dense{
		"float32":   {tensor.New(tensor.WithShape(3, 2), tensor.Of(tensor.Float32)), y},
		"vector":    {tensor.New(tensor.WithShape(6), tensor.Of(tensor.Float64)), y},
		"no labels": {x, nil},
		"mismatch":  {tensor.New(tensor.WithShape(2, 2), tensor.Of(tensor.Float64)), y},
	} {
		must.Err(tensors.ToRecords(bad[0], bad[1], engine.UnitBounds()))(t, "%s was accepted", name)
	}
}
