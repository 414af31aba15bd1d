package pairs

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"dyad/algorithms"
	"dyad/engine/pairgraph"
	"dyad/privacy"
	"dyad/privacy/account"
)

// ErrPlan is wrapped by Spec.Plan when a specification cannot be carried out.
var ErrPlan = errors.New("pairs: plan not possible")

// Unit is whose data is protected.
type Unit int

// The units.
const (
	// Individual: the record of one individual, in at most Kappa pairs. Kappa is then a
	// degree cap, enforced by Run. This is honest replace-one privacy; "Node DP" of
	// [Li20] with a public cap.
	Individual Unit = iota
	// Group: any Kappa pairs, [Li20] Definition 6 with a public kappa. An individual in
	// more pairs is protected less.
	Group
	// OnePair: one pair, as edge-level privacy of graphs; Kappa is 1.
	OnePair
)

var unitNames = []string{"individual", "group", "pair"}

// String returns the word on the command line.
func (u Unit) String() string { return wordOf(unitNames, u) }

// ParseUnit reads what String writes.
func ParseUnit(s string) (Unit, error) { return parseWord[Unit]("unit", unitNames, s) }

// Method is what gets noise.
type Method int

// The methods.
const (
	// Gradients: the mean clipped gradient of every batch.
	Gradients Method = iota
	// Input: the features and labels themselves, once for each individual; training on
	// them is post-processing ("InputPer" of [Li20]; docs/theory.md#perturbed-records).
	Input
	// Labels: the labels of the pairs are flipped at random, once; features are public
	// (the coin-flip baseline of [Li20] Section II).
	Labels
)

var methodNames = []string{"gradients", "input", "labels"}

// String returns the word on the command line.
func (m Method) String() string { return wordOf(methodNames, m) }

// ParseMethod reads what String writes.
func ParseMethod(s string) (Method, error) { return parseWord[Method]("method", methodNames, s) }

// Sampling is how batches are formed.
type Sampling int

// The ways.
const (
	// Fixed: disjoint batches in a random order of the pairs, the same in every epoch,
	// which need not stay secret.
	Fixed Sampling = iota
	// Poisson: every pair is in a batch with probability Batch/Pairs, by a secret coin for
	// each pair and batch. The noise is accounted with the secrecy of the coins
	// (privacy.PairSample).
	Poisson
)

var samplingNames = []string{"fixed", "poisson"}

// String returns the word on the command line.
func (s Sampling) String() string { return wordOf(samplingNames, s) }

// ParseSampling reads what String writes.
func ParseSampling(s string) (Sampling, error) {
	return parseWord[Sampling]("sampling", samplingNames, s)
}

func wordOf[T ~int](words []string, v T) string {
	if v < 0 || int(v) >= len(words) {
		return "unknown"
	}
	return words[v]
}

func parseWord[T ~int](what string, words []string, s string) (T, error) {
	i := slices.Index(words, s)
	if i < 0 {
		return 0, fmt.Errorf("pairs: %s %q is unknown, want one of %v", what, s, words)
	}
	return T(i), nil
}

// Spec is everything public about a training.
type Spec struct {
	Individuals int
	Pairs       int
	Dim         int     // features of an individual
	Bound       float64 // R: the public norm bound of features, in the norm of Norm
	Loss        pairgraph.Loss
	Rows        int // d' of the learned d' x d matrix; 0 means 1

	Method Method
	// LabelShare is the part of epsilon that Input spends on labels, in (0, 1); 0 means
	// 1/2.
	LabelShare float64
	// ByClass says that a pair's label compares the classes of its two individuals, so
	// that Input needs to flip only the class of each individual.
	ByClass bool

	// SelectedByLabel says that individuals without one of the two classes were left out
	// before: a guarantee then does not hide who is among them.
	SelectedByLabel bool
	// Identity says for the guarantee when two ids are different individuals; empty: when
	// they differ. Someone with two ids is protected as two individuals, each alone.
	Identity string
	// BoundsFromData marks ranges of features that were taken from the data: a guarantee
	// then carries a warning that voids it.
	BoundsFromData bool

	Unit  Unit
	Kappa int // >= 1; for OnePair 0 or 1

	Mode   algorithms.Mode
	Budget privacy.Budget
	// Noise is that of a pure budget (Delta 0): LaplaceNoise clips and bounds in the L1
	// norm, as the paper does, KNormNoise in the L2 norm. With Delta > 0 noise is
	// Gaussian and norms are L2.
	Noise privacy.PureNoise

	Batch  int // pairs of a batch, or expected ones; 0 means 50
	Epochs int // T_max; 0 means 5
	// Sampling says how batches are formed. With Poisson the noise is Gaussian, so Delta
	// > 0; an epoch is Pairs/Batch batches, rounded up.
	Sampling Sampling
	// Clip is h: every pair's gradient is clipped to this entrywise norm; 0 means 1/2.
	Clip float64
	// Shrink clips to min(h, g''(W)) with the bound g'' of gradients at the public
	// matrix W, which lowers the noise when W is small: the sound form of DPP-S
	// (docs/theory.md#pair-bounds).
	Shrink bool
	// StepSize is eta_0 of steps eta_0/sqrt(tau), tau counting batches; 0 means 1.
	// PrintedSteps divides by sqrt(tau) again and again, as [Li20] Algorithm 1 is
	// printed: eta_0/sqrt(tau!), about nine useful steps (docs/theory.md#pair-steps).
	StepSize     float64
	PrintedSteps bool
}

// Norm is the norm in which features are bounded and gradients clipped.
func (s Spec) Norm() pairgraph.Norm {
	switch {
	case s.Mode == algorithms.NonPrivate, s.Method == Labels:
		return pairgraph.L2
	case s.Method == Input, s.Budget.Delta == 0 && s.Noise == privacy.LaplaceNoise:
		return pairgraph.L1
	}
	return pairgraph.L2
}

// fill sets defaults and validates.
func (s *Spec) fill() error {
	s.Rows, s.Batch, s.Epochs = orInt(s.Rows, 1), orInt(s.Batch, 50), orInt(s.Epochs, 5)
	if s.Clip == 0 {
		s.Clip = 0.5
	}
	if s.StepSize == 0 {
		s.StepSize = 1
	}
	if s.Unit == OnePair {
		s.Kappa = orInt(s.Kappa, 1)
	}
	s.Batch = min(s.Batch, s.Pairs)
	switch {
	case s.Loss == nil:
		return errors.New("no loss is given")
	case s.Individuals < 2 || s.Pairs < 1:
		return fmt.Errorf("%d individuals and %d pairs, want at least 2 and 1", s.Individuals, s.Pairs)
	case s.Dim < 1 || s.Rows < 1 || s.Batch < 1 || s.Epochs < 1:
		return fmt.Errorf("%d features, %d rows, batches of %d and %d epochs, all must be at least 1", s.Dim, s.Rows, s.Batch, s.Epochs)
	case s.Unit < Individual || s.Unit > OnePair:
		return errors.New("the unit is unknown")
	case s.Method < Gradients || s.Method > Labels:
		return errors.New("the method is unknown")
	case s.Sampling < Fixed || s.Sampling > Poisson:
		return errors.New("the sampling is unknown")
	case s.Sampling == Poisson && (s.Method != Gradients || s.Mode == algorithms.Paper):
		return errors.New("batches by Poisson sampling are for method gradients in certified mode")
	case s.Sampling == Poisson && s.Mode == algorithms.Certified && !(s.Budget.Delta > 0):
		return errors.New("batches by Poisson sampling are accounted for Gaussian noise: choose delta > 0, or fixed batches")
	case s.Sampling == Poisson && s.Kappa > account.MaxGroup:
		return fmt.Errorf("kappa is %d, and Poisson batches are accounted for at most %d; cap the pairs, or choose fixed batches", s.Kappa, account.MaxGroup)
	case s.Method != Gradients && s.Mode != algorithms.Certified:
		return fmt.Errorf("method %s is for certified mode", s.Method)
	case s.Method != Gradients && s.Budget.Delta > 0:
		return fmt.Errorf("method %s is private with pure epsilon: choose delta 0", s.Method)
	case s.Method == Input && s.Unit != Individual:
		return errors.New("method input protects individuals: choose unit individual")
	case s.Method != Input && s.LabelShare != 0, !(s.LabelShare >= 0 && s.LabelShare < 1):
		return fmt.Errorf("the label share is %v, want a number between 0 and 1, and only for method input", s.LabelShare)
	case s.Kappa < 1 && s.Mode != algorithms.NonPrivate:
		return errors.New("kappa is missing: give the largest number of pairs of an individual, fixed before the pairs are seen, or draw pairs with a degree cap")
	case s.Unit == OnePair && s.Kappa > 1:
		return fmt.Errorf("kappa is %d, but the unit is one pair; choose unit group", s.Kappa)
	}
	for _, c := range []struct {
		name  string
		value float64
	}{{"the norm bound", s.Bound}, {"the clip", s.Clip}, {"the step size", s.StepSize}} {
		if !(c.value >= 1e-30 && c.value <= 1e30) {
			return fmt.Errorf("%s is %v, must be between 1e-30 and 1e30", c.name, c.value)
		}
	}
	switch s.Mode {
	case algorithms.NonPrivate:
		return nil
	case algorithms.Paper:
		if s.Budget.Delta > 0 {
			return errors.New("paper mode is Algorithm 1 with Laplace noise: choose delta 0")
		}
		if s.Shrink {
			return errors.New("the printed DPP-S scales its noise by the largest gradient of the private batch, which gives no guarantee for any epsilon (docs/theory.md#pair-bounds); certified mode has the sound form")
		}
		if s.Noise != privacy.LaplaceNoise {
			return errors.New("paper mode is Algorithm 1 with Laplace noise")
		}
	case algorithms.Certified:
	default:
		return errors.New("the mode is unknown")
	}
	return s.Budget.Validate()
}

func orInt(v, fallback int) int {
	if v == 0 {
		return fallback
	}
	return v
}

// rate is the probability that a pair is in a Poisson batch.
func (s Spec) rate() float64 { return float64(s.Batch) / float64(s.Pairs) }

// batches are the numbers of batches of an epoch and of pairs of the largest one:
// those left over join the last. A Poisson batch can have all pairs.
func (s Spec) batches() (count, largest int) {
	if s.Sampling == Poisson {
		return (s.Pairs + s.Batch - 1) / s.Batch, s.Pairs
	}
	count = s.Pairs / s.Batch
	return count, s.Pairs - (count-1)*s.Batch
}

// stepSize is eta of batch tau = 1, 2, ... given that of the one before.
func (s Spec) stepSize(tau int, before float64) float64 {
	if s.PrintedSteps && tau > 1 {
		return before / math.Sqrt(float64(tau))
	}
	return s.StepSize / math.Sqrt(float64(tau))
}
