package algorithms

import (
	"fmt"
	"math"
)

// StreamReport is the part of a Report that only online algorithms have.
type StreamReport struct {
	Batch     int    `json:"batch"`
	Buffer    int    `json:"buffer"` // 0: all earlier records
	Reservoir bool   `json:"reservoir,omitempty"`
	PerClass  bool   `json:"per_class,omitempty"`
	Pairing   string `json:"pairing"`
	Reading   string `json:"reading,omitempty"`
	// SecretState says that a saved state holds functions of all records.
	SecretState bool `json:"secret_state,omitempty"`
	// Regret is StreamPlan.Regret, 0 if no bound is known.
	Regret float64 `json:"regret_bound,omitempty"`
}

// Report returns p as plain values. Records is the horizon, Steps the number of
// updates, and Path the sum of the step sizes.
func (p *StreamPlan) Report() Report {
	s := p.Spec
	whole := &Plan{Algorithm: p.Algorithm, Mode: s.Mode, Spec: s.Spec, Certificate: p.Certificate, Noise: p.Noise, Events: p.Events, Guarantee: p.Guarantee}
	whole.Schedule = Schedule{Name: p.Rule, Steps: p.Updates(), BurnIn: s.BurnIn}
	var squares float64
	for b := 1; b <= p.Updates(); b++ {
		eta := p.eta(b)
		whole.Schedule.Path += eta
		squares += eta * eta
	}
	for b := 1; b <= p.Updates(); b++ {
		for t := s.BurnIn + (b-1)*s.Batch + 1; t <= s.BurnIn+b*s.Batch; t++ {
			whole.GradientPairs += float64(s.partners(t))
		}
	}
	whole.ModelNoise = p.Noise.NoiseNorm(s.coordinates()) * p.lastNoise(math.Sqrt(squares))
	r := whole.Report()
	r.Records = s.Horizon
	r.Stream = &StreamReport{
		Batch: s.Batch, Buffer: s.Buffer, Reservoir: s.Reservoir, PerClass: s.PerClass,
		Pairing: s.bufferText(), SecretState: p.SecretState(), Regret: p.Regret,
	}
	if a, err := StreamByName(p.Algorithm); err == nil {
		r.Paper = a.Info().Paper
	}
	if s.Mode != NonPrivate && p.factor == nil {
		r.Stream.Reading = p.Reading.String()
	}
	return r
}

// lastNoise is the standard deviation of the noise in the last iterate, projections
// aside, over that of a release. walk is the root of the sum of the squared step sizes.
func (p *StreamPlan) lastNoise(walk float64) float64 {
	switch {
	case p.factor != nil:
		last, _ := p.factor.PrefixNoise(p.Updates())
		return last * p.eta(1)
	case p.printed:
		return 2 / (p.Spec.L2 * float64(p.Spec.Horizon))
	case p.Reading == SecretState:
		return p.scale[p.Updates()]
	}
	return walk
}

// text is the line about the stream.
func (s *StreamReport) text(burnIn int) string {
	text := fmt.Sprintf("a release after every %d records, the first %d only fill the buffer; %s", s.Batch, burnIn, s.Pairing)
	if s.Reading != "" {
		text += "; " + s.Reading
	}
	if s.SecretState {
		text += "; the state holds functions of all records and must be kept as private as they are"
	}
	if s.Regret > 0 {
		text += fmt.Sprintf("; expected regret over all updates at most %.4g", s.Regret)
	}
	return text
}
