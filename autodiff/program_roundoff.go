package autodiff

import "math"

// roundoffWork limits the interval evaluations of Roundoff.
const roundoffWork = 2000

// Roundoff returns a bound of |computed - exact| over all float64 u in the interval. computed is
// the result of Eval, and exact is the value of the Expr in exact arithmetic. The bound is +Inf if
// none was found. It is at most about twice the largest value that the same analysis gives at a
// single point.
//
// It uses forward error analysis in interval arithmetic (Higham, Accuracy and Stability of
// Numerical Algorithms, 2nd ed., Sections 2.2 and 26.4). On each part of the interval every step
// has an enclosure of its exact values, an enclosure of its computed values, and a bound of the
// difference. The difference is the error of the operands times the largest slope, plus the step's
// own rounding error. A comparison whose sides are exact is exact. If rounding could change the
// result of a comparison, the bound includes the whole difference of the branches that the
// comparison selects.
func (p *Program) Roundoff(on Interval) float64 {
	if !validRange(on) {
		return inf
	}
	return newRounding(p.expr).largest(on)
}

// largest returns an upper bound of bound over all parts of an interval.
func (r *rounding) largest(on Interval) float64 {
	bound, _ := maximise([]Interval{on}, func(c Interval) (float64, float64) {
		return r.bound(c), r.bound(Point(c.middle()))
	}, func(best float64) float64 { return math.Max(best, 0) }, roundoffWork)
	return bound
}

// rounding holds the enclosures of the exact values (exact.v), the enclosures of the computed
// values (float.v), and the error bounds of all instructions.
type rounding struct {
	exact, float *jet
	err          []float64
	single       bool // the analysis is for the code of PTX instead of a Program
}

func newRounding(e Expr) *rounding {
	return &rounding{exact: newJet(e), float: newJet(e), err: make([]float64, e.Size())}
}

const (
	// inflate covers the rounding of the few operations in each bound below. All of them are on
	// non-negative numbers.
	inflate = 1 + 0x1p-40
	tiny    = 0x1p-1074
)

// bound returns a bound of the error on an interval. If rounding could change the result of a
// comparison, bound follows both results. A comparison has the same result wherever it occurs, as
// in jet.branchValues. Let x_s be the exact value and c_s the computed value if the comparisons
// have the results s. Then |c_t - x_s| <= |c_t - x_t| + |x_t - x_s| for every s and t.
func (r *rounding) bound(on Interval) float64 {
	whole := r.plain(on)
	open := r.exact.open(func(i int) bool { return r.err[i] != 0 })
	if len(open) == 0 {
		return whole
	}
	forced := make(map[condition]bool)
	r.exact.forced, r.float.forced = forced, forced
	defer func() { r.exact.forced, r.float.forced = nil, nil }()
	own, values := 0.0, undef
	for s := range 1 << len(open) {
		for i, c := range open {
			forced[c] = s>>i&1 == 1
		}
		e := r.plain(on)
		x := r.exact.v[len(r.err)-1]
		if x.undefined() || !(e < inf) {
			return whole
		}
		own, values = math.Max(own, e), join(values, x)
	}
	return math.Min(whole, addUp(own, values.Width())*inflate)
}

// plain is like bound, but does not follow the results of comparisons.
func (r *rounding) plain(on Interval) float64 {
	last := len(r.err) - 1
	for i, in := range r.exact.code {
		r.exact.v[i] = r.exact.value(in, on)
		r.step(i, in, on)
	}
	if e := r.err[last]; e == e && !(r.single && !(r.float.v[last].Abs() < singleLargest)) {
		return e
	}
	return inf
}

// step sets the enclosure of the computed values and the error bound of
// instruction i.
func (r *rounding) step(i int, in instr, on Interval) {
	x := r.exact.v[i]
	if in.op.leaf() {
		r.float.v[i], r.err[i] = x, 0
		if r.single {
			e := leafSingle(in)
			r.float.v[i], r.err[i] = Interval{addDown(x.Lo, -e), addUp(x.Hi, e)}, e
		}
		if x.undefined() {
			r.err[i] = inf
		}
		return
	}
	c := undef
	if !r.mayBeNaN(in) {
		c = r.float.value(in, on)
	}
	relative, absolute := r.own(in)
	if !in.op.mask() && in.op != opWhere {
		c = Interval{
			addDown(c.Lo, -(mulUp(relative, math.Abs(c.Lo)) + absolute)),
			addUp(c.Hi, mulUp(relative, math.Abs(c.Hi))+absolute),
		}
	}
	e := inf
	if !x.undefined() {
		if p := r.carried(i, in); p == p {
			size := x.Abs() + p
			e = (p + absolute) * inflate
			if relative > 0 {
				e = (p + relative*size + absolute) * inflate
			}
		}
		if d := math.Max(addUp(c.Hi, -x.Lo), addUp(x.Hi, -c.Lo)); d >= 0 && d < e {
			e = d
		}
	}
	if e < inf {
		near := Interval{addDown(x.Lo, -e), addUp(x.Hi, e)}
		if c.undefined() {
			c = undef
		} else {
			c = meet(c, near)
		}
	}
	if c.undefined() || x.undefined() || e != e {
		c, e = undef, inf
	}
	r.float.v[i], r.err[i] = c, e
}

// mayBeNaN reports whether the computed operands may be infinities whose combination is NaN.
func (r *rounding) mayBeNaN(in instr) bool {
	a := r.float.v[in.a]
	infinite := func(x Interval) bool { return math.IsInf(x.Lo, 0) || math.IsInf(x.Hi, 0) }
	if !in.op.binary() {
		return (in.op == opSin || in.op == opCos) && infinite(a)
	}
	b := r.float.v[in.b]
	switch in.op {
	case opAdd:
		return math.IsInf(a.Hi, 1) && math.IsInf(b.Lo, -1) || math.IsInf(a.Lo, -1) && math.IsInf(b.Hi, 1)
	case opSub:
		return math.IsInf(a.Hi, 1) && math.IsInf(b.Hi, 1) || math.IsInf(a.Lo, -1) && math.IsInf(b.Lo, -1)
	case opMul:
		return infinite(a) && b.Contains(0) || infinite(b) && a.Contains(0)
	case opDiv:
		return infinite(a) && infinite(b)
	}
	return false
}

// own returns bounds of the error of the operation itself on exact operands: one relative to the
// result, and one absolute. The error is at most their sum.
func (r *rounding) own(in instr) (relative, absolute float64) {
	if r.single {
		return in.ownSingle(r.float.v[in.a])
	}
	switch in.op {
	case opNeg, opAbs, opMax, opMin, opWhere, opGe, opGt, opEq:
		return 0, 0
	case opAdd, opSub:
		return unitRoundoff, 0
	case opMul, opDiv, opSquare, opSqrt:
		return unitRoundoff, tiny
	case opSigmoid:
		return 12 * unitRoundoff, 2 * tiny
	case opSoftplus:
		// With e = exp(-|x|) within 8 u and log1p'(e) e / log1p(e) <= 1, the
		// logarithm is within 16 u, and one addition follows.
		return 18 * unitRoundoff, 4 * libraryTiny
	case opSin, opCos:
		if r.float.v[in.a].Abs() > trigRange {
			return 0, 2
		}
		return 0, trigError
	case opPow:
		return r.ownPower(in)
	case opNormCDF:
		return ownNormCDF(r.float.v[in.a])
	case opLogNormCDF:
		return logNormCDFError, logNormCDFTiny
	case opHazard:
		return hazardError, hazardTiny
	}
	return libraryError, libraryTiny
}

// ownPower returns bounds of the error of power. If power uses products, the products cause the
// error. Otherwise the logarithm and the product with c, amplified by |c log a|, and the
// exponential cause it. A reciprocal adds one rounding. The error of a reciprocal is not bounded if
// the power may be subnormal.
func (r *rounding) ownPower(in instr) (relative, absolute float64) {
	c, a := math.Abs(in.c), r.float.v[in.a]
	if in.c < 0 && (a.undefined() || !(r.exact.v[in.a].pow(c).least() > 0x1p-1000) || !(a.pow(c).least() > 0x1p-1000)) {
		return 0, inf
	}
	if c == math.Trunc(c) && c <= maxRepeated {
		return (c + 1) * unitRoundoff * (1 + 0x1p-40), (c + 1) * tiny
	}
	if !(a.Lo >= 0) {
		return 0, inf
	}
	log := 746.0 // bounds |log a| of every positive float64
	if a.Lo > 0 {
		log = math.Min(log, a.log().Abs())
	}
	return (10*c*log*unitRoundoff + libraryError) * (1 + 0x1p-20), libraryTiny
}

// carried returns a bound of the error that the errors of the operands cause in an exact operation.
func (r *rounding) carried(i int, in instr) float64 {
	a, ea := r.exact.v[in.a], r.err[in.a]
	if in.op.binary() {
		return r.carriedBinary(in, a, r.exact.v[in.b], ea, r.err[in.b])
	}
	if in.op == opWhere {
		return r.carriedWhere(in)
	}
	if ea == 0 {
		return 0
	}
	if math.IsInf(ea, 1) {
		return inf
	}
	wide := Interval{addDown(a.Lo, -ea), addUp(a.Hi, ea)}
	switch in.op {
	case opSqrt:
		if wide.Lo < 0 {
			return inf
		}
		least := math.Sqrt(wide.Lo)
		return math.Min(math.Sqrt(ea), ea/(2*least)) * (1 + 8*unitRoundoff)
	case opExp:
		return wide.exp().Hi * ea
	case opAbs, opSin, opCos:
		return ea
	}
	return r.exact.unarySlope(i, in, wide).Abs() * ea
}

func (r *rounding) carriedBinary(in instr, a, b Interval, ea, eb float64) float64 {
	switch in.op {
	case opAdd, opSub:
		return ea + eb
	case opMul:
		return product(a.Abs(), eb) + product(b.Abs(), ea) + product(ea, eb)
	case opDiv: // (a^ - a)/b^ + (a/b)(b - b^)/b^
		least := (b.least() - eb) * (1 - 8*unitRoundoff)
		if !(least > 0) {
			return inf
		}
		return (ea + product(a.Abs()/b.least()*(1+8*unitRoundoff), eb)) / least
	case opMax, opMin:
		return math.Max(ea, eb)
	}
	// A comparison of exact sides is exact. For other comparisons, step uses the difference of
	// their enclosures.
	if ea == 0 && eb == 0 {
		return 0
	}
	return inf
}

// product returns x times the error e, and 0 if x or e is 0.
func product(x, e float64) float64 {
	if e == 0 || x == 0 {
		return 0
	}
	return x * e
}

// carriedWhere returns the error of the selected branch, if the mask is exact.
func (r *rounding) carriedWhere(in instr) float64 {
	if r.err[in.m] != 0 {
		return inf
	}
	switch m := r.exact.v[in.m]; {
	case !m.Contains(0):
		return r.err[in.a]
	case m == zero:
		return r.err[in.b]
	}
	return math.Max(r.err[in.a], r.err[in.b])
}
