package autodiff

// secondSlopes returns the enclosures of the derivative and of the second derivative. If a branch
// is not decided, the second derivative may not exist, and its enclosure is undefined.
func (j *jet) secondSlopes(on Interval) (d, dd Interval) {
	if j.dd == nil {
		j.dd = make([]Interval, len(j.code))
	}
	for i, in := range j.code {
		j.v[i] = j.value(in, on)
		j.d[i] = j.slope(i, in)
		j.dd[i] = j.second(i, in)
	}
	return j.d[len(j.d)-1], j.dd[len(j.dd)-1]
}

// second returns the second derivative of instruction i, whose value and slope are known.
func (j *jet) second(i int, in instr) Interval {
	if in.op.leaf() || in.op.mask() || j.d[i] == zero {
		return zero
	}
	a, da, dda := j.v[in.a], j.d[in.a], j.dd[in.a]
	b, db, ddb := j.v[in.b], j.d[in.b], j.dd[in.b]
	switch in.op {
	case opAdd:
		return dda.add(ddb)
	case opSub:
		return dda.sub(ddb)
	case opMul:
		return dda.mul(b).add(da.mul(db).scale(2)).add(a.mul(ddb))
	case opDiv: // v b = a, so v" b + 2 v' b' + v b" = a"
		return dda.sub(j.d[i].mul(db).scale(2)).sub(j.v[i].mul(ddb)).div(b)
	case opMax, opMin:
		switch first, known := j.decided(in); {
		case !known:
			return undef
		case first:
			return dda
		}
		return ddb
	case opWhere:
		switch m := j.v[in.m]; {
		case !m.Contains(0) && !m.undefined():
			return dda
		case m == zero:
			return ddb
		}
		return undef
	}
	return j.unarySecond(i, in, a).mul(da.square()).add(j.unarySlope(i, in, a).mul(dda))
}

// unarySecond returns the range of the operation's second derivative at a.
func (j *jet) unarySecond(i int, in instr, a Interval) Interval {
	one, v := Point(1), j.v[i]
	switch in.op {
	case opNeg:
		return zero
	case opAbs:
		if _, known := j.decided(in); !known {
			return undef
		}
		return zero
	case opExp:
		return v
	case opLog:
		return Point(-1).div(a.square())
	case opLog1p:
		return Point(-1).div(one.add(a).square())
	case opExpm1:
		return a.exp()
	case opTanh: // -2 tanh tanh'
		return v.scale(-2).mul(j.unarySlope(i, in, a))
	case opSigmoid: // s (1 - s) (1 - 2s)
		return a.bell().mul(one.sub(v.scale(2)))
	case opSoftplus:
		return a.bell()
	case opSqrt: // -1 / (4 a sqrt(a))
		return Point(-0.25).div(a.mul(v))
	case opSquare:
		return Point(2)
	case opSin:
		return v.neg()
	case opCos:
		return v.neg()
	case opAtan: // -2a / (1 + a^2)^2
		return a.scale(-2).div(one.add(a.square()).square())
	case opErf:
		return a.scale(-2).mul(j.unarySlope(i, in, a))
	case opNormCDF:
		return a.neg().mul(j.unarySlope(i, in, a))
	case opLogNormCDF:
		return a.hazardSlope()
	case opPow:
		return a.pow(in.c - 2).scale(in.c).mul(Point(in.c).sub(one))
	}
	return undef
}

// curvatureOn returns enclosures of the analysed function's derivative on c, and at a point of c.
//
// If no branch is open and the second derivative is bounded, the enclosure is intersected with the
// mean value form: f'(u) is in f'(m) + f"(c) (u - m). The width of the mean value form is quadratic
// in the width of c, while the width of the plain enclosure is linear.
func (a *analysis) curvatureOn(c Interval) (on, at Interval) {
	m := c.middle()
	_, at = a.point.slopes(Point(m))
	d, dd := a.jet.secondSlopes(c)
	if d.undefined() || dd.undefined() || at.undefined() {
		return d, at
	}
	return meet(d, at.add(dd.mul(c.sub(Point(m))))), at
}
