package algorithms

import (
	"math"
	"strings"

	"dyad/privacy"
	"dyad/privacy/account"
)

// Release is a row of a plan: something that is released, and what that costs.
type Release struct {
	Name        string
	Coordinates int     // numbers that are released each time
	Times       int     // how often; 0 is once
	Share       float64 // of mu^2, or of epsilon for delta = 0, each time
	Certificate privacy.Certificate
	Noise       privacy.Mechanism
}

// Deviation is the standard deviation of the noise of a number.
func (r Release) Deviation() float64 {
	return r.Noise.NoiseNorm(r.Coordinates) / math.Sqrt(float64(r.Coordinates))
}

// Releases are the rows of a plan in the order of the run, from which its events, its guarantee and its record follow.
type Releases []Release

// each calls do for every release, as often as it is made.
func (r Releases) each(do func(row int)) {
	for i := range r {
		for range max(1, r[i].Times) {
			do(i)
		}
	}
}

// Calibrate gives the releases the noise that spends a budget by their shares (privacy.CalibrateShares).
func (r Releases) Calibrate(b privacy.Budget) error {
	var parts []privacy.Part
	var rows []int
	r.each(func(i int) {
		parts, rows = append(parts, privacy.Part{Certificate: r[i].Certificate, Share: r[i].Share}), append(rows, i)
	})
	noise, err := privacy.CalibrateShares(parts, b)
	for k := range noise { // equal for the times of a row
		r[rows[k]].Noise = noise[k]
	}
	return err
}

// Events are what the releases cost.
func (r Releases) Events() (all []account.Event) {
	r.each(func(i int) { all = append(all, r[i].Noise.Event(r[i].Certificate)) })
	return all
}

// Find returns the release of a name, and the zero value if there is none.
func (r Releases) Find(name string) Release {
	for _, x := range r {
		if x.Name == name {
			return x
		}
	}
	return Release{}
}

// Told are the names of the releases, and why the noise of each is enough.
func (r Releases) Told() (released, why string) {
	var names, reasons []string
	for _, x := range r {
		names, reasons = append(names, x.Name), append(reasons, x.Name+": "+x.Certificate.Derivation())
	}
	return strings.Join(names, ", "), strings.Join(reasons, "; ")
}

// PromiseReleases fills in releases, events and guarantee of a plan for n units of a Budget (Promise). Certificate and Noise are
// those of the last release.
func (p *Plan) PromiseReleases(b privacy.Budget, n int, from Provenance, g privacy.Guarantee, rows Releases) error {
	last := rows[len(rows)-1]
	p.Releases, p.Certificate, p.Noise = rows, last.Certificate, last.Noise
	return p.Promise(b, n, from, g, rows.Events()...)
}
