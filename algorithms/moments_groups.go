package algorithms

import (
	"dyad/engine"
)

// groupClip is R/X for differences within query groups (docs/moments.md#query-groups).
const groupClip = 0.2

// withinGroups returns the options for pairs within query groups. Differences need no centre, and the labels of a pair
// need no balance. So the whole budget goes to one release (docs/theory.md#group-moments).
func (a Moments) withinGroups(s Spec) (Moments, error) {
	bad := func(text string) (Moments, error) {
		return a, Refused("moments", " within query groups %s", text)
	}
	p := s.Kernel.Problem()
	switch {
	case a.Steps != 0 || a.StepShare > 0:
		return bad("take no logistic steps; leave out the steps and their budget share")
	case a.CountShare > 0 || a.Balance > 0 || a.CentreShare > 0 || a.Centre != nil:
		return bad("use neither the number of positives nor a centre; leave their options out")
	case a.Intervals:
		return bad("have no intervals in this version; leave the intervals out")
	case s.Budget.Delta == 0 && a.Second != "" && a.Second != engine.NoSecond.String():
		return bad("have second moments only if delta > 0; set the second moments to none")
	}
	rule := momentsRule(p.N, p.D, s.Budget, 0.5)
	switch {
	case s.Budget.Delta == 0:
		a.Second = engine.NoSecond.String()
	case a.SecondShare == 0 && (rule.Kind != engine.NoSecond && a.Second == "" || a.Second == engine.FullSecond.String()):
		a.SecondShare = max(rule.Second, 0.2*(1-rule.Centre)) / (1 - rule.Centre)
	}
	if a.ClipRadius == 0 {
		a.ClipRadius = groupClip * p.Bounds.FeatureNorm
	}
	a.Balance, a.Centre = 0.5, []float64{0}
	return a, nil
}

// pairWeight returns the sum of the weights of the compared pairs. It is n/2 for all pairs of n records, as each pair
// has the weight 1/n.
func pairWeight(p engine.Problem) float64 {
	if len(p.Groups) == 0 {
		return float64(p.N) / 2
	}
	_, weight := engine.Together(p)
	return weight
}
