package main

import (
	"fmt"
	"math"

	"dyad/privacy"
)

type accountCmd struct {
	Epsilon     float64 `help:"Target epsilon: print the noise that reaches it."`
	Sigma       float64 `help:"Standard deviation of the noise in every coordinate: print its epsilon."`
	Delta       float64 `default:"1e-5" help:"Delta of the guarantee."`
	Sensitivity float64 `default:"1" help:"L2 sensitivity of one release."`
	Steps       int     `default:"1" help:"Number of adaptive releases."`
}

// Help shows examples.
func (accountCmd) Help() string {
	return `Exact accounting of Gaussian noise (mu-GDP). Give --epsilon or --sigma.

Examples:
  dyad account --epsilon 1 --delta 1e-5
  dyad account --sigma 50 --steps 100 --delta 1e-6
  dyad account --epsilon 2 --sensitivity 0.016 --json`
}

type accountResult struct {
	Epsilon     float64 `json:"epsilon"`
	Delta       float64 `json:"delta"`
	Mu          float64 `json:"mu"`
	Sigma       float64 `json:"sigma"`
	Sensitivity float64 `json:"sensitivity"`
	Steps       int     `json:"steps"`
}

// Run converts in either direction.
func (c *accountCmd) Run(a *app) error {
	if (c.Epsilon == 0) == (c.Sigma == 0) {
		return badInput("give exactly one of --epsilon (to get the noise) and --sigma (to get epsilon)")
	}
	if !(c.Sensitivity > 0) || math.IsInf(c.Sensitivity, 0) || c.Steps < 1 || !(c.Delta > 0 && c.Delta < 1) {
		return badInput("--sensitivity must be positive, --steps at least 1 and --delta strictly between 0 and 1")
	}
	r := accountResult{Epsilon: c.Epsilon, Delta: c.Delta, Sigma: c.Sigma, Sensitivity: c.Sensitivity, Steps: c.Steps}
	if c.Sigma == 0 {
		if err := (privacy.Budget{Epsilon: c.Epsilon, Delta: c.Delta}).Validate(); err != nil {
			return asInput(err)
		}
		r.Sigma = c.Sensitivity * math.Sqrt(float64(c.Steps)) / privacy.GDPMu(c.Epsilon, c.Delta) * (1 + 0x1p-50)
	} else if !(c.Sigma > 0) || math.IsInf(c.Sigma, 0) {
		return badInput("--sigma must be positive and finite")
	}
	var account privacy.GDP
	if err := account.Compose(privacy.GaussianEvent{Sensitivity: c.Sensitivity, Sigma: r.Sigma, Count: c.Steps}); err != nil {
		return asInput(err)
	}
	r.Mu, r.Epsilon = account.Mu(), account.Epsilon(c.Delta)
	return a.emit(r, fmt.Sprintf("%d releases of sensitivity %g with Gaussian noise sigma = %.6g:\n  (%.6g, %g)-DP, %.6g-GDP\n  (replace-one, or whatever relation the sensitivity is for)\n", r.Steps, r.Sensitivity, r.Sigma, r.Epsilon, r.Delta, r.Mu))
}
