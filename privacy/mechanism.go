package privacy

import (
	"errors"
	"fmt"
	"math"

	"dyad/privacy/account"
	"dyad/privacy/internal/sampler"
)

// Mechanism is the noise of one release: Gaussian, Laplace or KNorm. The interface is sealed: a Session
// accepts only values of these three types. Noise is added only in a Session.
type Mechanism interface {
	// Event returns the event of one release with certificate c for an accountant. Events are comparable, and
	// equal public numbers give equal events.
	Event(c Certificate) account.Event
	// Validate returns an error unless the parameters are in range.
	Validate() error
	// NoiseNorm returns sqrt(E ||Z||^2) for the noise Z of a vector with the given number of coordinates.
	// Reports print it.
	NoiseNorm(coordinates int) float64
	// GridSize returns the distance between neighbouring values of a released coordinate.
	GridSize() float64
	// Name returns "Gaussian", "Laplace" or "K-norm".
	Name() string
	// String returns a phrase for reports.
	String() string

	// add replaces every x[i] by the multiple of GridSize nearest to x[i] + Z_i. If two multiples are equally
	// near, the larger multiple is used. Here x[i] is the exact dyadic number that the float64 represents,
	// and Z is drawn exactly from its continuous law. So the result has the distribution of the continuous
	// mechanism followed by rounding (docs/theory.md#noise-grid). Its support is the grid for every x, and
	// the guarantee of the continuous mechanism holds without an additional term. If a multiple needs more
	// than 53 bits, its conversion to float64 rounds, which is post-processing, too.
	//
	// If x contains a NaN or an infinity, if the mechanism does not validate, or if src is nil, add sets x to
	// zero and returns an error.
	add(x []float64, src *Source) error
}

// known reports whether m is one of the types of this package. An interface alone does not seal a type: a
// struct of another package that embeds a Mechanism has the methods of the Mechanism, and could replace Event
// by a method that returns a planned event.
func known(m Mechanism) bool {
	switch m.(type) {
	case Gaussian, Laplace, KNorm:
		return true
	}
	return false
}

var (
	errNotFinite = errors.New("privacy: a step size or a bound overflows; the vector is not finite and was not " +
		"released")
	errNoSource = errors.New("privacy: there is no source of randomness; call NewSource")
)

// checkRelease returns an error unless m can be added to x.
func checkRelease(m Mechanism, x []float64, src *Source) error {
	if err := m.Validate(); err != nil {
		return err
	}
	if !src.usable() {
		return errNoSource
	}
	for _, v := range x {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return errNotFinite
		}
	}
	return nil
}

// checkScale is the part of Validate that all mechanisms have in common.
func checkScale(name string, scale, grid float64) error {
	if !(scale > 0) || math.IsInf(scale, 0) {
		return fmt.Errorf("privacy: %s is %v, must be positive and finite", name, scale)
	}
	if grid == 0 {
		return nil
	}
	if f, _ := math.Frexp(grid); f != 0.5 { // negative, NaN, Inf or not a power of two
		return fmt.Errorf("privacy: the noise grid is %v, but must be a power of two; 0 means GridFor(%s)", grid, name)
	}
	return nil
}

// gridOr returns grid, or GridFor(scale) if grid is 0.
func gridOr(grid, scale float64) float64 {
	if grid == 0 {
		return GridFor(scale)
	}
	return grid
}

// Gaussian adds N(0, Sigma^2) noise to every coordinate, drawn exactly (see normal in internal/sampler). It
// rounds the sum to the grid of multiples of Grid (docs/theory.md#gaussian-noise).
type Gaussian struct {
	Sigma float64 // Sigma is the standard deviation, > 0 and finite.
	// Grid is a power of two. The value 0 means GridFor(Sigma). Rounding is post-processing of the exact sum,
	// so the guarantee does not depend on Grid.
	Grid float64
}

// Event returns a GaussianEvent with the sensitivity of c. If c is about a batch, Event returns a
// WithoutReplacementEvent or a PoissonEvent. If c is a joint certificate, Event returns the StreamEvent of
// all releases or the ConvergentEvent of all steps.
func (m Gaussian) Event(c Certificate) account.Event {
	one := account.GaussianEvent{Sensitivity: c.Sensitivity(), Sigma: m.Sigma}
	if c.form == nil {
		return one
	}
	return c.form.gaussian(one, m)
}

// Validate returns an error unless Sigma and Grid are in range.
func (m Gaussian) Validate() error { return checkScale("Gaussian sigma", m.Sigma, m.Grid) }

// NoiseNorm returns Sigma sqrt(coordinates).
func (m Gaussian) NoiseNorm(coordinates int) float64 {
	return m.Sigma * math.Sqrt(float64(coordinates))
}

// GridSize returns Grid, or GridFor(Sigma) if Grid is 0.
func (m Gaussian) GridSize() float64 { return gridOr(m.Grid, m.Sigma) }

// Name returns "Gaussian".
func (Gaussian) Name() string { return "Gaussian" }

// String returns e.g. "Gaussian noise of sigma 0.5 per coordinate".
func (m Gaussian) String() string {
	return fmt.Sprintf("Gaussian noise of sigma %.6g per coordinate", m.Sigma)
}

func (m Gaussian) add(x []float64, src *Source) error {
	if err := checkRelease(m, x, src); err != nil {
		clear(x)
		return err
	}
	sampler.Gaussian(x, m.Sigma, m.GridSize(), src.Bits)
	return nil
}
