package algorithms

import (
	"fmt"
	"math"

	"dyad/engine"
	"dyad/privacy"
)

// gradientName is the name of the release of a mean gradient.
const gradientName = "mean gradient"

// maxMovedRecords bounds n d of sparse records, because records are dense after a centre is subtracted.
const maxMovedRecords = 1 << 30

// Plan computes the shares, the certificates and the noise.
func (a MomentsDescent) Plan(s Spec) (*Plan, error) {
	name := a.Info().Name
	if err := checkApplies(a.Info(), s); err != nil {
		return nil, err
	}
	problem := s.Kernel.Problem()
	if err := s.checkMoments(name, "dpgdsc, dpgdc or gradient-perturbation", false); err != nil {
		return nil, err
	}
	switch {
	case problem.NonZerosPerRow > 0 && problem.MaxRows() > maxMovedRecords/problem.D:
		return nil, Refused(name, " needs dense records, but %d rows of %d features are too many; use "+
			"gradient-perturbation or dpgdsc",
			problem.MaxRows(), problem.D)
	case a.Steps < 0 || a.Steps > MaxMomentsSteps:
		return nil, Refused(name, " takes 1 to %d gradients, not %d; for more gradients, use gradient-perturbation",
			MaxMomentsSteps, a.Steps)
	case a.Moments.Steps != 0 || a.Moments.StepShare != 0 || a.Moments.appends() || a.Moments.Lines != nil:
		return nil, Refused(name, " takes no logistic steps and appends nothing to the weights; leave out Steps, StepShare, "+
			"Intervals, LogOdds, Blocks and Lines of Moments")
	}
	if err := ranged(name, a); err != nil {
		return nil, err
	}
	rule := momentsDescentRule(problem.N, problem.D, s.Budget, problem.Loss.(engine.ScoreLoss),
		problem.Bounds, s.Constants)
	if a.Steps > 0 {
		rule.Steps = a.Steps
	}
	if a.GradientShare > 0 {
		rule.GradientShare = a.GradientShare
	}
	kernel, err := engine.PlanRecentred(s.Backend, problem)
	if err != nil {
		return nil, s.noMoments(err)
	}
	gradients, pairs := s, problem.Pairs()
	gradients.Kernel = kernel
	certificate, err := gradients.MeanGradient()
	if err != nil {
		return nil, err
	}
	plain := s
	plain.L2 = 0 // the L2 term belongs to the pairwise loss, not to the least squares of the start
	choice, err := a.Moments.choose(plain)
	if err != nil {
		return nil, err
	}
	steps := make(Releases, rule.Steps)
	for i := range steps {
		steps[i] = Release{Name: gradientName, Coordinates: problem.D, Share: rule.GradientShare / float64(rule.Steps),
			Certificate: certificate}
	}
	m, rows, err := a.Moments.releases(plain, kernel, choice, steps...)
	if err != nil {
		return nil, err
	}
	s.Kernel, m.Gradients, m.GradientNoise = kernel, rule.Steps, rows[len(rows)-1].Deviation()
	p := &Plan{
		Algorithm: name, Mode: s.Mode, Spec: s, own: m,
		Schedule: Schedule{Name: fmt.Sprintf("%d passes for moments, then %d for gradients",
			m.Passes, m.Gradients),
			Steps: m.Passes + m.Gradients},
		Work: m.work(s).Sum(m.Gradients, pairs),
		Aim:  Aim{apart: "starts at the weights of moments and reduces the noise of its gradients"},
	}
	return p, p.promiseMoments(rows, s.constants(), m.assumption())
}

// momentsDescentRule returns the public rule of MomentsDescent, a function of public numbers. It takes three
// gradients, which together have the share f of the budget:
//
//	f = max(0.02, 0.3 t/(t + 200)),   t = n mu/sqrt(d) s,   s = |phi'(0)| 2 X l/Dg,
//
// where mu = noiseMu of the budget. s compares the slope at u = 0, where a pair is most informative, with the range of
// slopes, which decides the noise. It is 1 for the hinge. For the logistic loss it is at least 1/2, which is its value
// on a large ball. It is near 0 for losses that are steep at the edge of the ball; the gradients of these losses drown
// in noise and are worth no budget. The evidence is in docs/moments.md: 1 to 8 gradients gave equal results.
func momentsDescentRule(n, d int, b privacy.Budget, loss engine.ScoreLoss, bounds engine.Bounds,
	c engine.Constants) MomentsDescent {
	s := math.Abs(loss.DPhi(0)) * 2 * bounds.FeatureNorm * 2 * bounds.LabelAbs / c.PairDiameter
	t := float64(n) * noiseMu(b, d) / math.Sqrt(float64(d)) * s
	return MomentsDescent{Steps: 3, GradientShare: max(0.02, 0.3*t/(t+200))}
}
