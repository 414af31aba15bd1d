package algorithms

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"

	"dyad/privacy"
	"dyad/privacy/account"
)

// trainingFacts returns the facts of a plan for a kernel, which is the plan of a batch or an online algorithm.
func (p *Plan) trainingFacts() Facts {
	f := p.recordFacts()
	f.join(p.lossFacts())
	f.join(p.scheduleFacts())
	return f
}

// recordFacts returns the facts about the algorithm and the records.
func (p *Plan) recordFacts() (f Facts) {
	problem := p.Spec.Kernel.Problem()
	f.Line("algorithm", "%s, %[3]s mode (%[2]s)", f.Add("algorithm", p.Algorithm), f.Add("paper", paperOf(p.Algorithm)),
		f.Add("mode", p.Mode.String()))
	units, each := "records", ""
	if problem.ByPerson() {
		units, each = "persons", fmt.Sprintf(" persons with up to %d rows each",
			f.Add("max_rows_per_person", problem.PersonRows))
	}
	f.Line(units, "n = %d%s, d = %d features, ||x|| <= %g", f.Add(units, p.Spec.units()), each,
		f.Add("features", problem.D), f.Add("norm_bound", problem.Bounds.FeatureNorm))
	return f
}

// lossFacts returns the facts about the loss and its constants.
func (p *Plan) lossFacts() (f Facts) {
	problem, c := p.Spec.Kernel.Problem(), p.Spec.Constants
	f.Line("loss", "%[4]s: %[5]s; objective + alpha/2 ||w||^2, alpha = %[2]g; %[3]s, r = %.6[1]g",
		f.Add("radius", problem.Radius), f.Add("l2", p.Spec.L2), f.Add("domain", problem.Domain().Text()),
		f.Add("loss", problem.Loss.Name()), f.Add("loss_definition", problem.Loss.Definition()))
	f.Line("constants", "G = %.6g, L = %.6g, Dg = %.6g (%s)",
		f.Add("lipschitz", c.Lipschitz), f.Add("smoothness", Number(c.Smoothness)), f.Add("pair_diameter", c.PairDiameter),
		f.Add("constants_origin", c.Origin.String()))
	return f
}

// scheduleFacts returns the facts about steps, sums and noise.
func (p *Plan) scheduleFacts() (f Facts) {
	units := "records"
	if p.Spec.Kernel.Problem().ByPerson() {
		units = "persons"
	}
	method, rule := f.Add("method", p.Spec.Kernel.Method()), f.Add("schedule", p.Schedule.Name)
	steps := fmt.Sprintf("%d steps", f.Add("steps", p.Schedule.Steps))
	f.AddSome("burn_in", p.Schedule.BurnIn)
	if eta := f.AddSome("step_size", p.Schedule.Constant); eta != 0.0 {
		steps += fmt.Sprintf(" of %.6g", eta)
	}
	f.Line("schedule", "%s, total step %.6g: %s", steps, f.Add("path", p.Schedule.TotalStep), rule)
	if f.AddSome("optimizer", p.Schedule.Update) != "" {
		f.Line("", "%s", p.Schedule.Update)
	}
	pairs := f.Add("pair_gradients", p.Work.Gradients)
	var parts []Facts
	var lines Facts
	for i, e := range p.Schedule.Epochs {
		var part Facts
		lines.Line("", "epoch %d: %d %s, %d steps of %.6g", i+1, part.Add("records", e.Records), units,
			part.Add("steps", e.Steps), part.Add("step_size", e.StepSize))
		parts = append(parts, part)
	}
	f.AddSome("epochs", parts)
	f.AddSome("costliest_epoch", p.Releases.main().Part) // the epoch, from 1, of the sensitivity and noise that follow
	p.stream().facts(p, &f)
	f.Line("engine", "%s, %.3g pair gradients in all", method, pairs)
	f.join(lines)
	if !p.Certificate().IsZero() {
		p.noiseFacts(&f)
	}
	return f
}

// noiseFacts adds the facts about the noise of a release and in the model.
func (p *Plan) noiseFacts(f *Facts) {
	sensitivity, roundoff := f.AddSome("sensitivity", p.Certificate().Sensitivity()),
		f.AddSome("roundoff_share", p.Certificate().RoundoffShare())
	var size string
	switch f.Add("noise", p.Noise().Name()); m := p.Noise().(type) {
	case privacy.Gaussian:
		size = fmt.Sprintf("sigma = %.6g per coordinate", f.AddSome("sigma", m.Sigma))
	case privacy.Laplace:
		size = fmt.Sprintf("Laplace, scale %.6g per coordinate", f.AddSome("scale", m.Scale))
	case privacy.KNorm:
		size = fmt.Sprintf("K-norm (density exp(-||z||/scale)), scale %.6g", f.AddSome("scale", m.Scale))
	}
	if part := p.Releases.main().Part; part > 0 {
		size = fmt.Sprintf("in epoch %d (which has the largest privacy cost): %s", part, size)
	}
	f.Line("noise", "%s, exact on a grid of %.3g; sensitivity %.6g with rounding (relative %.2g)%s", size,
		f.AddSome("grid", p.Noise().GridSize()), sensitivity, roundoff, f.NoiseMultiplier(p.Noise(), p.Certificate()))
	// ratio is the root mean square norm of the noise in the model, divided by the radius.
	if ratio := p.modelNoise() / p.Spec.Kernel.Problem().Radius; !math.IsInf(ratio, 1) &&
		f.AddSome("noise_to_radius", ratio).(float64) > 1 && p.leastSignal() == 0 {
		f.Line("", "the noise is about %.2g times the model's radius, so expect a model near chance; use more "+
			"records, a larger epsilon or fewer features", ratio)
	}
}

// facts adds the facts that only online algorithms have.
func (r *streamRule) facts(p *Plan, to *Facts) {
	if r == nil {
		return
	}
	var f Facts
	s := p.Spec
	batch := f.Add("batch", s.Batch)
	f.Add("buffer", s.Buffer) // 0: all earlier records
	f.AddSome("reservoir", s.Reservoir)
	f.AddSome("per_class", s.PerClass)
	text := fmt.Sprintf("one release after every %d records; the first %d records only fill the buffer; %s",
		batch, s.BurnIn, f.Add("pairing", s.bufferText()))
	if says := f.AddSome("reading", r.says); says != "" {
		text += fmt.Sprint("; ", says)
	}
	if f.AddSome("secret_state", r.secret) == true {
		text += "; keep the state as private as the records"
	}
	if regret := f.AddSome("regret_bound", p.Regret); regret != 0.0 {
		text += fmt.Sprintf("; the expected regret over all updates is at most %.4g", regret)
	}
	to.Add("stream", f)
	to.Line("stream", "%s", text)
}

// objective returns Objective. If Objective is "" and the plan has a kernel, it returns the minimised function
// with all digits of its public numbers.
func (p *Plan) objective() string {
	if p.Objective != "" || p.Spec.Kernel == nil {
		return p.Objective
	}
	pr := p.Spec.Kernel.Problem()
	return fmt.Sprintf("%s: %s; alpha = %v; %s, r = %v", pr.Loss.Name(), pr.Loss.Definition(), p.Spec.L2,
		pr.Domain().Text(), pr.Radius)
}

// identity returns the part of a plan that a checkpoint must match, as a value for JSON. This part determines
// the rest of the training, its kernel, and the releases that its noise is for. Other parts of reports are left
// out, so that another wording leaves checkpoints usable.
func (p *Plan) identity() (any, error) {
	charged := p.Events()
	events := make([]json.RawMessage, len(charged))
	for i, e := range charged {
		var err error
		if events[i], err = account.Encode(e); err != nil {
			return nil, err
		}
	}
	schedule := p.Schedule
	schedule.Name = ""
	parts := make([][]float64, len(p.Schedule.Epochs))
	for i, part := range p.Schedule.Epochs {
		parts[i] = []float64{float64(part.Records), float64(part.Steps), part.StepSize}
	}
	kernel := "" // "" for plans of pairs, which have one way of summing
	if p.Spec.Kernel != nil {
		kernel = p.Spec.Kernel.Method()
	}
	return struct {
		Algorithm string
		Mode      string
		Kernel    string
		Events    []json.RawMessage
		Schedule  Schedule
		Eta       []float64
		Parts     [][]float64
		Objective string
	}{p.Algorithm, p.Mode.String(), kernel, events, schedule, p.Schedule.Eta, parts, p.objective()}, nil
}

// Report describes a plan as values and as text. It does not depend on whether data have been read.
type Report struct {
	Facts
	Events    []string
	Guarantee privacy.Guarantee
}

// Report returns a description of the plan p: its facts, its releases as events, and its guarantee.
func (p *Plan) Report() Report {
	r := Report{Facts: p.Facts, Guarantee: p.Guarantee}
	if len(p.Facts.values) == 0 && p.Spec.Kernel != nil {
		r.Facts = p.trainingFacts()
	}
	r.Facts = r.Facts.chosen(p.Choice)
	p.Releases.table(&r.Facts)
	for _, text := range r.AddSome("warnings", p.Warnings()).([]string) {
		r.Line("warning", "%s", text)
	}
	for _, e := range p.Events() {
		r.Events = append(r.Events, e.String())
	}
	return r
}

// Text returns the report as aligned lines.
func (r Report) Text() string {
	guarantee := strings.Join(r.Guarantee.Lines(), "\n"+strings.Repeat(" ", 12))
	return r.Facts.Text() + fmt.Sprintf("%-11s %s\n", "guarantee", guarantee)
}

// MarshalJSON returns a JSON object with the facts, the events and the guarantee.
func (r Report) MarshalJSON() ([]byte, error) {
	f := r.Values()
	f.Add("events", r.Events)
	f.Add("guarantee", r.Guarantee)
	return f.MarshalJSON()
}

// UnmarshalJSON reads the output of MarshalJSON. The resulting report has no lines.
func (r *Report) UnmarshalJSON(text []byte) error {
	*r = Report{}
	d := json.NewDecoder(bytes.NewReader(text))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return errors.New("algorithms: a report is a JSON object")
	}
	for d.More() {
		key, err := d.Token()
		var value json.RawMessage
		if err == nil {
			err = d.Decode(&value)
		}
		switch {
		case err != nil:
		case key == "events":
			err = json.Unmarshal(value, &r.Events)
		case key == "guarantee":
			err = json.Unmarshal(value, &r.Guarantee)
		default:
			r.Add(key.(string), value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
