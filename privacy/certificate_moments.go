package privacy

import (
	"errors"
	"fmt"
	"math"

	"dyad/privacy/internal/round"
)

// The certificates of moments: sums over records of functions of one record, where a record
// is a label y in [-1, 1] and a vector x with ||x|| <= R, after its distance to a centre was
// clipped to R. The centre, R and all weights are public or released before: given the past,
// they are the same on both data sets, and only one term of a sum changes
// (docs/theory.md#moments, docs/theory.md#sums-over-records). Errors bound ||computed - exact|| of a sum for every data set,
// so the computed sum moves by at most twice that more.

// PositiveCount is the sum over records of a number in [0, 1]: the number of positives.
type PositiveCount struct {
	Error float64 `json:"error"` // >= 0
}

// Certify returns the certificate: one term moves by at most 1 (docs/theory.md#class-sums).
//
// Checked by Coq: Moments.positive_count.
func (c PositiveCount) Certify() (Certificate, error) {
	if err := nonNegative("error of a count", c.Error); err != nil {
		return Certificate{}, err
	}
	return momentCertificate(c, 1, 2*c.Error, "number of positives", "one record counts 0 to 1", "class-sums")
}

// RecordSum is the sum over records of a x, where |a| <= Weight is a function of the record:
// 1 for the plain sum; 1 + |b| for the signed sum of (y - b) x.
type RecordSum struct {
	Radius float64 `json:"-"`     // R > 0
	Weight float64 `json:"-"`     // W > 0
	Error  float64 `json:"error"` // >= 0
	Name   string  `json:"name"`  // of the sum, for reports
}

// Certify returns the certificate 2 W R (docs/theory.md#signed-sums).
//
// Proof. ||a x|| <= W R, so a x and a' x' are at most 2 W R apart; x' = -x, a' = a = W of
// length R attain it. For (y - b) x, max |y - b| = max(|1-b|, |1+b|) = 1 + |b|. QED
//
// Checked by Coq: Moments.signed_sum.
func (s RecordSum) Certify() (Certificate, error) {
	if err := errors.Join(positive("clip radius R", s.Radius), positive("largest weight", s.Weight), nonNegative("error of a sum", s.Error)); err != nil {
		return Certificate{}, err
	}
	return momentCertificate(s, round.Up(2*s.Weight*s.Radius, 1), 2*s.Error, s.Name,
		fmt.Sprintf("terms a x with |a| <= %.6g, ||x|| <= R = %.6g are at most 2 |a| R apart", s.Weight, s.Radius), "signed-sums")
}

// ClassSums are the sums S+ and S- of x over the positives and the negatives, together with
// sqrt(2) R times the number of positives, as one vector. Labels are -1 or 1.
type ClassSums struct {
	Radius float64 `json:"-"`     // R > 0
	Error  float64 `json:"error"` // of the whole vector, >= 0
}

// Certify returns the certificate 2 R: the count is free (docs/theory.md#class-sums).
//
// Proof. Records of one class move one sum, by at most 2R. If the class changes, one sum
// loses at most R, the other gains at most R, and the count moves by sqrt 2 R:
// R^2 + R^2 + 2 R^2 = (2 R)^2. QED
//
// Checked by Coq: Classes.class_sums.
func (s ClassSums) Certify() (Certificate, error) {
	if err := errors.Join(positive("clip radius R", s.Radius), nonNegative("error of sums", s.Error)); err != nil {
		return Certificate{}, err
	}
	return momentCertificate(s, 2*s.Radius, 2*s.Error, "sums of both classes with sqrt(2) R times the number of positives",
		fmt.Sprintf("same class: one sum moves by 2R; other class: R^2 + R^2 + 2 R^2; R = %.6g", s.Radius), "class-sums")
}

// SecondMomentSum is the sum of x x^T in isometric coordinates, or its diagonal, or the pair
// of such sums over the positives and over the negatives.
type SecondMomentSum struct {
	Radius    float64 `json:"-"`     // R > 0
	Dim       int     `json:"-"`     // d >= 1
	ClassWise bool    `json:"-"`     // the pair
	Error     float64 `json:"error"` // >= 0
}

// Certify returns the certificate sqrt(2) R^2, or R^2 for d = 1 and one sum
// (docs/theory.md#second-moments).
//
// Proof. ||x x^T - z z^T||^2 = |x|^4 + |z|^4 - 2 (x.z)^2 <= 2 R^4, attained by orthogonal x
// and z; for d = 1 it is (x^2 - z^2)^2 <= R^4. The diagonal is a part of the coordinates;
// R e_1 and R e_2 attain it. In the pair, records of one class move one sum, as before, and
// a change of class moves both, by |x|^4 + |z|^4 <= 2 R^4. QED
//
// Checked by Coq: Moments.second_moments, Moments.diagonal_moments, Moments.second_moment_line,
// Classes.class_second_moments.
func (s SecondMomentSum) Certify() (Certificate, error) {
	if err := errors.Join(positive("clip radius R", s.Radius), positive("dimension", float64(s.Dim)), nonNegative("error of second moments", s.Error)); err != nil {
		return Certificate{}, err
	}
	exact, why := round.Up(math.Sqrt2*s.Radius*s.Radius, 3), "sqrt(2) R^2"
	if s.Dim == 1 && !s.ClassWise {
		exact, why = round.Up(s.Radius*s.Radius, 1), "R^2, as d = 1"
	}
	return momentCertificate(s, exact, 2*s.Error, "second moments", fmt.Sprintf("||xx^T - zz^T|| <= %s, R = %.6g", why, s.Radius), "second-moments")
}

// JointMoments are (sum of a x, Scale times the sum of x x^T), |a| <= Weight, as one vector;
// the second part in isometric coordinates or its diagonal.
type JointMoments struct {
	Radius float64 `json:"-"`     // R > 0
	Weight float64 `json:"-"`     // W > 0
	Scale  float64 `json:"scale"` // > 0
	Error  float64 `json:"error"` // of the whole vector, >= 0
}

// Certify returns the certificate J(alpha, beta), alpha = (W R)^2, beta = (Scale R^2)^2
// (docs/theory.md#joint-moments):
//
//	J = 2 sqrt(alpha)                                     if alpha >= 2 beta,
//	J = sqrt(2 alpha + 2 beta + alpha^2/(2 beta))         otherwise.
//
// Proof. Let t = -x.x'/R^2. For a fixed x.x' both ||a x - a' x'||^2 = a^2 |x|^2 + a'^2
// |x'|^2 - 2 a a' x.x' and |x|^4 + |x'|^4 - 2 (x.x')^2 grow with |x| and |x'|, so let both be
// R (in one dimension: among vectors of two). The first is convex in (a, a'), so largest for
// a, a' = +-W: 2 alpha (1 +- t). The second, times Scale^2, is 2 beta (1 - t^2). As t may be
// exchanged for -t, the square is at most the maximum of 2 alpha (1 + t) + 2 beta (1 - t^2)
// over |t| <= 1, at t = min(1, alpha/(2 beta)). It is attained for d >= 2 by the sum of
// x x^T, at a = a' = W. The diagonal is a part of the coordinates. QED
//
// Checked by Coq: Moments.joint_moments, Moments.joint_moments_diagonal.
func (m JointMoments) Certify() (Certificate, error) {
	if err := errors.Join(positive("clip radius R", m.Radius), positive("largest weight", m.Weight), positive("scale of second moments", m.Scale), nonNegative("error of moments", m.Error)); err != nil {
		return Certificate{}, err
	}
	exact := jointBound(round.Up(m.Weight*m.Radius, 1), round.Up(m.Scale*m.Radius*m.Radius, 2))
	return momentCertificate(m, exact, 2*m.Error, "signed sum and second moments, jointly",
		fmt.Sprintf("J(alpha, beta) for terms (a x, %.6g xx^T), |a| <= %.6g, ||x|| <= R = %.6g", m.Scale, m.Weight, m.Radius), "joint-moments")
}

// jointBound is J(first^2, second^2), rounded up.
//
// Checked by Coq: Moments.joint_bound_is_J.
func jointBound(first, second float64) float64 {
	if ratio := first / second; ratio*ratio < 2 {
		r2 := ratio * ratio // alpha/beta: J^2 = beta (2 + 2 r2 + r2^2/2)
		return round.Up(second*math.Sqrt(2+2*r2+r2*r2/2), 16)
	}
	return round.Up(2*first, 1)
}

// ClassMoments are the sums S+ and S- of x over the positives and the negatives, Count times
// the number of positives, and Scale times the sums M+ and M- of x x^T over both classes in
// isometric coordinates, as one vector. A record whose label is in neither class is in no sum;
// it counts (1 + y)/2.
type ClassMoments struct {
	Radius float64 `json:"-"`     // R > 0
	Scale  float64 `json:"scale"` // > 0
	Count  float64 `json:"count"` // c >= 0
	Error  float64 `json:"error"` // of the whole vector, >= 0
}

// Certify returns the certificate max(J(alpha, beta), sqrt(2 alpha + 2 beta + c^2)), alpha = R^2,
// beta = (Scale R^2)^2, J that of JointMoments. So c = R is free at alpha = 2 beta, where
// everything together costs what the sums cost alone.
//
// Proof. Same class: one sum and one matrix move, by J. Other class, or none: each sum moves by
// one term of its own, so the parts move by at most |x|^2 + |x'|^2 <= 2 R^2, Scale^2 (|x|^4 +
// |x'|^4) <= 2 beta, and c^2. QED
//
// Checked by Coq: Classes.class_moments.
func (m ClassMoments) Certify() (Certificate, error) {
	if err := errors.Join(positive("clip radius R", m.Radius), positive("scale of second moments", m.Scale), nonNegative("weight of the number of positives", m.Count), nonNegative("error of moments", m.Error)); err != nil {
		return Certificate{}, err
	}
	second := round.Up(m.Scale*m.Radius*m.Radius, 2)
	change := round.Up(math.Sqrt(2*m.Radius*m.Radius+2*second*second+m.Count*m.Count), 8)
	return momentCertificate(m, max(jointBound(m.Radius, second), change), 2*m.Error, "sums and second moments of both classes, number of positives",
		fmt.Sprintf("same class: J(alpha, beta); other class: 2 alpha + 2 beta + c^2 (c = %.6g); R = %.6g, scale %.6g", m.Count, m.Radius, m.Scale), "class-moments")
}

// ResidualScores are norms, rounded down to integers, of sums over records of integer vectors of norm at most Levels, one sum for each
// candidate of a choice.
type ResidualScores struct {
	Levels int `json:"levels"` // N >= 1
}

// Certify returns the certificate 2 N of each score (docs/theory.md#pair-choice).
//
// Proof. Sums are exact. One of their terms is replaced, so a sum moves by at most 2 N, and its norm by no more. If a <= b + 2 N, then
// floor(a) <= floor(b) + 2 N, as 2 N is an integer. QED
func (s ResidualScores) Certify() (Certificate, error) {
	if s.Levels < 1 || s.Levels > 1<<30 {
		return Certificate{}, fmt.Errorf("%w: terms of norm %d, want 1 to 2^30", errCertificate, s.Levels)
	}
	c, err := newCertificate(2*float64(s.Levels), 2*float64(s.Levels), "choice of pairs",
		fmt.Sprintf("a score is the norm of a sum of integer vectors of norm at most N = %d, rounded down, and moves by at most 2 N (docs/theory.md#pair-choice)", s.Levels))
	return stated("pair-choice", s, c, err)
}

// momentCertificate is a certificate of a sum, of those numbers, that moves by exact, and by twice its error.
func momentCertificate(numbers any, exact, errors float64, released, why, section string) (Certificate, error) {
	c, err := newCertificate(exact, round.Up(exact+errors, 2), released, why+" (docs/theory.md#"+section+")")
	return stated(section, numbers, c, err)
}
