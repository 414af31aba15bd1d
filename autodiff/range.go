package autodiff

// Range is Prove(on).Slope: an interval that contains e(u) for all u in on. It is at most 2^18
// evaluations of Size interval operations, whatever the formula, so it can be asked for one
// that is not trusted; Prove and Function.Check do more.
func (e Expr) Range(on Interval) Interval {
	if !validRange(on) {
		return whole
	}
	a := &analysis{jet: newJet(e), point: newJet(e), on: on, work: fullEffort}
	bound, _ := a.slopeRange()
	return bound
}
