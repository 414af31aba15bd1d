package algorithms

import (
	"fmt"
	"math"

	"dyad/engine"
)

// Question holds all that an automatic choice of the algorithm depends on. All of it is public.
type Question struct {
	// Spec is the problem, the backend, the budget and the mode. Its L2 is not looked at.
	Spec Spec
	// LossNamed is true if the user asked for the loss of Spec. Otherwise it is the usual
	// one of the task, and the choice may be an algorithm that minimises another.
	LossNamed bool
	// L2 is the weight of the L2 term that the user asked for, nil without one.
	L2 *float64
}

// Choice is an algorithm with its options, and why it was chosen.
type Choice struct {
	Algorithm Algorithm
	L2        float64 // of the objective: Question.L2, or the default of the algorithm
	// Reason is the rule that decided, with its numbers; "" outside of Certified mode, where
	// the algorithm does not depend on the question.
	Reason string
}

// AutoName is the name of the choice among the names of algorithms.
const AutoName = "auto"

// mostSignal is t = n mu/sqrt d up to which the pairwise least-squares model of the moments is
// the choice; above it two steps of the pointwise logistic loss are worth their share of the
// budget (docs/moments.md).
const mostSignal = 128

// mostAutoSteps bounds the gradients of a choice: where it was measured, 10 of 1,030 steps gave
// the same model.
const mostAutoSteps = 100

// Choose is the algorithm that runs if the user names none: a pure function of public
// numbers. docs/moments.md has the rule and the measurements behind it.
func Choose(q Question) Choice {
	s := q.Spec
	switch s.Mode {
	case Paper:
		return q.choice(DPGDSC{}, "")
	case NonPrivate:
		return q.choice(ProjectedGradient{}, "")
	}
	p := s.Kernel.Problem()
	t := signal(s.Budget, p)
	ratio := fmt.Sprintf("n mu/sqrt d = %.3g", t)
	_, scores := p.Loss.(engine.ScoreLoss)
	sums := s.Backend != nil
	if sums {
		_, err := s.Backend.PlanMoments(p)
		sums = err == nil
	}
	switch {
	case len(p.Groups) > 0 && (!scores || q.LossNamed || !sums):
		return q.descent("query groups: moments within groups are for scores without a loss that was asked for, on a device that sums moments")
	case len(p.Groups) > 0:
		return q.choice(Moments{}, "query groups, and no loss was asked for: the moments of clipped differences within groups are one release")
	case p.LabelLimit() > 2:
		return q.descent("graded labels: moments are for two classes")
	case !sums:
		return q.descent("moments are not summed on this device")
	case !scores && q.LossNamed:
		return q.descent("the loss of a metric was asked for, and moments minimise none")
	case !scores && (s.Budget.Delta == 0 || p.D > maxRuleMoments || q.L2 != nil && *q.L2 > 0):
		return q.descent(fmt.Sprintf("a metric from moments needs delta > 0, at most %d features and no L2 term", maxRuleMoments))
	case !scores:
		return q.choice(MomentMetric{}, "a metric, and no loss was asked for: the moments of both classes have one")
	case q.LossNamed && !isLeastSquares(p.Loss):
		return q.choice(MomentsDescent{}, fmt.Sprintf("the %s loss was asked for, and the moments are a start for any loss", p.Loss.Name()))
	case q.LossNamed:
		return q.choice(Moments{}, "the square loss was asked for, and moments minimise it over all pairs, those of one class included")
	case t <= mostSignal:
		return q.choice(Moments{}, fmt.Sprintf("no loss was asked for, and %s is at most %d", ratio, mostSignal))
	case s.Budget.Delta == 0 || p.D > maxRuleMoments || q.L2 != nil && *q.L2 > 0:
		return q.choice(Moments{}, fmt.Sprintf("no loss was asked for; logistic steps need delta > 0, at most %d features and no L2 term", maxRuleMoments))
	}
	return q.choice(Moments{Steps: 2}, fmt.Sprintf("no loss was asked for, and %s is above %d, which pays for two logistic steps", ratio, mostSignal))
}

// choice is an algorithm with its L2 weight.
func (q Question) choice(a Algorithm, reason string) Choice {
	_, score := q.Spec.Kernel.Problem().Loss.(engine.ScoreLoss)
	c := Choice{Algorithm: a, L2: DefaultL2(a, q.Spec.Kernel.Problem().N, !score), Reason: reason}
	if q.L2 != nil {
		c.L2 = *q.L2
	}
	return c
}

// descent is the choice of a descent on the loss of Spec, of at most mostAutoSteps steps: output
// perturbation where a certificate holds, which has no limit on delta, else noisy gradients.
func (q Question) descent(reason string) Choice {
	s := q.Spec
	smooth := s.Constants.Convex && !math.IsInf(s.Constants.Smoothness, 1)
	c := q.choice(DPGDSC{}, reason)
	switch {
	case !smooth:
		c = q.choice(GradientPerturbation{}, reason+"; gradients get noise, as this one is not smooth and convex")
	case c.L2 == 0:
		c = q.choice(DPGDC{}, reason)
	}
	s.L2 = c.L2
	if plan, err := (descentOptions{}).schedule(c.Algorithm.Info().Name, s); err == nil && plan.Steps <= mostAutoSteps {
		return c
	}
	switch c.Algorithm.(type) {
	case DPGDSC:
		c.Algorithm = DPGDSC{Steps: mostAutoSteps}
	case DPGDC:
		c.Algorithm = DPGDC{Steps: mostAutoSteps}
	case GradientPerturbation:
		c.Algorithm = GradientPerturbation{Steps: mostAutoSteps}
	}
	return c
}

// Plan is the plan of the choice for s, with the reason for the choice.
func (c Choice) Plan(s Spec) (*Plan, error) {
	s.L2 = c.L2
	p, err := c.Algorithm.Plan(s)
	if err != nil {
		if c.Reason != "" {
			err = fmt.Errorf("%w (%s was chosen by auto: %s; --algorithm names another)", err, c.Algorithm.Info().Name, c.Reason)
		}
		return nil, err
	}
	p.Choice = c.Reason
	return p, nil
}

// isLeastSquares reports whether a loss is the least-squares loss of moments.
func isLeastSquares(loss engine.Loss) bool {
	square, err := leastSquares()
	return err == nil && loss.Name() == square.Name() && loss.Definition() == square.Definition()
}
