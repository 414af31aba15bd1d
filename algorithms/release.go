package algorithms

import (
	"math"
	"slices"
	"strings"

	"dyad/privacy"
	"dyad/privacy/account"
)

// Release is a row of a plan: a released vector and its privacy cost.
type Release struct {
	Name        string
	Coordinates int // number of values in each release
	// how often the cost is charged; 0 means once; a certificate for several releases together is charged once
	Times       int
	Share       float64 // share of mu^2, or of epsilon for delta = 0, of each release
	Certificate privacy.Certificate
	Noise       privacy.Mechanism
	// Part numbers the rows that read disjoint parts of the records, starting at 1. Each of these rows reads
	// its own part. Part is 0 for all other rows.
	Part int
	// Cost is the privacy cost of each release, if Certificate and Noise do not determine it. Examples are exact
	// releases, messages of users, and the choice and the runs of a search. It is nil for other rows.
	Cost account.Event
}

// Event returns the privacy cost of the release.
func (r Release) Event() account.Event {
	event := r.Cost
	if event == nil {
		event = r.Noise.Event(r.Certificate)
	}
	return account.Repeat(event, max(1, r.Times))
}

// Deviation returns the standard deviation of the noise in one coordinate.
func (r Release) Deviation() float64 {
	return r.Noise.NoiseNorm(r.Coordinates) / math.Sqrt(float64(r.Coordinates))
}

// Releases holds the rows of a plan in the order of the run. The events, the guarantee and the record of the plan
// follow from the rows.
type Releases []Release

// Calibrate sets the noise of every release. Together, the releases spend the budget according to their shares
// (privacy.CalibrateShares). Each release must be made only once.
func (r Releases) Calibrate(b privacy.Budget) error {
	certificates, shares := make([]privacy.Certificate, len(r)), make([]float64, len(r))
	for i, x := range r {
		certificates[i], shares[i] = x.Certificate, x.Share
	}
	noise, err := privacy.CalibrateShares(certificates, shares, b)
	for i := range noise {
		r[i].Noise = noise[i]
	}
	return err
}

// Events returns the privacy costs of the releases.
func (r Releases) Events() (all []account.Event) {
	for _, rows := range r.charged() {
		event := rows[0].Event()
		if rows[0].Part > 0 { // each record is in one part only
			parts := account.ParallelEvent{}
			for _, x := range rows {
				parts.Parts = append(parts.Parts, x.Event())
			}
			event = parts
		}
		all = append(all, event)
	}
	return all
}

// charged returns the rows of each event. An event has one row, or all rows of disjoint parts.
func (r Releases) charged() (all []Releases) {
	for i, x := range r {
		if x.Part < 2 || i == 0 {
			all = append(all, r[i:i:i])
		}
		last := &all[len(all)-1]
		*last = append(*last, x)
	}
	return all
}

// main returns the last release, or the zero value if there is none. If the last event has disjoint parts, main returns
// the first of the costliest parts. Costs are compared up to rounding, so that rounding does not decide among parts
// that are calibrated alike.
func (r Releases) main() (x Release) {
	if len(r) == 0 {
		return x
	}
	all := r.charged()
	parts, worst := all[len(all)-1], 0.0
	cost := func(x Release) float64 { return x.Certificate.Sensitivity() / x.Noise.NoiseNorm(x.Coordinates) }
	if len(parts) == 1 {
		return parts[0]
	}
	for _, x := range parts {
		worst = max(worst, cost(x))
	}
	return parts[slices.IndexFunc(parts, func(x Release) bool { return cost(x) >= worst*(1-1e-9) })]
}

// Of returns a copy of the releases, in which `what` is put before each name. So the names stay
// distinct if a plan has other releases, too.
func (r Releases) Of(what string) Releases {
	r = slices.Clone(r)
	for i := range r {
		r[i].Name = what + ": " + r[i].Name
	}
	return r
}

// Find returns the release with the given name, or the zero value if there is none.
func (r Releases) Find(name string) Release {
	for _, x := range r {
		if x.Name == name {
			return x
		}
	}
	return Release{}
}

// Told returns the names of the releases, and the derivations of their certificates.
func (r Releases) Told() (released, why string) {
	var names, reasons []string
	for _, x := range r {
		names, reasons = append(names, x.Name), append(reasons, x.Name+": "+x.Certificate.Derivation())
	}
	return strings.Join(names, ", "), strings.Join(reasons, "; ")
}

// Events returns the joint privacy cost of the releases.
func (p *Plan) Events() []account.Event { return p.Releases.Events() }

// Certificate returns the certificate of the last release, or of the costliest part if the releases read disjoint
// parts. It is the zero value if the plan has no noise.
func (p *Plan) Certificate() privacy.Certificate { return p.Releases.main().Certificate }

// Noise returns the noise of the release that Certificate is about. It is nil if the plan has no noise.
func (p *Plan) Noise() privacy.Mechanism { return p.Releases.main().Noise }

// PromiseNothing sets the release of a plan without noise, and a guarantee that promises nothing. The text `reveals`
// warns about what the release reveals.
func (p *Plan) PromiseNothing(released, reveals string) {
	p.Releases, p.Guarantee = Releases{{Name: released, Cost: account.NonPrivateEvent{}}}, NoGuarantee(released, reveals)
}
