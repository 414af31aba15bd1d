package pairs

import (
	"errors"
	"fmt"
	"math"

	"dyad/algorithms"
	"dyad/engine/pairgraph"
	"dyad/privacy"
)

// TupleSpec is everything public about a training of a metric from records with
// classes, without a list of pairs.
type TupleSpec struct {
	Individuals int
	Dim         int     // features of an individual
	Bound       float64 // R: the public norm bound of features, in the norm of Norm
	Rows        int     // d' of the learned d' x d matrix; 0 means 1
	Loss        pairgraph.TupleLoss

	// Tuple is the number of individuals of a tuple, at least 2; 0 means 8. Every epoch
	// draws disjoint tuples anew from the individuals' numbers and Seed, which is public,
	// and leaves out the Individuals mod Tuple last ones.
	Tuple int
	Seed  uint64
	// SelectedByLabel and BoundsFromData are as in Spec.
	SelectedByLabel, BoundsFromData bool
	// Identity is as in Spec.
	Identity string
	// AllPairs uses all pairs of individuals in every epoch instead of tuples; the
	// gradient of every pair is clipped. It needs Loss MeanContrastive and L2 norms, and
	// Tuple, Seed and Batch stay zero. An epoch takes O(Individuals^2 (Dim + Rows))
	// operations.
	AllPairs bool

	Mode   algorithms.Mode // Certified or NonPrivate
	Budget privacy.Budget
	// Noise is that of a pure budget, as in Spec.
	Noise privacy.PureNoise

	Batch  int     // tuples of a batch; 0 means all of an epoch, which needs the least noise
	Epochs int     // 0 means 5
	Clip   float64 // h: entrywise norm that a tuple's gradient is clipped to; 0 means 1/2
	// StepSize is eta_0 of steps eta_0/sqrt(tau), tau counting batches; 0 means 1.
	StepSize float64
}

// Norm is the norm in which features are bounded and gradients clipped.
func (s TupleSpec) Norm() pairgraph.Norm {
	return Spec{Mode: s.Mode, Budget: s.Budget, Noise: s.Noise}.Norm()
}

// fill sets defaults and validates.
func (s *TupleSpec) fill() error {
	s.Rows, s.Epochs = orInt(s.Rows, 1), orInt(s.Epochs, 5)
	if s.Clip == 0 {
		s.Clip = 0.5
	}
	if s.StepSize == 0 {
		s.StepSize = 1
	}
	switch {
	case s.Loss == nil:
		return errors.New("no loss is given")
	case s.Mode != algorithms.Certified && s.Mode != algorithms.NonPrivate:
		return errors.New("no paper gives a formula for tuples: choose certified mode")
	case s.Dim < 1 || s.Rows < 1 || s.Epochs < 1:
		return fmt.Errorf("%d features, %d rows and %d epochs, all must be at least 1", s.Dim, s.Rows, s.Epochs)
	}
	var err error
	if s.AllPairs {
		err = s.fillAllPairs()
	} else {
		err = s.fillTuples()
	}
	if err != nil {
		return err
	}
	for _, c := range []struct {
		name  string
		value float64
	}{{"the norm bound", s.Bound}, {"the clip", s.Clip}, {"the step size", s.StepSize}} {
		if !(c.value >= 1e-30 && c.value <= 1e30) {
			return fmt.Errorf("%s is %v, must be between 1e-30 and 1e30", c.name, c.value)
		}
	}
	switch l := s.Loss.(type) {
	case pairgraph.MeanContrastive:
		err = positiveParameter("margin", l.Margin)
	case pairgraph.Triplet:
		err = positiveParameter("margin", l.Margin)
	case pairgraph.NPair:
		err = positiveParameter("temperature", l.Temperature)
	}
	if err != nil || s.Mode == algorithms.NonPrivate {
		return err
	}
	return s.Budget.Validate()
}

func positiveParameter(name string, v float64) error {
	if !(v >= 1e-30 && v <= 1e30) {
		return fmt.Errorf("the %s is %v, must be between 1e-30 and 1e30", name, v)
	}
	return nil
}

func (s *TupleSpec) fillTuples() error {
	s.Tuple = orInt(s.Tuple, 8)
	if s.Tuple < 2 || s.Individuals < s.Tuple || s.Individuals > math.MaxInt32 {
		return fmt.Errorf("tuples of %d of %d individuals, want at least 2 and no more than there are", s.Tuple, s.Individuals)
	}
	tuples := s.Individuals / s.Tuple
	if s.Batch = min(orInt(s.Batch, tuples), tuples); s.Batch < 1 {
		return fmt.Errorf("batches of %d tuples, must be at least 1", s.Batch)
	}
	return nil
}

// mostAllPairs is the largest number of individuals whose pairs are counted in 31 bits.
const mostAllPairs = 1 << 16

func (s *TupleSpec) fillAllPairs() error {
	_, contrastive := s.Loss.(pairgraph.MeanContrastive)
	switch {
	case !contrastive:
		return fmt.Errorf("all pairs go with the contrastive loss, and %s needs tuples", s.Loss.Name())
	case s.Tuple != 0 || s.Batch != 0 || s.Seed != 0:
		return errors.New("all pairs are one batch: leave out the sizes of tuples and batches and the seed")
	case s.Norm() != pairgraph.L2:
		return errors.New("all pairs are clipped in the l2 norm: choose K-norm noise, or delta > 0")
	case s.Individuals < 2 || s.Individuals > mostAllPairs:
		return fmt.Errorf("all pairs of %d individuals, want 2 to %d; take tuples of more", s.Individuals, mostAllPairs)
	}
	return nil
}

// epoch are the numbers of terms, tuples or pairs, of an epoch, of its batches, and of
// terms of a batch; the terms that are left over join the last batch.
func (s TupleSpec) epoch() (terms, batches, batch int) {
	if s.AllPairs {
		pairs := s.Individuals * (s.Individuals - 1) / 2
		return pairs, 1, pairs
	}
	terms = s.Individuals / s.Tuple
	return terms, terms / s.Batch, s.Batch
}
