package autodiff

import "slices"

// Bounds returns an interval that contains e(u) for every real u in the given interval. It uses
// interval arithmetic with outward rounding (Moore, Kearfott and Cloud, Introduction to Interval
// Analysis, SIAM 2009, Theorem 5.1). It returns [-Inf, Inf] if e may be undefined somewhere in this
// interval. If the ranges of the two sides of a comparison do not decide the comparison, the mask
// is [0, 1], and a Where with this mask is the union of both branches.
//
// The result can be wider than the range of e if u occurs several times in e. Prove makes it
// narrower by splitting.
func (e Expr) Bounds(on Interval) Interval {
	v := newJet(e).values(on)
	if v.undefined() {
		return whole
	}
	return v
}

// jet evaluates an expression and its derivative on intervals. It uses forward differentiation with
// interval values, so that no rounding of the constants of a symbolic derivative enters. It is not
// safe for concurrent use.
//
// The interval of the derivative contains the derivative at every point where the expression is
// differentiable, with the masks held fixed. Suppose that no mask of a Where is undecided on an
// interval. Then the expression is Lipschitz continuous on it, with the bound of this interval. The
// reason: Max, Min and Abs of Lipschitz functions have, almost everywhere, the derivative of one
// branch, and the enclosure contains both branches.
type jet struct {
	code   []instr
	v, d   []Interval
	dd     []Interval         // second derivatives, for secondSlopes
	forced map[condition]bool // comparisons whose result is prescribed
	// impossible is true if no u of the interval gives a prescribed result.
	impossible bool
}

// condition is the comparison x >= y of two instructions; y = -1 means 0.
type condition struct{ x, y int }

func newJet(e Expr) *jet {
	code := e.instrs()
	return &jet{code: code, v: make([]Interval, len(code)), d: make([]Interval, len(code))}
}

// condition returns the comparison that decides the instruction in. negated is true if in takes its
// first operand (or is 1) when the comparison is false.
func (in instr) condition() (c condition, negated, ok bool) {
	switch in.op {
	case opGe, opMax:
		return condition{in.a, in.b}, false, true
	case opMin: // a where b >= a
		return condition{in.b, in.a}, false, true
	case opGt: // not b >= a
		return condition{in.b, in.a}, true, true
	case opAbs:
		return condition{in.a, -1}, false, true
	}
	return condition{}, false, false
}

func (j *jet) side(x int) Interval {
	if x < 0 {
		return zero
	}
	return j.v[x]
}

// decided returns the value of in's condition, as in uses it, if it is known. If the sides are
// equal, Max, Min and Abs may take either branch, and both give the value. So the comparison
// also counts as decided if the ranges of the two sides have only an end point in common. If
// both sides are the same point, neither branch is decided.
func (j *jet) decided(in instr) (value, known bool) {
	c, negated, _ := in.condition()
	x, y := j.side(c.x), j.side(c.y)
	if f, ok := j.forced[c]; ok {
		j.impossible = j.impossible || f && x.Hi < y.Lo || !f && x.Lo >= y.Hi
		return f != negated, true
	}
	strict := in.op.mask()
	switch {
	case !strict && x.Lo == x.Hi && x == y:
		return false, false
	case x.Lo >= y.Hi:
		return !negated, true
	case x.Hi < y.Lo || !strict && x.Hi == y.Lo:
		return negated, true
	}
	return false, false
}

func maskInterval(value, known bool) Interval {
	switch {
	case !known:
		return unit
	case value:
		return Point(1)
	}
	return zero
}

// values returns the enclosure of the value on the interval.
func (j *jet) values(on Interval) Interval {
	for i, in := range j.code {
		j.v[i] = j.value(in, on)
	}
	return j.v[len(j.v)-1]
}

// open returns the conditions of the undecided comparisons. It returns none if there are too many
// of them to follow every combination of their results, or if one is an equality.
func (j *jet) open(undecided func(i int) bool) (open []condition) {
	for i, in := range j.code {
		if !in.op.mask() || !undecided(i) {
			continue
		}
		if in.op == opEq {
			return nil
		}
		if c, _, _ := in.condition(); !slices.Contains(open, c) {
			open = append(open, c)
		}
	}
	if len(open) > maxConditions {
		return nil
	}
	return open
}

// branchValues returns a narrower enclosure than v, the enclosure of the value on the interval that
// was found last. Every u gives each undecided comparison one result, the same wherever the
// comparison occurs. So the value is in the enclosure for some choice of the results. This excludes
// mixtures such as [-1, 1] - [-1, 1] for the slope of abs(u) - abs(u).
func (j *jet) branchValues(on, v Interval) Interval {
	open := j.open(func(i int) bool { return j.v[i] == unit })
	if len(open) == 0 {
		return v
	}
	j.forced = make(map[condition]bool)
	defer func() { j.forced = nil }()
	out := undef
	for s := range 1 << len(open) {
		for i, c := range open {
			j.forced[c] = s>>i&1 == 1
		}
		j.impossible = false
		x := j.values(on)
		if j.impossible {
			continue
		}
		if x.undefined() {
			return v
		}
		out = join(out, x)
	}
	if out.undefined() {
		return v
	}
	return meet(v, out)
}

// slopes returns the enclosures of the value and of the derivative.
func (j *jet) slopes(on Interval) (v, d Interval) {
	for i, in := range j.code {
		j.v[i] = j.value(in, on)
		j.d[i] = j.slope(i, in)
	}
	return j.v[len(j.v)-1], j.d[len(j.d)-1]
}

func (j *jet) value(in instr, on Interval) Interval {
	if in.op == opConst {
		if !finite(in.c) {
			return undef
		}
		return Point(in.c)
	}
	if in.op == opVar {
		return on
	}
	a := j.v[in.a]
	if in.op.binary() {
		return j.binary(in, a, j.v[in.b])
	}
	if f := elementary[in.op].real; f != nil {
		return f(a)
	}
	switch in.op {
	case opAbs:
		return a.abs()
	case opPow:
		return a.pow(in.c)
	case opWhere:
		return j.either(in, a, j.v[in.b])
	}
	return undef
}

// either returns the operand that opWhere chooses, or the hull of both if the choice is not decided.
func (j *jet) either(in instr, a, b Interval) Interval {
	switch m := j.v[in.m]; {
	case m.undefined():
		return undef
	case !m.Contains(0):
		return a
	case m == zero:
		return b
	}
	return hull(a, b)
}

func (j *jet) binary(in instr, a, b Interval) Interval {
	switch in.op {
	case opAdd:
		return a.add(b)
	case opSub:
		if in.a == in.b && !a.undefined() {
			return zero
		}
		return a.sub(b)
	case opMul:
		if in.a == in.b {
			return a.square()
		}
		return a.mul(b)
	case opDiv:
		return a.div(b)
	case opMax:
		return a.max(b)
	case opMin:
		return a.min(b)
	}
	if a.undefined() || b.undefined() {
		return undef
	}
	if in.op == opEq {
		switch {
		case a.Lo == a.Hi && a == b || in.a == in.b:
			return Point(1)
		case a.Hi < b.Lo || b.Hi < a.Lo:
			return zero
		}
		return unit
	}
	return maskInterval(j.decided(in))
}

// slope returns the derivative of instruction i, whose value and operands are known.
func (j *jet) slope(i int, in instr) Interval {
	if in.op == opVar {
		return Point(1)
	}
	if in.op == opConst || in.op.mask() {
		return zero
	}
	a, da := j.v[in.a], j.d[in.a]
	if in.op.binary() || in.op == opWhere {
		return j.binarySlope(i, in, a, da, j.v[in.b], j.d[in.b])
	}
	if da == zero {
		return zero
	}
	return j.unarySlope(i, in, a).mul(da)
}

// unarySlope returns the range of the operation's derivative at a.
func (j *jet) unarySlope(i int, in instr, a Interval) Interval {
	one := Point(1)
	switch in.op {
	case opNeg:
		return Point(-1)
	case opExp:
		return j.v[i]
	case opLog:
		return one.div(a)
	case opLog1p:
		return one.div(one.add(a))
	case opExpm1:
		return a.exp()
	case opTanh: // 1 - tanh^2 = 4 sigmoid(2a) sigmoid(-2a)
		return a.scale(2).bell().scale(4)
	case opSigmoid:
		return a.bell()
	case opSoftplus:
		return a.sigmoid()
	case opSqrt:
		return Point(0.5).div(j.v[i])
	case opSquare:
		return a.scale(2)
	case opAbs:
		switch positive, known := j.decided(in); {
		case !known:
			return Interval{-1, 1}
		case positive:
			return one
		}
		return Point(-1)
	case opSin:
		return a.cos()
	case opCos:
		return a.sin().neg()
	case opAtan:
		return one.div(one.add(a.square()))
	case opErf: // 2/sqrt(pi) e^(-a^2)
		return a.square().neg().exp().mul(twoOverSqrtPi)
	case opNormCDF: // e^(-a^2/2) / sqrt(2 pi)
		return a.square().scale(-0.5).exp().mul(normalDensity)
	case opLogNormCDF:
		return a.hazard()
	case opHazard:
		return a.hazardSlope()
	case opPow:
		return a.pow(in.c - 1).scale(in.c)
	}
	return undef
}

func (j *jet) binarySlope(i int, in instr, a, da, b, db Interval) Interval {
	switch in.op {
	case opAdd:
		return da.add(db)
	case opSub:
		return da.sub(db)
	case opMul:
		return da.mul(b).add(a.mul(db))
	case opDiv:
		return da.sub(j.v[i].mul(db)).div(b)
	case opMax, opMin:
		switch first, known := j.decided(in); {
		case !known:
			return hull(da, db)
		case first:
			return da
		}
		return db
	case opWhere:
		return j.either(in, da, db)
	}
	return undef
}

// maxConditions limits the comparisons that change in one kink.
const maxConditions = 4
