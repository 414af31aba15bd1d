package kernels

import "math"

// exp2Table holds 2^(j/32), correctly rounded.
var exp2Table = [32]float64{
	0x1p0, 0x1.059b0d3158574p0, 0x1.0b5586cf9890fp0, 0x1.11301d0125b51p0,
	0x1.172b83c7d517bp0, 0x1.1d4873168b9aap0, 0x1.2387a6e756238p0, 0x1.29e9df51fdee1p0,
	0x1.306fe0a31b715p0, 0x1.371a7373aa9cbp0, 0x1.3dea64c123422p0, 0x1.44e086061892dp0,
	0x1.4bfdad5362a27p0, 0x1.5342b569d4f82p0, 0x1.5ab07dd485429p0, 0x1.6247eb03a5585p0,
	0x1.6a09e667f3bcdp0, 0x1.71f75e8ec5f74p0, 0x1.7a11473eb0187p0, 0x1.82589994cce13p0,
	0x1.8ace5422aa0dbp0, 0x1.93737b0cdc5e5p0, 0x1.9c49182a3f09p0, 0x1.a5503b23e255dp0,
	0x1.ae89f995ad3adp0, 0x1.b7f76f2fb5e47p0, 0x1.c199bdd85529cp0, 0x1.cb720dcef9069p0,
	0x1.d5818dcfba487p0, 0x1.dfc97337b9b5fp0, 0x1.ea4afa2a490dap0, 0x1.f50765b6e454p0,
}

// expUpTo returns exp(v) for |v| <= MaxLogisticMargin, with a relative error below 3 u.
//
// Let k be the integer nearest to 32 v / ln 2, |k| < 2^13, and r = v - k ln2/32, |r| < 0.0109. The result is T
// + T (e^r - 1), where T = 2^(k/32) is correctly rounded. The first part of ln2/32 has 38 bits, so v - k hi is
// exact (Sterbenz) and the error of r is at most 0.02 u. The series of e^r - 1 up to r^6 has a truncation error
// of r^7/5040 < 0.04 u, and its roundings are below 4 u |r| < 0.05 u. T and the sum are rounded once each.
func expUpTo(v float64) float64 {
	const (
		perLn2 = 32 / math.Ln2
		hi     = 0x1.62e42fefap-6
		lo     = 0x1.cf79abc9e3b3ap-45 // ln2/32 - hi
		shift  = 0x1.8p52
	)
	k := v*perLn2 + shift
	n := math.Float64bits(k)
	k -= shift
	r := (v - k*hi) - k*lo
	s := r * r
	p := r + s*((1.0/2+r*(1.0/6))+s*((1.0/24+r*(1.0/120))+s*(1.0/720)))
	t := math.Float64frombits(math.Float64bits(exp2Table[n&31]) + n>>5<<52)
	return t + t*p
}

// LogisticSlopes replaces every value by the slope of log(1 + exp(-v)):
//
//	for i := range v {
//		v[i] = -1 / (1 + math.Exp(v[i]))
//	}
//
// for |v| <= MaxLogisticMargin or NaN. LogisticSlopes is faster than LogisticSlope and has a relative error
// below 12 u. The error consists of 3 u of the exponential and six roundings. One rounding each is in 1 +
// e^v, in the product of two factors, in the product of four factors, in the reciprocal and in the two
// products that follow the reciprocal. Four values share one division, so (1 + e^v)^4 must not overflow.
func LogisticSlopes(v []float64) {
	for len(v) >= 4 {
		p0 := 1 + expUpTo(v[0])
		p1 := 1 + expUpTo(v[1])
		p2 := 1 + expUpTo(v[2])
		p3 := 1 + expUpTo(v[3])
		p01 := p0 * p1
		p23 := p2 * p3
		q := -1 / (p01 * p23)
		q01 := q * p23
		q23 := q * p01
		v[0] = q01 * p1
		v[1] = q01 * p0
		v[2] = q23 * p3
		v[3] = q23 * p2
		v = v[4:]
	}
	for i, x := range v {
		v[i] = -1 / (1 + expUpTo(x))
	}
}
