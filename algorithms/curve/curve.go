// Package curve plans and computes the points of a curve of the AUC against epsilon on private data. Every run
// trains a model on one part of the records and releases private metrics of the model on the other part.
package curve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"dyad/algorithms"
	"dyad/algorithms/evaluate"
	"dyad/engine"
	"dyad/engine/dataset"
	"dyad/engine/metrics"
	"dyad/privacy"
)

// Options holds all public values that a curve depends on. Labels must be of two classes. The caller must check
// this by the schema, because an error after the charge would depend on the records.
type Options struct {
	Records  int
	Training int // number of records in each training; the other records are used for the metrics
	Splits   int
	Runs     []Run
	Held     privacy.Budget // budget of the metrics of each run, in addition to the budget of its training
	algorithms.Provenance
}

// Run is one training on the split with the number Split, 0 to Splits-1.
type Run struct {
	Name      string
	Split     int
	Algorithm algorithms.Algorithm // a private algorithm whose Info has Withholds
	Training  *algorithms.Plan
}

// Plan describes the releases of all runs. They are charged at once, before a record is used. The models are not
// published.
type Plan struct {
	algorithms.Plan
	Options Options
	held    *evaluate.Plan
}

// Row is the result of one run.
type Row struct {
	N         int     `json:"n"`
	HeldOut   int     `json:"held_out"`
	Epsilon   float64 `json:"epsilon"` // epsilon of the training
	Delta     float64 `json:"delta"`
	Algorithm string  `json:"algorithm"`
	Split     int     `json:"split"`
	Draw      int     `json:"draw"`
	AUC       float64 `json:"auc"`
	Low       float64 `json:"auc_low"` // lower end of a confidence interval for the sampling and the noise of the held-out records
	High      float64 `json:"auc_high"`
}

// Released is a released curve, and the content of its file. It may be published.
type Released struct {
	Data      string            `json:"data"`
	DataID    string            `json:"data_id"`
	Public    bool              `json:"public"`
	Guarantee privacy.Guarantee `json:"guarantee"`
	Run       string            `json:"run,omitempty"`
	Ledger    string            `json:"ledger,omitempty"`
	Report    algorithms.Report `json:"report"`
	Rows      []Row             `json:"rows"`
	Plan      json.RawMessage   `json:"plan,omitempty"` // algorithms.Plan.Record of a charged run; the file then ends with a checksum
	Out       string            `json:"out"`
}

// New plans a curve.
func New(o Options) (*Plan, error) {
	held := o.Records - o.Training
	switch {
	case held < 1:
		return nil, fmt.Errorf("curve: the trainings use %d of %d records, so no records are left to evaluate the models",
			o.Training, o.Records)
	case len(o.Runs) == 0:
		return nil, errors.New("curve: a curve needs at least one run")
	}
	out := &Plan{Options: o}
	var err error
	// ScoreBound is 1 because scores are divided by a bound computed from the released weights.
	if out.held, err = evaluate.New(evaluate.Options{Records: held, Budget: o.Held, Provenance: o.Provenance,
		ScoreBound: 1}); err != nil {
		return nil, err
	}
	var rows algorithms.Releases
	delta, objective := o.Held.Delta, fmt.Sprintf("curve of %d records, %d to train", o.Records, o.Training)
	unit, pr := o.Provenance.Records(0), o.Runs[0].Training.Spec.Kernel.Problem()
	rests := []string{fmt.Sprintf("public: n = %d records, %d of them for training, d = %d features, the seed of "+
		"the splits, the schema and all options", o.Records, o.Training, pr.D)}
	for i, r := range o.Runs {
		name := fmt.Sprintf("run %d", i+1)
		rows = slices.Concat(rows, r.Training.Releases.Of(name), out.held.Releases.Of(name))
		delta = max(delta, r.Training.Spec.Budget.Delta)
		objective += fmt.Sprintf("; split %d: %s", r.Split, r.Training.Objective)
		ofOneRun := []string{unit.Assumption, r.Training.Public(), out.held.Options.Public()}
		for _, text := range slices.Concat(r.Training.Guarantee.Assumptions, out.held.Guarantee.Assumptions) {
			if !slices.Contains(ofOneRun, text) && !slices.Contains(rests, text) {
				rests = append(rests, text)
			}
		}
	}
	rests = append(rests, fmt.Sprintf("public: norm bound R = %g, label bound %g and every radius; every row was "+
		"clipped to norm R", pr.Bounds.FeatureNorm, pr.Bounds.LabelAbs))
	out.Plan = algorithms.Plan{Algorithm: "curve", Mode: algorithms.Certified, Objective: objective}
	g := unit.Guarantee(fmt.Sprintf("figures of %d models on records that they did not learn from, with noise; the "+
		"models, also with noise, count as released", len(o.Runs)),
		"each certificate holds given the earlier releases, so the costs of all trainings and evaluations add up "+
			"(docs/theory.md#composition)", rests...)
	err = out.Promise(privacy.Budget{Delta: delta}, o.Records, o.Provenance, g, rows)
	f := &out.Facts
	f.Line("curve", "%d runs on n = %d records: %d for training, %d held out, in %d public splits",
		f.Add("runs", len(o.Runs)), f.Add("records", o.Records), f.Add("training_records", o.Training),
		f.Add("held_out_records", held), f.Add("splits", o.Splits))
	f.Line("figures", "every run spends epsilon = %g on the AUC of its model on the held-out records",
		f.Add("held_out_epsilon", o.Held.Epsilon))
	return out, err
}

// Job returns the job with which algorithms.Execute carries out the plan on the records. Result.Weights are
// the released numbers, which Rows decodes.
func (c *Plan) Job(records *engine.Records) algorithms.Job {
	return algorithms.Job{
		Plan:      &c.Plan,
		Withholds: true, // all algorithms withhold their releases, and the models stay in this closure
		Train: func(ctx context.Context, s privacy.Session, t algorithms.Tracker) ([]float64, error) {
			var out []float64
			for i, r := range c.Options.Runs {
				keep, rest, err := dataset.Split(c.Options.Records, float64(c.Options.Training)/float64(c.Options.Records),
					uint64(r.Split))
				if err != nil {
					return nil, err
				}
				ev, err := r.Training.Spec.Kernel.Bind(records.UnitSubset(keep))
				if err != nil {
					return nil, err
				}
				w, err := r.Algorithm.Train(ctx, ev, r.Training, s, algorithms.Tracker{})
				if err = errors.Join(err, ev.Close()); err != nil {
					return nil, err
				}
				held := func(context.Context) (evaluate.Data, error) { return scoresOf(records.UnitSubset(rest), w) }
				figures, err := c.held.Job(held).Train(ctx, s, algorithms.Tracker{})
				if err != nil {
					return nil, err
				}
				out = append(out, figures...)
				t.Step(i+1, len(c.Options.Runs))
			}
			return out, nil
		},
	}
}

// scoresOf returns scores for package evaluate, at most 1 in magnitude.
func scoresOf(r *engine.Records, w []float64) (d evaluate.Data, err error) {
	bound := evaluate.ScoreBound(w, r.Bounds().FeatureNorm)
	if d.Scores, err = metrics.Scores(r, w); err != nil {
		return d, err
	}
	for i, y := range r.Labels() {
		d.Scores[i] /= bound
		d.Positive = append(d.Positive, y > 0)
	}
	return d, nil
}

// Rows returns the results, computed from the released numbers alone, with intervals of the given confidence level.
func (c *Plan) Rows(released []float64, confidence float64) ([]Row, error) {
	var out []Row
	draws := map[string]int{}
	for _, r := range c.Options.Runs {
		k := c.held.Numbers()
		if len(released) < k {
			return nil, errors.New("curve: some runs of the plan have too few released numbers")
		}
		f, err := c.held.Figures(released[:k], confidence)
		if err != nil {
			return nil, err
		}
		released = released[k:]
		budget := r.Training.Spec.Budget
		row := Row{
			N: c.Options.Training, HeldOut: c.held.Options.Records, Epsilon: budget.Epsilon, Delta: budget.Delta,
			Algorithm: r.Name, Split: r.Split,
			AUC: f.AUC.Value, Low: f.AUC.Low, High: f.AUC.High,
		}
		cell := fmt.Sprint(row.Epsilon, row.Algorithm, row.Split)
		row.Draw = draws[cell]
		draws[cell]++
		out = append(out, row)
	}
	return out, nil
}
