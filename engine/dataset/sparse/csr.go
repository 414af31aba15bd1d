package sparse

import (
	"archive/zip"
	"io"

	"dyad/engine/dataset/array"
)

// CSR reads the pairs (index, value) of a SciPy CSR matrix in the order in which they are stored.
type CSR struct {
	Indices, Data *array.Array
	index, value  []float64 // remaining entries of the last blocks
	At            int       // number of pairs read so far
}

// Pair returns the next stored pair. ok is false if the arrays end early.
func (r *CSR) Pair() (index, value float64, ok bool) {
	if len(r.index) == 0 {
		var errIndex, errValue error
		r.index, errIndex = r.Indices.Next()
		r.value, errValue = r.Data.Next()
		if errIndex != nil || errValue != nil {
			return 0, 0, false
		}
	}
	index, value = r.index[0], r.value[0]
	r.index, r.value, r.At = r.index[1:], r.value[1:], r.At+1
	return index, value, true
}

// IsCSR reports whether the archive names the format CSR or no format. Old versions of SciPy write no format.
func IsCSR(z *zip.Reader) bool {
	for _, f := range z.File {
		if f.Name != "format.npy" {
			continue
		}
		r, err := f.Open()
		if err != nil {
			return false
		}
		defer r.Close()
		text, err := io.ReadAll(io.LimitReader(r, array.MaxNPYHeader))
		return err == nil && len(text) >= 3 && string(text[len(text)-3:]) == "csr"
	}
	return true
}
