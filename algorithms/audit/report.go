package audit

import "slices"

// Bound is a lower bound on epsilon.
type Bound struct {
	Method     string  `json:"method"`
	Attack     string  `json:"attack"`
	Epsilon    float64 `json:"epsilon"`
	Confidence float64 `json:"confidence"` // of this bound by itself
	Assumes    string  `json:"assumes"`
	// Runs on each side that it is from; 0 for an audit by one run.
	Runs int `json:"runs,omitempty"`
}

// Tightness is how much of what a claim allows the attacked data sets show, whatever the
// number of runs: 1 if they are the worst ones there are. A bound falls short of it only
// for want of runs.
type Tightness struct {
	// Quantity is what is compared: "gap/sd" with the claimed mu, for Gaussian noise, or
	// "gap/scale" with the claimed epsilon.
	Quantity      string  `json:"quantity"`
	Estimate      float64 `json:"estimate"`
	StandardError float64 `json:"standard_error"`
	Claim         float64 `json:"claim"`
}

// Share is the estimate over the claim, and its standard error.
func (t Tightness) Share() (share, standardError float64) {
	return t.Estimate / t.Claim, t.StandardError / t.Claim
}

// Report is the outcome of an audit.
type Report struct {
	Algorithm string `json:"algorithm"`
	Mode      string `json:"mode"`
	Variant   string `json:"variant,omitempty"` // of a stream: reading, batches, buffer
	Loss      string `json:"loss"`
	Records   int    `json:"records"`
	Features  int    `json:"features"`
	Access    string `json:"access"`
	Instance  string `json:"instance"`
	Unit      string `json:"unit"`
	Runs      int    `json:"runs"` // on each of the two data sets, as the last bounds use them
	Planned   int    `json:"planned_runs"`
	// Stopped says why fewer runs were made than planned: "time" or "interrupt".
	Stopped string  `json:"stopped_by,omitempty"`
	Seconds float64 `json:"seconds"`
	Seed    uint64  `json:"seed"`
	Epsilon float64 `json:"claimed_epsilon"`
	Delta   float64 `json:"delta"`
	Mu      float64 `json:"claimed_mu,omitempty"`
	// PaperEpsilon is what the paper claims, in paper mode.
	PaperEpsilon float64 `json:"paper_claim_epsilon,omitempty"`

	Confidence float64 `json:"confidence"`      // of all bounds together
	Bounds     []Bound `json:"bounds"`          // the largest of each method
	LowerBound float64 `json:"audited_epsilon"` // the largest of Bounds
	// HalfRefuted is the control: the same runs refute a claim of half as much. If not, a
	// leak of twice the claim might not be seen, and that the claim holds says little.
	HalfRefuted bool `json:"half_claim_refuted"`
	// RunsForHalf is about how many runs the control would need, 0 if that is not known.
	RunsForHalf int `json:"runs_for_half_claim,omitempty"`
	// Tightness is nil where the worst case has no such number.
	Tightness *Tightness `json:"tightness,omitempty"`
	// Move is how far the exact vectors move over what the certificate allows.
	Move float64 `json:"move_to_certificate,omitempty"`
	// Shift is the observed gap/sd of the scores under Gaussian noise: of the
	// log-likelihood ratio in white-box runs, of the projection on the known direction
	// in black-box ones.
	Shift *Shift `json:"shift,omitempty"`
	// Values released, how many are off the noise grid, and how many noise vectors
	// repeat.
	Values   int `json:"released_values"`
	OffGrid  int `json:"off_grid"`
	Repeated int `json:"repeated_noise"`

	// Scores are the scores of the attack behind the Clopper-Pearson bound, on the runs
	// that did not choose it: data, neighbour.
	Scores [2][]float64 `json:"-"`
}

// Refuted reports whether the bounds exceed the claim.
func (r *Report) Refuted() bool { return r.LowerBound > r.Epsilon }

// Exceeds reports whether the exact vectors move by more than the certificate of the noise
// allows, beyond what the roundings of Move can make of it.
func (r *Report) Exceeds() bool { return r.Move > 1+1e-9 }

// Holds reports whether nothing speaks against the claim: no bound, no move, no noise that is
// off its grid or repeats.
func (r *Report) Holds() bool {
	return !r.Refuted() && !r.Exceeds() && r.OffGrid == 0 && r.Repeated == 0
}

func newReport(c Program, confidence float64) *Report {
	r := &Report{
		Algorithm: c.Algorithm, Mode: c.Mode, Variant: c.Variant, Loss: c.Loss,
		Records: c.Records, Features: c.Features, Unit: c.Guarantee.Unit,
		Epsilon: c.Guarantee.Epsilon, Delta: c.Guarantee.Delta, Mu: c.Guarantee.Mu,
		Confidence: confidence,
	}
	if c.Guarantee.Claim != nil {
		r.PaperEpsilon = c.Guarantee.Claim.Epsilon
	}
	return r
}

// add keeps the larger of two bounds of a method.
func (r *Report) add(b Bound) {
	i := slices.IndexFunc(r.Bounds, func(other Bound) bool { return other.Method == b.Method })
	switch {
	case i < 0:
		r.Bounds = append(r.Bounds, b)
	case b.Epsilon >= r.Bounds[i].Epsilon:
		r.Bounds[i] = b
	}
	r.finish()
}

// finish sets what follows from the bounds.
func (r *Report) finish() {
	for _, b := range r.Bounds {
		r.LowerBound = max(r.LowerBound, b.Epsilon)
	}
	r.HalfRefuted = r.LowerBound > r.Epsilon/2
}
