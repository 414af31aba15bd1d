package algorithms

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"dyad/privacy"
	"dyad/privacy/ledger"
)

// Plan describes a run and its guarantee, computed from public numbers: it can be printed
// and charged before any data is read. It is the same for every kind of run; packages
// with specifications of their own embed it (pairs, local).
type Plan struct {
	Algorithm string
	Choice    string // why auto chose it; "" if it was named
	Mode      Mode
	Releases  Releases // everything that is released, from which the guarantee follows
	Guarantee privacy.Guarantee
	// Facts are further lines of reports; empty for those that Report makes from Spec and
	// Schedule.
	Facts Facts
	// Objective describes the minimised function in the ledger, so that a run is resumed
	// with the plan of its first attempt; "" for that of Spec.
	Objective string
	// Cautions are warnings of a package with a specification of its own, which Warnings adds to its own: about
	// public numbers, such as noise that drowns the signal.
	Cautions []string

	// Spec and what follows are of batch and online algorithms.
	Spec     Spec
	Schedule Schedule
	Work     Work
	Aim      Aim
	// ModelNoise is the root mean square norm of the noise that reaches the
	// model, projections aside; 0 means that of Noise.
	ModelNoise float64

	// Utility is the proved utility bound, if a theorem gives one.
	Utility Utility

	// Regret bounds the expected regret over the noise, for convex losses: the sum over
	// the updates of the losses at the iterates, minus the sum at any fixed w of C. Each
	// loss is the mean over the pairs of the update plus alpha/2 ||w||^2. It is 0 if no
	// bound is known.
	Regret float64
	// own is what the algorithm keeps for its training: *MomentsPlan, *streamRule.
	own any
}

// modelNoise is the root mean square norm of the noise in the model.
func (p *Plan) modelNoise() float64 {
	if p.ModelNoise != 0 {
		return p.ModelNoise
	}
	return p.Noise().NoiseNorm(p.Spec.coordinates())
}

// Epoch is the part of a run on records of its own.
type Epoch struct {
	Records  int
	Steps    int
	StepSize float64
}

// Aim is the goal of a run, where it is not the loss of its Spec.
type Aim struct {
	Loss  string  // "" for that of Spec, the name of the one that is minimised whatever Spec says, or "no loss"
	apart string  // why its noise does not compare with that of other algorithms; "" if it does
	least float64 // n mu/sqrt d that it needs for linear scores that are better than chance; 0: not known
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
	// TotalStep is the sum of the step sizes.
	TotalStep float64 `json:"Path"` // the name in checkpoints
	// Epochs has one entry for each disjoint set of records that makes a release of its own; nil for other runs.
	Epochs []Epoch `json:"-"`
	// Average releases the average iterate instead of the last one.
	Average bool
	// Update is the rule by which gradients become steps (Optimizer); "" is plain descent with
	// equal steps. With a decay Constant is the first step size.
	Update string `json:",omitempty"`
}

// publicTotalStep is the total step H of docs/theory.md#step-length, a function of public
// numbers: H = ||C|| sqrt(n mu / (4 G Dg sqrt d)), which balances the progress
// of a total step H against the noise 2 Dg H sqrt(d)/(n mu) that it costs,
// with mu = noiseMu for any noise.
func publicTotalStep(s Spec) float64 {
	p := s.Kernel.Problem()
	d := s.coordinates()
	mu := noiseMu(s.Budget, d)
	records := 2 / pairFraction(p.Pairs()) // n, or its like within groups
	return p.Domain().Diameter() * math.Sqrt(records*mu/(4*s.Constants.Lipschitz*s.Constants.PairDiameter*math.Sqrt(float64(d))))
}

// totalStepRule is publicTotalStep in words.
func totalStepRule(s Spec) string {
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

// releasePlan fills in release and guarantee of a plan of one certificate. In Certified mode the noise is calibrated: Gaussian,
// or K-norm noise if delta is 0. In Paper mode it is the paper's, whose theorem
// claims the budget; the guarantee is what the certificate proves for it.
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

// release is the row of a parameter, or of a gradient, that is released a number of times.
func (s Spec) release(c privacy.Certificate, noise privacy.Mechanism, times int) Release {
	return Release{Name: c.Released(), Coordinates: s.coordinates(), Times: times, Share: 1 / float64(times), Certificate: c, Noise: noise}
}

// account fills in the guarantee of releases. In Paper mode it is what they provably give, next to the claim of the
// theorem, the budget.
func (p *Plan) account(theorem string, rows ...Release) error {
	p.Releases, p.Aim.least = rows, leastDescentSignal
	return p.Promise(p.Spec.Budget, p.Spec.Kernel.Problem().N, p.Spec.Provenance, p.words(theorem, p.Spec.constants()), rows)
}

// PromiseOneRecord fills in Releases and Guarantee of a plan in Certified mode, for replacing one
// record or person, in the words of the catalogue's algorithms: what has the certificate is released
// with the noise a number of times. It is for algorithms of other packages.
func (p *Plan) PromiseOneRecord(c privacy.Certificate, noise privacy.Mechanism, times int) error {
	return p.account("", p.Spec.release(c, noise, times))
}

// words are what the guarantee of one record or one person (docs/theory.md#persons) says
// besides numbers; rests is the assumption about what the certificates rest on.
func (p *Plan) words(theorem, rests string) privacy.Guarantee {
	s, pr := p.Spec, p.Spec.Kernel.Problem()
	g := s.Records(pr.PersonRows).Guarantee(p.Certificate().Released()+" with "+p.Noise().Name()+" noise", "",
		fmt.Sprintf("public: n = %d, d = %d, norm bound R = %g, label bound %g, radius r = %g, alpha = %g, the schema (ranges, categories) and all options; every row was projected to R", pr.N, pr.D, pr.Bounds.FeatureNorm, pr.Bounds.LabelAbs, pr.Radius, s.L2),
		rests)
	if len(pr.Groups) > 0 {
		unit := "record"
		if pr.ByPerson() {
			unit = "person"
		}
		g.Assumptions = append(g.Assumptions, fmt.Sprintf("public: which of the %d query groups each %[2]s belongs to; a replaced %[2]s stays in its group", len(pr.Groups), unit))
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

// Promise fills in Releases and Guarantee: that of g with what the releases compose to at the
// budget, with the certificate as its reason if g has none, and with what a budget for n
// units and the provenance of the records add to it.
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

// Charge returns the ledger's entry for a run of the plan on the data of an id. Its guarantee
// names ranges that were, or may have been, taken from the data.
func (p *Plan) Charge(dataID string) ledger.Charge {
	g := p.Guarantee
	text := g.String()
	for _, w := range []string{BoundsFromData, DraftAway} {
		if slices.Contains(g.Warnings, w) {
			text += "; " + w
		}
	}
	return ledger.Charge{DataID: dataID, Algorithm: p.Algorithm, Events: p.Events(), Guarantee: text, Unit: g.Unit, Relation: g.Relation, Released: g.Released}
}

// constants is the assumption about those of the loss.
func (s Spec) constants() string {
	c := s.Constants
	return fmt.Sprintf("constants of loss %s: G = %.6g, L = %.6g, Dg = %.6g, %s", s.Kernel.Problem().Loss.Name(), c.Lipschitz, c.Smoothness, c.PairDiameter, c.Origin)
}

// calibrated is one release of a parameter vector with the noise of Certified mode.
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

// units is the number of records or persons, of a stream the most.
func (s Spec) units() int { return cmp.Or(s.Horizon, s.Kernel.Problem().N) }

// coordinates is the number of released coordinates.
func (s Spec) coordinates() int {
	p := s.Kernel.Problem()
	return p.Loss.ParamDim(p.D)
}

// revealsRecords is what a model without noise does.
const revealsRecords = "the model may reveal its training records"
