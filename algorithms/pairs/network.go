package pairs

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"

	"dyad/algorithms"
	"dyad/engine/embedding"
)

// Network is a trained network f_theta. The weights are theta, and distances are taken between values
// f_theta(x). Every layer is projected to its ball after each step. Spec.Rows is the dimension of f_theta.
// The default of Spec.StepSize is 0.1. The default of Spec.Epochs is 5 with embedding.InfoNCE and 100
// otherwise. InfoNCE compares cosines, so it needs Output.Unit.
type Network struct {
	Model embedding.Model
	Start []float64 // the public theta before the first step
	// Origin describes the source of Start for the guarantee.
	Origin string
	// Warn means that Start was trained on private data. Then every report contains Origin, even a short report.
	Warn bool
	// Optimizer updates the parameters with the released means of clipped gradients. The
	// means are in units of the clip.
	Optimizer algorithms.Optimizer
}

// weights returns the number of trained numbers.
func (s Spec) weights() int {
	if s.Network != nil {
		return embedding.Parameters(s.Network.Model.Network)
	}
	return s.Rows * s.Dim
}

// fillNetwork sets the defaults of a network and validates it.
func (s *Spec) fillNetwork() error {
	n := s.Network
	_, softmax := s.softmax()
	if n == nil {
		if softmax {
			return fmt.Errorf("loss %s needs outputs of unit length; give a network (Spec.Network), for example "+
				"without hidden layers", s.Loss.Name())
		}
		return nil
	}
	if err := errors.Join(n.Model.Validate(), n.Optimizer.Check("tuples and batches")); err != nil {
		return err
	}
	d, m := n.Model.Dims()
	switch {
	case s.Tuple == 0 && !softmax:
		return errors.New("a network needs --tuple, --loss infonce or --loss ntxent; for all pairs, run dyad train " +
			"--task metric --model mlp")
	case s.Tuple > embedding.BlockRows:
		return fmt.Errorf("a tuple has %d individuals, want at most %d for a network", s.Tuple, embedding.BlockRows)
	case d != s.Dim || s.Rows != 0 && s.Rows != m:
		return fmt.Errorf("network %s does not fit %d features and %d rows", n.Model.Network.Name(), s.Dim, s.Rows)
	case len(n.Start) != s.weights():
		return fmt.Errorf("the starting parameter vector has %d numbers, but network %s has %d parameters", len(n.Start),
			n.Model.Network.Name(), s.weights())
	}
	s.Rows, s.StepSize = m, cmp.Or(s.StepSize, 0.1)
	if !softmax {
		s.Epochs = cmp.Or(s.Epochs, 100)
	}
	return nil
}

// checkSoftmax returns an error for options that a loss of whole batches does not support.
func (s *Spec) checkSoftmax() error {
	l, _ := s.softmax()
	switch {
	case s.Sampling != Poisson:
		return fmt.Errorf("the certificate of loss %s needs secret batches; choose Poisson sampling (--sampling=poisson)",
			l.Name())
	case s.Method != Gradients || s.Shrink || s.PrintedSteps:
		return fmt.Errorf(`loss %s needs the method "gradients" without --shrink and --printed-steps`, l.Name())
	case s.Mode == algorithms.Paper:
		return fmt.Errorf("paper mode has no formula for loss %s; choose certified mode", l.Name())
	case s.Pairs < 2:
		return fmt.Errorf("loss %s compares the pairs of a batch, but there are only %d; give at least 2 pairs",
			l.Name(), s.Pairs)
	}
	if err := l.Check(); err != nil {
		return err
	}
	_, err := s.Network.Model.NewBatch(s.Bound, nil)
	return err
}

// identify returns a hash of the inputs that a resumed run must share: the function, the balls, the start and
// the steps.
func (n Network) identify() string {
	h := sha256.New()
	_ = binary.Write(h, binary.LittleEndian, n.Start) // a hash accepts all input
	return fmt.Sprintf("%s %+v, layers %+v, start %x, %s", n.Model.Network.Name(), n.Model.Output,
		n.Model.Network.Layers(), h.Sum(nil)[:8], n.Optimizer)
}
