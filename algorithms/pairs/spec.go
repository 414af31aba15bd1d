package pairs

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"dyad/algorithms"
	"dyad/engine/embedding"
	"dyad/privacy"
	"dyad/privacy/account"
)

// ErrPlan is wrapped by the errors of Spec.Plan if a specification cannot be carried out.
var ErrPlan = errors.New("pairs: plan not possible")

// Unit is the unit of privacy: whose data is protected.
type Unit int

// The units of privacy.
const (
	// Individual protects the record of one individual in at most Kappa pairs. Kappa is then a degree cap,
	// enforced by Run. This is replace-one privacy, "Node DP" of [Li20] with a public cap.
	Individual Unit = iota
	// Group protects any Kappa pairs: [Li20] Definition 6 with a public kappa. An individual in more pairs has
	// less protection.
	Group
	// OnePair protects one pair, like edge-level privacy of graphs. Kappa is 1.
	OnePair
)

var unitNames = []string{"individual", "group", "pair"}

// String returns the name on the command line.
func (u Unit) String() string { return wordOf(unitNames, u) }

// ParseUnit parses a name that String returns.
func ParseUnit(s string) (Unit, error) { return parseWord[Unit]("unit", unitNames, s) }

// Method selects the quantity that gets noise.
type Method int

// The methods.
const (
	// Gradients adds noise to the mean clipped gradient of every batch.
	Gradients Method = iota
	// Input adds noise to the features and labels themselves, once for each individual. Training on them is
	// post-processing ("InputPer" of [Li20]; docs/theory.md#perturbed-records).
	Input
	// Labels flips the labels of the pairs at random, once. Features are public (the coin-flip baseline of
	// [Li20] Section II).
	Labels
	// Moments releases the second moments of the differences of similar and of dissimilar pairs once, with
	// noise. The matrix is computed from these moments (algorithms.PairMetric).
	Moments
)

var methodNames = []string{"gradients", "input", "labels", "moments"}

// String returns the name on the command line.
func (m Method) String() string { return wordOf(methodNames, m) }

// ParseMethod parses a name that String returns.
func ParseMethod(s string) (Method, error) { return parseWord[Method]("method", methodNames, s) }

// Sampling selects the rule that forms batches.
type Sampling int

// The rules that form batches.
const (
	// Fixed forms disjoint batches in a random order of the pairs, the same in every epoch. The order need not
	// stay secret.
	Fixed Sampling = iota
	// Poisson puts every pair into a batch with probability Batch/Pairs, by a secret coin for each pair and
	// batch. The accounting of the noise uses the secrecy of the coins (privacy.PairSample).
	Poisson
)

var samplingNames = []string{"fixed", "poisson"}

// String returns the name on the command line.
func (s Sampling) String() string { return wordOf(samplingNames, s) }

// ParseSampling parses a name that String returns.
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

// Spec holds all public inputs of a training. The gradients of terms are clipped and summed over a batch. The
// terms are labelled pairs (the zero value), tuples of individuals with classes (Tuple > 0), or all pairs of
// such individuals (AllPairs).
type Spec struct {
	Individuals int
	Dim         int     // the number of features of an individual
	Bound       float64 // R: the public norm bound of features, in the norm of Norm
	Rows        int     // d', the number of rows of the learned d' x d matrix; 0 means 1, or Dim with Moments
	// Loss is an embedding.ListLoss or embedding.InfoNCE for labelled pairs, and an embedding.TupleLoss otherwise.
	Loss embedding.TermLoss

	algorithms.Provenance
	// Identity states which ids, by an assumption of the guarantee, belong to different individuals. If it
	// is empty, any two different ids belong to different individuals. A person with two ids is protected
	// as two individuals, each separately.
	Identity string

	Mode   algorithms.Mode
	Budget privacy.Budget
	// Noise is the mechanism if Delta is 0. With LaplaceNoise, clipping and bounds use the L1 norm, as in the
	// paper; with KNormNoise, the L2 norm. If Delta > 0, the noise is Gaussian and norms are L2.
	Noise privacy.PureNoise

	// Batch is the number of terms of a batch (for Poisson, the expected number). 0 means 50 pairs. For tuples,
	// 0 means all tuples of an epoch, because such a batch needs the least noise.
	Batch  int
	Epochs int // T_max, the number of epochs; 0 means 5
	// Clip is the clipping norm h. It bounds an entrywise norm. 0 means 1/2. The gradient of every term
	// is clipped. With embedding.InfoNCE, the gradient of every cosine is clipped instead. With Moments,
	// the differences of records are clipped instead, and 0 means 0.3 Bound.
	Clip float64
	// StepSize is eta_0. 0 means 1, or 0.1 with Network. Without Network, step tau >= 1 has size eta_0/sqrt(tau).
	StepSize float64

	// Tuple is the number of individuals of a tuple, at least 2. Every epoch draws new disjoint tuples of the
	// individuals 0 to Individuals-1 by the public Seed, and leaves out Individuals mod Tuple individuals.
	Tuple int
	Seed  uint64
	// Network, if not nil, is trained instead of a matrix. Tuples then have at most embedding.BlockRows
	// individuals. embedding.InfoNCE needs a Network; a linear map is a network without hidden layers.
	Network *Network
	// AllPairs uses all pairs of individuals in every epoch. The gradient of every pair is clipped. AllPairs
	// needs the loss Contrastive and L2 norms, and Tuple, Seed and Batch must be 0. An epoch takes
	// O(Individuals^2 (Dim + Rows)) operations.
	AllPairs bool

	// The following fields are for labelled pairs.

	Pairs int // the number of pairs
	Unit  Unit
	Kappa int // at least 1; for OnePair 0 or 1

	Method Method
	// LabelShare is the part of epsilon that Input spends on labels, in (0, 1). If it is 0, 1/2 applies.
	LabelShare float64
	// ByClass is true if a pair's label compares the classes of its two individuals. Then Input flips only the
	// class of each individual.
	ByClass bool

	// Sampling is the rule that forms batches. With Poisson the noise is Gaussian, so Delta must be positive.
	// An epoch is then Pairs/Batch batches, rounded up.
	Sampling Sampling
	// Shrink clips to min(h, g''(W)), where g'' is a bound of gradients at the public matrix W. The noise is
	// smaller if W is small. Shrink is the sound form of DPP-S (docs/theory.md#pair-bounds).
	Shrink bool
	// PrintedSteps divides the step size by sqrt(tau) at every step tau, as [Li20] Algorithm 1 is printed.
	// Step tau has size eta_0/sqrt(tau!), so about nine steps are useful (docs/theory.md#pair-steps).
	PrintedSteps bool
}

// mostMoments is the largest Dim for Moments, whose matrices are decomposed.
const mostMoments = 512

// Local reports whether noise is added to the data of individuals or pairs instead of to sums of gradients or moments.
func (s Spec) Local() bool { return s.Method == Input || s.Method == Labels }

// listed reports whether terms are labelled pairs.
func (s Spec) listed() bool { return s.Tuple == 0 && !s.AllPairs }

// softmax returns the loss and true if the loss is a batch softmax.
func (s Spec) softmax() (embedding.InfoNCE, bool) {
	l, ok := s.Loss.(embedding.InfoNCE)
	return l, ok
}

// Algorithm returns the name of the training in ledgers and models.
func (s Spec) Algorithm() string {
	switch {
	case s.AllPairs:
		return "all-pairs"
	case s.Tuple > 0:
		return "tuples"
	case s.Method == Gradients:
		return "pairs"
	}
	return "pairs-" + s.Method.String()
}

// Norm returns the norm in which features are bounded and gradients are clipped.
func (s Spec) Norm() embedding.Norm {
	switch {
	case s.Mode == algorithms.NonPrivate, s.Method == Labels:
		return embedding.L2
	case s.Method == Input, s.Budget.Delta == 0 && s.Noise == privacy.LaplaceNoise:
		return embedding.L1
	}
	return embedding.L2
}

// fill sets defaults and validates.
func (s *Spec) fill() error {
	if s.Method == Moments {
		if _, softmax := s.softmax(); softmax {
			return s.checkSoftmax()
		}
		if s.Batch != 0 || s.Epochs != 0 || s.StepSize != 0 || s.Shrink || s.PrintedSteps || s.Sampling != Fixed {
			return errors.New("method moments makes one release; leave out batches, epochs, sampling and steps")
		}
		s.Rows, s.Clip, s.Epochs, s.Batch = cmp.Or(s.Rows, s.Dim), cmp.Or(s.Clip, 0.3*s.Bound), 1, s.Pairs
	}
	if err := s.fillNetwork(); err != nil {
		return err
	}
	s.Rows, s.Epochs = cmp.Or(s.Rows, 1), cmp.Or(s.Epochs, 5)
	s.Clip, s.StepSize = cmp.Or(s.Clip, 0.5), cmp.Or(s.StepSize, 1)
	switch {
	case s.Loss == nil:
		return errors.New("no loss is given")
	case s.Mode < algorithms.Certified || s.Mode > algorithms.NonPrivate:
		return errors.New("the mode is unknown")
	case s.Dim < 1 || s.Rows < 1 || s.Rows > embedding.MostRows || s.Epochs < 1:
		return fmt.Errorf("%d features, %d rows and %d epochs were given; all three numbers must be at least 1, and rows at "+
			"most %d", s.Dim, s.Rows, s.Epochs, embedding.MostRows)
	}
	fill := s.fillTuples
	switch {
	case s.listed():
		fill = s.fillPairs
	case s.AllPairs:
		fill = s.fillAllPairs
	}
	if err := fill(); err != nil {
		return err
	}
	positive := map[string]float64{"norm bound": s.Bound, "clip": s.Clip, "step size": s.StepSize}
	if name, value := s.Loss.Parameter(); name != "" {
		positive[name] = value
	}
	for _, name := range slices.Sorted(maps.Keys(positive)) {
		if v := positive[name]; !(v >= 1e-30 && v <= 1e30) {
			return fmt.Errorf("the %s is %v, but must be between 1e-30 and 1e30", name, v)
		}
	}
	if s.Mode == algorithms.NonPrivate {
		return nil
	}
	return s.Budget.Validate()
}

// fillPairs sets defaults and validates for labelled pairs.
func (s *Spec) fillPairs() error {
	s.Batch = min(cmp.Or(s.Batch, 50), s.Pairs)
	if s.Unit == OnePair {
		s.Kappa = cmp.Or(s.Kappa, 1)
	}
	_, ofPairs := s.Loss.(embedding.ListLoss)
	if _, ofBatches := s.softmax(); ofBatches {
		if err := s.checkSoftmax(); err != nil {
			return err
		}
		ofPairs = true
	}
	switch {
	case !ofPairs:
		return fmt.Errorf("loss %s needs tuples; give the size of a tuple, or choose a loss of pairs", s.Loss.Name())
	case s.Individuals < 2 || s.Pairs < 1 || s.Batch < 1:
		return fmt.Errorf("got %d individuals, %d pairs and batches of %d; want at least 2 individuals, 1 pair and "+
			"batches of 1", s.Individuals, s.Pairs, s.Batch)
	case s.Unit < Individual || s.Unit > OnePair:
		return errors.New("the unit is unknown")
	case s.Method < Gradients || s.Method > Moments:
		return errors.New("the method is unknown")
	case s.Sampling < Fixed || s.Sampling > Poisson:
		return errors.New("the sampling is unknown")
	case s.Sampling == Poisson && (s.Method != Gradients || s.Mode == algorithms.Paper):
		return errors.New("secret batches (Poisson sampling) need method gradients and no paper mode; choose fixed " +
			"batches")
	case s.Sampling == Poisson && s.Mode == algorithms.Certified && !(s.Budget.Delta > 0):
		return errors.New("secret batches (Poisson sampling) need Gaussian noise; choose delta > 0, or fixed batches " +
			"if the loss " +
			"supports them")
	case s.Sampling == Poisson && s.Kappa > account.MaxGroup:
		return fmt.Errorf("kappa is %d, but Poisson sampling supports at most %d; cap the pairs, or choose fixed "+
			"batches", s.Kappa, account.MaxGroup)
	case s.Method == Moments && s.Mode == algorithms.Paper:
		return errors.New("paper mode has no noise for method moments; choose certified mode")
	case s.Method == Moments && s.Pairs < 2:
		return errors.New("method moments needs at least 2 pairs")
	case s.Method == Moments && (s.Loss.Name() != embedding.Contrastive{}.Name() || s.Rows > s.Dim):
		return fmt.Errorf("method moments needs loss contrastive and a metric with at most %d rows", s.Dim)
	case s.Method == Moments && s.Dim > mostMoments:
		return fmt.Errorf("method moments supports at most %d features, but there are %d; choose method gradients",
			mostMoments, s.Dim)
	case s.Method == Moments && s.Norm() != embedding.L2:
		return errors.New("method moments needs K-norm noise, or delta > 0 for Gaussian noise")
	case s.Local() && s.Mode != algorithms.Certified:
		return fmt.Errorf("method %s is available only in certified mode", s.Method)
	case s.Local() && s.Budget.Delta > 0:
		return fmt.Errorf("method %s has a pure epsilon guarantee; choose delta 0", s.Method)
	case s.Method == Input && s.Unit != Individual:
		return errors.New("method input needs unit individual")
	case s.Method != Input && s.LabelShare != 0, !(s.LabelShare >= 0 && s.LabelShare < 1):
		return fmt.Errorf("the label share is %v; give method input a share from 0 to below 1, and other methods none",
			s.LabelShare)
	case s.Kappa < 1 && s.Mode != algorithms.NonPrivate:
		return errors.New("kappa is missing; before you see the pairs, fix kappa or a degree cap")
	case s.Unit == OnePair && s.Kappa > 1:
		return fmt.Errorf("kappa is %d, but unit one pair needs kappa 1; choose unit group", s.Kappa)
	case s.Mode != algorithms.Paper:
		return nil
	case s.Budget.Delta > 0:
		return errors.New("paper mode uses Laplace noise (Algorithm 1); choose delta 0")
	case s.Shrink:
		return errors.New("the printed DPP-S has no guarantee for any epsilon (docs/theory.md#pair-bounds); choose " +
			"certified mode")
	case s.Noise != privacy.LaplaceNoise:
		return errors.New("paper mode uses Laplace noise (Algorithm 1); choose it instead of K-norm noise")
	}
	return nil
}

// ofClasses returns an error for options that apply only to labelled pairs.
func (s *Spec) ofClasses() error {
	_, ofTuples := s.Loss.(embedding.TupleLoss)
	switch {
	case s.Mode == algorithms.Paper:
		return errors.New("paper mode has no formula for tuples; choose certified mode")
	case !ofTuples:
		return fmt.Errorf("loss %s does not work with tuples; choose contrastive, triplet or npair",
			s.Loss.Name())
	case s.Pairs != 0 || s.Unit != Individual || s.Kappa != 0 || s.Method != Gradients || s.LabelShare != 0 || s.ByClass ||
		s.Sampling != Fixed || s.Shrink || s.PrintedSteps:
		return errors.New("with tuples, leave out unit, kappa, method, sampling, shrinking clips and printed " +
			"steps; they are only for labelled pairs")
	}
	return nil
}

// fillTuples sets defaults and validates for tuples.
func (s *Spec) fillTuples() error {
	if s.Tuple < 2 || s.Individuals < s.Tuple || s.Individuals > math.MaxInt32 {
		return fmt.Errorf("the size of a tuple is %d, and there are %d individuals; want a size from 2 to the number of "+
			"individuals", s.Tuple, s.Individuals)
	}
	tuples := s.Individuals / s.Tuple
	if s.Batch = min(cmp.Or(s.Batch, tuples), tuples); s.Batch < 1 {
		return fmt.Errorf("a batch has %d tuples, but must have at least 1", s.Batch)
	}
	return s.ofClasses()
}

// mostAllPairs is the largest number of individuals whose pairs can be counted in 31 bits.
const mostAllPairs = 1 << 16

// fillAllPairs sets defaults and validates for all pairs.
func (s *Spec) fillAllPairs() error {
	_, contrastive := s.Loss.(embedding.Contrastive)
	switch {
	case !contrastive:
		return fmt.Errorf("training on all pairs needs the contrastive loss; loss %s needs tuples", s.Loss.Name())
	case s.Tuple != 0 || s.Batch != 0 || s.Seed != 0:
		return errors.New("all pairs form one batch; leave out tuple size, batch size and seed")
	case s.Norm() != embedding.L2:
		return errors.New("all pairs are clipped in the l2 norm: choose K-norm noise, or delta > 0")
	case s.Individuals < 2 || s.Individuals > mostAllPairs:
		return fmt.Errorf("there are %d individuals, but all pairs need 2 to %d; use tuples for more",
			s.Individuals, mostAllPairs)
	}
	return s.ofClasses()
}

// rate is the probability that a pair is in a Poisson batch.
func (s Spec) rate() float64 { return float64(s.Batch) / float64(s.Pairs) }

// epoch returns the numbers of terms of an epoch, of batches of an epoch, and of terms of a batch. The
// remaining terms join the last batch. A Poisson batch has batch terms on average.
func (s Spec) epoch() (terms, batches, batch int) {
	switch {
	case s.AllPairs:
		pairs := s.Individuals * (s.Individuals - 1) / 2
		return pairs, 1, pairs
	case s.Tuple > 0:
		terms = s.Individuals / s.Tuple
	default:
		terms = s.Pairs
	}
	if s.Sampling == Poisson {
		return terms, (terms + s.Batch - 1) / s.Batch, s.Batch
	}
	return terms, terms / s.Batch, s.Batch
}

// stepSize returns eta of batch tau = 1, 2, ..., given eta of the batch before.
func (s Spec) stepSize(tau int, before float64) float64 {
	if s.PrintedSteps && tau > 1 {
		return before / math.Sqrt(float64(tau))
	}
	return s.StepSize / math.Sqrt(float64(tau))
}
