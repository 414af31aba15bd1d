package experiment

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"dyad/algorithms"
	"dyad/algorithms/evaluate"
	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/engine/metrics"
	"dyad/privacy"
)

// Private are the runs of a plan on private records: each trains a model on a part of them and
// releases private figures of it on the rest. The models are not published. Everything that all
// runs release is one plan, charged at once before a record is used.
type Private struct {
	algorithms.Plan
	plan *Plan
	runs []privateRun
}

type privateRun struct {
	run
	algorithm algorithms.Algorithm
	training  *algorithms.Plan
	held      *evaluate.Plan
}

// PrivateRow is the outcome of a run on private records.
type PrivateRow struct {
	N         int     `json:"n"`
	HeldOut   int     `json:"held_out"`
	Epsilon   float64 `json:"epsilon"` // of the training
	Delta     float64 `json:"delta"`
	Algorithm string  `json:"algorithm"`
	Options   string  `json:"options,omitempty"`
	Split     int     `json:"split"`
	Draw      int     `json:"draw"`
	AUC       float64 `json:"auc"`
	Low       float64 `json:"auc_low"` // of an interval for sampling and noise of the held-out records
	High      float64 `json:"auc_high"`
}

// Private plans the runs on private data from public numbers: n of N, units in all, features d.
// Labels are of two classes; whoever calls has to
// refuse others by their schema, as a refusal after the charge would tell of the records. held is spent on
// the figures of every run, besides its own epsilon. A plan has one data set, one n and private
// algorithms only; what it cannot do is an error (*InputError) with the reason.
func (p *Plan) Private(units, d int, bounds engine.Bounds, held privacy.Budget, from algorithms.Provenance) (*Private, error) {
	bad := func(format string, args ...any) error {
		return &InputError{fmt.Errorf("experiment: "+format, args...)}
	}
	switch {
	case len(p.Data) != 1 || len(p.Data[0].N) != 1:
		return nil, bad("private data are one data set with one number of training records")
	case p.Data[0].PersonRows > 0:
		return nil, bad("a curve needs private figures of held-out records, and this version has none for persons")
	case p.Task != taskAUC:
		return nil, bad("the curve of a metric needs the accuracy of neighbours among private records, which depends on all of them at once; draw it on public data")
	}
	n := p.Data[0].N[0]
	if n >= units {
		return nil, bad("n is %d of %d records, and none are left for figures", n, units)
	}
	out := &Private{plan: p}
	var rows algorithms.Releases
	delta := held.Delta
	for _, b := range p.blocks() {
		for _, r := range b.runs {
			if r.method.nonPrivate || r.method.choose == nil {
				return nil, bad("%s is not private and would publish exact figures; leave it out on private data", r.method.label())
			}
			one := privateRun{run: r}
			var err error
			if one.algorithm, one.training, err = r.method.plan(p.Task, cpu.Backend{}, engine.Problem{N: n, D: d, Bounds: bounds}, privacy.Budget{Epsilon: r.row.Epsilon, Delta: r.row.Delta}); err != nil {
				return nil, &InputError{fmt.Errorf("epsilon %g, %s: %w", r.row.Epsilon, r.method.label(), err)}
			}
			if !one.algorithm.Info().Withholds {
				return nil, bad("%s publishes more than its model while it trains; leave it out on private data", r.method.label())
			}
			// Scores are divided by a bound that follows from the released weights.
			if one.held, err = evaluate.New(evaluate.Options{Records: units - n, Budget: held, Provenance: from, ScoreBound: 1}); err != nil {
				return nil, &InputError{err}
			}
			name := fmt.Sprintf("run %d", len(out.runs)+1)
			rows = slices.Concat(rows, one.training.Releases.Of(name), one.held.Releases.Of(name))
			delta = max(delta, one.row.Delta)
			out.runs = append(out.runs, one)
		}
	}
	if len(out.runs) == 0 {
		return nil, bad("the plan has no runs")
	}
	out.Plan = algorithms.Plan{Algorithm: "curve", Mode: algorithms.Certified, Objective: out.objective()}
	unit := from.Records(0)
	rests := []string{fmt.Sprintf("public: n = %d, %d of them to train, d = %d, the seed of the splits, the schema and all options", units, n, d)}
	for _, r := range out.runs {
		for _, text := range slices.Concat(r.training.Guarantee.Assumptions, r.held.Guarantee.Assumptions) {
			if text != unit.Assumption && !slices.Contains(rests, text) && !strings.HasPrefix(text, "public: n = ") {
				rests = append(rests, text)
			}
		}
	}
	g := unit.Guarantee(fmt.Sprintf("figures of %d models on records that they did not learn from, with noise; the models, also with noise, count as released", len(out.runs)),
		"every training and every evaluation has a certificate of its own, each holds given the releases before, and all add up (docs/theory.md#composition)", append(rests, out.bounds())...)
	err := out.Promise(privacy.Budget{Delta: delta}, units, from, g, rows)
	f := &out.Facts
	f.Line("curve", "%d runs on n = %d records, %d to train and %d held out in each of %d public splits",
		f.Add("runs", len(out.runs)), f.Add("records", units), f.Add("training_records", n), f.Add("held_out_records", units-n), f.Add("splits", p.Data[0].Splits))
	f.Line("figures", "epsilon = %g of every run for the AUC of its model on the records held out", f.Add("held_out_epsilon", held.Epsilon))
	return out, err
}

// bounds says which other numbers are public.
func (c *Private) bounds() string {
	pr := c.runs[0].training.Spec.Kernel.Problem()
	return fmt.Sprintf("public: norm bound R = %g, label bound %g and every radius; every row was projected to R", pr.Bounds.FeatureNorm, pr.Bounds.LabelAbs)
}

// Runs is the number of runs.
func (c *Private) Runs() int { return len(c.runs) }

// objective is what a resumed run must have in common with its first attempt.
func (c *Private) objective() string {
	text := "curve " + c.plan.digest
	for _, r := range c.runs {
		text += fmt.Sprintf("; split %d: %s", r.row.Split, r.training.Objective)
	}
	return text
}

// Job is the work on the records for algorithms.Execute, whose Result.Weights are released
// numbers, for Rows.
func (c *Private) Job(records *engine.Records) algorithms.Job {
	return algorithms.Job{
		Plan:      &c.Plan,
		Withholds: true, // all algorithms do, and models stay here
		Train: func(ctx context.Context, s privacy.Session, t algorithms.Tracker) ([]float64, error) {
			var out []float64
			data := loaded{records: records}
			for i, r := range c.runs {
				train, test, err := data.split(r.row.N, r.row.Split)
				if err != nil {
					return nil, err
				}
				ev, err := r.training.Spec.Kernel.Bind(train)
				if err != nil {
					return nil, err
				}
				w, err := r.algorithm.Train(ctx, ev, r.training, s, algorithms.Tracker{})
				if err = errors.Join(err, ev.Close()); err != nil {
					return nil, err
				}
				figures, err := r.held.Job(func(context.Context) (evaluate.Data, error) { return scoresOf(test, w) }).Train(ctx, s, algorithms.Tracker{})
				if err != nil {
					return nil, err
				}
				out = append(out, figures...)
				t.Step(i+1, len(c.runs))
			}
			return out, nil
		},
	}
}

// scoresOf are scores as evaluate takes them, at most 1 in magnitude.
func scoresOf(r *engine.Records, w []float64) (d evaluate.Data, err error) {
	bound := 0.0
	for _, v := range w {
		bound = math.Hypot(bound, v)
	}
	if bound *= r.Bounds().FeatureNorm * (1 + 0x1p-20); !(bound > 0) {
		bound = 1
	}
	if d.Scores, err = metrics.Scores(r, w); err != nil {
		return d, err
	}
	for i, y := range r.Labels() {
		d.Scores[i] /= bound
		d.Positive = append(d.Positive, y > 0)
	}
	return d, nil
}

// Rows are the outcome, from the released numbers alone, with intervals of that level.
func (c *Private) Rows(released []float64, confidence float64) ([]PrivateRow, error) {
	var out []PrivateRow
	draws := map[string]int{}
	for _, r := range c.runs {
		k := r.held.Numbers()
		if len(released) < k {
			return nil, errors.New("experiment: too few released numbers for the runs of the plan")
		}
		f, err := r.held.Figures(released[:k], confidence)
		if err != nil {
			return nil, err
		}
		released = released[k:]
		row := PrivateRow{
			N: r.row.N, HeldOut: r.held.Options.Records, Epsilon: r.row.Epsilon, Delta: r.row.Delta, Algorithm: r.row.Algorithm, Options: r.row.Options, Split: r.row.Split,
			AUC: f.AUC.Value, Low: f.AUC.Low, High: f.AUC.High,
		}
		cell := fmt.Sprint(row.Epsilon, row.Algorithm, row.Options, row.Split)
		row.Draw = draws[cell]
		draws[cell]++
		out = append(out, row)
	}
	return out, nil
}

// Draw draws the rows: the mean of the released AUCs of each epsilon, and as a band the mean of
// their intervals.
func (c *Private) Draw(prefix string, rows []PrivateRow, formats ...string) ([]string, error) {
	f := c.Figure(rows)
	var files []string
	for _, format := range formats {
		path := prefix + "." + format
		if err := f.Save(path); err != nil {
			return files, err
		}
		files = append(files, path)
	}
	return files, nil
}

// Figure is the picture that Draw writes.
func (c *Private) Figure(rows []PrivateRow) Figure {
	d := c.plan.Data[0]
	f := Figure{
		Title: fmt.Sprintf("%s, n = %d\nreleased privately; band: interval", d.Name, d.N[0]), X: "epsilon of the training", LogX: true, Ticks: c.plan.Epsilon, Y: "AUC",
	}
	for i := range c.plan.all {
		m := &c.plan.all[i]
		curve := Curve{Name: m.label()}
		for _, e := range c.plan.Epsilon {
			var sum, low, high, n float64
			for _, r := range rows {
				if r.Epsilon == e && label(r.Algorithm, r.Options) == m.label() {
					sum, low, high, n = sum+r.AUC, low+r.Low, high+r.High, n+1
				}
			}
			if n > 0 {
				curve.X, curve.Y, curve.Low, curve.High = append(curve.X, e), append(curve.Y, sum/n), append(curve.Low, low/n), append(curve.High, high/n)
			}
		}
		f.Curves = append(f.Curves, curve)
	}
	return f
}
