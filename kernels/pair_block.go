package kernels

// PairBlock is a MetricBlock that also sums the products of its coefficients with the features of the
// rows, for every column:
//
//	for j := range t {
//		for i := range s {
//			if j >= i+skip {
//				for a := range d {
//					colx[j*stride+a] += v[i][j] * right[i*d+a]
//				}
//			}
//		}
//	}
//
// where v is as in MetricBlock and stride = GramStride(d). The other numbers of a row of colx are unspecified.
// A sum in colx rounds each v at most PairDepth(len(s)) times after v is computed. Every MetricBlock of a Set
// and every MetricPersonBlock implements PairBlock.
type PairBlock interface {
	MetricBlock
	// StartPairs is Start with the features of the rows (right), which may differ from xw.
	StartPairs(xw, right, s, y []float64)
	// AddPairs is Add and also adds the sums of columns to colx.
	AddPairs(col, colx, x, t, z []float64, skip int)
}

// PairDepth bounds how often colx rounds each v, for a block of the given number of rows: in the products
// with the label and the feature, in the sum over a panel, and in the sum over panels.
func PairDepth(rows int) int { return AddProductsDepth(rows) + rows/16 + 4 }

// StartPairs implements PairBlock.
func (b *plainBlock) StartPairs(xw, right, s, y []float64) {
	b.Start(xw, s, y)
	if b.right == nil {
		b.right, b.turned = make([]float64, len(b.cx)), make([]float64, len(b.tile))
	}
	Transpose(b.right[:len(s)*b.d], right, len(s), b.d)
}

// AddPairs implements PairBlock.
func (b *plainBlock) AddPairs(col, colx, x, t, z []float64, skip int) {
	b.colx = colx
	b.Add(col, x, t, z, skip)
	b.colx = nil
}
