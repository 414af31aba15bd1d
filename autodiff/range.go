package autodiff

// rangeEnds limits the work of Range for each end of the range. Prove allows four times
// as much. Few formulas need more than rangeEnds.
const rangeEnds = 1000

// Range returns an interval that contains e(u) for all u in the given interval. The result
// equals Prove(on).Slope unless the formula is very hard. It takes at most 2^16 evaluations
// of Size interval operations for any formula, so it is suitable for untrusted formulas.
// Prove and Function.Check can take more evaluations.
func (e Expr) Range(on Interval) Interval {
	if !validRange(on) {
		return whole
	}
	a := &analysis{jet: newJet(e), point: newJet(e), on: on, work: effort{ends: rangeEnds}}
	bound, _ := a.slopeRange()
	return bound
}
