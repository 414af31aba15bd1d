package engine

import (
	"errors"
	"fmt"
	"math"

	"dyad/internal/memo"
)

// MetricLoss is a Loss of the form
//
//	l(W; z, z') = phi(u),   u = y y' (1 - (x - x')^T W (x - x'))
//
// with a symmetric d x d matrix W in Symmetric coordinates. The loss is symmetric in (z,
// z'). Backends compute gradient sums without the matrix (x - x')(x - x')^T of each pair.
// Let c_ij = -phi'(u_ij) y_i y_j and c_ii = 0, let C1 be the row sums of c, and let X be
// the n x d matrix of features. Then the gradient sum over all ordered pairs has the
// coordinates of the matrix
//
//	sum_{i!=j} c_ij (x_i - x_j)(x_i - x_j)^T = 2 [X^T diag(C1) X - X^T c X].
//
// The methods are not named Phi and DPhi, so a MetricLoss never implements ScoreLoss.
type MetricLoss interface {
	ConstrainedLoss
	// MetricPhi is phi(u).
	MetricPhi(u float64) float64
	// MetricDPhi is phi'(u).
	MetricDPhi(u float64) float64
}

// MahalanobisLogistic is the logistic loss of a Mahalanobis distance
//
//	l(W; z, z') = log(1 + exp(-u)),   u = y y' (1 - (x - x')^T W (x - x'))
//
// over positive semidefinite W of Frobenius norm at most r ([Huai20] Example 1, [Xue21]
// Section 5). The loss is small if pairs of equal labels are closer than 1 and pairs of
// different labels are farther apart than 1. Labels are in [-b, b], where b is
// Bounds.LabelAbs. A pair with a label 0 has the constant loss log 2.
type MahalanobisLogistic struct{}

var _ MetricLoss = MahalanobisLogistic{}

// Name returns "mahalanobis-logistic".
func (MahalanobisLogistic) Name() string { return "mahalanobis-logistic" }

// Definition returns the formula.
func (MahalanobisLogistic) Definition() string {
	return "log(1 + exp(-y y' (1 - (x - x')^T W (x - x'))))"
}

// ParamDim returns d(d+1)/2.
func (MahalanobisLogistic) ParamDim(d int) int { return Symmetric{Dim: d}.Len() }

// Domain returns the PSDBall with the given radius.
func (MahalanobisLogistic) Domain(d int, radius float64) Domain {
	return PSDBall{Dim: d, B: radius}
}

// Constants returns the following constants, where R = b.FeatureNorm, B = radius, q =
// b.LabelAbs^2, A = 4 R^2 B and sigm(v) = 1/(1+e^-v).
//
//	G <= 4 R^2 max(P, N),   Dg <= 4 R^2 D <= 4 R^2 (P + N),   L <= 16 R^4 S,
//	P = sup {t sigm(t (A - 1)) : 0 < t <= q},   N = q sigm(q),
//	S = sup {t^2 sigm'(t max(0, 1 - A)) : 0 < t <= q} <= q^2 / 4.
//
// D is the bound of metricDiameter. It exceeds the attained maximum by at most 0.5 % as
// long as A is not far above 1.
//
// P is q sigm(q) and S is q^2 sigm'(q max(0, 1-A)) if q (1-A) <= 1.278, in
// particular for every A when labels are within [-1, 1]. The constants hold for every d
// and every W with ||W||_F <= B (1 + 2^-30) and no eigenvalue below -2^-30 B. This slack
// is for callers that round. The matrices that PSDBall.Project returns are exact members
// and do not need the slack. In the code, A and the argument of N include the slack. The
// constants do not hold for other indefinite W of this norm.
//
// The proof is in docs/theory.md#metric-losses, and the proof for D is in
// docs/theory.md#metric-diameter. With s = 2^-30 A and A increased by s, M is in [-s, A].
//
// For R = B = LabelAbs = 1, G <= 3.811, Dg <= 5.039 and L <= 4. A difference of 5.013 is
// attained, and P + N would give Dg <= 6.735.
func (MahalanobisLogistic) Constants(b Bounds, radius float64) (Constants, error) {
	if err := b.Validate(); err != nil {
		return Constants{}, err
	}
	if !(radius > 0) || math.IsInf(radius, 0) {
		return Constants{}, fmt.Errorf("engine: MahalanobisLogistic.Constants: the radius is %v, but it must be "+
			"positive and finite", radius)
	}
	const slack = 0x1p-30
	q := mulUp(b.LabelAbs, b.LabelAbs)
	full := mulUp(4*b.FeatureNorm, b.FeatureNorm) // 4 R^2
	s := full * radius * slack * (1 + 0x1p-50)
	largest := mulUp(full, radius) + 2*s // 2 s: covers the rounding of the sum
	near := metricSlope(q, largest-1)
	far := sigmoidUp(q*(1+s)*(1+0x1p-50)) * q * (1 + 0x1p-52)
	up := 1 + 0x1p-50
	diameter, err := mahalanobisDiameters.Get([3]float64{q, largest, s}, func() (float64, error) {
		return metricDiameter(func(x float64) float64 { return metricSlope(q, x) }, largest, s), nil
	})
	if err != nil {
		return Constants{}, err
	}
	spread := min(near+far, diameter)
	c := Constants{
		Lipschitz:    full * max(near, far) * up,
		Smoothness:   mulUp(mulUp(full, full), metricCurvature(q, largest)),
		PairDiameter: full * spread * up,
		Convex:       true,
		Origin:       Proved,
	}
	if math.IsInf(largest, 0) || math.IsInf(c.Smoothness, 0) || math.IsInf(c.PairDiameter, 0) {
		return Constants{}, errors.New("engine: MahalanobisLogistic.Constants: the bounds are so large that the " +
			"constants overflow; rescale the features")
	}
	if !(c.Smoothness >= 0x1p-1000) || !(c.Lipschitz >= 0x1p-1000) || s == 0 {
		return Constants{}, errors.New("engine: MahalanobisLogistic.Constants: the bounds are too small for " +
			"float64; rescale the features")
	}
	return c, nil
}

// metricSlope returns sup {t sigm(t v) : 0 < t <= q}, rounded up. For v = A - 1 the
// supremum is P. The proof is in docs/theory.md#metric-losses.
func metricSlope(q, v float64) float64 {
	const stationary, atStationary = 1.278, 0.278465 // x - 1 = 0.27846454...
	if -v*q*(1+0x1p-50) > stationary {
		// For -q v in [stationary, x], the supremum is attained at q and is also below (x-1)/-v.
		return atStationary / -v * (1 + 0x1p-50)
	}
	// The error of the rounded argument is at most 2 ulp, and the slope of sigm is at most 1/4.
	return sigmoidUp(v*q+math.Abs(v*q)*0x1p-51) * q * (1 + 0x1p-52)
}

// metricCurvature returns sup {t^2 sigm'(t max(0, 1 - A)) : 0 < t <= q}, rounded up. The
// proof is in docs/theory.md#metric-losses.
func metricCurvature(q, A float64) float64 {
	const stationary, atStationary = 2.399, 0.43924
	k := 1 - A
	if k <= 0 {
		return mulUp(q, q) / 4
	}
	if q*k*(1+0x1p-50) > stationary {
		return atStationary / k / k * (1 + 0x1p-50)
	}
	// The error of q k is at most 2 ulp, so the relative error of sigm' is at most twice
	// as large. The formula loses a few more units in 1 - s >= 0.08.
	s := sigmoid(q * k)
	return mulUp(q, q) * min(0.25, s*(1-s)*(1+0x1p-45))
}

// MetricPhi returns log(1 + exp(-u)) without overflow.
func (MahalanobisLogistic) MetricPhi(u float64) float64 { return Logistic{}.Phi(u) }

// MetricDPhi returns -sigm(-u).
func (MahalanobisLogistic) MetricDPhi(u float64) float64 { return Logistic{}.DPhi(u) }

// Value returns l(W; z, zp).
func (l MahalanobisLogistic) Value(w []float64, z, zp Record) float64 {
	return l.MetricPhi(metricMargin(w, z, zp))
}

// AddGrad adds -phi'(u) y y' times the coordinates of (x - x')(x - x')^T to dst.
func (l MahalanobisLogistic) AddGrad(dst, w []float64, z, zp Record) {
	addMetricGrad(dst, w, z, zp, l.MetricDPhi)
}

// metricMargin returns y y' (1 - (x - x')^T W (x - x')).
func metricMargin(w []float64, z, zp Record) float64 {
	var m float64
	k := 0
	for i := range z.X {
		vi := z.X[i] - zp.X[i]
		m += w[k] * (vi * vi)
		k++
		for j := i + 1; j < len(z.X); j++ {
			m += w[k] * (math.Sqrt2 * vi * (z.X[j] - zp.X[j]))
			k++
		}
	}
	return z.Y * zp.Y * (1 - m)
}

func addMetricGrad(dst, w []float64, z, zp Record, dphi func(float64) float64) {
	c := -dphi(metricMargin(w, z, zp)) * (z.Y * zp.Y)
	k := 0
	for i := range z.X {
		vi := z.X[i] - zp.X[i]
		dst[k] += c * (vi * vi)
		k++
		for j := i + 1; j < len(z.X); j++ {
			dst[k] += c * (math.Sqrt2 * vi * (z.X[j] - zp.X[j]))
			k++
		}
	}
}

// mahalanobisDiameters keeps values of metricDiameter by q, A and s. One value takes about 0.1 s, and planning asks for
// the same value several times.
var mahalanobisDiameters = memo.Answers[[3]float64, float64]{Most: 256}
