package main

import (
	"fmt"
	"math"

	"dyad/privacy"
)

type accountCmd struct {
	Epsilon     float64 `help:"Target epsilon: print the noise that reaches it."`
	Sigma       float64 `help:"Standard deviation of Gaussian noise in every coordinate: print its epsilon."`
	Scale       float64 `help:"Scale of Laplace or K-norm noise, with --delta 0: print its epsilon."`
	Delta       float64 `default:"1e-5" help:"Delta of the guarantee; 0 for pure epsilon, by Laplace or K-norm noise."`
	Noise       string  `default:"knorm" enum:"knorm,laplace" help:"Noise for --delta 0: knorm, density exp(-||z||/scale), or laplace in every coordinate."`
	Coordinates int     `default:"1" help:"Number of released coordinates, for --delta 0."`
	Sensitivity float64 `default:"1" help:"L2 sensitivity of one release."`
	Steps       int     `default:"1" help:"Number of adaptive releases."`
}

// Help shows examples.
func (accountCmd) Help() string {
	return `Accounting of Gaussian noise (exact, mu-GDP), or with --delta 0 of Laplace and K-norm noise, whose epsilons
add up. Give --epsilon or the noise, --sigma or --scale.

Examples:
  dyad account --epsilon 1 --delta 1e-5
  dyad account --sigma 50 --steps 100 --delta 1e-6
  dyad account --epsilon 2 --sensitivity 0.016 --json
  dyad account --epsilon 1 --delta 0 --coordinates 10
  dyad account --scale 2 --delta 0 --noise laplace --coordinates 4 --steps 3`
}

type accountResult struct {
	Epsilon     float64 `json:"epsilon"`
	Delta       float64 `json:"delta"`
	Mu          float64 `json:"mu,omitempty"`
	Noise       string  `json:"noise"`
	Sigma       float64 `json:"sigma,omitempty"`
	Scale       float64 `json:"scale,omitempty"`
	Coordinates int     `json:"coordinates,omitempty"`
	NoiseNorm   float64 `json:"noise_norm,omitempty"`
	Sensitivity float64 `json:"sensitivity"`
	Steps       int     `json:"steps"`
}

// Run converts in either direction.
func (c *accountCmd) Run(a *app) error {
	if !(c.Sensitivity > 0) || math.IsInf(c.Sensitivity, 0) || c.Steps < 1 || c.Coordinates < 1 || !(c.Delta >= 0 && c.Delta < 1) {
		return badInput("--sensitivity must be positive, --steps and --coordinates at least 1, and --delta at least 0 and below 1")
	}
	given, noise, other := c.Sigma, "--sigma", c.Scale
	if c.Delta == 0 {
		given, noise, other = c.Scale, "--scale", c.Sigma
	}
	if other != 0 || (c.Epsilon == 0) == (given == 0) {
		return badInput("at delta = %g give exactly one of --epsilon (to get the noise) and %s (to get epsilon); --delta 0 is for Laplace and K-norm noise, a positive one for Gaussian noise", c.Delta, noise)
	}
	if given == 0 {
		if err := (privacy.Budget{Epsilon: c.Epsilon, Delta: c.Delta}).Validate(); err != nil {
			return asInput(err)
		}
	} else if !(given > 0) || math.IsInf(given, 0) {
		return badInput("%s must be positive and finite", noise)
	}
	r := accountResult{Delta: c.Delta, Sensitivity: c.Sensitivity, Steps: c.Steps}
	var event privacy.Event
	var text string
	if c.Delta > 0 {
		event, text = c.gaussian(&r)
	} else {
		event, text = c.pure(&r)
	}
	var account privacy.GDP
	if err := account.Compose(event); err != nil {
		return asInput(err)
	}
	r.Epsilon = account.Epsilon(c.Delta)
	guarantee := fmt.Sprintf("%.6g-DP (pure: delta = 0)", r.Epsilon)
	if c.Delta > 0 {
		r.Mu = account.Mu()
		guarantee = fmt.Sprintf("(%.6g, %g)-DP, %.6g-GDP", r.Epsilon, r.Delta, r.Mu)
	}
	releases := fmt.Sprintf("%d releases", r.Steps)
	if r.Steps == 1 {
		releases = "1 release"
	}
	return a.emit(r, fmt.Sprintf("%s of sensitivity %g with %s:\n  %s\n  (replace-one, or whatever relation the sensitivity is for)\n", releases, r.Sensitivity, text, guarantee))
}

// gaussian fills in the noise; it meets the target after the accountant's
// rounding.
func (c *accountCmd) gaussian(r *accountResult) (privacy.Event, string) {
	r.Noise, r.Sigma = "Gaussian", c.Sigma
	if c.Sigma == 0 {
		r.Sigma = c.Sensitivity * math.Sqrt(float64(c.Steps)) / privacy.GDPMu(c.Epsilon, c.Delta) * (1 + 0x1p-50)
	}
	return privacy.GaussianEvent{Sensitivity: c.Sensitivity, Sigma: r.Sigma, Count: c.Steps},
		fmt.Sprintf("Gaussian noise sigma = %.6g", r.Sigma)
}

// pure fills in the noise for delta = 0 (privacy.KNorm, privacy.Laplace).
func (c *accountCmd) pure(r *accountResult) (privacy.Event, string) {
	sensitivity := c.Sensitivity // in the norm of the noise, rounded up
	if c.Noise == "laplace" && c.Coordinates > 1 {
		sensitivity *= math.Sqrt(float64(c.Coordinates)) * (1 + 0x1p-51)
	}
	r.Scale, r.Coordinates = c.Scale, c.Coordinates
	if c.Scale == 0 {
		r.Scale = sensitivity * float64(c.Steps) / c.Epsilon * (1 + 0x1p-48)
	}
	var m privacy.Mechanism = privacy.KNorm{Scale: r.Scale}
	var event privacy.Event = privacy.PureEvent{Epsilon: sensitivity / r.Scale * (1 + 0x1p-51), Count: c.Steps}
	if c.Noise == "laplace" {
		m = privacy.Laplace{Scale: r.Scale, Coordinates: c.Coordinates}
		event = privacy.LaplaceEvent{Sensitivity: sensitivity, Scale: r.Scale, Count: c.Steps}
	}
	r.Noise, r.NoiseNorm = m.Name(), m.NoiseNorm(c.Coordinates)
	return event, fmt.Sprintf("%v (norm about %.6g in %d coordinates)", m, r.NoiseNorm, r.Coordinates)
}
