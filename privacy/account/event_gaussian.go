package account

import (
	"cmp"
	"fmt"
)

// GaussianEvent is one release of a query with replace-one L2 sensitivity Sensitivity. Exact continuous
// Gaussian noise of standard deviation Sigma is added to every coordinate, and the sum is rounded to a grid.
type GaussianEvent struct {
	Sensitivity float64 `json:"sensitivity"` // Sensitivity is > 0 and includes roundoff.
	Sigma       float64 `json:"sigma"`       // Sigma is > 0.
}

// String returns e.g. "Gaussian(sensitivity 0.01, sigma 0.05) x 1".
func (e GaussianEvent) String() string {
	return fmt.Sprintf("Gaussian(sensitivity %.6g, sigma %.6g) x 1", e.Sensitivity, e.Sigma)
}

func (e GaussianEvent) validate() error {
	return cmp.Or(positive("sensitivity of a Gaussian event", e.Sensitivity),
		positive("sigma of a Gaussian event", e.Sigma))
}

func (e GaussianEvent) facts() facts {
	mu := muOf(e.Sensitivity, e.Sigma)
	return facts{
		event: e, count: 1, mu: mu,
		noise: &noise{GaussianLaw, e.Sensitivity, e.Sigma},
		renyi: func(alpha float64) float64 { return gaussianRenyi(alpha, mu) },
	}
}

func (recorded) Gaussian() kind { return record[GaussianEvent]("gaussian") }
