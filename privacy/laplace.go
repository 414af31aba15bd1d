package privacy

import (
	"fmt"
	"math"

	"dyad/privacy/account"
	"dyad/privacy/internal/round"
	"dyad/privacy/internal/sampler"
)

// Laplace adds to every coordinate a real number of density exp(-|z|/Scale)/(2 Scale), drawn exactly. It
// rounds the sum to the grid of multiples of Grid. KNorm needs less noise for the same guarantee.
type Laplace struct {
	Scale float64 // Scale is > 0 and finite.
	// Coordinates is the number m of coordinates of the released vector, >= 1. The guarantee depends on the
	// L1 sensitivity, but most certificates bound the L2 sensitivity. The mechanism needs m to convert the
	// bound: in R^m, ||v||_1 <= sqrt(m) ||v||_2 by Cauchy-Schwarz (docs/theory.md#laplace-noise). A vector
	// of any other length is refused.
	Coordinates int
	Grid        float64 // Grid is a power of two. The value 0 means GridFor(Scale).
}

// Event returns a LaplaceEvent. Its L1 sensitivity is sqrt(Coordinates) times the sensitivity of c, or the
// sensitivity of c itself if c is in the L1 norm. For a certificate of sums over a stream, Event returns a
// PureStreamEvent.
func (m Laplace) Event(c Certificate) account.Event {
	if c.added() {
		return c.pureEvent(m.sensitivity(c), m.Scale)
	}
	return account.LaplaceEvent{Sensitivity: m.sensitivity(c), Scale: m.Scale}
}

// sensitivity is an upper bound of the L1 sensitivity. It covers the roundings of the square root and of the
// product.
func (m Laplace) sensitivity(c Certificate) float64 {
	if c.gaussianOnly() {
		return math.Inf(1)
	}
	if m.Coordinates == 1 || c.manhattan {
		return c.Sensitivity()
	}
	return round.Up(math.Sqrt(float64(m.Coordinates))*c.Sensitivity(), 2)
}

// Validate returns an error unless all fields are in range.
func (m Laplace) Validate() error {
	if m.Coordinates < 1 {
		return fmt.Errorf("privacy: Laplace noise has %d coordinates, but needs at least 1", m.Coordinates)
	}
	return checkScale("Laplace scale", m.Scale, m.Grid)
}

// NoiseNorm returns Scale sqrt(2 coordinates).
func (m Laplace) NoiseNorm(coordinates int) float64 {
	return m.Scale * math.Sqrt(2*float64(coordinates))
}

// GridSize returns Grid, or GridFor(Scale) if Grid is 0.
func (m Laplace) GridSize() float64 { return gridOr(m.Grid, m.Scale) }

// Name returns "Laplace".
func (Laplace) Name() string { return "Laplace" }

// String returns e.g. "Laplace noise of scale 0.5 per coordinate".
func (m Laplace) String() string {
	return fmt.Sprintf("Laplace noise of scale %.6g per coordinate", m.Scale)
}

func (m Laplace) add(x []float64, src *Source) error {
	err := checkRelease(m, x, src)
	if err == nil && len(x) != m.Coordinates {
		err = fmt.Errorf("privacy: Laplace noise for %d coordinates does not fit a vector of %d coordinates",
			m.Coordinates, len(x))
	}
	if err != nil {
		clear(x)
		return err
	}
	sampler.Laplace(x, m.Scale, m.GridSize(), src.Bits)
	return nil
}
