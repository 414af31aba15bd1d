package kernels

import "math"

// ChebyshevNodes returns the n zeros x_k = cos((2k+1) pi / (2n)) of T_n, k < n, and a table. The zeros satisfy
// x_(n-1-k) = -x_k exactly. The table is n*n and row-major, with T_a(x_k) in row k, column a. n must be at
// least 1.
//
// Each value is within 8 u of the exact value, u = 2^-53. The angle is reduced to [0, pi/2] by integer
// arithmetic. Three roundings of the angle move the cosine by at most 4.8 u. In this interval math.Cos is
// assumed to be within 3 u (Cephes states 2.1e-16, which is 1.9 u).
func ChebyshevNodes(n int) (nodes, table []float64) {
	nodes = make([]float64, n)
	table = make([]float64, n*n)
	for k := range n {
		for a := range n {
			table[k*n+a] = cosQuarter(a*(2*k+1), 2*n)
		}
		nodes[k] = cosQuarter(2*k+1, 2*n)
	}
	return nodes, table
}

// cosQuarter returns cos(pi num/den) for an even den. The results are exactly antisymmetric about pi/2.
func cosQuarter(num, den int) float64 {
	num %= 2 * den
	if num > den {
		num = 2*den - num
	}
	switch {
	case 2*num == den:
		return 0
	case 2*num > den:
		return -math.Cos(math.Pi * float64(den-num) / float64(den))
	}
	return math.Cos(math.Pi * float64(num) / float64(den))
}

// ChebyshevPowers returns the n*n row-major table of the coefficients of the Chebyshev polynomials: T_a(x) is
// the sum over i <= a of the number in row a, column i, times x^i. The coefficients are integers. They are
// exact for n <= 42, because they stay below 2^53. The absolute values of the coefficients of T_a add up to
// |T_a(sqrt(-1))|, which is at most (1 + sqrt 2)^a.
func ChebyshevPowers(n int) []float64 {
	t := make([]float64, n*n)
	for a := range n {
		row := t[a*n : (a+1)*n]
		if a < 2 {
			row[a] = 1
			continue
		}
		for i := range a + 1 {
			row[i] = -t[(a-2)*n+i]
			if i > 0 {
				row[i] += 2 * t[(a-1)*n+i-1]
			}
		}
	}
	return t
}

// locate divides [-1, 1] into bins of equal width. It maps every position to the position within the bin, and
// to a key that numbers the class and the bin:
//
//	for j := range x {
//		z := (x[j] + 1) * bins/2
//		bin := clamp(floor(z), 0, bins-1)
//		pos[j] = clamp(2*(z-bin)-1, -1, 1)
//		key[j] = class[j]*bins + bin
//	}
//
// A NaN keeps a NaN position in bin 0.
func locate(pos []float64, key []int32, x []float64, class []uint8, bins int) {
	pos, key, class = pos[:len(x)], key[:len(x)], class[:len(x)]
	last, half := bins-1, float64(bins)/2
	for j, v := range x {
		z := (v + 1) * half
		bin := int(z)
		if bin < 0 {
			bin = 0
		} else if bin > last {
			bin = last
		}
		p := 2*(z-float64(bin)) - 1
		if p > 1 {
			p = 1
		} else if p < -1 {
			p = -1
		}
		pos[j] = p
		key[j] = int32(int(class[j])*bins + bin)
	}
}
