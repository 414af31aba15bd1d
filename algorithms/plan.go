package algorithms

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"dyad/privacy"
	"dyad/privacy/ledger"
)

// modelNoise returns the root mean square norm of the noise in the model.
func (p *Plan) modelNoise() float64 {
	if p.ModelNoise != 0 {
		return p.ModelNoise
	}
	return p.Noise().NoiseNorm(p.Spec.coordinates())
}

// publicTotalStep returns the total step H of docs/theory.md#step-length, a function of public numbers: H =
// ||C|| sqrt(n mu / (4 G Dg sqrt d)). It balances the progress of a total step H against the noise 2 Dg H
// sqrt(d)/(n mu) that H causes, with mu = noiseMu for any noise.
func publicTotalStep(s Spec) float64 {
	p := s.Kernel.Problem()
	d := s.coordinates()
	mu := noiseMu(s.Budget, d)
	records := 2 / pairFraction(p.Pairs()) // n, or the corresponding number within groups
	return p.Domain().Diameter() * math.Sqrt(records*mu/(4*s.Constants.Lipschitz*s.Constants.PairDiameter*math.Sqrt(float64(d))))
}

// totalStepRule describes the rule of publicTotalStep.
func totalStepRule(s Spec) string {
	rule := "H = ||C|| sqrt(n mu/(4 G Dg sqrt d))"
	if s.Budget.Delta == 0 {
		rule += ", mu = epsilon/sqrt(d+1)"
	}
	return rule
}

// largestStep returns 2/(L~ + alpha) with L~ = L + alpha, rounded down. This is the longest step whose update
// contracts at rate 1 - eta alpha (docs/theory.md#contraction).
func (s Spec) largestStep() float64 {
	return 2 / (s.Constants.Smoothness + 2*s.L2) * (1 - 0x1p-50)
}

// releasePlan fills in the release and the guarantee of a plan with one certificate. In Certified mode the noise is
// calibrated: it is Gaussian, or K-norm noise if delta is 0. In Paper mode the noise is the paper's. The paper's
// theorem claims the budget, and the guarantee is the one that the certificate proves for this noise.
func (p *Plan) releasePlan(c privacy.Certificate, noise privacy.Mechanism, theorem string) error {
	if p.Mode != Certified {
		return p.account(theorem, p.Spec.release(c, noise, 1))
	}
	rows, err := p.Spec.calibrated(c)
	if err != nil {
		return err
	}
	return p.account(theorem, rows...)
}

// release returns the row of a parameter vector, or of a gradient, that is released the given number of times.
func (s Spec) release(c privacy.Certificate, noise privacy.Mechanism, times int) Release {
	return Release{Name: c.Released(), Coordinates: s.coordinates(), Times: times, Share: 1 / float64(times),
		Certificate: c, Noise: noise}
}

// account fills in the guarantee of releases. In Paper mode the guarantee is the one that the releases provably
// give, next to the theorem's claim, which is the budget.
func (p *Plan) account(theorem string, rows ...Release) error {
	p.Releases, p.Aim.least = rows, leastDescentSignal
	return p.Promise(p.Spec.Budget, p.Spec.Kernel.Problem().N, p.Spec.Provenance,
		p.words(theorem, p.Spec.constants()), rows)
}

// PromiseOneRecord sets Releases and Guarantee of a plan in Certified mode, for algorithms of other
// packages. The guarantee is for replacing one record or person, and has the wording of the catalogue's
// algorithms. The plan releases a value with noise, and times is the number of these releases. c bounds
// the sensitivity of this value.
func (p *Plan) PromiseOneRecord(c privacy.Certificate, noise privacy.Mechanism, times int) error {
	return p.account("", p.Spec.release(c, noise, times))
}

// words returns the parts of the guarantee of one record or one person (docs/theory.md#persons) that are not
// privacy parameters. rests is the assumption of the certificates.
func (p *Plan) words(theorem, rests string) privacy.Guarantee {
	s, pr := p.Spec, p.Spec.Kernel.Problem()
	g := s.Records(pr.PersonRows).Guarantee(p.Certificate().Released()+" with "+p.Noise().Name()+" noise", "",
		p.Public(), rests)
	if len(pr.Groups) > 0 {
		unit := "record"
		if pr.ByPerson() {
			unit = "person"
		}
		g.Assumptions = append(g.Assumptions, fmt.Sprintf("public: %d query groups, and the group of each %[2]s; "+
			"the %[2]s that replaces another joins the same group", len(pr.Groups), unit))
	}
	g.Warnings = s.unsoundWarning()
	if s.Mode == Paper {
		g.Claim = &privacy.Claim{Source: theorem, Epsilon: s.Budget.Epsilon, Delta: s.Budget.Delta}
		switch m := p.Noise().(type) {
		case privacy.Gaussian:
			g.Claim.Sigma = m.Sigma
		case privacy.Laplace:
			g.Claim.Scale = m.Scale
		}
	}
	return g
}

// Promise sets Releases and Guarantee. The guarantee is g with the privacy parameters of the composed releases
// at the budget b. If g has no derivation, Promise uses the certificate's derivation. It also adds the
// assumptions and warnings that follow from a budget for n units and from the provenance of the records.
func (p *Plan) Promise(b privacy.Budget, n int, from Provenance, g privacy.Guarantee, rows Releases) (err error) {
	p.Releases, p.Spec.Budget = rows, b
	g.Derivation = cmp.Or(g.Derivation, p.Certificate().Derivation())
	if w := privacy.DeltaWarning(b.Delta, n); w != "" {
		g.Warnings = append(g.Warnings, w)
	}
	from.Qualify(&g)
	p.Guarantee, err = privacy.Account(rows.Events(), b, g)
	from.Persons(&p.Guarantee)
	return err
}

// Charge returns the ledger's entry for a run of the plan on the data with the given id. The guarantee of the
// entry has a warning if ranges were, or may have been, taken from the data.
func (p *Plan) Charge(dataID string) ledger.Charge {
	g := p.Guarantee
	text := g.String()
	for _, w := range []string{BoundsFromData, DraftAway} {
		if slices.Contains(g.Warnings, w) {
			text += "; " + w
		}
	}
	return ledger.Charge{DataID: dataID, Algorithm: p.Algorithm, Events: p.Events(), Guarantee: text, Unit: g.Unit,
		Relation: g.Relation, Released: g.Released}
}

// Public returns the assumption that lists the numbers which the guarantee treats as public. The plan needs a kernel.
func (p *Plan) Public() string {
	pr := p.Spec.Kernel.Problem()
	return fmt.Sprintf("public: n = %d, d = %d features, norm bound R = %g, label bound %g, radius of the weights "+
		"r = %g, L2 weight alpha = %g, the schema and all options; every row was clipped to norm R", pr.N, pr.D,
		pr.Bounds.FeatureNorm, pr.Bounds.LabelAbs, pr.Radius, p.Spec.L2)
}

// Constants returns the assumption of the guarantee about the constants of the loss, or "" if it has none.
func (p *Plan) Constants() string {
	if p.Spec.Kernel != nil && slices.Contains(p.Guarantee.Assumptions, p.Spec.constants()) {
		return p.Spec.constants()
	}
	return ""
}

// constants returns the assumption about the constants of the loss.
func (s Spec) constants() string {
	c := s.Constants
	return fmt.Sprintf("constants of loss %s: G = %.6g, L = %.6g, Dg = %.6g, %s", s.Kernel.Problem().Loss.Name(),
		c.Lipschitz, c.Smoothness, c.PairDiameter, c.Origin)
}

// calibrated returns one release of a parameter vector with the noise of Certified mode.
func (s Spec) calibrated(c privacy.Certificate) (Releases, error) {
	var noise privacy.Mechanism
	var err error
	if s.Budget.Delta > 0 {
		noise, err = privacy.CalibrateGaussian(c, s.Budget, 1)
	} else {
		noise, err = privacy.CalibratePure(c, s.Budget.Epsilon, s.coordinates(), privacy.KNormNoise)
	}
	return Releases{s.release(c, noise, 1)}, err
}

// units returns the number of records or persons, or the largest number of records for a stream.
func (s Spec) units() int { return cmp.Or(s.Horizon, s.Kernel.Problem().N) }

// revealsRecords is the warning about a model without noise.
const revealsRecords = "the model may reveal its training records"
