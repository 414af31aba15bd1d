package privacy

// Favours is favoured.
func (c *DirectionChannel) Favours(g []float64, seed [32]byte, positive bool) []uint16 {
	return c.favoured(g, seed, positive)
}
