package dataset

import (
	"archive/zip"
	"fmt"

	"dyad/engine/dataset/array"
	"dyad/engine/dataset/parse"
	"dyad/engine/dataset/source"
	"dyad/engine/dataset/sparse"
)

// csrRows reads the rows of a sparse matrix into a table.
type csrRows struct {
	sparse.CSR
	t   *table
	row int
}

// readCSR reads a matrix written by scipy.sparse.save_npz. The archive can have the additional arrays y, group
// and person.
func (t *table) readCSR(in *source.Input, z *zip.Reader, m marks) error {
	// the index of the first pair of each row, followed by the number of pairs
	start, err := t.memberVector(in, z, "indptr", true, "")
	if err != nil {
		return err
	}
	shape, err := t.memberVector(in, z, "shape", true, "")
	if err != nil {
		return err
	}
	if len(shape) != 2 || len(start) == 0 || shape[0] != float64(len(start)-1) || !sparse.IsCSR(z) {
		return t.errorf(0, "", 0, ruleNotCSR)
	}
	if shape[1] > float64(t.e.Dim()) {
		return t.errorf(0, "", 0, fmt.Sprintf("the matrix has %g columns, but the schema has only %d features; "+
			"correct `features` in the schema, or the matrix", shape[1], t.e.Dim()))
	}
	rows := len(start) - 1
	if !m.fit(rows) {
		return t.errorf(0, "", 0, ruleArrayRows)
	}
	r := &csrRows{t: t}
	for _, a := range []struct {
		name string
		to   **array.Array
	}{{"indices", &r.Indices}, {"data", &r.Data}} {
		found, closer, err := array.OpenMember(in, z, a.name, true, "")
		if err != nil {
			return err
		}
		defer closer()
		if len(found.Shape) != 1 {
			return found.Refuse(0, array.RuleVector)
		}
		*a.to = found
	}
	if r.Indices.Rows != r.Data.Rows || start[0] != 0 || start[rows] != float64(r.Data.Rows) {
		return t.errorf(0, "", 0, ruleNotCSR)
	}
	t.hasLabels = m.y != nil
	t.allocate(source.Sizes{Rows: rows, Bytes: r.Data.Size + int64(8*rows), Colons: r.Data.Rows}, 1)
	for ; r.row < rows; r.row++ {
		n := start[r.row+1] - start[r.row]
		if !(n >= 0 && n <= float64(t.e.Dim())) || n != float64(int(n)) || r.At+int(n) > r.Data.Rows {
			return t.errorf(r.row+1, "", 0, ruleNotCSR)
		}
		if err := t.addArrayRow(r.row, m, func() error { return r.addRow(int(n)) }); err != nil {
			return err
		}
		for r.At < int(start[r.row+1]) { // the row was skipped because of its label
			if _, _, ok := r.Pair(); !ok {
				return t.errorf(r.row+1, "", 0, array.RuleArrayShort)
			}
		}
	}
	return nil
}

// addRow encodes the n numbers stored in the next row.
func (r *csrRows) addRow(n int) error {
	t, previous, stored := r.t, -1, 0
	for range n {
		index, v, ok := r.Pair()
		if !ok {
			return t.errorf(r.row+1, "", 0, array.RuleArrayShort)
		}
		k := int(index)
		switch {
		case !(index >= 0 && index < float64(t.e.Dim())) || index != float64(k):
			return t.errorf(r.row+1, "", 0, ruleCSRIndex)
		case k <= previous:
			return t.errorf(r.row+1, t.e.FeatureName(k), k+1, sparse.RuleIndexOrder)
		case v-v != 0:
			return t.errorf(r.row+1, t.e.FeatureName(k), k+1, parse.RuleNotFinite)
		}
		previous = k
		added, err := t.addPair(r.row+1, k, v, stored)
		if err != nil {
			return err
		}
		stored += added
	}
	t.endPairs(stored)
	return nil
}
