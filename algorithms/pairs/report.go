package pairs

import (
	"fmt"
	"strings"

	"dyad/algorithms"
	"dyad/privacy"
)

// Report is a plan as plain values, for JSON and for text: the same whether or not data
// have been read.
type Report struct {
	Algorithm string `json:"algorithm"`
	Paper     string `json:"paper"`
	Mode      string `json:"mode"`
	Method    string `json:"method"`
	Unit      string `json:"unit"`

	Individuals int     `json:"individuals"`
	Pairs       int     `json:"pairs"`
	Kappa       int     `json:"kappa"`
	Features    int     `json:"features"`
	Norm        string  `json:"norm"`
	Bound       float64 `json:"norm_bound"`
	Rows        int     `json:"rows"`
	Loss        string  `json:"loss"`

	Sampling string  `json:"sampling,omitempty"` // "" for fixed batches
	Batch    int     `json:"batch"`              // expected pairs of a Poisson one
	Batches  int     `json:"batches_per_epoch"`
	Epochs   int     `json:"epochs"`
	Clip     float64 `json:"clip,omitempty"`
	Shrink   bool    `json:"shrinking_clip"`
	StepSize float64 `json:"step_size"`
	StepRule string  `json:"step_sizes"`

	// Sensitivity is that of all releases, in units of the clip; on Poisson batches what
	// one pair more moves one release by.
	Sensitivity float64 `json:"sensitivity,omitempty"`
	// KnownBatches is Plan.KnownBatches.
	KnownBatches float64 `json:"epsilon_of_full_batches,omitempty"`
	Noise        string  `json:"noise,omitempty"`
	// NoiseToSignal is Plan.NoiseToSignal.
	NoiseToSignal float64 `json:"noise_to_signal,omitempty"`

	Events    []string          `json:"events"`
	Guarantee privacy.Guarantee `json:"guarantee"`
}

// Report returns p as plain values.
func (p *Plan) Report() Report {
	s := p.Spec
	r := Report{
		Algorithm: p.Algorithm(), Paper: "[Li20]", Mode: s.Mode.String(), Method: s.Method.String(), Unit: s.Unit.String(),
		Individuals: s.Individuals, Pairs: s.Pairs, Kappa: s.Kappa, Features: s.Dim, Norm: s.Norm().String(), Bound: s.Bound,
		Rows: s.Rows, Loss: s.Loss.Name(),
		Batch: s.Batch, Batches: p.Batches, Epochs: s.Epochs, Shrink: s.Shrink, StepSize: s.StepSize,
		StepRule: "eta0/sqrt(tau) at batch tau", NoiseToSignal: p.NoiseToSignal(), Guarantee: p.Guarantee,
	}
	if s.PrintedSteps {
		r.StepRule = "eta0/sqrt(tau!) at batch tau, as printed: about nine useful steps"
	}
	if s.Mode != algorithms.NonPrivate {
		r.Clip = s.Clip
	}
	if s.Sampling != Fixed {
		r.Sampling, r.KnownBatches = s.Sampling.String(), p.KnownBatches()
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
func (r Report) Text() string {
	var b strings.Builder
	line := func(label, format string, args ...any) {
		fmt.Fprintf(&b, "%-11s %s\n", label, fmt.Sprintf(format, args...))
	}
	line("algorithm", "%s, %s mode (%s), noise on %s", r.Algorithm, r.Mode, r.Paper, r.Method)
	line("pairs", "%d pairs of %d individuals, kappa = %d, unit %s", r.Pairs, r.Individuals, r.Kappa, r.Unit)
	line("features", "d = %d, %s norm at most %g", r.Features, r.Norm, r.Bound)
	line("loss", "%s, matrix of %d x %d", r.Loss, r.Rows, r.Features)
	clip := "not clipped"
	if r.Clip > 0 {
		clip = fmt.Sprintf("clipped to %g", r.Clip)
	}
	if r.Shrink {
		clip += ", or to the bound at the public matrix if that is smaller"
	}
	batches, joint := "", "joint"
	if r.Sampling != "" {
		batches, joint = fmt.Sprintf(" expected, each pair drawn by a secret coin of probability %.4g", float64(r.Batch)/float64(r.Pairs)), "one pair's"
	}
	line("batches", "%d epochs of %d batches of %d pairs%s; gradients %s", r.Epochs, r.Batches, r.Batch, batches, clip)
	line("steps", "eta0 = %g, %s", r.StepSize, r.StepRule)
	if r.Noise != "" {
		line("noise", "%s on the mean gradient of every batch, in units of the clip, exact; %s sensitivity %.6g", r.Noise, joint, r.Sensitivity)
		if r.KnownBatches > 0 {
			line("", "the guarantee rests on the secrecy of the batches: full batches with this noise would have epsilon %s", privacy.FormatUp(r.KnownBatches))
		}
		if r.NoiseToSignal > 1 {
			line("", "the noise of one batch is about %.2g times the largest gradient: more pairs in a batch, fewer epochs, fewer rows or a larger epsilon would help", r.NoiseToSignal)
		}
	}
	line("guarantee", "%s", strings.TrimSuffix(strings.ReplaceAll(r.Guarantee.Report(), "\n  ", "\n"+strings.Repeat(" ", 12)), "\n"))
	return b.String()
}
