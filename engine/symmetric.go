package engine

import "math"

// Symmetric describes isometric coordinates of symmetric Dim x Dim matrices. The
// coordinates of W are its p = Dim(Dim+1)/2 upper triangular entries, row by row
//
//	W_00, W_01, ..., W_0(Dim-1), W_11, W_12, ..., W_(Dim-1)(Dim-1),
//
// where off-diagonal entries are multiplied by sqrt 2. Inner products of coordinates are the
// traces <V, W> = tr(V W), so the Euclidean norm of the coordinates is the Frobenius norm of the
// matrix. A release of a symmetric parameter contains only these p numbers
// (docs/theory.md#symmetric-coordinates).
type Symmetric struct{ Dim int }

// Len returns the number of coordinates, p = Dim(Dim+1)/2.
func (s Symmetric) Len() int { return s.Dim * (s.Dim + 1) / 2 }

// Index returns the index of the coordinate of W_ij, for 0 <= i <= j < Dim.
func (s Symmetric) Index(i, j int) int { return i*s.Dim - i*(i-1)/2 + j - i }

// SymmetricError bounds the relative error of every coordinate that Pack computes and of
// every entry that Unpack computes, apart from underflow. A value below 2^-1022 may have
// an additional error of 2^-1075. Hence the Frobenius distance to the exact result is at
// most SymmetricError times the Frobenius norm.
//
// Proof. Diagonal entries are copied. Off-diagonal entries are multiplied by a constant
// that is sqrt 2 or its inverse, rounded to nearest, and the product is rounded. With u =
// 2^-53, the relative error is at most (1 + u)^2 - 1 < 2^-52 (1 + 2^-40). The Frobenius
// norm adds squares. The square of an off-diagonal entry is added twice, or once after
// doubling. QED
const SymmetricError = 0x1p-52 * (1 + 0x1p-40)

// Pack sets dst (length Len) to the coordinates of the row-major symmetric matrix m. It
// reads only the upper triangle. SymmetricError bounds its error.
func (s Symmetric) Pack(dst, m []float64) {
	k := 0
	for i := range s.Dim {
		dst[k] = m[i*s.Dim+i]
		k++
		for j := i + 1; j < s.Dim; j++ {
			dst[k] = m[i*s.Dim+j] * math.Sqrt2
			k++
		}
	}
}

// Unpack sets the row-major m (length Dim^2) to the symmetric matrix with
// coordinates w. SymmetricError bounds its error.
func (s Symmetric) Unpack(m, w []float64) {
	k := 0
	for i := range s.Dim {
		m[i*s.Dim+i] = w[k]
		k++
		for j := i + 1; j < s.Dim; j++ {
			v := w[k] * (math.Sqrt2 / 2)
			m[i*s.Dim+j], m[j*s.Dim+i] = v, v
			k++
		}
	}
}

// Gram returns the coordinates of W^T W for a row-major matrix W with Dim columns.
func (s Symmetric) Gram(w []float64) []float64 {
	square := make([]float64, s.Dim*s.Dim)
	for ; len(w) >= s.Dim; w = w[s.Dim:] {
		for i, a := range w[:s.Dim] {
			for j, b := range w[:s.Dim] {
				square[i*s.Dim+j] += a * b
			}
		}
	}
	packed := make([]float64, s.Len())
	s.Pack(packed, square)
	return packed
}
