package pairs

import (
	"cmp"
	"fmt"
	"math"

	"dyad/algorithms"
	"dyad/engine/embedding"
	"dyad/privacy"
	"dyad/privacy/account"
)

// Plan describes a training. It is computed from public numbers. Certificate and Noise describe the releases of
// batches, in units of the clip.
type Plan struct {
	algorithms.Plan
	Spec    Spec
	Terms   int // the number of pairs or tuples of an epoch
	Batches int // the number of batches of an epoch
}

// smallestShrink is the smallest factor by which Shrink lowers the clip h.
const smallestShrink = 0x1p-40

// Plan validates s and computes the certificate, noise and guarantee. Its errors wrap ErrPlan.
//
// Step t clips the terms of its batch B to norm h_t. It releases q, the sum of the clipped terms divided by |B|
// h_t. So q is a mean of terms of norm at most 1 for every h_t, and one certificate covers all batches. The
// step multiplies the noisy q by h_t. This is post-processing, because h_t is a function of the public matrix
// W_t. The noise is a function of public numbers alone. It is the same for all pairs and graphs
// (docs/theory.md#pair-groups).
//
// For labelled pairs the certificate comes from privacy.PairGroup (docs/theory.md#pair-batches) or from
// privacy.PairSample (docs/theory.md#pair-poisson). For individuals with classes the unit is one record. Its
// individual is in at most one tuple of an epoch (privacy.TupleBatches), or in Individuals - 1 of all pairs
// (privacy.PairGroup). The pairs and triplets that the classes make inside of a tuple change only the term of
// this tuple. So classes are as private as features (docs/theory.md#tuples, docs/theory.md#all-pairs). A
// network does not change these certificates, since a term is clipped after its gradient is computed
// (docs/theory.md#network-tuples).
//
// A batch softmax couples the pairs of a batch. If one pair is added, the sum of a batch, in units of the clip,
// moves by at most the sensitivity of privacy.SoftmaxSample (docs/theory.md#batch-softmax).
func (s Spec) Plan() (*Plan, error) {
	if err := s.fill(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPlan, err)
	}
	p := &Plan{Spec: s, Plan: algorithms.Plan{Algorithm: s.Algorithm(), Mode: s.Mode}}
	p.Terms, p.Batches, _ = s.epoch()
	if s.Mode == algorithms.NonPrivate {
		reveals := "the model may reveal its records"
		if s.listed() {
			reveals = "the model may reveal its pairs"
		}
		exact := "exact gradients of all batches"
		if s.Method == Moments {
			exact = "exact moments"
		}
		p.PromiseNothing(exact, reveals)
	} else {
		certify := p.certify
		switch {
		case s.Local():
			certify = p.local
		case s.Method == Moments:
			certify = p.certifyMoments
		}
		if err := certify(); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrPlan, err)
		}
	}
	p.Facts, p.Objective = p.facts(), s.objective(p.Batches)
	return p, nil
}

// certify certifies the batches and chooses their noise.
func (p *Plan) certify() error {
	s := p.Spec
	_, _, batch := s.epoch()
	term := 1.0
	if s.Mode == algorithms.Paper {
		term = float64(s.Rows) // row by row: the whole gradient has L1 norm up to d' (docs/theory.md#pair-clipping)
	}
	manhattan, roundoff := s.Norm() == embedding.L1, p.roundoff(term)
	var steps interface {
		Certify() (privacy.Certificate, error)
		CertifyPure() (privacy.Certificate, error)
	}
	switch {
	case s.AllPairs:
		steps = privacy.PairGroup{Group: s.Individuals - 1, Batch: batch, Batches: 1, Epochs: s.Epochs, Roundoff: roundoff}
	case s.Tuple > 0:
		steps = privacy.TupleBatches{Batch: batch, Batches: p.Batches, Epochs: s.Epochs, Manhattan: manhattan,
			Roundoff: roundoff}
	default:
		steps = privacy.PairGroup{Group: s.Kappa, Batch: batch, Batches: p.Batches, Epochs: s.Epochs, TermNorm: term,
			Manhattan: manhattan, Roundoff: roundoff}
	}
	var c privacy.Certificate
	var noise privacy.Mechanism
	var err error
	count := 1 // the number of releases that one certificate covers
	softmax, ofBatches := s.softmax()
	switch {
	case ofBatches:
		count = p.Batches * s.Epochs
		c, err = privacy.SoftmaxSample{Group: s.Kappa, Pairs: s.Pairs, Rate: s.rate(), Expected: float64(batch),
			Temperature: softmax.Temperature, Symmetric: softmax.Symmetric, Roundoff: roundoff}.Certify()
	case s.Sampling == Poisson:
		count = p.Batches * s.Epochs
		c, err = privacy.PairSample{Group: s.Kappa, Pairs: s.Pairs, Rate: s.rate(), Expected: float64(batch),
			Roundoff: roundoff}.Certify()
	case s.Budget.Delta > 0:
		c, err = steps.Certify()
	default:
		c, err = steps.CertifyPure()
	}
	if err != nil {
		return err
	}
	switch {
	case s.Budget.Delta > 0:
		noise, err = privacy.CalibrateGaussian(c, s.Budget, count)
	case s.Mode == algorithms.Paper:
		// Algorithm 1 line 10 with Delta g = 2 h/|B|: scale 2 kappa h/(|B| eps'), eps' = eps/T_max. Here the
		// scale is in units of h.
		noise = privacy.Laplace{Scale: 2 * float64(s.Kappa) * float64(s.Epochs) / (float64(batch) * s.Budget.Epsilon),
			Coordinates: s.Rows * s.Dim}
		err = noise.Validate()
	default:
		noise, err = privacy.CalibratePure(c, s.Budget.Epsilon, s.weights(), s.Noise)
	}
	if err != nil {
		return err
	}
	return p.account(c, noise)
}

// KnownBatches returns the epsilon of full-batch accounting, at the delta of the budget. The plan's noise
// would give this epsilon if the adversary knew the batches and every batch held all pairs of an individual.
// KnownBatches returns 0 for plans without Poisson batches.
func (p *Plan) KnownBatches() float64 {
	if p.Spec.Sampling != Poisson || p.Noise() == nil {
		return 0
	}
	var a account.Total
	if err := a.Compose(p.Events()[0]); err != nil {
		return math.Inf(1)
	}
	return account.GDPEpsilon(a.Mu(), p.Spec.Budget.Delta)
}

// roundoff bounds the error of one computed release, relative to the clip. The error comes from the summation
// of at most the terms of the largest batch, and from three roundings a coordinate of the mean.
func (p *Plan) roundoff(term float64) float64 {
	s := p.Spec
	count, batches, batch := s.epoch()
	largest, clip := count-(batches-1)*batch, s.Clip
	if s.Sampling == Poisson {
		largest = count
	}
	softmax, ofBatches := s.softmax()
	if ofBatches { // the coefficients of a pair's row
		term = 2 / softmax.Temperature * (1 + 0x1p-40)
	} else if s.listed() {
		// SumError is linear in the clip except for underflow, which is relatively largest at the smallest clip.
		clip *= smallestShrink
	}
	rho := 0.0
	for _, b := range []int{batch, largest} {
		divisor := b
		if s.Sampling == Poisson {
			divisor = batch
		}
		sum := embedding.SumError(1, s.weights(), b, clip*term)
		if s.AllPairs {
			sum = embedding.AllPairsError(s.Individuals, s.Rows, s.Dim, clip)
		}
		if ofBatches {
			sum = embedding.SoftmaxError(s.Network.Model, softmax, s.Bound, b, clip)
		}
		e := sum / (clip * float64(divisor))
		// Three roundings of the mean, of norm at most term times b/divisor.
		rho = max(rho, e+3.1*0x1p-53*(term*float64(b)/float64(divisor)+e))
	}
	return rho * (1 + 0x1p-40)
}

// account computes the fields for release and guarantee.
func (p *Plan) account(c privacy.Certificate, noise privacy.Mechanism) error {
	s, releases := p.Spec, p.Batches*p.Spec.Epochs
	row := algorithms.Release{Name: c.Released(), Coordinates: s.weights(), Share: 1, Certificate: c, Noise: noise}
	released, derivation := fmt.Sprintf("the matrix after each of %d batches in %d epochs, with %s noise", releases,
		s.Epochs, noise.Name()), c.Derivation()
	options := fmt.Sprintf("W with %d rows, loss %s and its parameters, gradient clip h = %g, batches and all options",
		s.Rows,
		s.Loss.Name(), s.Clip)
	who, kappa, formed := fmt.Sprintf("%d records and their ids", s.Individuals), "",
		"all pairs are used, whatever the records are"
	if s.Tuple > 0 {
		formed = fmt.Sprintf("tuples of %d are drawn by ids and a public seed alone", s.Tuple)
	}
	if s.listed() {
		who, kappa = fmt.Sprintf("%d individuals, %d pairs and their members", s.Individuals, s.Pairs),
			fmt.Sprintf("kappa = %d, ", s.Kappa)
		formed = "kappa was fixed without looking at private pairs; batches depend only on pair numbers"
	}
	if s.Method == Moments {
		formed, row.Coordinates = "kappa was fixed without looking at private pairs", 1+2*s.second()
		released = fmt.Sprintf("the second moments of similar and of dissimilar pairs and the number of similar pairs, "+
			"with %s noise", noise.Name())
		options = fmt.Sprintf("%d rows, margin, clip h = %g and all options", s.Rows, s.Clip)
	}
	if s.Sampling == Poisson {
		row.Times, row.Share = releases, 1/float64(releases)
		p.Releases = algorithms.Releases{row}
		formed += " and secret coins; the pairs of each batch and their number stay secret"
		derivation += fmt.Sprintf("; privacy loss distributions add up the %d releases; for known and full "+
			"batches, this noise would give epsilon = %.4g, and the budget would need sigma = %.6g",
			releases, p.KnownBatches(), privacy.UnsampledSigma(c, s.Budget, releases))
	}
	if s.Network != nil {
		options = fmt.Sprintf("network %s, loss %s and its parameters, gradient clip h = %g, batches and all "+
			"options; %s",
			s.Network.Model.Network.Name(), s.Loss.Name(), s.Clip, s.Network.Origin)
		released = fmt.Sprintf("the parameters of the network after each of %d batches in %d epochs, with %s noise", releases,
			s.Epochs, noise.Name())
	}
	g := s.unit().Guarantee(released, derivation,
		fmt.Sprintf("public: %s, d = %d, %s norm bound R = %g, %s%s; rows were scaled down to R", who, s.Dim, s.Norm(),
			s.Bound, kappa, options),
		identity(s.Identity), formed)
	if s.Network != nil && s.Network.Warn {
		g.Warnings = append(g.Warnings, s.Network.Origin)
	}
	if s.Mode == algorithms.Paper {
		g.Claim = &privacy.Claim{Source: "[Li20] Algorithm 1, Theorem 1", Epsilon: s.Budget.Epsilon}
		if m, ok := noise.(privacy.Laplace); ok {
			g.Claim.Scale = m.Scale * s.Clip
		}
	}
	return p.Promise(s.Budget, s.Individuals, s.Provenance, g, algorithms.Releases{row})
}

// unit returns the unit that the training protects.
func (s Spec) unit() algorithms.Unit {
	switch {
	case s.Method == Labels:
		return algorithms.PairLabelsUnit(s.Kappa)
	case !s.listed():
		return algorithms.IdentifiedUnit()
	case s.Unit == Group:
		return algorithms.PairsUnit(s.Kappa)
	case s.Unit == OnePair:
		return algorithms.PairsUnit(0)
	}
	return algorithms.IndividualUnit(s.Kappa)
}

// identity returns the assumption about which ids are one individual.
func identity(text string) string {
	return cmp.Or(text, "ids that differ are different individuals")
}

// NoiseToSignal returns the root mean square norm of the noise of one release divided by the largest norm of
// its mean gradient. If it is above 1, a single step is mostly noise.
func (p *Plan) NoiseToSignal() float64 {
	if p.Noise() == nil {
		return 0
	}
	largest := 1.0
	if l, ok := p.Spec.softmax(); ok {
		largest = 2 / l.Temperature // the coefficients of an anchor
	}
	return p.Noise().NoiseNorm(p.Spec.weights()) / largest
}

// clipAt returns h_t at the public matrix w.
func (p *Plan) clipAt(w []float64) float64 {
	s := p.Spec
	l, ok := s.Loss.(embedding.ListLoss)
	if !s.Shrink || !ok {
		return s.Clip
	}
	g := l.GradientBound(w, s.Dim, s.Norm(), s.Bound)
	if math.IsNaN(g) {
		return s.Clip
	}
	return max(min(s.Clip, g), s.Clip*smallestShrink)
}
