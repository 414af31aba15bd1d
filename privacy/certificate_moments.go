package privacy

import (
	"errors"
	"fmt"
	"math"

	"dyad/privacy/internal/round"
)

// The certificates of this file are about moments: sums over records of functions of one record. A record is
// a label y in [-1, 1] and a vector x with ||x|| <= R, whose distance to a centre was clipped to R. The
// centre, R and all weights are public or were released before. Given the past, they are the same on both
// data sets, and only one term of a sum changes (docs/theory.md#moments, docs/theory.md#sums-over-records).
// The Error fields bound ||computed - exact|| of a sum for every data set, so the computed sum moves by at
// most 2 Error more than the exact sum.

// PositiveCount describes a sum of one number in [0, 1] for each record, such as the number of positives.
type PositiveCount struct {
	Error float64 `json:"error"` // Error bounds |computed - exact|; >= 0.
}

// Certify returns the certificate 1: only one term of the sum changes, by at most 1 (docs/theory.md#class-sums).
//
// Checked by Coq: Moments.positive_count.
func (c PositiveCount) Certify() (Certificate, error) {
	if err := nonNegative("error of a count", c.Error); err != nil {
		return Certificate{}, err
	}
	return momentCertificate(c, 1, 2*c.Error, "number of positives", "one record counts 0 to 1", "class-sums")
}

// RecordSum describes the sum of the vectors a x over all records x. The factor a is a function of the
// record, with |a| <= Weight. Weight is 1 for the plain sum and 1 + |b| for the signed sum of (y - b) x.
type RecordSum struct {
	Radius float64 `json:"-"`     // Radius is R > 0.
	Weight float64 `json:"-"`     // Weight is W > 0.
	Error  float64 `json:"error"` // Error bounds ||computed - exact||; >= 0.
	Name   string  `json:"name"`  // Name is the name of the sum in reports.
}

// Certify returns the certificate 2 W R (docs/theory.md#signed-sums).
//
// Proof. ||a x|| <= W R, so the distance of a x and a' x' is at most 2 W R. The values x' = -x of length R
// and a' = a = W attain this distance. For (y - b) x, max |y - b| = max(|1-b|, |1+b|) = 1 + |b|. QED
//
// Checked by Coq: Moments.signed_sum.
func (s RecordSum) Certify() (Certificate, error) {
	if err := errors.Join(positive("clip radius R", s.Radius), positive("largest weight", s.Weight),
		nonNegative("error of a sum", s.Error)); err != nil {
		return Certificate{}, err
	}
	return momentCertificate(s, round.Up(2*s.Weight*s.Radius, 1), 2*s.Error, s.Name,
		fmt.Sprintf("terms a x with |a| <= %.6g, ||x|| <= R = %.6g are at most 2 |a| R apart", s.Weight, s.Radius),
		"signed-sums")
}

// SecondMomentSum describes the sum of x x^T in isometric coordinates, or the diagonal of this sum. If
// ClassWise is true, it describes two such sums: one over the positives and one over the negatives.
type SecondMomentSum struct {
	Radius    float64 `json:"-"`     // Radius is R > 0.
	Dim       int     `json:"-"`     // Dim is d >= 1.
	ClassWise bool    `json:"-"`     // ClassWise selects the pair of sums.
	Error     float64 `json:"error"` // Error bounds the error of the whole vector; >= 0.
}

// Certify returns the certificate sqrt(2) R^2. For d = 1 and a single sum the certificate is R^2
// (docs/theory.md#second-moments).
//
// Proof. ||x x^T - z z^T||^2 = |x|^4 + |z|^4 - 2 (x.z)^2 <= 2 R^4, and orthogonal x and z attain the bound.
// For d = 1 the square is (x^2 - z^2)^2 <= R^4. The diagonal is a part of the coordinates; R e_1 and R e_2
// attain its bound. For the pair of sums, a record whose class stays the same moves one sum, by the bound
// above. If the class changes, one sum moves by |x|^2 and the other by |z|^2, and |x|^4 + |z|^4 <= 2 R^4.
// QED
//
// Checked by Coq: Moments.second_moments, Moments.diagonal_moments, Moments.second_moment_line,
// Classes.class_second_moments.
func (s SecondMomentSum) Certify() (Certificate, error) {
	if err := errors.Join(positive("clip radius R", s.Radius), positive("dimension", float64(s.Dim)),
		nonNegative("error of second moments", s.Error)); err != nil {
		return Certificate{}, err
	}
	exact, why := round.Up(math.Sqrt2*s.Radius*s.Radius, 3), "sqrt(2) R^2"
	if s.Dim == 1 && !s.ClassWise {
		exact, why = round.Up(s.Radius*s.Radius, 1), "R^2, as d = 1"
	}
	return momentCertificate(s, exact, 2*s.Error, "second moments",
		fmt.Sprintf("||xx^T - zz^T|| <= %s, R = %.6g", why, s.Radius), "second-moments")
}

// JointMoments describes a vector of two parts. The first part is the sum of the vectors x, each
// multiplied by a number a with |a| <= Weight. The second part is Scale times the sum of x x^T. The
// matrix is given in isometric coordinates, or only its diagonal is given.
type JointMoments struct {
	Radius float64 `json:"-"`     // Radius is R > 0.
	Weight float64 `json:"-"`     // Weight is W > 0.
	Scale  float64 `json:"scale"` // Scale is > 0.
	Error  float64 `json:"error"` // Error bounds the error of the whole vector; >= 0.
}

// Certify returns the certificate J(alpha, beta) with alpha = (W R)^2 and beta = (Scale R^2)^2
// (docs/theory.md#joint-moments):
//
//	J = 2 sqrt(alpha)                                     if alpha >= 2 beta,
//	J = sqrt(2 alpha + 2 beta + alpha^2/(2 beta))         otherwise.
//
// Proof. Let t = -x.x'/R^2. Two expressions grow with |x| and |x'| while x.x' is fixed: ||a x - a' x'||^2 =
// a^2 |x|^2 + a'^2 |x'|^2 - 2 a a' x.x', and |x|^4 + |x'|^4 - 2 (x.x')^2. So let both lengths be R. (If d =
// 1, regard x and x' as vectors of two dimensions.) The first expression is convex in (a, a'). So it is
// largest for a, a' = +-W, and is then 2 alpha (1 +- t). The second expression, times Scale^2, is 2 beta (1
// - t^2). t and -t may be exchanged. So the squared distance is at most the maximum of 2 alpha (1 + t) + 2
// beta (1 - t^2) over |t| <= 1. The maximum is at t = min(1, alpha/(2 beta)). For d >= 2 and the sum of x
// x^T, a = a' = W attains it. The diagonal is a part of the coordinates. QED
//
// Checked by Coq: Moments.joint_moments, Moments.joint_moments_diagonal.
func (m JointMoments) Certify() (Certificate, error) {
	if err := errors.Join(positive("clip radius R", m.Radius), positive("largest weight", m.Weight),
		positive("scale of second moments", m.Scale), nonNegative("error of moments", m.Error)); err != nil {
		return Certificate{}, err
	}
	exact := jointBound(round.Up(m.Weight*m.Radius, 1), round.Up(m.Scale*m.Radius*m.Radius, 2))
	return momentCertificate(m, exact, 2*m.Error, "signed sum and second moments, jointly",
		fmt.Sprintf("J(alpha, beta) for terms (a x, %.6g xx^T), |a| <= %.6g, ||x|| <= R = %.6g", m.Scale, m.Weight, m.Radius),
		"joint-moments")
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

// ClassMoments describes a vector of three parts. The first part contains the sums S+ and S- of x over the
// positives and over the negatives. The second part is Count times the number of positives. The third part is
// Scale times the sums M+ and M- of x x^T over the two classes. The matrices are in isometric coordinates. A
// record whose label y is in neither class does not contribute to the sums and adds (1 + y)/2 to the number
// of positives.
type ClassMoments struct {
	Radius float64 `json:"-"`     // Radius is R > 0.
	Scale  float64 `json:"scale"` // Scale is > 0.
	Count  float64 `json:"count"` // Count is c >= 0.
	Error  float64 `json:"error"` // Error bounds the error of the whole vector; >= 0.
}

// Certify returns the certificate max(J(alpha, beta), sqrt(2 alpha + 2 beta + c^2)) with alpha = R^2 and beta
// = (Scale R^2)^2. The function J is defined at JointMoments.Certify. For alpha = 2 beta and c = R, the
// certificate is 2 R, which is the sensitivity of the two sums alone.
//
// Proof. If the class stays the same, one sum and one matrix move, together by at most J. If the record
// changes its class, or enters or leaves the two classes, each sum moves by at most one term. So the squares
// of the parts are at most |x|^2 + |x'|^2 <= 2 R^2 for the sums, Scale^2 (|x|^4 + |x'|^4) <= 2 beta for the
// matrices, and c^2 for the count. QED
//
// Checked by Coq: Classes.class_moments.
func (m ClassMoments) Certify() (Certificate, error) {
	if err := errors.Join(positive("clip radius R", m.Radius), positive("scale of second moments", m.Scale),
		nonNegative("weight of the number of positives", m.Count), nonNegative("error of moments", m.Error)); err != nil {
		return Certificate{}, err
	}
	second := round.Up(m.Scale*m.Radius*m.Radius, 2)
	change := round.Up(math.Sqrt(2*m.Radius*m.Radius+2*second*second+m.Count*m.Count), 8)
	return momentCertificate(m, max(jointBound(m.Radius, second), change), 2*m.Error,
		"sums and second moments of both classes, number of positives",
		fmt.Sprintf("same class: J(alpha, beta); other class: 2 alpha + 2 beta + c^2 (c = %.6g); R = %.6g, scale %.6g",
			m.Count, m.Radius, m.Scale), "class-moments")
}

// ResidualScores describes a list of scores, one for each candidate of a choice. A record contributes to each
// score an integer vector with norm at most Levels. The score is the norm of the sum of these vectors,
// rounded down to an integer.
type ResidualScores struct {
	Levels int `json:"levels"` // Levels is N >= 1.
}

// Certify returns the certificate 2 N of each score (docs/theory.md#pair-choice).
//
// Proof. The sums are exact. One term of a sum is replaced, so the sum moves by at most 2 N, and its norm
// also moves by at most 2 N. If a <= b + 2 N, then floor(a) <= floor(b) + 2 N, because 2 N is an integer. QED
func (s ResidualScores) Certify() (Certificate, error) {
	if s.Levels < 1 || s.Levels > 1<<30 {
		return Certificate{}, fmt.Errorf("%w: the norm of the terms is %d, but must be 1 to 2^30",
			errCertificate, s.Levels)
	}
	c, err := newCertificate(2*float64(s.Levels), 2*float64(s.Levels), "choice of pairs",
		fmt.Sprintf("score = floor(||S||), S = sum of integer vectors of norm at most N = %d, so one record moves "+
			"the score by at most 2 N (docs/theory.md#pair-choice)", s.Levels))
	return stated("pair-choice", s, c, err)
}

// momentCertificate returns the certificate of a sum whose exact value moves by at most exact. The argument
// errors is twice the bound of the error of the sum, and numbers is its statement.
func momentCertificate(numbers any, exact, errors float64, released, why, section string) (Certificate, error) {
	c, err := newCertificate(exact, round.Up(exact+errors, 2), released, why+" (docs/theory.md#"+section+")")
	return stated(section, numbers, c, err)
}
