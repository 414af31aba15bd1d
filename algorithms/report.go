package algorithms

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"dyad/privacy"
)

// Report is a plan as plain values, for JSON and for text: the same whether or
// not data have been read.
type Report struct {
	Algorithm string `json:"algorithm"`
	Paper     string `json:"paper"`
	Mode      string `json:"mode"`

	Records   int     `json:"records"`
	Features  int     `json:"features"`
	Norm      float64 `json:"norm_bound"`
	Radius    float64 `json:"radius"`
	L2        float64 `json:"l2"`
	Domain    string  `json:"domain"`
	Loss      string  `json:"loss"`
	LossText  string  `json:"loss_definition"`
	Lipschitz float64 `json:"lipschitz"`
	Smooth    Number  `json:"smoothness"` // null: not smooth
	Diameter  float64 `json:"pair_diameter"`
	Origin    string  `json:"constants_origin"`
	Method    string  `json:"method"`

	Rule     string  `json:"schedule"`
	Steps    int     `json:"steps"`
	BurnIn   int     `json:"burn_in,omitempty"`
	StepSize float64 `json:"step_size,omitempty"`
	Path     float64 `json:"path"`
	Pairs    float64 `json:"pair_gradients"`

	Epochs    []EpochReport `json:"epochs,omitempty"`
	Costliest int           `json:"costliest_epoch,omitempty"` // whose sensitivity and noise follow, from 1
	Stream    *StreamReport `json:"stream,omitempty"`          // of online algorithms

	Moments *MomentsReport `json:"moments,omitempty"` // of algorithm moments

	Sensitivity   float64 `json:"sensitivity,omitempty"`
	RoundoffShare float64 `json:"roundoff_share,omitempty"`
	Noise         string  `json:"noise,omitempty"` // Gaussian, Laplace or K-norm
	Sigma         float64 `json:"sigma,omitempty"` // of Gaussian noise
	Scale         float64 `json:"scale,omitempty"` // of Laplace and K-norm noise
	Grid          float64 `json:"grid,omitempty"`
	// NoiseToRadius is the root mean square of the norm of the noise in the model
	// over the radius, e.g. sigma sqrt(d)/r: above 1 the model is mostly noise.
	NoiseToRadius float64 `json:"noise_to_radius,omitempty"`

	Events    []string          `json:"events"`
	Guarantee privacy.Guarantee `json:"guarantee"`
}

// Number is a number that may be +Inf, which is null in JSON.
type Number float64

// MarshalJSON implements json.Marshaler.
func (n Number) MarshalJSON() ([]byte, error) {
	if math.IsInf(float64(n), 1) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(n))
}

// UnmarshalJSON implements json.Unmarshaler.
func (n *Number) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		*n = Number(math.Inf(1))
		return nil
	}
	return json.Unmarshal(text, (*float64)(n))
}

// EpochReport is an Epoch as plain values.
type EpochReport struct {
	Records     int     `json:"records"`
	Steps       int     `json:"steps"`
	StepSize    float64 `json:"step_size"`
	Sensitivity float64 `json:"sensitivity"`
	Noise       string  `json:"noise"` // with its scale
}

// Report returns p as plain values.
func (p *Plan) Report() Report {
	problem := p.Spec.Kernel.Problem()
	c := p.Spec.Constants
	r := Report{
		Algorithm: p.Algorithm, Mode: p.Mode.String(),
		Records: problem.N, Features: problem.D, Norm: problem.Bounds.FeatureNorm,
		Radius: problem.Radius, Domain: problem.Domain().Text(), L2: p.Spec.L2,
		Loss: problem.Loss.Name(), LossText: problem.Loss.Definition(),
		Lipschitz: c.Lipschitz, Smooth: Number(c.Smoothness), Diameter: c.PairDiameter, Origin: c.Origin.String(),
		Method: p.Spec.Kernel.Method(),
		Rule:   p.Schedule.Name, Steps: p.Schedule.Steps, BurnIn: p.Schedule.BurnIn,
		StepSize: p.Schedule.Constant, Path: p.Schedule.Path, Pairs: p.GradientPairs,
		Guarantee: p.Guarantee,
	}
	if a, err := ByName(p.Algorithm); err == nil {
		r.Paper = a.Info().Paper
	}
	if !p.Certificate.IsZero() {
		r.Sensitivity, r.RoundoffShare = p.Certificate.Sensitivity(), p.Certificate.RoundoffShare()
		r.Noise, r.Grid = p.Noise.Name(), p.Noise.GridSize()
		r.NoiseToRadius = p.modelNoise() / problem.Radius
		switch m := p.Noise.(type) {
		case privacy.Gaussian:
			r.Sigma = m.Sigma
		case privacy.Laplace:
			r.Scale = m.Scale
		case privacy.KNorm:
			r.Scale = m.Scale
		}
	}
	r.Costliest, r.Moments = p.Costliest, p.Moments.report()
	for _, e := range p.Epochs {
		r.Epochs = append(r.Epochs, EpochReport{e.Records, e.Steps, e.StepSize, e.Certificate.Sensitivity(), e.Noise.String()})
	}
	for _, e := range p.Events {
		r.Events = append(r.Events, e.String())
	}
	return r
}

// objective is what a run minimises, by its public numbers to the last digit: what a
// resumed run must have in common with its first attempt beside its events.
func (s Spec) objective() string {
	p := s.Kernel.Problem()
	return fmt.Sprintf("%s: %s; alpha = %v; %s, r = %v", p.Loss.Name(), p.Loss.Definition(), s.L2, p.Domain().Text(), p.Radius)
}

// Text is the report as aligned lines.
func (r Report) Text() string {
	var b strings.Builder
	line := func(label, format string, args ...any) {
		fmt.Fprintf(&b, "%-11s %s\n", label, fmt.Sprintf(format, args...))
	}
	line("algorithm", "%s, %s mode (%s)", r.Algorithm, r.Mode, r.Paper)
	line("records", "n = %d, d = %d features, ||x|| <= %g", r.Records, r.Features, r.Norm)
	if r.Moments != nil {
		r.Moments.lines(r, line)
		return b.String()
	}
	line("loss", "%s: %s; objective + alpha/2 ||w||^2, alpha = %g; %s, r = %.6g", r.Loss, r.LossText, r.L2, r.Domain, r.Radius)
	line("constants", "G = %.6g, L = %.6g, Dg = %.6g (%s)", r.Lipschitz, r.Smooth, r.Diameter, r.Origin)
	steps := fmt.Sprintf("%d steps, path %.6g: %s", r.Steps, r.Path, r.Rule)
	if r.StepSize > 0 {
		steps = fmt.Sprintf("%d steps of %.6g, path %.6g: %s", r.Steps, r.StepSize, r.Path, r.Rule)
	}
	line("schedule", "%s", steps)
	if r.Stream != nil {
		line("stream", "%s", r.Stream.text(r.BurnIn))
	}
	line("engine", "%s, %.3g pair gradients in all", r.Method, r.Pairs)
	for i, e := range r.Epochs {
		line("", "epoch %d: %d records, %d steps of %.6g, sensitivity %.6g, %s", i+1, e.Records, e.Steps, e.StepSize, e.Sensitivity, e.Noise)
	}
	if r.Noise != "" {
		size := fmt.Sprintf("sigma = %.6g per coordinate", r.Sigma)
		switch r.Noise {
		case "Laplace":
			size = fmt.Sprintf("Laplace, scale %.6g per coordinate", r.Scale)
		case "K-norm":
			size = fmt.Sprintf("K-norm (density exp(-||z||/scale)), scale %.6g", r.Scale)
		}
		if len(r.Epochs) > 0 {
			size = fmt.Sprintf("of epoch %d, as costly as any: %s", r.Costliest, size)
		}
		line("noise", "%s, exact, on a grid of %.3g; sensitivity %.6g (%.2g of it for floating point)", size, r.Grid, r.Sensitivity, r.RoundoffShare)
		if r.NoiseToRadius > 1 {
			line("", "the noise is about %.2g times the radius of the model's domain: expect a model near chance; more records, a larger epsilon or fewer features would help", r.NoiseToRadius)
		}
	}
	line("guarantee", "%s", r.guaranteeText())
	return b.String()
}

// guaranteeText is the guarantee in the column of the other lines.
func (r Report) guaranteeText() string {
	return strings.TrimSuffix(strings.ReplaceAll(r.Guarantee.Report(), "\n  ", "\n"+strings.Repeat(" ", 12)), "\n")
}
