package algorithms

import (
	"math"
	"slices"
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
	// Part numbers, from 1 on, rows that follow one another and read disjoint parts of the records; 0 elsewhere.
	Part int
	// Cost is the privacy cost of the release, each time, where Certificate and Noise do not state it: for what is
	// exact, messages of users, the choice of a search and its runs. nil elsewhere.
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

// Deviation is the standard deviation of the noise of a number.
func (r Release) Deviation() float64 {
	return r.Noise.NoiseNorm(r.Coordinates) / math.Sqrt(float64(r.Coordinates))
}

// Releases are the rows of a plan in the order of the run, from which its events, its guarantee and its record follow.
type Releases []Release

// Calibrate gives releases that are each made once the noise that spends a budget by their shares (privacy.CalibrateShares).
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
		if rows[0].Part > 0 { // one record is in one of them
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

// charged are the rows of each event: one, or those of disjoint parts.
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

// main is the last release, or of disjoint parts the first that costs as much as any, up to rounding, which must not choose
// among parts that are calibrated alike; the zero value if there is none.
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

// Of are the releases with what they are of before their names, as rows of a plan that has others.
func (r Releases) Of(what string) Releases {
	r = slices.Clone(r)
	for i := range r {
		r[i].Name = what + ": " + r[i].Name
	}
	return r
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

// Events returns the joint privacy cost of the releases.
func (p *Plan) Events() []account.Event { return p.Releases.Events() }

// Certificate returns the certificate of the last release, or of the costliest of disjoint parts; it is zero without noise.
func (p *Plan) Certificate() privacy.Certificate { return p.Releases.main().Certificate }

// Noise returns the noise of the release whose certificate Certificate returns; nil without noise.
func (p *Plan) Noise() privacy.Mechanism { return p.Releases.main().Noise }

// PromiseNothing fills in the rows of a plan without noise and promises nothing. reveals is the warning about what the release shows.
func (p *Plan) PromiseNothing(released, reveals string) {
	p.Releases, p.Guarantee = Releases{{Name: released, Cost: account.NonPrivateEvent{}}}, NoGuarantee(released, reveals)
}
