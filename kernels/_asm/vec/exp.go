package vec

import (
	"math"
	"math/big"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// expTerms is the number of coefficients of g in Exp.
const expTerms = 10

// expCoefficients returns the coefficients of the polynomial that interpolates g(r) =
// (e^r - 1 - r) / r^2 at the Chebyshev nodes of [-h, h], h = 1.0001 ln2 / 2.
func expCoefficients() []float64 {
	num := func(x float64) *big.Float { return new(big.Float).SetPrec(300).SetFloat64(x) }
	return Interpolate(func(x float64) *big.Float {
		sum, term := num(0), num(0.5)
		for k := 3; k < 60; k++ {
			sum.Add(sum, term)
			term.Mul(term, num(x))
			term.Quo(term, num(float64(k)))
		}
		return sum
	}, 1.0001*math.Ln2/2, expTerms)
}

// Interpolate returns the coefficients of the polynomial of the given number of terms that
// equals g at the Chebyshev nodes of [-h, h], rounded. It computes divided differences and
// expands them in powers of r, both with 300 bits.
func Interpolate(g func(x float64) *big.Float, h float64, terms int) []float64 {
	num := func(x float64) *big.Float { return new(big.Float).SetPrec(300).SetFloat64(x) }
	x, c := make([]float64, terms), make([]*big.Float, terms)
	for i := range x {
		x[i] = h * math.Cos(math.Pi*(float64(i)+0.5)/float64(terms))
		c[i] = g(x[i])
	}
	for step := 1; step < terms; step++ {
		for i := terms - 1; i >= step; i-- {
			c[i].Sub(c[i], c[i-1])
			c[i].Quo(c[i], num(0).Sub(num(x[i]), num(x[i-step])))
		}
	}
	for from := terms - 2; from >= 0; from-- { // multiply by r - x[from]
		for i := from; i < terms-1; i++ {
			c[i].Sub(c[i], num(0).Mul(num(x[from]), c[i+1]))
		}
	}
	out := make([]float64, terms)
	for i := range out {
		out[i], _ = c[i].Float64()
	}
	return out
}

// Exp replaces every x by exp(x), for x in [-707, 707] or NaN, with a relative error
// below 2.5 u, u = 2^-53.
//
// Let n be the integer nearest to x / ln2 and r = x - n ln2, |r| < h = 0.3467. The result
// is 2^n (1 + r (1 + r g(r))). The first part hi of ln2 has 42 bits, so x - n hi is exact:
// unless n = 0, it is a multiple of 2^-54 below 1/2. The error of r is at most u/4 + n
// 2^-102. Interpolation of degree 9 leaves g within 1.4 h^10 / (12! 2^9), which moves the
// result by less than 0.22 u of it. The roundings of g and of its coefficients are below 2
// u |g|, |g| < 0.57. They are multiplied by r^2, so they contribute 0.2 u. The rounding of
// 1 + r g is multiplied by r and contributes 0.25 u. The last rounding contributes 1 u,
// and 2^n is exact.
func (v ISA) Exp(x []VecVirtual) {
	const (
		hi    = 0x1.62e42fefa38p-1
		lo    = 0x1.ef35793c7673p-45 // ln2 - hi
		shift = 0x1.8p52
	)
	c := expCoefficients()
	each := func(stage func(k int)) {
		for k := range x {
			stage(k)
		}
	}
	t, n, g, s := v.Regs(len(x)), v.Regs(len(x)), v.Regs(len(x)), v.Regs(len(x))
	each(func(k int) { v.Set(math.Log2E, t[k]) })
	each(func(k int) { v.constant(VFMADD213PD, VFMADD213PD_BCST, shift, x[k], t[k]) })
	each(func(k int) { v.constant(VSUBPD, VSUBPD_BCST, shift, t[k], n[k]) })
	each(func(k int) { v.constant(VFNMADD231PD, VFNMADD231PD_BCST, hi, n[k], x[k]) })
	each(func(k int) { v.constant(VFNMADD231PD, VFNMADD231PD_BCST, lo, n[k], x[k]) })
	if !v.Wide() {
		// The low bits of t give 2^n. If x is NaN, the last product is NaN, too.
		each(func(k int) { VPSLLQ(Imm(52), t[k], t[k]) })
		each(func(k int) { VPADDQ(v.vector(1023<<52), t[k], t[k]) })
	}
	each(func(k int) { VMULPD(x[k], x[k], s[k]) })
	each(func(k int) { v.Set(c[expTerms-1], g[k]) })
	each(func(k int) { v.constant(VFMADD213PD, VFMADD213PD_BCST, c[expTerms-2], x[k], g[k]) })
	for i := expTerms - 4; i >= 0; i -= 2 {
		h := v.Regs(len(x))
		each(func(k int) { v.Set(c[i+1], h[k]) })
		each(func(k int) { v.constant(VFMADD213PD, VFMADD213PD_BCST, c[i], x[k], h[k]) })
		each(func(k int) { VFMADD213PD(h[k], s[k], g[k]) })
	}
	for range 2 {
		each(func(k int) { v.constant(VFMADD213PD, VFMADD213PD_BCST, 1, x[k], g[k]) })
	}
	if v.Wide() {
		each(func(k int) { VSCALEFPD(n[k], g[k], x[k]) })
	} else {
		each(func(k int) { VMULPD(t[k], g[k], x[k]) })
	}
}
