package privacy

import (
	"fmt"
	"math"

	"dyad/privacy/account"
	"dyad/privacy/internal/sampler"
)

// KNorm adds to a vector of m coordinates a vector of density proportional to
// exp(-||z||_2/Scale), drawn exactly, and rounds every coordinate of the sum to
// the grid of multiples of Grid. It is the K-norm mechanism (gamma, or exponential-norm mechanism) [Hardt and Talwar
// 2010] for the Euclidean ball: E||z||^2 = m(m+1) Scale^2, smaller than that of
// Laplace noise for the same guarantee by the factor 2m/(m+1).
//
// Guarantee: epsilon = Delta/Scale, Delta the L2 sensitivity, for any m. Proof:
// docs/theory.md#k-norm-noise. Floating point enters through the certificate.
type KNorm struct {
	Scale float64 // Delta/epsilon, > 0 and finite
	Grid  float64 // a power of two; 0 means GridFor(Scale)
}

// Event is a PureEvent with epsilon = c.Sensitivity()/Scale, rounded up.
func (m KNorm) Event(c Certificate) account.Event {
	if c.gaussianOnly() {
		return account.PureEvent{Epsilon: math.Inf(1)}
	}
	return c.pureEvent(c.Sensitivity(), m.Scale)
}

// Validate returns an error unless Scale and Grid are in range.
func (m KNorm) Validate() error { return checkScale("K-norm scale", m.Scale, m.Grid) }

// NoiseNorm is Scale sqrt(m(m+1)), m = coordinates.
func (m KNorm) NoiseNorm(coordinates int) float64 {
	return m.Scale * math.Sqrt(float64(coordinates)) * math.Sqrt(float64(coordinates)+1)
}

// GridSize is Grid, or GridFor(Scale).
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
