package account

import (
	"cmp"
	"fmt"
)

// LaplaceEvent is one release of a query with replace-one L1 sensitivity Sensitivity. Exact independent
// Laplace noise of density exp(-|x|/Scale)/(2 Scale) is added to every coordinate, and the sum is rounded to
// a grid. The release is (Sensitivity/Scale)-DP.
type LaplaceEvent struct {
	Sensitivity float64 `json:"sensitivity"` // Sensitivity is in the L1 norm, > 0, and includes roundoff.
	Scale       float64 `json:"scale"`       // Scale is > 0.
}

// String returns e.g. "Laplace(sensitivity 1, scale 2) x 1".
func (e LaplaceEvent) String() string {
	return fmt.Sprintf("Laplace(sensitivity %.6g, scale %.6g) x 1", e.Sensitivity, e.Scale)
}

func (e LaplaceEvent) validate() error {
	return cmp.Or(positive("sensitivity of a Laplace event", e.Sensitivity), positive("scale of a Laplace event", e.Scale))
}

func (e LaplaceEvent) facts() facts {
	n := noise{LaplaceLaw, e.Sensitivity, e.Scale}
	loss := n.ratio()
	return facts{
		event: e, count: 1, noise: &n,
		pure: &purity{loss, 1},
		law: func() releaseLaw {
			return releaseLaw{pair: dominatingPair{law: LaplaceLaw, kind: removed, m: loss, q: 1}}
		},
		renyi: func(alpha float64) float64 { return laplaceRenyi(alpha, loss) },
	}
}

func (recorded) Laplace() kind { return record[LaplaceEvent]("laplace") }
