package privacy

import (
	"errors"
	"fmt"
	"math"

	"dyad/privacy/account"
	"dyad/privacy/internal/sampler"
)

// Mechanism is noise for one release: Gaussian, Laplace or KNorm. It is sealed: a
// Session accepts only values of these three types, and the noise is added
// nowhere else.
type Mechanism interface {
	// Event returns the accountant's view of one release with certificate c. The values
	// are comparable, and equal for equal public numbers.
	Event(c Certificate) account.Event
	// Validate returns an error unless the parameters are in range.
	Validate() error
	// NoiseNorm is sqrt(E ||Z||^2), Z the noise of a vector of this
	// length, for reports.
	NoiseNorm(coordinates int) float64
	// GridSize is the distance of neighbouring released values.
	GridSize() float64
	// Name is "Gaussian", "Laplace" or "K-norm".
	Name() string
	// String is one phrase for reports.
	String() string

	// add replaces every x[i] by the multiple of GridSize nearest to x[i] + Z_i (a tie goes
	// up), where x[i] is the exact dyadic number that the float64 is and Z is drawn exactly
	// from its continuous law. The result is distributed as the continuous mechanism
	// followed by rounding (docs/theory.md#noise-grid): its support is the grid for every
	// x, and the guarantee of the continuous mechanism holds with no term for the noise.
	// Where the multiple needs more than 53 bits its conversion to float64 rounds, which is
	// post-processing too.
	//
	// If x has a NaN or an infinity, or the mechanism does not validate, or src
	// is nil, x is zeroed and an error returned.
	add(x []float64, src *Source) error
}

// known reports whether m is one of the types of this package. An interface alone is
// not a seal: a struct of another package that embeds a Mechanism has its methods,
// and could replace Event by one that is planned.
func known(m Mechanism) bool {
	switch m.(type) {
	case Gaussian, Laplace, KNorm:
		return true
	}
	return false
}

var (
	errNotFinite = errors.New("privacy: the vector to release is not finite: a step size or bound overflows; the vector was not released")
	errNoSource  = errors.New("privacy: no source of randomness: call NewSource")
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

// checkScale is the part of Validate that all mechanisms share.
func checkScale(name string, scale, grid float64) error {
	if !(scale > 0) || math.IsInf(scale, 0) {
		return fmt.Errorf("privacy: %s is %v, must be positive and finite", name, scale)
	}
	if grid == 0 {
		return nil
	}
	if f, _ := math.Frexp(grid); f != 0.5 { // negative, NaN, Inf or not a power of two
		return fmt.Errorf("privacy: noise grid is %v, must be a power of two (0 means GridFor(%s))", grid, name)
	}
	return nil
}

// gridOr is grid, or GridFor(scale) for 0.
func gridOr(grid, scale float64) float64 {
	if grid == 0 {
		return GridFor(scale)
	}
	return grid
}

// Gaussian adds N(0, Sigma^2) to every coordinate, drawn exactly (see normal),
// and rounds the sum to the grid of multiples of Grid (docs/theory.md#gaussian-noise).
type Gaussian struct {
	Sigma float64 // standard deviation, > 0 and finite
	// Grid is a power of two. Rounding is post-processing of the exact sum, so
	// it does not enter the guarantee. 0 means GridFor(Sigma).
	Grid float64
}

// Event is a GaussianEvent with the sensitivity of c, a WithoutReplacementEvent or a
// PoissonEvent if c is about a batch, or the whole StreamEvent or ConvergentEvent if c is a joint certificate.
func (m Gaussian) Event(c Certificate) account.Event {
	one := account.GaussianEvent{Sensitivity: c.Sensitivity(), Sigma: m.Sigma}
	if c.form == nil {
		return one
	}
	return c.form.gaussian(one, m)
}

// Validate returns an error unless Sigma and Grid are in range.
func (m Gaussian) Validate() error { return checkScale("Gaussian sigma", m.Sigma, m.Grid) }

// NoiseNorm is Sigma sqrt(coordinates).
func (m Gaussian) NoiseNorm(coordinates int) float64 {
	return m.Sigma * math.Sqrt(float64(coordinates))
}

// GridSize is Grid, or GridFor(Sigma).
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
