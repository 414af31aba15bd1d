package privacy

import (
	"fmt"
	"math"

	"dyad/privacy/account"
	"dyad/privacy/internal/sampler"
)

// KNorm is the K-norm mechanism (gamma, or exponential-norm mechanism) [Hardt and Talwar 2010] for the
// Euclidean ball. It adds to a vector of m coordinates a noise vector of density proportional to
// exp(-||z||_2/Scale), drawn exactly. It rounds every coordinate of the sum to the grid of multiples of Grid.
// The noise has E||z||^2 = m(m+1) Scale^2. For the same guarantee, the noise of Laplace is larger by the
// factor 2m/(m+1).
//
// The guarantee is epsilon = Delta/Scale for any m, where Delta is the L2 sensitivity. The proof is in
// docs/theory.md#k-norm-noise. The certificate covers floating-point errors.
type KNorm struct {
	Scale float64 // Scale is Delta/epsilon, > 0 and finite.
	Grid  float64 // Grid is a power of two. The value 0 means GridFor(Scale).
}

// Event returns a PureEvent with epsilon = c.Sensitivity()/Scale, rounded up.
func (m KNorm) Event(c Certificate) account.Event {
	if c.gaussianOnly() {
		return account.PureEvent{Epsilon: math.Inf(1)}
	}
	return c.pureEvent(c.Sensitivity(), m.Scale)
}

// Validate returns an error unless Scale and Grid are in range.
func (m KNorm) Validate() error { return checkScale("K-norm scale", m.Scale, m.Grid) }

// NoiseNorm returns Scale sqrt(m(m+1)) for m coordinates.
func (m KNorm) NoiseNorm(coordinates int) float64 {
	return m.Scale * math.Sqrt(float64(coordinates)) * math.Sqrt(float64(coordinates)+1)
}

// GridSize returns Grid, or GridFor(Scale) if Grid is 0.
func (m KNorm) GridSize() float64 { return gridOr(m.Grid, m.Scale) }

// Name returns "K-norm".
func (KNorm) Name() string { return "K-norm" }

// String returns e.g. "K-norm noise (density exp(-||z||/scale)) of scale 0.5".
func (m KNorm) String() string {
	return fmt.Sprintf("K-norm noise (density exp(-||z||/scale)) of scale %.6g", m.Scale)
}

func (m KNorm) add(x []float64, src *Source) error {
	if err := checkRelease(m, x, src); err != nil {
		clear(x)
		return err
	}
	sampler.KNorm(x, m.Scale, m.GridSize(), src.Bits)
	return nil
}
