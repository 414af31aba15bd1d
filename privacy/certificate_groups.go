package privacy

import (
	"errors"
	"fmt"
	"math"

	"dyad/privacy/internal/round"
)

// GroupMoments describes a vector of sums over the pairs of records within groups. In a group of m records,
// the vectors a x~ of all pairs i < j are added up and divided by m. If Scale is not 0, the same is done
// for the matrices Scale x~ x~^T, in isometric coordinates, or for their diagonals.
//
// The values a and x~ satisfy |a| <= 1 and ||x~|| <= Radius. They are functions of both records of a pair,
// such as the clipped difference of the labels and the clipped difference of the features. The groups,
// their sizes and the places of their members are public. In a neighbouring data set, one of these places
// has another record.
type GroupMoments struct {
	Radius float64 `json:"-"`     // Radius is R > 0.
	Scale  float64 `json:"scale"` // Scale is >= 0.
	Group  int     `json:"group"` // Group is the size m of the largest group, >= 2.
	Error  float64 `json:"error"` // Error bounds the error of the whole vector; >= 0.
}

// Certify returns the certificate (1 - 1/m) J(alpha, beta) with alpha = R^2 and beta = (Scale R^2)^2. The
// function J is defined at JointMoments.Certify. Without second moments the certificate is (1 - 1/m) 2 R
// (docs/theory.md#group-moments).
//
// Proof. A replaced record of a group of m' <= m records changes m' - 1 terms of the group. Each term moves
// by at most 1/m' times the sensitivity of RecordSum or JointMoments to one record, and (m' - 1)/m' <= 1 -
// 1/m. QED
//
// Checked by Coq: Spread.groups, Spread.clipped_differences, Spread.clipped_squares, Spread.clipped_jointly.
func (g GroupMoments) Certify() (Certificate, error) {
	if err := errors.Join(positive("clip radius R", g.Radius), nonNegative("scale of second moments", g.Scale),
		nonNegative("error of moments", g.Error)); err != nil {
		return Certificate{}, err
	}
	if g.Group < 2 || g.Group > math.MaxInt32 {
		return Certificate{}, fmt.Errorf("%w: the largest group has %d records, but must have 2 or more",
			errCertificate, g.Group)
	}
	one, what := round.Up(2*g.Radius, 1), "signed sum"
	if g.Scale > 0 {
		one, what = jointBound(round.Up(g.Radius, 1), round.Up(g.Scale*g.Radius*g.Radius, 2)),
			"signed sum and second moments, jointly,"
	}
	exact := round.Up(one*(float64(g.Group-1)/float64(g.Group)), 2)
	return momentCertificate(g, exact, 2*g.Error, what+" of the clipped differences within groups",
		fmt.Sprintf("(1 - 1/m) J(alpha, beta) for the terms (a x, %.6g xx^T)/m of pairs, |a| <= 1, ||x|| <= R = %.6g, "+
			"m at most %d", g.Scale, g.Radius, g.Group), "group-moments")
}
