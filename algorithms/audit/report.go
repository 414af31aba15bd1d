package audit

import "slices"

// Bound is a lower bound on epsilon.
type Bound struct {
	Method  string  `json:"method"`
	Attack  string  `json:"attack"`
	Epsilon float64 `json:"epsilon"`
	// Confidence is the confidence of this bound alone.
	Confidence float64 `json:"confidence"`
	Assumes    string  `json:"assumes"`
	// Runs is the number of runs on each side that the bound is computed from. It is 0 for an audit by one run.
	Runs int `json:"runs,omitempty"`
}

// Tightness estimates how close the attacked data sets come to the worst data sets. Share is a fraction of the
// claim: runs on the attacked data sets can show this fraction, and more runs cannot show more. It is 1 for
// worst-case data sets. If a bound is below this fraction of the claim, more runs can raise the bound.
type Tightness struct {
	// Quantity is the estimated quantity: "gap/sd", compared with the claimed mu, for Gaussian noise; otherwise
	// "gap/scale", compared with the claimed epsilon.
	Quantity      string  `json:"quantity"`
	Estimate      float64 `json:"estimate"`
	StandardError float64 `json:"standard_error"`
	Claim         float64 `json:"claim"`
}

// Share returns the estimate divided by the claim, and the standard error of this quotient.
func (t Tightness) Share() (share, standardError float64) {
	return t.Estimate / t.Claim, t.StandardError / t.Claim
}

// Subject describes the run whose claim is attacked.
type Subject struct {
	Algorithm string `json:"algorithm"`
	Mode      string `json:"mode"`
	// Variant states further conditions of the claim. For a stream, examples are the batch size,
	// the buffer size and the algorithms.Reading of the paper's algorithm.
	Variant  string `json:"variant,omitempty"`
	Loss     string `json:"loss"`
	Records  int    `json:"records"`
	Features int    `json:"features"`
}

// Report is the outcome of an audit.
type Report struct {
	Subject
	Access   string `json:"access"`
	Instance string `json:"instance"`
	Unit     string `json:"unit"`
	// Runs is the number of runs on each of the two data sets when the bounds were last computed.
	Runs    int `json:"runs"`
	Planned int `json:"planned_runs"`
	// Stopped is the reason why fewer runs than planned were made: "time" or "interrupt".
	Stopped string  `json:"stopped_by,omitempty"`
	Seconds float64 `json:"seconds"`
	Seed    uint64  `json:"seed"`
	Epsilon float64 `json:"claimed_epsilon"`
	Delta   float64 `json:"delta"`
	Mu      float64 `json:"claimed_mu,omitempty"`
	// PaperEpsilon is the claim of the paper, in paper mode.
	PaperEpsilon float64 `json:"paper_claim_epsilon,omitempty"`

	Confidence float64 `json:"confidence"`      // the confidence of all bounds together
	Bounds     []Bound `json:"bounds"`          // the largest bound of each method
	LowerBound float64 `json:"audited_epsilon"` // the largest Epsilon of Bounds
	// HalfRefuted reports the control: whether the same runs refute a claim of half the size. If it is false,
	// the audit might miss a leak of twice the claim, so a claim that was not refuted is weak evidence.
	HalfRefuted bool `json:"half_claim_refuted"`
	// RunsForHalf is approximately the number of runs that the control needs. It is 0 if this number is unknown, as in
	// black-box runs, or if HalfRefuted.
	RunsForHalf int `json:"runs_for_half_claim,omitempty"`
	// RunsAtLeast is approximately the number of runs that would refute a claim of half the size if the true gap/sd
	// were one standard error above Shift.Mu. It is 0 if the runs are black-box runs, HalfRefuted is true,
	// RunsForHalf is not 0, Shift is nil, or no number of runs would be enough.
	RunsAtLeast int `json:"runs_for_half_claim_at_least,omitempty"`
	// Tightness is nil if the tightness of the attacked data sets is not known.
	Tightness *Tightness `json:"tightness,omitempty"`
	// Move is the distance between the exact vectors on the two data sets, divided by the certified distance.
	Move float64 `json:"move_to_certificate,omitempty"`
	// Shift is the observed gap of the mean scores in standard deviations, for Gaussian noise. The score is the
	// log-likelihood ratio in white-box runs and the projection on the known direction in black-box runs.
	Shift *Shift `json:"shift,omitempty"`
	// Values is the number of released values. OffGrid counts values that are not on the noise grid, and
	// Repeated counts noise vectors that repeat.
	Values   int `json:"released_values"`
	OffGrid  int `json:"off_grid"`
	Repeated int `json:"repeated_noise"`

	// Scores are the attack scores behind the Clopper-Pearson bound: first the scores of runs on the data set,
	// then the scores of runs on its neighbour. Runs that chose the attack are excluded.
	Scores [2][]float64 `json:"-"`
}

// Refuted reports whether the bounds exceed the claim.
func (r *Report) Refuted() bool { return r.LowerBound > r.Epsilon }

// Exceeds reports whether the exact vectors move by more than the certificate of the noise permits. The
// rounding error of Move does not count.
func (r *Report) Exceeds() bool { return r.Move > 1+1e-9 }

// Holds reports whether the audit found no evidence against the claim: no bound exceeds the claim, the
// exact vectors move within the certificate's bound, all values are on the noise grid, and no noise
// repeats.
func (r *Report) Holds() bool {
	return !r.Refuted() && !r.Exceeds() && r.OffGrid == 0 && r.Repeated == 0
}

func newReport(c Program, confidence float64) *Report {
	r := &Report{
		Subject: c.Subject, Unit: c.Guarantee.Unit, Epsilon: c.Guarantee.Epsilon, Delta: c.Guarantee.Delta,
		Mu: c.Guarantee.Mu, Confidence: confidence,
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

// finish sets the fields that follow from the bounds.
func (r *Report) finish() {
	for _, b := range r.Bounds {
		r.LowerBound = max(r.LowerBound, b.Epsilon)
	}
	r.HalfRefuted = r.LowerBound > r.Epsilon/2
}
