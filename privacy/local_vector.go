package privacy

import (
	"fmt"
	"math"
)

// PrivateVector perturbs a whole vector at the user, once: the input perturbation of
// [Li20] Section VII, with the sensitivity that it leaves open (privacy.md 6.7). A
// vector is scaled down to L1 norm Bound and gets Laplace noise of scale 2 Bound/Epsilon
// in every coordinate.
//
// Guarantee: Epsilon-local DP of the result for any two vectors, exactly, also in
// floating point: two vectors of L1 norm at most Bound are at most 2 Bound apart (Bound
// alone, the radius, would be a violation), and the noise is that of Laplace. What is
// computed from the result afterwards costs nothing.
type PrivateVector struct {
	Dim     int     // >= 1
	Bound   float64 // L1 norm, > 0, finite
	Epsilon float64 // in (0, MaxLocalEpsilon]
}

// Laplace is the noise.
func (m PrivateVector) Laplace() Laplace {
	return Laplace{Scale: roundUp(2*m.Bound/m.Epsilon, 2), Coordinates: m.Dim}
}

// Validate returns an error unless all fields are in range.
func (m PrivateVector) Validate() error {
	if !(m.Bound >= 0x1p-500 && m.Bound <= 0x1p500) {
		return fmt.Errorf("privacy: the bound of a private vector is %v, must be between 2^-500 and 2^500", m.Bound)
	}
	if err := checkLocalEpsilon(m.Epsilon); err != nil {
		return err
	}
	return m.Laplace().Validate()
}

// Event is what one vector costs its user.
func (m PrivateVector) Event() Event { return PureEvent{Epsilon: m.Epsilon, Count: 1} }

// Perturb replaces x, of length Dim, by its perturbed form. A vector that is not finite
// counts as zero. On an error x is zeroed.
func (m PrivateVector) Perturb(x []float64, src *Source) error {
	if err := m.Validate(); err != nil {
		clear(x)
		return err
	}
	if len(x) != m.Dim {
		clear(x)
		return fmt.Errorf("privacy: a private vector has %d coordinates, not %d", m.Dim, len(x))
	}
	clipManhattan(x, m.Bound)
	return m.Laplace().add(x, src)
}

// clipManhattan divides x by max(1, ||x||_1/bound), rounded so that its exact norm is at
// most bound: the factor covers the len(x) roundings of the sum, the quotient and the
// products. A vector that is not finite becomes zero.
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
