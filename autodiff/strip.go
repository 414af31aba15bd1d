package autodiff

import "math"

// The work of StripBound.
const (
	stripWork      = 3000     // number of rectangles for analyticity, and again for the bound
	stripTolerance = 0x1p-7   // relative gap of the bound
	stripLeast     = 0x1p-12  // least width of a rectangle, relative to the strip
	stripLargest   = 0x1p1000 // a bound above this is useless
)

// StripBound returns an upper bound of |e(z)| for all complex z whose real part is in the given
// interval and whose imaginary part is at most height in absolute value. Here e(z) is the analytic
// continuation of e from the real interval. It returns +Inf if e may have a singularity or a branch
// cut there. It also returns +Inf if a comparison, Abs, Max or Min of e is not decided on the whole
// interval. If an expression has a singularity just outside, the bound is larger than the supremum.
//
// Proof. Every operation is evaluated on rectangles that contain its exact values. Suppose that all
// rectangles of a cover of [on] x i[0, height] give finite enclosures. Then every operation is
// analytic on a neighbourhood of its operands' values there, so e is analytic. It is the
// continuation because it is correct on the real axis, which is one side of the connected set. e is
// real on the real axis, so e(conj z) = conj e(z), and |e| on the lower half is the same. By the
// maximum principle the supremum is on the boundary of the full rectangle. That is on Im z = height
// and on the two ends, where branch and bound finds it. QED
func (e Expr) StripBound(on Interval, height float64) float64 {
	if !validRange(on) || !(height >= 0) || math.IsInf(height, 1) {
		return inf
	}
	s := &strip{jet: newJet(e), v: make([]rectangle, e.Size()), first: make([]bool, e.Size())}
	if !s.decide(on) {
		return inf
	}
	if height == 0 {
		bound, _ := newAnalysis(e, on, fullEffort).slopeRange()
		return bound.Abs()
	}
	if !s.analytic(on, height) {
		return inf
	}
	top := func(c Interval) (float64, float64) {
		return s.modulus(rectangle{c, Point(height)}), s.modulus(rectangle{Point(c.middle()), Point(height)})
	}
	end := func(x float64) func(Interval) (float64, float64) {
		return func(c Interval) (float64, float64) {
			return s.modulus(rectangle{Point(x), c}), s.modulus(rectangle{Point(x), Point(c.middle())})
		}
	}
	tolerance := func(best float64) float64 { return stripTolerance * best }
	bound, best := maximise([]Interval{on}, top, tolerance, stripWork)
	for _, x := range [2]float64{on.Lo, on.Hi} {
		b, _ := maximise([]Interval{{0, height}}, end(x), func(found float64) float64 {
			return math.Max(tolerance(found), best-found) // need not exceed the top
		}, stripWork/4)
		bound = math.Max(bound, b)
	}
	if !(bound < stripLargest) {
		return inf
	}
	return bound
}

// strip evaluates an expression on rectangles.
type strip struct {
	jet   *jet
	v     []rectangle
	first []bool // whether a branching instruction takes its first operand, or has the value 1
	dead  []bool // whether an instruction is not used on the interval
}

// decide fixes every branch on the real interval. It returns false if a branch is undecided.
func (s *strip) decide(on Interval) bool {
	s.jet.values(on)
	code := s.jet.code
	used := make([]bool, len(code))
	used[len(code)-1] = true
	for i := len(code) - 1; i >= 0; i-- {
		in := code[i]
		if !used[i] {
			continue
		}
		switch {
		case in.op == opWhere:
			m := s.jet.v[in.m]
			if m.undefined() || m.Contains(0) && m != zero {
				return false
			}
			s.first[i] = m != zero
			used[in.choice(s.first[i])] = true
			continue
		case in.op.mask():
			m := s.jet.v[i]
			if m.undefined() || m == unit {
				return false
			}
			s.first[i] = m != zero
			continue
		}
		if _, _, branches := in.condition(); branches {
			first, known := s.jet.decided(in)
			if !known {
				return false
			}
			s.first[i] = first
			if in.op != opAbs {
				used[in.choice(first)] = true
				continue
			}
		}
		in.rename(func(k int) int { used[k] = true; return k })
	}
	s.dead = make([]bool, len(code))
	for i := range used {
		s.dead[i] = !used[i]
	}
	return true
}

func (in instr) choice(first bool) int {
	if first {
		return in.a
	}
	return in.b
}

// analytic reports whether a cover of on x i[0, height] has finite enclosures.
func (s *strip) analytic(on Interval, height float64) bool {
	type job struct{ re, im Interval }
	stack := []job{{on, Interval{0, height}}}
	leastRe, leastIm := stripLeast*(on.Hi-on.Lo), stripLeast*height
	for work := stripWork; len(stack) > 0; work-- {
		c := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if s.modulus(rectangle(c)) < inf {
			continue
		}
		wide, tall := c.re.Hi-c.re.Lo, c.im.Hi-c.im.Lo
		var l, r job
		ok := work > 0
		if wide >= tall {
			a, b, split := c.re.halves()
			l, r = job{a, c.im}, job{b, c.im}
			ok = ok && split && wide > math.Min(leastRe, leastIm)
		} else {
			a, b, split := c.im.halves()
			l, r = job{c.re, a}, job{c.re, b}
			ok = ok && split && tall > leastIm
		}
		if !ok {
			return false
		}
		stack = append(stack, r, l)
	}
	return true
}

// modulus returns a bound of |e| on a rectangle, +Inf if an operation may be singular.
func (s *strip) modulus(on rectangle) float64 {
	last := len(s.v) - 1
	for i, in := range s.jet.code {
		if s.dead[i] {
			continue
		}
		v := s.value(i, in, on)
		if v.undefined() {
			return inf
		}
		s.v[i] = v
	}
	m := s.v[last].modulus()
	if m != m {
		return inf
	}
	return m
}

func (s *strip) value(i int, in instr, on rectangle) rectangle {
	if in.op == opConst {
		if !finite(in.c) {
			return rectangle{undef, undef}
		}
		return onAxis(Point(in.c))
	}
	if in.op == opVar {
		return on
	}
	a, b := s.v[in.a], s.v[in.b]
	if f := elementary[in.op].complex; f != nil {
		return f(a)
	}
	switch in.op {
	case opPow:
		return a.pow(in.c)
	case opAdd:
		return a.add(b)
	case opSub:
		return a.sub(b)
	case opMul:
		return a.mul(b)
	case opDiv:
		return a.div(b)
	case opAbs:
		if s.first[i] {
			return a
		}
		return a.neg()
	case opMax, opMin, opWhere:
		return s.v[in.choice(s.first[i])]
	}
	return onAxis(maskInterval(s.first[i], true)) // masks
}
