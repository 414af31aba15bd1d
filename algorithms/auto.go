package algorithms

import (
	"fmt"
	"math"

	"dyad/engine"
)

// Question holds all values that an automatic choice of the algorithm depends on. They are public.
type Question struct {
	// Spec holds the problem, the backend, the budget and the mode. Its field L2 is ignored.
	Spec Spec
	// LossNamed is true if the user asked for the loss of Spec. Otherwise the loss is the default of the task,
	// and the chosen algorithm may minimise another loss.
	LossNamed bool
	// L2 is the weight of the L2 term that the user asked for. It is nil if the user gave none.
	L2 *float64
}

// Choice is an algorithm with its options, and the reason why it was chosen.
type Choice struct {
	Algorithm Algorithm
	L2        float64 // the weight of the L2 term: Question.L2, or the default of the algorithm
	// Reason is the rule that decided, with its numbers. In modes other than Certified it is "", because
	// the mode alone determines the algorithm.
	Reason string
}

// AutoName is the name that a user gives in place of an algorithm's to ask for the automatic choice.
const AutoName = "auto"

// mostSignal is a threshold for t = n mu/sqrt d. Up to the threshold the choice is the pairwise least-squares
// model of the moments. Above it, two steps of the pointwise logistic loss are worth their share of the budget
// (docs/moments.md).
const mostSignal = 128

// mostAutoSteps bounds the number of gradients of a choice. In the measurements 10 of 1,030 steps gave the same
// model.
const mostAutoSteps = 100

// Choose returns the algorithm that runs if the user names none. It is a pure function of public numbers.
// docs/moments.md has the rule and its measurements.
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
		return q.descent("this task, loss or device allows no moments within query groups")
	case len(p.Groups) > 0:
		return q.choice(Moments{},
			"no loss was given, so one release of moments is enough")
	case p.LabelLimit() > 2:
		return q.descent("the labels are graded, but moments need two classes")
	case !sums:
		return q.descent("moments are not summed on this device")
	case !scores && q.LossNamed:
		return q.descent("a loss was given, but moments of a metric minimise no loss")
	case !scores && (s.Budget.Delta == 0 || p.D > maxRuleMoments || q.L2 != nil && *q.L2 > 0):
		return q.descent(fmt.Sprintf("a metric from moments needs delta > 0, at most %d features and no L2 term",
			maxRuleMoments))
	case !scores:
		return q.choice(MomentMetric{}, "no loss was given; moments of both classes are enough for a metric")
	case q.LossNamed && !isLeastSquares(p.Loss):
		return q.choice(MomentsDescent{}, fmt.Sprintf("moments-descent can minimise the given loss, %s",
			p.Loss.Name()))
	case q.LossNamed:
		return q.choice(Moments{},
			"the square loss was given, and moments minimise it over all pairs, also of one class")
	case t <= mostSignal:
		return q.choice(Moments{}, fmt.Sprintf("no loss was given; %s is at most %d, so moments without steps are "+
			"best", ratio, mostSignal))
	case s.Budget.Delta == 0 || p.D > maxRuleMoments || q.L2 != nil && *q.L2 > 0:
		return q.choice(Moments{}, fmt.Sprintf("no loss was given; logistic steps need delta > 0, at most %d features "+
			"and no L2 term", maxRuleMoments))
	}
	return q.choice(Moments{Steps: 2}, fmt.Sprintf("no loss was given; %s is above %d, so moments with two "+
		"logistic steps are best", ratio, mostSignal))
}

// choice returns the Choice of an algorithm, with its L2 weight.
func (q Question) choice(a Algorithm, reason string) Choice {
	_, score := q.Spec.Kernel.Problem().Loss.(engine.ScoreLoss)
	c := Choice{Algorithm: a, L2: DefaultL2(a, q.Spec.Kernel.Problem().N, !score), Reason: reason}
	if q.L2 != nil {
		c.L2 = *q.L2
	}
	return c
}

// descent returns the choice of a descent on the loss of Spec with at most mostAutoSteps steps. The descent is
// output perturbation if a certificate holds, because output perturbation has no limit on delta. Otherwise it
// is noisy gradient descent.
func (q Question) descent(reason string) Choice {
	s := q.Spec
	smooth := s.Constants.Convex && !math.IsInf(s.Constants.Smoothness, 1)
	c := q.choice(DPGDSC{}, reason)
	switch {
	case !smooth:
		c = q.choice(GradientPerturbation{}, reason+"; this loss is not smooth and convex, so every gradient gets "+
			"noise")
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

// Plan returns the plan of the chosen algorithm for s, with the reason for the choice.
func (c Choice) Plan(s Spec) (*Plan, error) {
	s.L2 = c.L2
	p, err := c.Algorithm.Plan(s)
	if err != nil {
		if c.Reason != "" {
			err = fmt.Errorf("%w (%s was chosen by auto: %s; choose another algorithm with --algorithm)", err,
				c.Algorithm.Info().Name, c.Reason)
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
