package privacy

// Favours is favoured.
func (c *DirectionChannel) Favours(g []float64, seed [32]byte, positive bool) []uint16 {
	return c.favoured(g, c.directions(&seed), positive)
}

// Normals sets z to the first numbers of a seed.
func Normals(seed [32]byte, z []float64) {
	n := normals{table: newZiggurat()}
	n.bits.Seed(seed)
	n.fill(z)
}

// ZigguratTable is x_0 .. x_256 and f(x_0) .. f(x_256), of x_0 the f of x_1.
func ZigguratTable() (x, f [257]float64) {
	t := newZiggurat()
	for i, l := range t.layers {
		x[i] = l.cell * 0x1p23
	}
	return x, t.density
}

// ExpMinus is expMinus.
func ExpMinus(v float64) float64 { return expMinus(v) }
