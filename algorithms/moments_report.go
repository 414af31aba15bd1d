package algorithms

import "fmt"

// MomentsReport is a MomentsPlan as plain values.
type MomentsReport struct {
	Passes     int     `json:"passes"`
	ClipRadius float64 `json:"clip_radius"`
	Centre     string  `json:"centre"` // released, declared or origin
	Balance    float64 `json:"declared_share_of_positives,omitempty"`
	Second     string  `json:"second_moments"` // none, diagonal or full
	Ridge      float64 `json:"ridge"`          // the public part
	// SumNoise and SecondNoise are the standard deviations of the noise of an entry of the
	// signed sum over 1 + |b| and of an isometric coordinate of the second moments.
	SumNoise    float64                `json:"signed_sum_noise"`
	SecondNoise float64                `json:"second_moments_noise,omitempty"`
	Releases    []MomentsReleaseReport `json:"releases"`
}

// MomentsReleaseReport is a MomentsRelease as plain values.
type MomentsReleaseReport struct {
	Name        string  `json:"name"`
	Coordinates int     `json:"coordinates"`
	Share       float64 `json:"share"`
	Sensitivity float64 `json:"sensitivity"`
	// RoundoffShare is the part of Sensitivity that pays for floating point.
	RoundoffShare float64 `json:"roundoff_share"`
	Noise         string  `json:"noise"`    // with its scale
	Variance      float64 `json:"variance"` // total: E ||Z||^2
}

// report returns m as plain values, nil for nil.
func (m *MomentsPlan) report() *MomentsReport {
	if m == nil {
		return nil
	}
	r := &MomentsReport{
		Passes: m.Passes, ClipRadius: m.ClipRadius, Centre: "origin", Balance: m.Balance, Second: m.Second.String(),
		Ridge: m.Ridge, SumNoise: m.SumNoise, SecondNoise: m.SecondNoise,
	}
	switch {
	case m.CentreReleased:
		r.Centre = "released"
	case m.Centre != nil:
		r.Centre = "declared"
	}
	for _, release := range m.Releases {
		norm := release.Noise.NoiseNorm(release.Coordinates)
		r.Releases = append(r.Releases, MomentsReleaseReport{release.Name, release.Coordinates, release.Share, release.Certificate.Sensitivity(), release.Certificate.RoundoffShare(), release.Noise.String(), norm * norm})
	}
	return r
}

// lines writes the part of a report after the records, by a function for one line.
func (m *MomentsReport) lines(r Report, line func(label, format string, args ...any)) {
	line("objective", "least squares over all pairs, (w.(x - x') - (y - y')/2)^2 + alpha/2 ||w||^2, alpha = %g; w is then scaled to norm r = %.6g", r.L2, r.Radius)
	passes := "two passes"
	if m.Passes == 1 {
		passes = "one pass"
	}
	line("moments", "%s over the records, which are clipped to norm %.6g around the %s centre; second moments: %s", passes, m.ClipRadius, m.Centre, m.Second)
	if m.Balance > 0 {
		line("", "share of positives %g, declared public", m.Balance)
	}
	for _, x := range m.Releases {
		count := "1 number"
		if x.Coordinates > 1 {
			count = fmt.Sprint(x.Coordinates, " numbers")
		}
		line("release", "%s: %s, share %.3g, sensitivity %.6g (%.2g of it for floating point), %s, total variance %.4g", x.Name, count, x.Share, x.Sensitivity, x.RoundoffShare, x.Noise, x.Variance)
	}
	line("noise", "signed sum over 1 + |b|: %.6g an entry", m.SumNoise)
	if m.SecondNoise > 0 {
		line("", "second moments: %.6g an isometric coordinate; ridge at least %.6g", m.SecondNoise, m.Ridge)
	}
	line("guarantee", "%s", r.guaranteeText())
}
