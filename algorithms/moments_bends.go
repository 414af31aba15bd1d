package algorithms

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// straighten shrinks the bends of the model's curves by the factor of James and Stein, and returns the factor. With A =
// Xi + lambda I and a matrix P whose columns are the lines of the blocks,
//
//	w_l = P (P^T A P)^-1 P^T A w,   w := w_l + keep (w - w_l),   keep = max(0, 1 - N/S),   S = (w - w_l)^T A (w - w_l),
//
// where N is the expected part of S that the noise e adds. So w_l is the model of lines with the scores nearest to the
// scores of w, and S is the energy that no line explains. straighten uses only released values and the levels of their
// noise, so it is post-processing (docs/theory.md#bends).
func (f *momentsFit) straighten(e weightNoise, lines []float64, blocks []int) (keep float64) {
	d, m := len(f.w), len(blocks)
	if m >= d || f.vectors == nil || math.IsInf(f.lambda, 1) {
		return 1 // there is no bend, or no spectrum that weights the directions
	}
	// A^(1/2), A^(1/2) w and A^(1/2) P along the vectors
	root, w, p := make([]float64, d), mat.NewVecDense(d, nil), mat.NewDense(d, m, nil)
	for i, x := range f.values {
		root[i] = math.Sqrt(x + f.lambda)
		w.SetVec(i, root[i]*f.w[i])
	}
	feature := 0
	for b, width := range blocks {
		for range width {
			for i, u := range f.row(feature) {
				p.Set(i, b, p.At(i, b)+lines[feature]*root[i]*u)
			}
			feature++
		}
	}
	var qr mat.QR
	qr.Factorize(p)
	var q mat.Dense
	qr.QTo(&q)
	bends := q.Slice(0, d, m, d) // an orthonormal basis of the space orthogonal to all lines
	var size, noise float64
	part := mat.NewVecDense(d-m, nil)
	part.MulVec(bends.T(), w)
	for c := range d - m {
		var along float64
		for i := range d {
			x := bends.At(i, c) * root[i]
			noise += x * x * e.variance[i]
			along += x * e.along[i]
		}
		noise += along * along
		size += part.AtVec(c) * part.AtVec(c)
	}
	if size > noise {
		keep = 1 - noise/size
	}
	w.MulVec(bends, part)
	for i := range f.w {
		f.w[i] -= (1 - keep) * w.AtVec(i) / root[i]
	}
	return keep
}
