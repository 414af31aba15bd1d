package privacy

import (
	"errors"
	"fmt"
	"math"
)

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

var errNotFinite = errors.New("privacy: the vector to release is not finite: a step size or bound overflows; nothing was released")

// Validate returns an error unless Sigma and Grid are in range.
func (m Gaussian) Validate() error {
	if !(m.Sigma > 0) || math.IsInf(m.Sigma, 0) {
		return fmt.Errorf("privacy: Gaussian sigma is %v, must be positive and finite", m.Sigma)
	}
	if m.Grid == 0 {
		return nil
	}
	if f, _ := math.Frexp(m.Grid); f != 0.5 { // negative, NaN, Inf or not a power of two
		return fmt.Errorf("privacy: noise grid is %v, must be a power of two (0 means GridFor(sigma))", m.Grid)
	}
	return nil
}

// Add replaces every x[i] by the multiple of Grid nearest to x[i] + Sigma Z_i
// (a tie goes up), where x[i] and Sigma are the exact dyadic numbers that the
// float64 values are and Z_i are independent standard normal reals, drawn
// exactly [Karney 2016]. The law of the result is exactly that of a continuous
// Gaussian mechanism followed by rounding (privacy.md 1.6, item 1): its support
// is the grid for every x, and mu-GDP holds with no term for the noise. Where
// the multiple needs more than 53 bits its conversion to float64 rounds, which
// is post-processing too.
//
// If x has a NaN or an infinity, or m does not validate, or src is nil, Add
// returns an error and x is zeroed.
func (m Gaussian) Add(x []float64, src *Source) error {
	if err := m.check(x, src); err != nil {
		clear(x)
		return err
	}
	grid := m.Grid
	if grid == 0 {
		grid = GridFor(m.Sigma)
	}
	r := newRounder(m.Sigma, grid, karney{src: src, width: 64})
	for i, v := range x {
		x[i] = r.noisy(v)
	}
	return nil
}

func (m Gaussian) check(x []float64, src *Source) error {
	if err := m.Validate(); err != nil {
		return err
	}
	if src == nil {
		return errors.New("privacy: no source of randomness: call NewSource")
	}
	for _, v := range x {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return errNotFinite
		}
	}
	return nil
}
