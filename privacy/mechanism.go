package privacy

// Gaussian adds N(0, Sigma^2) to every coordinate, drawn exactly, and rounds the
// sum to the grid of multiples of Grid.
type Gaussian struct {
	Sigma float64 // standard deviation, > 0 and finite
	// Grid is a power of two. Rounding is post-processing of the exact sum, so
	// it does not enter the guarantee. 0 means GridFor(Sigma).
	Grid float64
}

// Event is the event of one release with certificate c.
func (m Gaussian) Event(c Certificate) GaussianEvent {
	return GaussianEvent{Sensitivity: c.Sensitivity(), Sigma: m.Sigma, Count: 1}
}
