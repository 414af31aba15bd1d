package cuda

import (
	"math"

	"dyad/engine"
)

// roundoff returns engine.QueryBounds.Sum, a bound on the Frobenius norm of the error. The Frobenius norm
// equals the Euclidean norm in Symmetric coordinates.
//
// Notation: n, d and R are as in package engine. q, A, V, Q, C and the error dA of a distance in float64 are as
// in engine.MetricRange. unit is as in metricKernel. u = 2^-53, w = 2^-24, g(k) = engine.Gamma(k), and v_ij =
// x_i - x_j.
//
// # Coefficients
//
// Powers of two scale without error. The operands of the tiles are (X W)_ik and x_ik with a relative error of
// at most entry. S_ij is a sum of their products, but a relative part of at most dropped is left out. The
// roundings of the sum are at most gramError (tiling). So the error of S_ij is at most
//
//	(gramError + 2 entry + dropped) sum_k |(X W)_ik x_jk|
//
// and this sum of absolute values is at most R^2 r = A/4. Three roundings to float32 follow: of x_i^T W x_i, of
// the sum of two such numbers, and of the last step of
//
//	D = (x_i^T W x_i + x_j^T W x_j) - 2 S
//
// Hence the distance has an error of at most
//
//	e = dA + A ((gramError + 2 entry + dropped)/2 + 2 w).
//
// t = y_i y_j has a relative error of 3 w, and u = t - t D is rounded once more, so the error of u is at most q
// e + 5 w V. Three clamps follow: of u to [-V, V] (not for the logistic slope), of phi' to [-Q, Q], and of the
// coefficient to the unit. They only move values towards the exact values, which are inside. So c = -phi'(u) t,
// rounded to multiples of grid unit, has an error of at most
//
//	E = q (C q e + min(5 w C V, Q5) + slopeError + 5 w Q) + grid/2 unit
//
// with slopeError and Q5 as for scores (kernel.roundoff).
//
// # All pairs
//
// The result is P + P^T with P = X^T (diag(C1) X - 2 Z). Here U is the strict upper triangle of c, C1 is the
// row sums plus the column sums of U, and Z = U X. For exact sums of the computed c, the result is sum_(i != j)
// c_ij v_ij v_ij^T, so the errors of c add at most E sum ||v_ij||^2 <= 2 n^2 R^2 E.
//
// C1 consists of sums of integers and is exact, as for scores: the sums of a thread stay below 2^31 and a
// coefficient has at most 23 bits. Z consists of sums of integers, too. Each integer is a sum over a span of
// columns, computed in float32 in a fixed order. It is rounded to multiples of 2^-32 unit F, where F is the
// power of two above R. With the errors of the operands and of the sum over a span, s = entry + dropped +
// spanError, the error of a row of Z is at most
//
//	s qQ sum_j ||x_j|| + spans sqrt(d) 2^-33 unit F
//
// Row i of Z is multiplied by 2 x_i, and P is added to its transpose. So the error of the result is at most 4 R
// times the sum of these errors over i, with n (n-1)/2 terms of the first kind.
//
// For rows of persons, P replaces n, E + 8 u qQ replaces E, and the rows have weights:
// docs/theory.md#person-metrics-gpu.
//
// In float64, each product c_ij x_ia x_jb of the result takes part in at most k = gramDepth roundings. The
// absolute values of the products add up to entries of a matrix of norm at most 4 n (n-1) R^2 qQ, as in package
// cpu. So float64 adds g(k) times this norm.
//
// # Prefix pairs
//
// Distances, coefficients and sums are computed in float64 from differences to the last record. As in package
// cpu, the bound is T 4 R^2 q (E' + g(k') Q) with E' = C (q dA + 3 u V) + SlopeErr + 2 u Q.
//
// The last summand covers underflow. Underflow of float64 is treated as in package cpu. In float32, an operand
// or a product below 2^-126 of its unit loses at most 2^-148.
func (k *metricKernel) roundoff(pairs engine.Pairs) float64 {
	p, m := k.problem, k.limits
	R, n := p.Bounds.FeatureNorm, float64(p.N)
	tiny := k.underflow()
	largest := m.Labels * m.Slope // largest absolute value of a coefficient
	switch q := pairs.(type) {
	case engine.AllPairs:
		if q.N != p.N {
			return math.Inf(1)
		}
		e := 2*n*n*R*R*(k.coefficientError()+k.weightError()) +
			2*n*(n-1)*R*R*largest*(k.pairError()+k.spanError()) +
			4*R*n*float64(k.spans())*k.fixedError() +
			4*n*(n-1)*R*R*largest*engine.Gamma(k.gramDepth())
		return e*k.secondOrder() + tiny
	case engine.PrefixPairs:
		if q.T < 1 || q.T >= p.N || p.ByPerson() {
			return math.Inf(1)
		}
		e := m.Curvature*(m.Labels*m.DistanceErr+3*u64*m.Margin) + m.SlopeErr + (2*u64+engine.Gamma(k.gramDepth()))*m.Slope
		return float64(q.T)*4*R*R*m.Labels*e*k.secondOrder() + tiny
	}
	return math.Inf(1)
}

// coefficientError returns E of roundoff.
func (k *metricKernel) coefficientError() float64 {
	m := k.limits
	distance := m.DistanceErr + m.Distance*((k.gramError(k.problem.D)+2*k.entry+k.dropped)/2+2*u32)
	margin := m.Curvature * 5 * u32 * m.Margin
	if _, ok := k.loss.(engine.MahalanobisLogistic); ok {
		margin = min(margin, 5*u32*0.2241)
	}
	return m.Labels*(m.Curvature*m.Labels*distance+margin+k.slopeError+5*u32*m.Slope) + k.grid/2*k.unit
}

// personFixed is the fixed-point unit of weighted sums over rows of persons, relative to the largest term.
const personFixed = 0x1p-30

// weightError bounds the error of weights for rows of persons: the distance of the weighted sums of
// coefficients from sums with exact weights 1/m (docs/theory.md#person-metrics-gpu). It is 0 without persons.
func (k *metricKernel) weightError() float64 {
	if !k.problem.ByPerson() {
		return 0
	}
	m := k.limits
	return (8*u64+3*u32)*m.Labels*m.Slope + personFixed/2*k.unit*float64(k.problem.PersonRows)
}

// neighbourRoundoff returns engine.QueryBounds.Neighbour. The notation is the notation of roundoff.
//
// Claim. For prefix pairs, neighbourRoundoff equals roundoff. For all pairs, if record k changes, the error
// changes by at most twice
//
//	8 (n-1) R^2 E + 4 (n-1) R^2 qQ (p + 1025 spanError) + 4 R (n + spans) f
//	+ 4 n (n-1) R^2 qQ g(gramDepth)
//
// with p = entry + dropped and f = sqrt(d) 2^-33 unit F.
//
// Proof. The computed c_ij is a function of the two records, W, the order of i and j and constants. The reason
// is that S_ij is summed in the order of features and does not depend on other pairs. (This assumes that an
// element of a product of mma.sync depends on its row, its column and its summand, and not on their positions.)
// The rounded or dropped part of c_ij x_j is such a function, too. Hence the errors of coefficients and of
// products of pairs without k are the same in both data sets, and cancel. In each data set there are 2 (n-1)
// ordered pairs with k, each with an error of E 4 R^2. There are n-1 products with k, each with an error of p
// qQ R that is multiplied by 4 R.
//
// The remaining errors of Z are the roundings of the sums over spans. A span of row i <> k without column k has
// the same bits in both data sets. The span with column k has an error of at most 1024 spanError qQ R + f. Row
// k has an error of at most (n-1) spanError qQ R + spans f. Together, multiplied by 4 R, these errors are at
// most 4 R ((n-1) (1024 + 1) spanError qQ R + (n + spans) f). The last summand bounds the error of float64 in
// each of the data sets. QED
//
// Relative to the sensitivity 2 (n-1) Dg, no part of the bound grows with n.
//
// For rows of persons: docs/theory.md#person-metrics-gpu.
func (k *metricKernel) neighbourRoundoff(pairs engine.Pairs) float64 {
	all := k.roundoff(pairs)
	if q, ok := pairs.(engine.AllPairs); !ok || q.N != k.problem.N {
		return all
	}
	R, n, largest := k.problem.Bounds.FeatureNorm, float64(k.problem.N), k.limits.Labels*k.limits.Slope
	products := 4*(n-1)*R*R*largest*(k.pairError()+(metricSpan+1)*k.spanError()) + 4*R*(n+float64(k.spans()))*k.fixedError()
	if k.problem.ByPerson() {
		products = 2*n*(n-1)*R*R*largest*(k.pairError()+k.spanError()) + 4*R*n*float64(k.spans())*k.fixedError()
	}
	e := 8*(n-1)*R*R*(k.coefficientError()+k.weightError()) + products + 4*n*(n-1)*R*R*largest*engine.Gamma(k.gramDepth())
	return min(all, e*k.secondOrder()+k.underflow())
}

// pairError returns the relative error of a product of a coefficient and a feature.
func (k *metricKernel) pairError() float64 {
	if k.problem.ByPerson() {
		return 3 * u64
	}
	return k.entry + k.dropped
}

// spanError returns the relative error of the sum of the products of a span.
func (k *metricKernel) spanError() float64 {
	if k.problem.ByPerson() {
		return engine.Gamma(metricSpan + 2)
	}
	return k.tiling.spanError()
}

// fixedError bounds the error of rounding the sums of a row and a span to fixed point.
func (k *metricKernel) fixedError() float64 {
	return math.Sqrt(float64(k.problem.D)) * metricFixed / 2 * k.unit * k.features
}

// underflow returns the last summand of roundoff.
func (k *metricKernel) underflow() float64 {
	p, m := k.problem, k.limits
	R, n, d := p.Bounds.FeatureNorm, float64(k.n), float64(p.D)
	return n*n*d*d*(1+R)*(1+R)*(1+m.Labels)*(1+m.Curvature*m.Margin+m.Slope)*0x1p-1000 +
		n*n*R*R*m.Labels*(m.Slope+m.Curvature*m.Labels*m.Distance)*d*0x1p-120
}

// distanceDepth returns the depth of (x - o)^T W (x - o): 3 for Unpack, 2 for two differences, and d each for X
// W and an inner product.
func distanceDepth(d int) int { return 3 + 2 + 2*d }

// gramDepth returns the depth of the result. The first summand, 3, is for two differences or the three
// roundings of metric_weigh. The others are 1 for their product, the rows of a chunk, the number of chunks, 1
// for P + P^T, and 3 for Pack.
func (k *metricKernel) gramDepth() int {
	depth := 3 + 1 + k.chunk + k.chunks() + 1 + 3
	if k.problem.ByPerson() {
		depth += 2 // for metric_weigh_persons
	}
	return depth
}

// relativeError returns the largest of the relative first-order errors.
func (k *metricKernel) relativeError() float64 {
	m := k.limits
	return max((k.coefficientError()+k.weightError())/(m.Labels*m.Slope), k.gramError(k.problem.D)+2*k.entry+k.dropped,
		k.pairError()+k.spanError(), engine.Gamma(k.gramDepth()))
}

// secondOrder returns a factor that covers products of error terms. There are fewer than 16 error terms.
func (k *metricKernel) secondOrder() float64 { return 1 + 16*k.relativeError() + 0x1p-20 }

// usable reports whether secondOrder also covers products of more than two error terms.
func (k *metricKernel) usable() bool { return k.relativeError() < 0x1p-8 }
