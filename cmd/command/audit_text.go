package command

import (
	"fmt"

	"dyad/algorithms"
	"dyad/algorithms/audit"
)

// auditFacts returns the lines of the report of an audit.
func auditFacts(r *audit.Report, plot string) (f algorithms.Facts) {
	variant := ""
	if r.Variant != "" {
		variant = ", " + r.Variant
	}
	f.Line("algorithm", "%s, %s mode%s, %s loss, n = %d, d = %d", r.Algorithm, r.Mode, variant, r.Loss,
		r.Records, r.Features)
	f.Line("attack", "%s; %s", r.Access, r.Instance)
	if r.Planned > 0 {
		f.Line("", "%d runs on each of two neighbouring data sets; half of the runs select the attack, the others "+
			"test it; seed %d",
			r.Runs, r.Seed)
	}
	if r.Stopped != "" {
		f.Line("", "stopped before %d runs (%s); the last bounds keep their confidence",
			r.Planned, r.Stopped)
	}
	if r.Move > 0 {
		f.Line("", "without noise, the releases differ by %.4g times the certified distance", r.Move)
	}
	claim := fmt.Sprintf("epsilon %.6g at delta %.6g", r.Epsilon, r.Delta)
	switch {
	case r.Delta == 0:
		claim = fmt.Sprintf("epsilon %.6g (pure: delta = 0)", r.Epsilon)
	case r.Mu > 0:
		claim += fmt.Sprintf(" (%.6g-GDP)", r.Mu)
	}
	f.Line("claimed", "%s for %s", claim, r.Unit)
	f.Line("audited", "epsilon >= %.6g with confidence %g", r.LowerBound, r.Confidence)
	for _, bound := range r.Bounds {
		f.Line("", "%s: epsilon >= %.6g with confidence %.6g; assumes %s", bound.Method, bound.Epsilon,
			bound.Confidence, bound.Assumes)
		f.Line("", "  %s", bound.Attack)
	}
	writeTightness(&f, r)
	f.Line("low bits", "%d values were released; %d are off the noise grid; %d noise vectors repeat", r.Values,
		r.OffGrid, r.Repeated)
	f.Line("verdict", "%s", auditVerdict(r))
	if plot != "" {
		f.Line("plot", "%s", plot)
	}
	if r.Planned > 0 {
		f.Line("time", "%.1f s", r.Seconds)
	}
	return f
}

func writeTightness(f *algorithms.Facts, r *audit.Report) {
	if t := r.Tightness; t != nil {
		share, standardError := t.Share()
		of := "mu"
		if t.Quantity != "gap/sd" {
			of = "epsilon"
		}
		f.Line("tightness", "%.3f +- %.3f (standard error) of the claim: %s is %.4f, the claimed %s %.4f", share,
			standardError, t.Quantity, t.Estimate, of, t.Claim)
	} else if s := r.Shift; s != nil {
		f.Line("", "gap of the mean scores: %.4f standard deviations, with standard error %.4f", s.Mu,
			s.StandardError)
	}
	if !r.Holds() {
		return
	}
	control := "These runs refute this value, so they can detect a leak of twice the claim"
	if !r.HalfRefuted {
		control = "These runs do NOT refute this value"
		switch {
		case r.RunsForHalf > 0:
			control += fmt.Sprintf("; about %d runs would be enough", r.RunsForHalf)
		case r.Planned == 0:
			control += "; try more --canaries, or --method runs"
		case r.RunsAtLeast > 0:
			control += fmt.Sprintf("; use at least about %d runs, or a larger --epsilon", max(r.RunsAtLeast, r.Runs+1))
		case r.Shift != nil && r.Access != audit.BlackBox.String():
			control += "; more --runs will not help; try a larger --epsilon"
		default:
			control += "; try more --runs, or a larger --epsilon"
		}
	}
	f.Line("control", "epsilon %.6g is half the claim. %s", r.Epsilon/2, control)
}

// auditVerdict returns the result of an audit in one line.
func auditVerdict(r *audit.Report) (verdict string) {
	switch {
	case r.Refuted():
		verdict = "THE CLAIM IS REFUTED"
	case r.Exceeds():
		verdict = "THE CERTIFICATE IS EXCEEDED: the exact vectors are too far apart, so the claim does not hold"
	case !r.Holds():
		verdict = "THE NOISE IS WRONG: some values are off the grid, or noise vectors repeat, so the claim does " +
			"not hold"
	case r.HalfRefuted:
		verdict = "the claim is not refuted, but this does not prove it"
	default:
		verdict = "the claim is not refuted, but this audit has no power: it would not even refute half of the claim"
	}
	if e := r.PaperEpsilon; e > 0 {
		paper := "is not refuted"
		if r.LowerBound > e {
			paper = "IS REFUTED"
		}
		verdict += fmt.Sprintf("; the paper's claim, epsilon %g, %s", e, paper)
	}
	return verdict
}
