package cuda

import (
	"dyad/engine"
	"dyad/kernels"
)

// nearError returns E of roundoff for the near-linear method.
//
// For a record i and one other label, put F(x, y) = phi'(D S (x - y)), where x and y are the positions s/S of
// the scores s_i and s_j. Let p = Terms, L = Lebesgue, A = CoefNorm, A2 = CoefGrowth, tau = Truncation, m =
// momentDepth, and let r and r' be the depths of expandDepth. The method computes I_x I_y F, interpolation in
// both variables, summed over j, in four steps. The coefficients in y of I_y F at the node x_k are f_b(x_k),
// with sum_b |f_b(x_k)| <= A. The moments M_b of y satisfy |M_b| <= N for N records. The values at the nodes of
// x are v_k = sum_b f_b(x_k) M_b, with |v_k| <= Q N up to first order. The coefficients in x follow from these
// values, and then the series. Errors in units of N |D|, u = 2^-53:
//
//	(1 + L) tau            |F - I_x F| <= tau and |I_x (F - I_y F)| <= L tau
//	C 2 l (ds + 3 u S)     scores; a position is within 2 u of s/S (1/S and the product
//	                       are rounded), and the clamp only moves it towards s/S
//	L^2 (14 C u V + e)     node matrix: nodes within 8 u, 16 u on a difference of at
//	                       most 2, l S and 4 more roundings; both interpolations pass
//	                       an error on with factor L
//	L (A g(m) + A2 (g(m)/280 + 4.2 u))
//	                       moments, see below: v_k is sum_b f_b M_b; for persons 5.2 u, as a
//	                       term has a rounding more, by the weight of its row
//	2 p L Q (g(q) + 12 u)  f_b(x_k): (2/p) T_b(y_l) is within (2/p) 10 u, the dot product
//	                       with p values of F, at most Q, has depth q = DotDepth(p), the
//	                       product with 2 D rounds once; p moments of at most N
//	L A g(r)               v_k, summed over all labels at once
//	2 p Q (g(r') + 12 u)   coefficients in x: (2/p) T_a(x_k), likewise, of p values of at most
//	                       (Q + tau) N
//	L u (A + 4 A2)         the series perturbs each coefficient by eta_a (see the
//	                       kernel); |b_a| <= sum_{k>=a} (k-a+1) |c_k| and the
//	                       coefficients in x are bounded by L times the coefficients
//	                       of one expansion
//	3 u Q                  D
//
// Moments. The kernel sums T_32i T_j, j < 32, with an error of at most N (g(m) + sigma_ij), where sigma_ij =
// (341.5 i^2 + j (j+1)/2) u (see the comments of the kernel). Then M_(32i+j) = 2 sum - M_(32i-j), where 32i - j
// is 32 (i-1) + (32 - j), and M_32i = sum. So M_a for a = 32i + j has an error of N times
//
//	(2i+1) g(m) + 2 sum_{1<=k<=i} (341.5 k^2 + 496) u + 496 u + i u
//
// at most. For i = 0 the error is N (g(m) + j (j+1)/2 u). Since 2i <= a/16 <= (a+1)(a+2)/2/280 for a >= 32, and
// the remaining summands are below 4.2 u (a+1)(a+2)/2 for every a < 256 (for i = 1, ..., 7 and j = 0, where a
// is smallest: TestMomentError), the claim follows.
func (k *kernel) nearError() float64 {
	s, e := k.scores, k.expansion
	p, L, Q, C := float64(e.Terms), e.Lebesgue, s.Slope, s.Curvature
	dot, moments := engine.Gamma(kernels.DotDepth(e.Terms)), engine.Gamma(k.momentDepth())
	steps := 4.2
	if k.problem.ByPerson() {
		steps++
	}
	sum := (1 + L) * e.Truncation
	sum += C * 2 * s.LabelSpan * (s.ScoreErr + 3*u64*s.Score)
	sum += L * L * (C*14*u64*s.Margin + s.SlopeErr)
	sum += L * (e.CoefNorm*moments + e.CoefGrowth*(moments/280+steps*u64))
	sum += 2 * p * L * Q * (dot + 12*u64)
	values, coefficients := k.expandDepth()
	sum += L * e.CoefNorm * engine.Gamma(values)
	sum += 2 * p * Q * (engine.Gamma(coefficients) + 12*u64)
	sum += L * u64 * (e.CoefNorm + 4*e.CoefGrowth)
	return sum + 3*u64*Q
}
