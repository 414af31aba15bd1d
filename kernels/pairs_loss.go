package kernels

import "math"

// LogisticLossTile adds the same sums as logisticTile, under the same conditions and with the same errors. It
// also returns the sum of log(1 + a_i b_j) over the pairs:
//
//	for i := range a {
//		for j := range b {
//			row[i] += 1 / (1 + a[i]*b[j])
//			col[j] += 1 / (1 + a[i]*b[j])
//			loss += math.Log1p(a[i] * b[j])
//		}
//	}
//
// for positive a and b. With a_i = exp(-v s_i) and b_j = exp(v t_j) a summand is the logistic loss log(1 +
// exp(-v (s_i - t_j))). The sum is computed as the logarithm of a running product.
//
// The loss S has an error of at most 4 u (m n + 8 + S), u = 2^-53, for m = len(a) and n = len(b). Proof. A
// factor 1 + a b has at most two roundings. The product of four factors has three roundings, and its
// multiplication with a running product has another. This is one rounding for each factor. In the last rows
// each factor is multiplied with the running product by itself. So a factor has a relative error below 3.1 u,
// and its logarithm has an error below 3.1 u. Multiplying the running products of up to 16 lanes adds at most
// 15 roundings. The running products stay in [1, 2), and their exponents are integers. So the whole product is
// the product of the lanes, in [1, 2^16), times 2 to the sum of the exponents. S is the sum of the logarithms
// of these two numbers. It has relative errors of 2 u of math.Log and 2 u of the product with ln 2, and a
// rounding of the sum. QED
//
// The error does not become small if the loss is small, because 1 + a b loses the low digits of a b. The
// relative error of a mean loss of 1e-3 may be 4.5e-13.
func LogisticLossTile(row, col, a, b []float64) float64 {
	row, col = row[:len(a)], col[:len(b)]
	product, exponents, steps := 1.0, 0, 0
	i := 0
	for ; i+4 <= len(a); i += 4 {
		a0, a1, a2, a3 := a[i], a[i+1], a[i+2], a[i+3]
		var r0, r1, r2, r3 float64
		for j, bj := range b {
			p0 := 1 + a0*bj
			p1 := 1 + a1*bj
			p2 := 1 + a2*bj
			p3 := 1 + a3*bj
			p01 := p0 * p1
			p23 := p2 * p3
			all := p01 * p23
			q := 1 / all
			product *= all
			exponents += biasedExponent(product)
			product = mantissa(product)
			q01 := q * p23
			q23 := q * p01
			s0 := q01 * p1
			s1 := q01 * p0
			s2 := q23 * p3
			s3 := q23 * p2
			r0 += s0
			r1 += s1
			r2 += s2
			r3 += s3
			col[j] += (s0 + s1) + (s2 + s3)
		}
		row[i] += r0
		row[i+1] += r1
		row[i+2] += r2
		row[i+3] += r3
		steps += len(b)
	}
	for ; i < len(a); i++ {
		ai := a[i]
		var r float64
		for j, bj := range b {
			p := 1 + ai*bj
			product *= p
			exponents += biasedExponent(product)
			product = mantissa(product)
			s := 1 / p
			r += s
			col[j] += s
		}
		row[i] += r
		steps += len(b)
	}
	return logProduct(product, exponents, steps)
}

const exponentBias = 1023

// biasedExponent returns the exponent of a positive x plus exponentBias.
func biasedExponent(x float64) int { return int(math.Float64bits(x) >> 52) }

// mantissa returns x without its exponent, in [1, 2).
func mantissa(x float64) float64 {
	return math.Float64frombits(math.Float64bits(x)&(1<<52-1) | exponentBias<<52)
}

// logProduct returns the logarithm of x times 2 to the sum of count exponents. exponents is the sum of the
// biased exponents.
func logProduct(x float64, exponents, count int) float64 {
	return math.Log(x) + float64(exponents-count*exponentBias)*math.Ln2
}
