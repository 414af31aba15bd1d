package engine

import (
	"math"
	"math/big"
)

// wideBits is the precision of solveWide, in bits.
const wideBits = 200

// solveWide is the classical Jacobi method (Golub and Van Loan, Matrix Computations, 8.5.2)
// in 200 bits. It takes seconds where LAPACK takes milliseconds. With it, Project succeeds
// on every matrix. No eigensolver in float64 is proved to reach a given accuracy, and a run
// that stopped because a solver was inaccurate would reveal something about its records.
//
// Theorem. Let A be finite with Frobenius norm N, 2^-900 <= N <= 2^1000, and let d <=
// 2^14. Then solveWide ends, and clipEigenvalues bounds the error of its result by less
// than psdAllowance(d, N) - SymmetricError N.
//
// Proof. Exponents of big.Float neither overflow nor underflow. A rotation that makes the
// largest off-diagonal entry zero reduces the sum of the squares of these entries by at least
// the fraction 2/(d(d-1)). As long as the largest entry exceeds t = 2^-64 N/d there are fewer
// than d^2/2 (89 + 2 log d) rotations. Each rotation adds errors below 2^-190 N to the matrix
// and below 2^-190 to V. (The largest entry is found among entries rounded to float64, which
// changes the fraction by a factor of 1 - 2^-51.) So at the end A = Q diag(l) Q^T + R, where
// Q is orthogonal and ||R|| < 2^-60 N. Q and l are rounded to v = Q(1 + e) and lambda = l(1 +
// e) with |e| <= u = 2^-53. Norms are Frobenius norms, to first order, in units of u N:
//
//	||A - V L V^T||  <= 2 ||dV L|| + 1 <= 3     as the columns of dV have norm at most u
//	||F L||          <= ||dV^T V + V^T dV|| by columns, (sqrt d + 1)
//
// clipEigenvalues adds bounds of its own rounding errors to the quantities that it computes.
// These bounds are twice (d+2)(1 + sqrt d) for the residual, four times (sqrt d + 1) + 2
// (d+1)(sqrt d + 1) for the vectors, and (d+6) sqrt d + (d+8) d. Altogether this is at most
//
//	d^2 + 11 d^1.5 + 18 d + 22 sqrt d + 19 <= d^2 + 11 d^1.5 + 40 d + 19,
//
// which leaves d^1.5 + 45 of psdAllowance for SymmetricError and for terms of higher order,
// at most 2^-20 of the whole. QED
func solveWide(a []float64, d int) (v, lambda []float64, ok bool) {
	norm := frobenius(a)
	if !(norm <= math.MaxFloat64) {
		return nil, nil, false
	}
	_, scale := math.Frexp(norm)
	m, q, near := make([]*big.Float, d*d), make([]*big.Float, d*d), make([]float64, d*d)
	for k, x := range a {
		m[k], q[k] = wideFloat(x), wideFloat(0)
		m[k].SetMantExp(m[k], -scale) // entries below 1
		near[k], _ = m[k].Float64()
	}
	for i := range d {
		q[i*d+i].SetInt64(1)
	}
	for tiny := 0x1p-65 / float64(d); ; {
		i, j, largest := 0, 0, tiny
		for r := range d {
			for c := r + 1; c < d; c++ {
				if x := math.Abs(near[r*d+c]); x > largest {
					i, j, largest = r, c, x
				}
			}
		}
		if i == j {
			break
		}
		rotateWide(m, q, near, d, i, j)
	}
	v, lambda = make([]float64, d*d), make([]float64, d)
	for k := range v {
		v[k], _ = q[k].Float64()
	}
	for i := range lambda {
		x := m[i*d+i]
		lambda[i], _ = x.SetMantExp(x, scale).Float64()
	}
	return v, lambda, true
}

// wideFloat returns x with a precision of 200 bits.
func wideFloat(x float64) *big.Float { return new(big.Float).SetPrec(wideBits).SetFloat64(x) }

// rotateWide makes m_ij zero by the smaller of the two rotations that make it zero, and
// applies the same rotation to the columns of q.
func rotateWide(m, q []*big.Float, near []float64, d, i, j int) {
	one := wideFloat(1)
	// theta = (m_jj - m_ii)/(2 m_ij), t = sign(theta)/(|theta| + sqrt(1 + theta^2))
	theta := wideFloat(0).Sub(m[j*d+j], m[i*d+i])
	theta.Quo(theta, wideFloat(0).Mul(wideFloat(2), m[i*d+j]))
	negative := theta.Signbit()
	theta.Abs(theta)
	root := wideFloat(0).Mul(theta, theta)
	root.Sqrt(root.Add(root, one))
	t := wideFloat(0).Quo(one, theta.Add(theta, root))
	if negative {
		t.Neg(t)
	}
	c := wideFloat(0).Mul(t, t)
	c.Quo(one, c.Sqrt(c.Add(c, one)))
	s := wideFloat(0).Mul(c, t)
	// mix sets x, y to c x - s y, s x + c y.
	mix := func(x, y *big.Float) {
		cx, sx := wideFloat(0).Mul(c, x), wideFloat(0).Mul(s, x)
		x.Sub(cx, wideFloat(0).Mul(s, y))
		y.Add(sx, wideFloat(0).Mul(c, y))
	}
	for k := range d {
		mix(m[i*d+k], m[j*d+k])
	}
	for k := range d {
		mix(m[k*d+i], m[k*d+j])
		mix(q[k*d+i], q[k*d+j])
	}
	m[i*d+j].SetInt64(0)
	m[j*d+i].SetInt64(0)
	for k := range d {
		for _, at := range []int{i*d + k, j*d + k, k*d + i, k*d + j} {
			near[at], _ = m[at].Float64()
		}
	}
}
