package algorithms

import (
	"fmt"
	"math"

	"dyad/privacy"
	"dyad/privacy/account"
)

// Plan is what a run will do, computed from public numbers: it can be printed
// and charged before any data is read.
type Plan struct {
	Algorithm string
	Mode      Mode
	Spec      Spec

	Schedule    Schedule
	Certificate privacy.Certificate // zero in NonPrivate mode
	Noise       privacy.Mechanism   // nil in NonPrivate mode
	Events      []account.Event     // everything that is released
	Guarantee   privacy.Guarantee

	// GradientPairs is the number of ordered pairs whose gradients are summed,
	// over the whole run.
	GradientPairs float64

	// Epochs are the parts of a run that releases once for each of several disjoint
	// sets of records; nil for other runs. Certificate and Noise are then those of
	// epoch number Costliest, from 1: the first that costs as much as any, up to
	// rounding.
	Epochs    []Epoch
	Costliest int

	// ModelNoise is the root mean square norm of the noise that reaches the
	// model, projections aside; 0 means that of Noise.
	ModelNoise float64

	// Moments are the releases of a plan of Moments, nil for other algorithms.
	Moments *MomentsPlan

	// Utility is the proved utility bound, if a theorem gives one.
	Utility Utility
}

// modelNoise is the root mean square norm of the noise in the model.
func (p *Plan) modelNoise() float64 {
	if p.ModelNoise != 0 {
		return p.ModelNoise
	}
	return p.Noise.NoiseNorm(p.Spec.coordinates())
}

// Epoch is a part of a run on records of its own.
type Epoch struct {
	Records     int
	Steps       int
	StepSize    float64
	Certificate privacy.Certificate
	Noise       privacy.Mechanism
}

// Schedule are the steps of a run.
type Schedule struct {
	Name string // of the rule, for reports
	// Steps is the number of updates.
	Steps int
	// Eta[t] is the step size of update t; Constant if all are equal.
	Eta      []float64 `json:"-"`
	Constant float64   // step size of every update, 0 if they differ
	// BurnIn is the number of leading iterates drawn at random (paper mode).
	BurnIn int
	// Path is the sum of the step sizes.
	Path float64
	// Average releases the average iterate instead of the last one.
	Average bool
}

// publicPath is the total step length H of docs/theory.md#step-length, a function of public
// numbers: H = ||C|| sqrt(n mu / (4 G Dg sqrt d)), which balances the progress
// of a path of length H against the noise 2 Dg H sqrt(d)/(n mu) that it costs,
// with mu = noiseMu for any noise.
func publicPath(s Spec) float64 {
	p := s.Kernel.Problem()
	d := s.coordinates()
	mu := noiseMu(s.Budget, d)
	records := 2 / share(p.Pairs()) // n, or its like within groups
	return p.Domain().Diameter() * math.Sqrt(records*mu/(4*s.Constants.Lipschitz*s.Constants.PairDiameter*math.Sqrt(float64(d))))
}

// publicPathRule is publicPath in words.
func publicPathRule(s Spec) string {
	rule := "H = ||C|| sqrt(n mu/(4 G Dg sqrt d))"
	if s.Budget.Delta == 0 {
		rule += ", mu = epsilon/sqrt(d+1)"
	}
	return rule
}

// curvature are the constants of the objective for a certificate.
func (s Spec) curvature() privacy.Curvature {
	return privacy.Curvature{
		PairDiameter:    s.Constants.PairDiameter,
		Smoothness:      s.Constants.Smoothness,
		StrongConvexity: s.L2,
		Convex:          s.Constants.Convex,
		Diameter:        s.Kernel.Problem().Domain().Diameter(),
	}
}

// largestStep is 2/(L~ + alpha) with L~ = L + alpha, the longest step whose
// update contracts at rate 1 - eta alpha (docs/theory.md#contraction), rounded down.
func (s Spec) largestStep() float64 {
	return 2 / (s.Constants.Smoothness + 2*s.L2) * (1 - 0x1p-50)
}

// releasePlan fills in noise, events and guarantee of one release with
// certificate p.Certificate. In Certified mode the noise is calibrated: Gaussian,
// or K-norm noise if delta is 0. In Paper mode it is the paper's, whose theorem
// claims the budget; the guarantee is what the certificate proves for it.
func (p *Plan) releasePlan(paper privacy.Mechanism, theorem string) error {
	p.Noise = paper
	if p.Mode == Certified {
		var err error
		if p.Noise, err = p.Spec.calibrate(p.Certificate); err != nil {
			return err
		}
	}
	return p.account(theorem, p.Noise.Event(p.Certificate))
}

// account fills in the guarantee of the events, all of them releases with noise
// like p.Noise and certificates like p.Certificate. In Paper mode it is what they
// provably give, beside the claim of the theorem, the budget.
func (p *Plan) account(theorem string, events ...account.Event) error {
	b := p.Spec.Budget
	p.Events = events
	var total account.Total
	for _, event := range events {
		if err := total.Compose(event); err != nil {
			return err
		}
	}
	p.Guarantee = p.baseGuarantee()
	p.Guarantee.Kind = privacy.PureDP
	p.Guarantee.Epsilon = total.Epsilon(b.Delta)
	if b.Delta > 0 {
		p.Guarantee.Kind = privacy.ApproxDP
		p.Guarantee.Delta = b.Delta
		if !total.Sampled() {
			p.Guarantee.Mu = total.Mu()
		}
	}
	if p.Mode == Paper {
		claim := &privacy.Claim{
			Source: theorem, Epsilon: b.Epsilon, Delta: b.Delta,
			Holds: p.Guarantee.Epsilon <= b.Epsilon,
		}
		switch m := p.Noise.(type) {
		case privacy.Gaussian:
			claim.Sigma = m.Sigma
		case privacy.Laplace:
			claim.Scale = m.Scale
		}
		p.Guarantee.Claim = claim
	}
	return nil
}

// calibrate returns the noise of Certified mode for one release of a parameter
// vector.
func (s Spec) calibrate(c privacy.Certificate) (privacy.Mechanism, error) {
	if s.Budget.Delta > 0 {
		// Not returned directly: a Gaussian beside an error is no nil Mechanism.
		m, err := privacy.CalibrateGaussian(c, s.Budget, 1)
		if err != nil {
			return nil, err
		}
		return m, nil
	}
	return privacy.CalibratePure(c, s.Budget.Epsilon, s.coordinates(), privacy.KNormNoise)
}

// coordinates is the number of released coordinates.
func (s Spec) coordinates() int {
	p := s.Kernel.Problem()
	return p.Loss.ParamDim(p.D)
}

// baseGuarantee is the part of a guarantee that all plans share.
func (p *Plan) baseGuarantee() privacy.Guarantee {
	pr := p.Spec.Kernel.Problem()
	g := privacy.Guarantee{
		Unit:       "one record",
		Relation:   "same n, one record replaced, features and label",
		Released:   p.Certificate.Released() + " with " + p.Noise.Name() + " noise",
		Derivation: p.Certificate.Derivation(),
		Assumptions: []string{
			fmt.Sprintf("public: n = %d, d = %d, norm bound R = %g, label bound %g, radius r = %g, alpha = %g, the schema (ranges, categories) and all options; every row was projected to R", pr.N, pr.D, pr.Bounds.FeatureNorm, pr.Bounds.LabelAbs, pr.Radius, p.Spec.L2),
			fmt.Sprintf("constants of loss %s: G = %.6g, L = %.6g, Dg = %.6g, %s", pr.Loss.Name(), p.Spec.Constants.Lipschitz, p.Spec.Constants.Smoothness, p.Spec.Constants.PairDiameter, p.Spec.Constants.Origin),
			"each person contributes one record; the noise bits are secret",
		},
	}
	if len(pr.Groups) > 0 {
		g.Assumptions = append(g.Assumptions, fmt.Sprintf("public: which of the %d query groups each record belongs to; a replaced record stays in its group", len(pr.Groups)))
	}
	g.Assumptions = append(g.Assumptions, p.Spec.selection()...)
	if w := privacy.DeltaWarning(p.Spec.Budget.Delta, pr.N); w != "" {
		g.Warnings = append(g.Warnings, w)
	}
	if p.Spec.BoundsFromData {
		g.Warnings = append(g.Warnings, BoundsFromData)
	}
	return g
}

// nonPrivatePlan is the guarantee and the event of an exact release.
func (p *Plan) nonPrivatePlan() { p.Events, p.Guarantee = nonPrivate("exact iterate") }

// nonPrivate are the events and the guarantee of exact releases.
func nonPrivate(released string) ([]account.Event, privacy.Guarantee) {
	return []account.Event{account.NonPrivateEvent{}}, privacy.Guarantee{
		Kind:     privacy.None,
		Unit:     "nobody",
		Released: released,
		Warnings: []string{"non-private baseline: the model may reveal its training records"},
	}
}
