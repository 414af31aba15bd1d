package autodiff

import (
	"math"
	"math/big"
	"slices"
)

// pieces returns the value of an instruction as pieces, given the values of the instructions before
// it.
func (in instr) pieces(v []pieces) (pieces, bool) {
	switch {
	case in.op == opConst:
		return constantPiece(in.c)
	case in.op == opVar:
		return pieces{poly: []polynomial{{new(big.Rat), big.NewRat(1, 1)}}}, true
	case in.op == opWhere:
		return branches(v[in.m], v[in.a], v[in.b])
	case in.op.binary():
		return in.op.combinePieces(v[in.a], v[in.b])
	}
	a := v[in.a]
	switch in.op {
	case opNeg:
		return merge(a, a, func(p, _ polynomial) polynomial { return linear(-1, 0, p, nil) }), true
	case opSquare:
		return merge(a, a, polynomial.times), true
	case opAbs:
		minus := merge(a, a, func(p, _ polynomial) polynomial { return linear(-1, 0, p, nil) })
		return opMax.combinePieces(a, minus)
	case opPow:
		if in.c != math.Trunc(in.c) || in.c < 0 || in.c > maxDegree {
			return pieces{}, false
		}
		r, _ := constantPiece(1)
		for range int(in.c) {
			if r = merge(r, a, polynomial.times); !r.small() {
				return pieces{}, false
			}
		}
		return r, true
	}
	return pieces{}, false
}

func (o op) combinePieces(a, b pieces) (pieces, bool) {
	switch o {
	case opAdd:
		return merge(a, b, func(p, q polynomial) polynomial { return linear(1, 1, p, q) }), true
	case opSub:
		return merge(a, b, func(p, q polynomial) polynomial { return linear(1, -1, p, q) }), true
	case opMul:
		return merge(a, b, polynomial.times), true
	case opDiv:
		if len(b.knot) > 0 || len(b.poly[0]) != 1 {
			return pieces{}, false
		}
		inverse := polynomial{new(big.Rat).Inv(b.poly[0][0])}
		return merge(a, pieces{poly: []polynomial{inverse}}, polynomial.times), true
	}
	// Comparisons, Max and Min: split where a - b is 0, then its sign is constant.
	diff := merge(a, b, func(p, q polynomial) polynomial { return linear(1, -1, p, q) })
	knots := slices.Clone(diff.knot)
	for i, p := range diff.poly {
		roots, ok := p.roots()
		if !ok {
			return pieces{}, false
		}
		for _, r := range roots {
			if (i == 0 || r.Cmp(diff.knot[i-1]) > 0) && (i == len(diff.knot) || r.Cmp(diff.knot[i]) < 0) {
				knots = append(knots, r)
			}
		}
	}
	slices.SortFunc(knots, (*big.Rat).Cmp)
	holds := func(sign int) bool {
		switch o {
		case opGe, opMax:
			return sign >= 0
		case opGt:
			return sign > 0
		case opEq:
			return sign == 0
		}
		return sign <= 0 // opMin takes a
	}
	one, zero := big.NewRat(1, 1), new(big.Rat)
	choose := func(sign int, x, y *big.Rat) *big.Rat {
		if holds(sign) {
			return x
		}
		return y
	}
	a, b, diff = a.refined(knots), b.refined(knots), diff.refined(knots)
	out := pieces{knot: diff.knot}
	for i := range diff.knot {
		x, y := one, zero
		if o == opMax || o == opMin {
			x, y = a.value[i], b.value[i]
		}
		out.value = append(out.value, choose(diff.value[i].Sign(), x, y))
	}
	for i := range diff.poly {
		x, y := polynomial{one}, polynomial(nil)
		if o == opMax || o == opMin {
			x, y = a.poly[i], b.poly[i]
		}
		if !holds(diff.poly[i].at(diff.inside(i)).Sign()) {
			x = y
		}
		out.poly = append(out.poly, x)
	}
	return out, true
}

// branches returns a where m is not 0, else b, for a mask that is constant on pieces.
func branches(m, a, b pieces) (pieces, bool) {
	knots := union(union(m.knot, a.knot), b.knot)
	m, a, b = m.refined(knots), a.refined(knots), b.refined(knots)
	out := pieces{knot: knots}
	for i := range knots {
		x := b.value[i]
		if m.value[i].Sign() != 0 {
			x = a.value[i]
		}
		out.value = append(out.value, x)
	}
	for i, p := range m.poly {
		switch len(p) {
		case 0:
			out.poly = append(out.poly, b.poly[i])
		case 1:
			out.poly = append(out.poly, a.poly[i])
		default:
			return pieces{}, false
		}
	}
	return out, true
}

// merge applies f to the pieces of a and b.
func merge(a, b pieces, f func(p, q polynomial) polynomial) pieces {
	knots := union(a.knot, b.knot)
	a, b = a.refined(knots), b.refined(knots)
	out := pieces{knot: knots}
	for i := range a.poly {
		out.poly = append(out.poly, f(a.poly[i], b.poly[i]))
	}
	for i := range knots { // as constant polynomials
		x, y := polynomial{a.value[i]}.trimmed(), polynomial{b.value[i]}.trimmed()
		out.value = append(out.value, f(x, y).at(new(big.Rat)))
	}
	return out
}

func union(a, b []*big.Rat) []*big.Rat {
	all := append(slices.Clone(a), b...)
	slices.SortFunc(all, (*big.Rat).Cmp)
	return slices.CompactFunc(all, func(x, y *big.Rat) bool { return x.Cmp(y) == 0 })
}

// refined returns p with the sorted knots, which contain the knots of p.
func (p pieces) refined(knots []*big.Rat) pieces {
	out := pieces{knot: knots, poly: []polynomial{p.poly[0]}}
	next := 0
	for _, k := range knots {
		if next < len(p.knot) && p.knot[next].Cmp(k) == 0 {
			out.value = append(out.value, p.value[next])
			next++
		} else {
			out.value = append(out.value, p.poly[next].at(k))
		}
		out.poly = append(out.poly, p.poly[next])
	}
	return out
}

// inside returns a point between knots i-1 and i.
func (p pieces) inside(i int) *big.Rat {
	one := big.NewRat(1, 1)
	switch {
	case len(p.knot) == 0:
		return new(big.Rat)
	case i == 0:
		return one.Sub(p.knot[0], one)
	case i == len(p.knot):
		return one.Add(p.knot[i-1], one)
	}
	m := new(big.Rat).Add(p.knot[i-1], p.knot[i])
	return m.Mul(m, big.NewRat(1, 2))
}

// Piecewise returns e as a piecewise polynomial on the whole real line. It returns false if it
// finds no such form. e must consist of constants, u, sums, products, natural powers, quotients by
// constants, Abs, Max, Min, comparisons and Where. It may have at most 63 knots, which must be
// rational and must not round to the same float64. Its degree must be at most 16. At a knot its
// value must equal the value of the piece on one side.
func (e Expr) Piecewise() (PiecewisePolynomial, bool) {
	code := e.instrs()
	v := make([]pieces, len(code))
	for i, in := range code {
		p, ok := in.pieces(v)
		if !ok {
			return PiecewisePolynomial{}, false
		}
		v[i] = p.simplified()
		if !v[i].small() {
			return PiecewisePolynomial{}, false
		}
	}
	return v[len(v)-1].rounded()
}
