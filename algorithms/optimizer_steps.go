package algorithms

import (
	"fmt"

	"dyad/privacy"
)

// Steps are an Optimizer at work for a trainer of another package. They are computed from releases and
// public numbers (docs/theory.md#optimizers).
type Steps struct {
	state *optimizerState
	eta   float64
	count int
}

// Steps returns the state before the first of count steps of size eta, for parameters of a length; noise is that
// of the gradients, nil for none. name is that of the trainer, for errors. The last iterate is the result: a Tail is
// refused.
func (o Optimizer) Steps(name string, length, count int, eta float64, noise privacy.Mechanism) (*Steps, error) {
	if err := o.Check(name); err != nil {
		return nil, err
	}
	return &Steps{state: o.start(length, noise), eta: eta, count: count}, nil
}

// Check returns an error that wraps ErrAssumption for an Optimizer that Steps does not take.
func (o Optimizer) Check(name string) error {
	if o.Tail > 0 {
		return fmt.Errorf("%w: %s returns its last iterate: leave out the share that is averaged", ErrAssumption, name)
	}
	return o.validate(name)
}

// String says what the optimizer does, for reports; it identifies it.
func (o Optimizer) String() string { return o.text() }

// Vectors are the state between two steps, for checkpoints.
func (s *Steps) Vectors() [][]float64 { return s.state.vectors() }

// Move makes step t = 1, 2, ... of w by a noisy gradient, which it overwrites.
func (s *Steps) Move(w, gradient []float64, t int) {
	s.state.apply(gradient, t)
	eta := s.eta * s.state.rate(t, s.count)
	for k, g := range gradient {
		w[k] -= eta * g
	}
}
