package pairs

import (
	"cmp"
	"fmt"
	"math"

	"dyad/algorithms"
	"dyad/engine/pairgraph"
	"dyad/privacy"
	"dyad/privacy/account"
)

// Plan is what a training will do, computed from public numbers.
type Plan struct {
	Spec        Spec
	Batches     int // of an epoch
	Certificate privacy.Certificate
	Noise       privacy.Mechanism // of one release of a batch, in units of the clip; nil if gradients get none
	Events      []account.Event
	Guarantee   privacy.Guarantee
}

// smallestShrink bounds how far Shrink lowers the clip, relative to h.
const smallestShrink = 0x1p-40

// Plan validates s and computes certificate, noise and guarantee. It wraps ErrPlan.
//
// Every release is q = (sum over a batch of gradients clipped to h_t)/(|B| h_t), a mean
// of terms of norm at most 1 whatever h_t is, and the step uses h_t times the noisy q.
// As h_t is a function of the public matrix W_t, this is post-processing, and one
// certificate (privacy.PairGroup, docs/theory.md#pair-batches) covers all batches: the noise is a pure function of
// public numbers, the same for all pairs and graphs (docs/theory.md#pair-groups).
func (s Spec) Plan() (*Plan, error) {
	if err := s.fill(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPlan, err)
	}
	p := &Plan{Spec: s}
	p.Batches, _ = s.batches()
	if s.Mode == algorithms.NonPrivate {
		p.Events = []account.Event{account.NonPrivateEvent{}}
		p.Guarantee = privacy.Guarantee{Kind: privacy.None, Unit: "nobody", Released: "exact gradients of all batches", Warnings: []string{"non-private baseline: the model may reveal its pairs"}}
		return p, nil
	}
	certify := p.certify
	if s.Method != Gradients {
		certify = p.local
	}
	if err := certify(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPlan, err)
	}
	return p, nil
}

func (p *Plan) certify() error {
	s := p.Spec
	term := 1.0
	if s.Mode == algorithms.Paper {
		term = float64(s.Rows) // row by row: the whole has L1 norm up to d' (docs/theory.md#pair-clipping)
	}
	if s.Sampling == Poisson {
		return p.certifyPoisson()
	}
	g := privacy.PairGroup{
		Group: s.Kappa, Batch: s.Batch, Batches: p.Batches, Epochs: s.Epochs,
		TermNorm: term, Manhattan: s.Norm() == pairgraph.L1, Roundoff: s.roundoff(term),
	}
	var err error
	switch {
	case s.Budget.Delta > 0:
		if p.Certificate, err = g.Certify(); err != nil {
			return err
		}
		p.Noise, err = gaussian(p.Certificate, s.Budget)
	case s.Mode == algorithms.Paper:
		if p.Certificate, err = g.CertifyPure(); err != nil {
			return err
		}
		// Algorithm 1 line 10 with Delta g = 2 h/|B|: scale 2 kappa h/(|B| eps'), eps' =
		// eps/T_max; here in units of h.
		p.Noise = privacy.Laplace{Scale: 2 * float64(s.Kappa) * float64(s.Epochs) / (float64(s.Batch) * s.Budget.Epsilon), Coordinates: s.Rows * s.Dim}
		err = p.Noise.Validate()
	default:
		if p.Certificate, err = g.CertifyPure(); err != nil {
			return err
		}
		p.Noise, err = privacy.CalibratePure(p.Certificate, s.Budget.Epsilon, s.Rows*s.Dim, s.Noise)
	}
	if err != nil {
		return err
	}
	return p.account()
}

// certifyPoisson is certify for Poisson batches (docs/theory.md#pair-poisson).
func (p *Plan) certifyPoisson() error {
	s := p.Spec
	g := privacy.PairSample{Group: s.Kappa, Pairs: s.Pairs, Rate: s.rate(), Expected: float64(s.Batch), Roundoff: s.roundoff(1)}
	var err error
	if p.Certificate, err = g.Certify(); err != nil {
		return err
	}
	m, err := privacy.CalibrateGaussian(p.Certificate, s.Budget, p.Batches*s.Epochs)
	if err != nil {
		return err
	}
	p.Noise = m
	return p.account()
}

// KnownBatches is what the plan's noise gives if the batches are known and an individual
// has all its pairs in every batch: full-batch accounting. 0 without Poisson batches.
func (p *Plan) KnownBatches() float64 {
	if p.Spec.Sampling != Poisson || p.Noise == nil {
		return 0
	}
	var a account.Total
	if err := a.Compose(p.Events[0]); err != nil {
		return math.Inf(1)
	}
	return account.GDPEpsilon(a.Mu(), p.Spec.Budget.Delta)
}

// gaussian avoids a typed nil beside an error.
func gaussian(c privacy.Certificate, b privacy.Budget) (privacy.Mechanism, error) {
	m, err := privacy.CalibrateGaussian(c, b, 1)
	if err != nil {
		return nil, err
	}
	return m, nil
}

// roundoff bounds the error of one computed release: the summation of at most as many
// pairs as the largest batch has, relative to the clip, and three roundings a coordinate
// of the mean.
func (s Spec) roundoff(term float64) float64 {
	_, largest := s.batches()
	smallest := s.Clip * smallestShrink
	rho := 0.0
	for _, b := range []int{s.Batch, largest} {
		divisor := b
		if s.Sampling == Poisson {
			divisor = s.Batch
		}
		// SumError is linear in the clip but for underflow, which weighs most at the
		// smallest one.
		e := pairgraph.SumError(s.Rows, s.Dim, b, smallest*term) / (smallest * float64(divisor))
		// Three roundings of the mean, of norm at most term times b/divisor.
		rho = max(rho, e+3.1*0x1p-53*(term*float64(b)/float64(divisor)+e))
	}
	return rho * (1 + 0x1p-40)
}

func (p *Plan) account() error {
	s := p.Spec
	p.Events = []account.Event{p.Noise.Event(p.Certificate)}
	if s.Sampling == Poisson {
		p.Events[0] = account.Repeat(p.Events[0], p.Batches*s.Epochs)
	}
	var total account.Total
	if err := total.Compose(p.Events[0]); err != nil {
		return err
	}
	secret := ""
	if s.Sampling == Poisson {
		secret = " and secret coins; which pairs were in which batch, and how many, stays secret"
	}
	g := privacy.Guarantee{
		Kind: privacy.PureDP, Epsilon: total.Epsilon(s.Budget.Delta), Delta: s.Budget.Delta,
		Released:   fmt.Sprintf("the matrix after each of %d batches in %d epochs, with %s noise", p.Batches*s.Epochs, s.Epochs, p.Noise.Name()),
		Derivation: p.Certificate.Derivation(),
		Assumptions: []string{
			fmt.Sprintf("public: %d individuals, %d pairs and who is paired with whom, d = %d, %s norm bound R = %g, kappa = %d, %d rows, loss %s with its parameters, clip h = %g, batches and all options; rows were scaled down to R", s.Individuals, s.Pairs, s.Dim, s.Norm(), s.Bound, s.Kappa, s.Rows, s.Loss.Name(), s.Clip),
			identity(s.Identity),
			"kappa was fixed without looking at private pairs; batches are formed by pair numbers" + secret,
			"the noise bits are secret",
		},
	}
	g.Assumptions = append(g.Assumptions, s.selection()...)
	if s.Budget.Delta > 0 {
		g.Kind = privacy.ApproxDP
		if !total.Sampled() { // else mu is worse than epsilon and delta
			g.Mu = total.Mu()
		}
	}
	if s.Sampling == Poisson {
		g.Derivation += fmt.Sprintf("; %d releases composed by privacy loss distributions; full batches with this noise would have epsilon = %.4g, and for this epsilon need sigma = %.6g",
			p.Batches*s.Epochs, p.KnownBatches(), privacy.UnsampledSigma(p.Certificate, s.Budget, p.Batches*s.Epochs))
	}
	switch s.Unit {
	case Individual:
		g.Unit = "one individual"
		g.Relation = fmt.Sprintf("same ids and pairs, at most %d of an individual, one individual's record replaced: features and the labels of its pairs", s.Kappa)
	case Group:
		g.Unit = fmt.Sprintf("a group of %d pairs", s.Kappa)
		g.Relation = "same ids and pairs, the records of at most kappa pairs replaced"
		g.Warnings = append(g.Warnings, fmt.Sprintf("this is not privacy of an individual: one in k > %d pairs has a loss of up to k/%d times epsilon", s.Kappa, s.Kappa))
	case OnePair:
		g.Unit, g.Relation = "one pair", "same ids and pairs, one pair's record replaced"
		g.Warnings = append(g.Warnings, "this is not privacy of an individual: one in k pairs has a loss of up to k times epsilon")
	}
	if w := privacy.DeltaWarning(s.Budget.Delta, s.Individuals); w != "" && s.Budget.Delta > 0 {
		g.Warnings = append(g.Warnings, w)
	}
	g.Warnings = append(g.Warnings, s.bounds()...)
	if s.Mode == algorithms.Paper {
		claim := &privacy.Claim{Source: "[Li20] Algorithm 1, Theorem 1", Epsilon: s.Budget.Epsilon, Holds: g.Epsilon <= s.Budget.Epsilon}
		if m, ok := p.Noise.(privacy.Laplace); ok {
			claim.Scale = m.Scale * s.Clip
		}
		g.Claim = claim
	}
	p.Guarantee = g
	return nil
}

// selection is what a guarantee assumes of how the individuals were chosen.
func (s Spec) selection() []string { return selection(s.SelectedByLabel) }

// identity is the assumption about who is one individual.
func identity(text string) string {
	return cmp.Or(text, "ids that differ are different individuals")
}

// bounds is what a guarantee warns of.
func (s Spec) bounds() []string { return says(s.BoundsFromData, algorithms.BoundsFromData) }

// says is a text where it applies.
func says(applies bool, text string) []string {
	if !applies {
		return nil
	}
	return []string{text}
}

func selection(byLabel bool) []string {
	return append([]string{algorithms.WellFormed}, says(byLabel, algorithms.SelectedByLabel)...)
}

// NoiseToSignal is the root mean square norm of the noise of one release over the
// largest norm of its mean gradient: above 1 a single step is mostly noise.
func (p *Plan) NoiseToSignal() float64 {
	if p.Noise == nil {
		return 0
	}
	return p.Noise.NoiseNorm(p.Spec.Rows * p.Spec.Dim)
}

// clipAt is h_t at the public matrix w.
func (p *Plan) clipAt(w []float64) float64 {
	s := p.Spec
	if !s.Shrink {
		return s.Clip
	}
	g := s.Loss.GradientBound(w, s.Dim, s.Norm(), s.Bound)
	if math.IsNaN(g) {
		return s.Clip
	}
	return max(min(s.Clip, g), s.Clip*smallestShrink)
}
