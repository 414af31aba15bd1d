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
	Times       int     // how often its cost is paid; 0 is once, also for a certificate that is for several releases together
	Share       float64 // of mu^2, or of epsilon for delta = 0, each time
	Certificate privacy.Certificate
	Noise       privacy.Mechanism
	// Cost is what the release costs where Certificate, Noise and Times do not state it: for disjoint parts, messages of users, the
	// choice of a search and its runs. nil elsewhere.
	Cost account.Event
}

// Event is what the release costs.
func (r Release) Event() account.Event {
	if r.Cost != nil {
		return r.Cost
	}
	return account.Repeat(r.Noise.Event(r.Certificate), max(1, r.Times))
}

// Deviation is the standard deviation of the noise of a number.
func (r Release) Deviation() float64 {
	return r.Noise.NoiseNorm(r.Coordinates) / math.Sqrt(float64(r.Coordinates))
}

// Releases are the rows of a plan in the order of the run, from which its events, its guarantee and its record follow.
type Releases []Release

// Calibrate gives releases that are each made once the noise that spends a budget by their shares (privacy.CalibrateShares).
func (r Releases) Calibrate(b privacy.Budget) error {
	parts := make([]privacy.Part, len(r))
	for i, x := range r {
		parts[i] = privacy.Part{Certificate: x.Certificate, Share: x.Share}
	}
	noise, err := privacy.CalibrateShares(parts, b)
	for i := range noise {
		r[i].Noise = noise[i]
	}
	return err
}

// Events are what the releases cost.
func (r Releases) Events() (all []account.Event) {
	for _, x := range r {
		all = append(all, x.Event())
	}
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
