package local

import (
	"errors"
	"fmt"
	"math"

	"dyad/privacy"
	"dyad/privacy/account"
	"dyad/privacy/internal/round"
	"dyad/privacy/internal/sampler"
)

// Vector is a local randomiser that perturbs a whole vector once. It is the input perturbation of
// [Li20] Section VII. The paper does not state the sensitivity, which is derived in
// docs/theory.md#perturbed-records. A vector is scaled down to L1 norm Bound and gets Laplace
// noise of scale 2 Bound/Epsilon in every coordinate.
//
// Guarantee: the result is Epsilon-locally private for any two vectors. This holds exactly, also in
// floating point. Two vectors of L1 norm at most Bound are at most 2 Bound apart, and the noise has
// the Laplace law. (With the radius Bound as the sensitivity, the guarantee would not hold.)
// Computations on the result cost nothing more.
type Vector struct {
	Dim     int     // >= 1
	Bound   float64 // bound of the L1 norm, from 2^-500 to 2^500
	Epsilon float64 // in [MinEpsilon, MaxEpsilon]
}

// Laplace returns the noise.
func (m Vector) Laplace() privacy.Laplace {
	return privacy.Laplace{Scale: round.Up(2*m.Bound/m.Epsilon, 2), Coordinates: m.Dim}
}

// Validate returns an error unless all fields are in range.
func (m Vector) Validate() error {
	if !(m.Bound >= 0x1p-500 && m.Bound <= 0x1p500) {
		return fmt.Errorf("local: the bound of a private vector is %v, but must be between 2^-500 and 2^500", m.Bound)
	}
	if err := checkLocalEpsilon(m.Epsilon); err != nil {
		return err
	}
	return m.Laplace().Validate()
}

// Event returns the privacy cost of one vector for the user who sends it.
func (m Vector) Event() account.Event { return account.PureEvent{Epsilon: m.Epsilon} }

// Perturb replaces the vector x, which has length Dim, by its perturbed form. A vector that is
// not finite counts as zero. If Perturb returns an error, x is zero.
func (m Vector) Perturb(x []float64, src *privacy.Source) error {
	if err := m.Validate(); err != nil {
		clear(x)
		return err
	}
	if len(x) != m.Dim {
		clear(x)
		return fmt.Errorf("local: a private vector has %d coordinates, but its randomiser has dimension %d", m.Dim, len(x))
	}
	clipManhattan(x, m.Bound)
	if src == nil {
		clear(x)
		return errors.New("local: a private vector needs a source of randomness; call privacy.NewSource")
	}
	noise := m.Laplace()
	sampler.Laplace(x, noise.Scale, noise.GridSize(), src.Bits)
	return nil
}

// clipManhattan divides x by max(1, ||x||_1/bound), rounded so that its exact norm is at most
// bound. The factor covers the len(x) roundings of the sum, the quotient and the products. A vector
// that is not finite becomes zero.
func clipManhattan(x []float64, bound float64) {
	sum := 0.0
	for _, v := range x {
		sum += math.Abs(v)
	}
	if !(sum <= math.MaxFloat64) {
		clear(x)
		return
	}
	slack := 1 - float64(len(x)+8)*0x1p-52
	if sum <= bound*slack {
		return
	}
	for i := range x {
		x[i] *= bound / sum * slack
	}
}
