package autodiff

import (
	"math"
	"math/big"
	"slices"
)

// Limits of Piecewise.
const (
	maxPieces   = 64
	maxDegree   = 16
	maxRatWidth = 1 << 13 // bits of a coefficient
)

// PiecewisePolynomial is a function that is a polynomial between knots:
//
//	f(u) = sum_k Coefs[i][k] u^k   for Knots[i-1] < u < Knots[i],
//
// with Knots[-1] = -Inf and Knots[len(Knots)] = +Inf. It is computed in rational arithmetic and
// rounded once to nearest at the end.
type PiecewisePolynomial struct {
	// Knots are increasing. The polynomial changes at a knot.
	Knots []float64
	// Coefs has len(Knots)+1 rows, lowest power first, without trailing zeros (at
	// least one coefficient).
	Coefs [][]float64
	// RightAt[i] is true if f(Knots[i]) is the value of the piece to the right of the knot.
	// Otherwise f(Knots[i]) is the value of the piece to the left. If f does not jump, both values
	// are equal.
	RightAt []bool
	// Exact is true if no knot and no coefficient was rounded. Otherwise each has a relative error
	// of at most 2^-53.
	Exact bool
}

// Eval returns f(u) by Horner's rule.
func (p PiecewisePolynomial) Eval(u float64) float64 {
	i, at := slices.BinarySearch(p.Knots, u)
	if at && p.RightAt[i] {
		i++
	}
	v := 0.0
	for k := len(p.Coefs[i]) - 1; k >= 0; k-- {
		v = v*u + p.Coefs[i][k]
	}
	return v
}

// Degree returns the largest degree of a piece.
func (p PiecewisePolynomial) Degree() int {
	d := 0
	for _, c := range p.Coefs {
		d = max(d, len(c)-1)
	}
	return d
}

// polynomial has rational coefficients, lowest first, without trailing zeros; nil
// is 0.
type polynomial []*big.Rat

// pieces is a function that is poly[i] between knot[i-1] and knot[i], and value[i]
// at knot[i].
type pieces struct {
	knot  []*big.Rat
	poly  []polynomial
	value []*big.Rat
}

func constantPiece(c float64) (pieces, bool) {
	r := new(big.Rat).SetFloat64(c)
	if r == nil {
		return pieces{}, false
	}
	return pieces{poly: []polynomial{polynomial{r}.trimmed()}}, true
}

func (p polynomial) trimmed() polynomial {
	for len(p) > 0 && p[len(p)-1].Sign() == 0 {
		p = p[:len(p)-1]
	}
	return p
}

func (p polynomial) at(x *big.Rat) *big.Rat {
	v := new(big.Rat)
	for k := len(p) - 1; k >= 0; k-- {
		v.Mul(v, x)
		v.Add(v, p[k])
	}
	return v
}

func (p polynomial) equal(q polynomial) bool {
	return slices.EqualFunc(p, q, func(a, b *big.Rat) bool { return a.Cmp(b) == 0 })
}

// linear returns a p + b q.
func linear(a, b int64, p, q polynomial) polynomial {
	r := make(polynomial, max(len(p), len(q)))
	ra, rb := big.NewRat(a, 1), big.NewRat(b, 1)
	for k := range r {
		r[k] = new(big.Rat)
		if k < len(p) {
			r[k].Mul(ra, p[k])
		}
		if k < len(q) {
			r[k].Add(r[k], new(big.Rat).Mul(rb, q[k]))
		}
	}
	return r.trimmed()
}

func (p polynomial) times(q polynomial) polynomial {
	if len(p) == 0 || len(q) == 0 {
		return nil
	}
	r := make(polynomial, len(p)+len(q)-1)
	for k := range r {
		r[k] = new(big.Rat)
	}
	for i, a := range p {
		for j, b := range q {
			r[i+j].Add(r[i+j], new(big.Rat).Mul(a, b))
		}
	}
	return r.trimmed()
}

// roots returns the rational points at which p is 0, sorted, and none for p = 0. It returns false
// if a root is not rational or is not found (degree above 2).
func (p polynomial) roots() ([]*big.Rat, bool) {
	switch len(p) {
	case 0, 1:
		return nil, true
	case 2:
		r := new(big.Rat).Quo(p[0], p[1])
		return []*big.Rat{r.Neg(r)}, true
	case 3:
		return quadraticRoots(p[2], p[1], p[0])
	}
	if p[0].Sign() == 0 { // a root at 0
		rest, ok := p[1:].roots()
		at := new(big.Rat)
		if ok && !slices.ContainsFunc(rest, func(r *big.Rat) bool { return r.Sign() == 0 }) {
			rest = append(rest, at)
			slices.SortFunc(rest, (*big.Rat).Cmp)
		}
		return rest, ok
	}
	return nil, false
}

func quadraticRoots(a, b, c *big.Rat) ([]*big.Rat, bool) {
	disc := new(big.Rat).Mul(b, b)
	four := new(big.Rat).Mul(big.NewRat(4, 1), a)
	disc.Sub(disc, four.Mul(four, c))
	if disc.Sign() < 0 {
		return nil, true
	}
	num, den := new(big.Int).Sqrt(disc.Num()), new(big.Int).Sqrt(disc.Denom())
	root := new(big.Rat).SetFrac(num, den)
	if new(big.Rat).Mul(root, root).Cmp(disc) != 0 {
		return nil, false
	}
	var list []*big.Rat
	for _, sign := range []int64{-1, 1} {
		r := new(big.Rat).Mul(big.NewRat(sign, 1), root)
		r.Sub(r, b)
		list = append(list, r.Quo(r, new(big.Rat).Mul(big.NewRat(2, 1), a)))
	}
	slices.SortFunc(list, (*big.Rat).Cmp)
	return slices.CompactFunc(list, func(a, b *big.Rat) bool { return a.Cmp(b) == 0 }), true
}

// simplified removes knots at which the polynomial does not change.
func (p pieces) simplified() pieces {
	out := pieces{poly: p.poly[:1:1]}
	for i, k := range p.knot {
		last := out.poly[len(out.poly)-1]
		if last.equal(p.poly[i+1]) && p.value[i].Cmp(last.at(k)) == 0 {
			continue
		}
		out.knot = append(out.knot, k)
		out.value = append(out.value, p.value[i])
		out.poly = append(out.poly, p.poly[i+1])
	}
	return out
}

// small reports whether p is within the limits of Piecewise.
func (p pieces) small() bool {
	if len(p.poly) > maxPieces {
		return false
	}
	wide := func(r *big.Rat) bool { return r.Num().BitLen()+r.Denom().BitLen() > maxRatWidth }
	for _, q := range p.poly {
		if len(q) > maxDegree+1 || slices.ContainsFunc(q, wide) {
			return false
		}
	}
	return !slices.ContainsFunc(p.knot, wide) && !slices.ContainsFunc(p.value, wide)
}

// rounded converts p to float64.
func (p pieces) rounded() (PiecewisePolynomial, bool) {
	out := PiecewisePolynomial{Exact: true}
	float := func(r *big.Rat) float64 {
		f, exact := r.Float64()
		out.Exact = out.Exact && exact
		return f
	}
	ok := true
	for i, k := range p.knot {
		f := float(k)
		left, right := p.poly[i].at(k).Cmp(p.value[i]) == 0, p.poly[i+1].at(k).Cmp(p.value[i]) == 0
		ok = ok && finite(f) && (k.Sign() == 0 || math.Abs(f) > 0x1p-1000) && (left || right) &&
			(i == 0 || f > out.Knots[i-1])
		out.Knots = append(out.Knots, f)
		out.RightAt = append(out.RightAt, right)
	}
	for _, q := range p.poly {
		c := make([]float64, max(1, len(q)))
		for k, r := range q {
			c[k] = float(r)
			// Below the normal range the relative error is not bounded.
			ok = ok && finite(c[k]) && (r.Sign() == 0 || math.Abs(c[k]) > 0x1p-1000)
		}
		out.Coefs = append(out.Coefs, c)
	}
	if !ok {
		return PiecewisePolynomial{}, false
	}
	return out, true
}
