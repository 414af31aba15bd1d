//go:build !purego

package kernels

// StartPairs implements PairBlock. It multiplies the features of each row by the label of the row
// and stores the products in b.right. The order is by panels of rows, then by panels of features.
func (b *panelBlock) StartPairs(xw, right, s, y []float64) {
	b.Start(xw, s, y)
	wide := GramStride(b.d)
	if b.right == nil {
		b.right = make([]float64, len(b.row)*wide)
	}
	clear(b.right[:b.panels*panelCols*wide])
	for i, label := range y[:len(s)] {
		p, in := i/panelCols, i%panelCols
		for a, v := range right[i*b.d:][:b.d] {
			q := a / panelCols
			b.right[(p*wide+q*panelCols+in)*panelCols+a%panelCols] = label * v
		}
	}
}

// AddPairs implements PairBlock.
func (b *panelBlock) AddPairs(col, colx, x, t, z []float64, skip int) {
	b.colx = colx
	b.Add(col, x, t, z, skip)
	b.colx = nil
}
