package privacy

import (
	"errors"
	"fmt"
	"math"

	"dyad/privacy/internal/round"
)

// GroupMoments are the sums over groups of 1/m times the sum over the pairs i < j of a group of m records of a x~ and, if Scale is
// not 0, of Scale x~ x~^T in isometric coordinates or its diagonal, as one vector. |a| <= 1 and ||x~|| <= Radius are functions of
// both records, such as the difference of their labels and that of their features, clipped. Members, places and sizes of groups are
// public: a neighbour replaces a record in its place.
type GroupMoments struct {
	Radius float64 `json:"-"`     // R > 0
	Scale  float64 `json:"scale"` // >= 0
	Group  int     `json:"group"` // m of the largest group, >= 2
	Error  float64 `json:"error"` // of the whole vector, >= 0
}

// Certify returns the certificate (1 - 1/m) J(alpha, beta), alpha = R^2, beta = (Scale R^2)^2, J that of JointMoments, so (1 - 1/m)
// 2 R without second moments (docs/theory.md#group-moments).
//
// Proof. A replaced record of a group of m' <= m changes m' - 1 of its terms. Each moves by at most what one record moves in
// RecordSum or JointMoments, over m', and (m' - 1)/m' <= 1 - 1/m. QED
//
// Checked by Coq: Spread.groups, Spread.clipped_differences, Spread.clipped_squares, Spread.clipped_jointly.
func (g GroupMoments) Certify() (Certificate, error) {
	if err := errors.Join(positive("clip radius R", g.Radius), nonNegative("scale of second moments", g.Scale), nonNegative("error of moments", g.Error)); err != nil {
		return Certificate{}, err
	}
	if g.Group < 2 || g.Group > math.MaxInt32 {
		return Certificate{}, fmt.Errorf("%w: the largest group has %d records, want 2 or more", errCertificate, g.Group)
	}
	one, what := round.Up(2*g.Radius, 1), "signed sum"
	if g.Scale > 0 {
		one, what = jointBound(round.Up(g.Radius, 1), round.Up(g.Scale*g.Radius*g.Radius, 2)), "signed sum and second moments, jointly,"
	}
	exact := round.Up(one*(float64(g.Group-1)/float64(g.Group)), 2)
	return momentCertificate(g, exact, 2*g.Error, what+" of the clipped differences within groups",
		fmt.Sprintf("(1 - 1/m) J(alpha, beta) for the terms (a x, %.6g xx^T)/m of pairs, |a| <= 1, ||x|| <= R = %.6g, m at most %d", g.Scale, g.Radius, g.Group), "group-moments")
}
