package privacy

import (
	"fmt"
	"math"

	"dyad/privacy/account"
	"dyad/privacy/internal/round"
	"dyad/privacy/internal/sampler"
)

// Laplace adds to every coordinate a real of density exp(-|z|/Scale)/(2 Scale),
// drawn exactly, and rounds the sum to the grid of multiples of Grid. For the
// same guarantee KNorm needs less noise.
type Laplace struct {
	Scale float64 // > 0 and finite
	// Coordinates is the number m of coordinates of the released vector, >= 1.
	// It is part of the mechanism because the guarantee rests on the L1
	// sensitivity, and a Certificate bounds the L2 sensitivity: in R^m,
	// ||v||_1 <= sqrt(m) ||v||_2 by Cauchy-Schwarz (docs/theory.md#laplace-noise).
	// A vector
	// of any other length is refused.
	Coordinates int
	Grid        float64 // a power of two; 0 means GridFor(Scale)
}

// Event is a LaplaceEvent with the L1 sensitivity sqrt(Coordinates) times the
// sensitivity of c, or that of c if it is one in the L1 norm; for a certificate of
// sums over a stream, a PureStreamEvent.
func (m Laplace) Event(c Certificate) account.Event {
	if c.added {
		return c.pureEvent(m.sensitivity(c), m.Scale)
	}
	return account.LaplaceEvent{Sensitivity: m.sensitivity(c), Scale: m.Scale}
}

// sensitivity bounds the L1 sensitivity: the square root and the product round.
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
		return fmt.Errorf("privacy: Laplace noise for %d coordinates, must be at least 1", m.Coordinates)
	}
	return checkScale("Laplace scale", m.Scale, m.Grid)
}

// NoiseNorm is Scale sqrt(2 coordinates).
func (m Laplace) NoiseNorm(coordinates int) float64 {
	return m.Scale * math.Sqrt(2*float64(coordinates))
}

// GridSize is Grid, or GridFor(Scale).
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
		err = fmt.Errorf("privacy: Laplace noise for %d coordinates cannot be added to a vector of %d: its scale would be wrong", m.Coordinates, len(x))
	}
	if err != nil {
		clear(x)
		return err
	}
	sampler.Laplace(x, m.Scale, m.GridSize(), src.Bits)
	return nil
}
