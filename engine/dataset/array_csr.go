package dataset

import (
	"archive/zip"
	"fmt"
	"io"
)

// csr reads the pairs (index, value) of a SciPy CSR matrix in the order in which they are stored.
type csr struct {
	t             *table
	indices, data *array
	index, value  []float64 // what is left of the last blocks
	start         []float64 // indptr: the place of the first pair of each row, and the end
	row, at       int
}

// readCSR reads a matrix that scipy.sparse.save_npz wrote, with y, group and person added to the archive.
func (t *table) readCSR(in *input, z *zip.Reader, m marks) error {
	start, err := t.memberVector(in, z, "indptr", true, "")
	if err != nil {
		return err
	}
	shape, err := t.memberVector(in, z, "shape", true, "")
	if err != nil {
		return err
	}
	if len(shape) != 2 || len(start) == 0 || shape[0] != float64(len(start)-1) || !t.csrFormat(z) {
		return t.errorf(0, "", 0, ruleNotCSR)
	}
	if shape[1] > float64(t.e.dim) {
		return t.errorf(0, "", 0, fmt.Sprintf("the matrix has %g columns, want at most the %d features of the schema; correct features, or the matrix", shape[1], t.e.dim))
	}
	rows := len(start) - 1
	if !m.fit(rows) {
		return t.errorf(0, "", 0, ruleArrayRows)
	}
	r := &csr{t: t, start: start}
	for _, a := range []struct {
		name string
		to   **array
	}{{"indices", &r.indices}, {"data", &r.data}} {
		found, closer, err := t.member(in, z, a.name, true, "")
		if err != nil {
			return err
		}
		defer closer()
		if len(found.shape) != 1 {
			return found.errorf(0, ruleVector)
		}
		*a.to = found
	}
	if r.indices.n != r.data.n || start[0] != 0 || start[rows] != float64(r.data.n) {
		return t.errorf(0, "", 0, ruleNotCSR)
	}
	t.hasLabels = m.y != nil
	t.allocate(sizes{rows: rows, bytes: r.data.size + int64(8*rows), colons: r.data.n}, 1)
	for ; r.row < rows; r.row++ {
		n := start[r.row+1] - start[r.row]
		if !(n >= 0 && n <= float64(t.e.dim)) || n != float64(int(n)) || r.at+int(n) > r.data.n {
			return t.errorf(r.row+1, "", 0, ruleNotCSR)
		}
		if err := t.addArrayRow(r.row, m, func() error { return r.addRow(int(n)) }); err != nil {
			return err
		}
		if want := int(start[r.row+1]); r.at < want { // the row was left out by its label
			if err := r.skip(want - r.at); err != nil {
				return err
			}
		}
	}
	return nil
}

// csrFormat says that the archive names no other format than CSR; older SciPy names none.
func (t *table) csrFormat(z *zip.Reader) bool {
	for _, f := range z.File {
		if f.Name != "format.npy" {
			continue
		}
		r, err := f.Open()
		if err != nil {
			return false
		}
		defer r.Close()
		text, err := io.ReadAll(io.LimitReader(r, maxNPYHeader))
		return err == nil && len(text) >= 3 && string(text[len(text)-3:]) == "csr"
	}
	return true
}

// pair returns the next stored number.
func (r *csr) pair() (index, value float64, err error) {
	if len(r.index) == 0 {
		if r.index, err = r.indices.next(); err != nil {
			return 0, 0, r.t.errorf(r.row+1, "", 0, ruleArrayShort)
		}
		if r.value, err = r.data.next(); err != nil {
			return 0, 0, r.t.errorf(r.row+1, "", 0, ruleArrayShort)
		}
	}
	index, value = r.index[0], r.value[0]
	r.index, r.value, r.at = r.index[1:], r.value[1:], r.at+1
	return index, value, nil
}

func (r *csr) skip(n int) error {
	for range n {
		if _, _, err := r.pair(); err != nil {
			return err
		}
	}
	return nil
}

// addRow encodes the n numbers that the row stores.
func (r *csr) addRow(n int) error {
	t, previous, stored := r.t, -1, 0
	for range n {
		index, v, err := r.pair()
		if err != nil {
			return err
		}
		k := int(index)
		switch {
		case !(index >= 0 && index < float64(t.e.dim)) || index != float64(k):
			return t.errorf(r.row+1, "", 0, ruleCSRIndex)
		case k <= previous:
			return t.errorf(r.row+1, t.e.featureName(k), k+1, ruleIndexOrder)
		case v-v != 0:
			return t.errorf(r.row+1, t.e.featureName(k), k+1, ruleNotFinite)
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
