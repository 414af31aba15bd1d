package pairs

import (
	"fmt"
	"strings"

	"dyad/algorithms"
	"dyad/engine/pairgraph"
	"dyad/privacy"
)

// TupleReport is a plan as plain values, for JSON and for text: the same whether or not
// data have been read.
type TupleReport struct {
	Algorithm string `json:"algorithm"`
	Mode      string `json:"mode"`

	Individuals int     `json:"individuals"`
	Features    int     `json:"features"`
	Norm        string  `json:"norm"`
	Bound       float64 `json:"norm_bound"`
	Rows        int     `json:"rows"`

	Loss        string  `json:"loss"`
	Margin      float64 `json:"margin,omitempty"`
	Temperature float64 `json:"temperature,omitempty"`

	Tuple    int     `json:"tuple,omitempty"` // 0: all pairs
	Seed     uint64  `json:"tuple_seed,omitempty"`
	Terms    int     `json:"terms_per_epoch"` // tuples, or pairs
	Batch    int     `json:"batch"`
	Batches  int     `json:"batches_per_epoch"`
	Epochs   int     `json:"epochs"`
	Clip     float64 `json:"clip,omitempty"`
	StepSize float64 `json:"step_size"`

	Sensitivity float64 `json:"sensitivity,omitempty"` // of all releases, in units of the clip
	Noise       string  `json:"noise,omitempty"`
	// NoiseToSignal is TuplePlan.NoiseToSignal.
	NoiseToSignal float64 `json:"noise_to_signal,omitempty"`

	Events    []string          `json:"events"`
	Guarantee privacy.Guarantee `json:"guarantee"`
}

// Report returns p as plain values.
func (p *TuplePlan) Report() TupleReport {
	s := p.Spec
	_, _, batch := s.epoch()
	r := TupleReport{
		Algorithm: p.Algorithm(), Mode: s.Mode.String(), Individuals: s.Individuals, Features: s.Dim, Norm: s.Norm().String(), Bound: s.Bound,
		Rows: s.Rows, Loss: s.Loss.Name(), Tuple: s.Tuple, Seed: s.Seed, Terms: p.Terms, Batch: batch, Batches: p.Batches, Epochs: s.Epochs,
		StepSize: s.StepSize, NoiseToSignal: p.NoiseToSignal(), Guarantee: p.Guarantee,
	}
	switch l := s.Loss.(type) {
	case pairgraph.MeanContrastive:
		r.Margin = l.Margin
	case pairgraph.Triplet:
		r.Margin = l.Margin
	case pairgraph.NPair:
		r.Temperature = l.Temperature
	}
	if s.Mode != algorithms.NonPrivate {
		r.Clip = s.Clip
	}
	if p.Noise != nil {
		r.Sensitivity, r.Noise = p.Certificate.Sensitivity(), p.Noise.String()
	}
	for _, e := range p.Events {
		r.Events = append(r.Events, e.String())
	}
	return r
}

// Text is the report as aligned lines.
func (r TupleReport) Text() string {
	var b strings.Builder
	line := func(label, format string, args ...any) {
		fmt.Fprintf(&b, "%-11s %s\n", label, fmt.Sprintf(format, args...))
	}
	terms := "pairs"
	line("algorithm", "%s, %s mode", r.Algorithm, r.Mode)
	if r.Tuple > 0 {
		terms = "tuples"
		line("tuples", "%d of %d records in every epoch, drawn from %d by ids and seed %d", r.Terms, r.Tuple, r.Individuals, r.Seed)
	} else {
		line("pairs", "all %d of %d records", r.Terms, r.Individuals)
	}
	line("features", "d = %d, %s norm at most %g", r.Features, r.Norm, r.Bound)
	parameter := fmt.Sprintf("margin %g", r.Margin)
	if r.Temperature > 0 {
		parameter = fmt.Sprintf("temperature %g", r.Temperature)
	}
	line("loss", "%s with %s, matrix of %d x %d", r.Loss, parameter, r.Rows, r.Features)
	clip := "not clipped"
	if r.Clip > 0 {
		clip = fmt.Sprintf("clipped to %g", r.Clip)
	}
	line("batches", "%d epochs of %d batches of %d %s; the gradient of each is %s", r.Epochs, r.Batches, r.Batch, terms, clip)
	line("steps", "eta0 = %g, eta0/sqrt(tau) at batch tau", r.StepSize)
	if r.Noise != "" {
		line("noise", "%s on the mean gradient of every batch, in units of the clip, exact; joint sensitivity %.6g", r.Noise, r.Sensitivity)
		if r.NoiseToSignal > 1 {
			line("", "the noise of one batch is about %.2g times the largest gradient: more records, smaller tuples, fewer epochs, fewer rows or a larger epsilon would help", r.NoiseToSignal)
		}
	}
	line("guarantee", "%s", strings.TrimSuffix(strings.ReplaceAll(r.Guarantee.Report(), "\n  ", "\n"+strings.Repeat(" ", 12)), "\n"))
	return b.String()
}
