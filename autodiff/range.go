package autodiff

// rangeEnds is a quarter of what Prove spends on the same ends; few formulas need more.
const rangeEnds = 1000

// Range is an interval that contains e(u) for all u in on, Prove(on).Slope unless the formula
// is very hard. It is at most 2^16 evaluations of Size interval operations, whatever the
// formula, so it can be asked for one that is not trusted; Prove and Function.Check do more.
func (e Expr) Range(on Interval) Interval {
	if !validRange(on) {
		return whole
	}
	a := &analysis{jet: newJet(e), point: newJet(e), on: on, work: effort{ends: rangeEnds}}
	bound, _ := a.slopeRange()
	return bound
}
