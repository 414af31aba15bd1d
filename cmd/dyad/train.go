package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"dyad/algorithms"
	"dyad/engine"
	"dyad/engine/dataset"
	"dyad/privacy"
)

type trainCmd struct {
	Data       string  `placeholder:"FILE" help:"Data file, CSV or LIBSVM, gzipped or not. Without it: synthetic clinical records made by this program, public."`
	Schema     string  `placeholder:"FILE" help:"Schema of the data (YAML); \"dyad data schema FILE\" drafts one."`
	Out        string  `short:"o" placeholder:"FILE" help:"Model file. Default: model.json with --data; the synthetic run writes one only if asked."`
	Force      bool    `help:"Replace an existing model file."`
	Holdout    float64 `placeholder:"F" help:"Fraction of the records held out and evaluated. The figures are not covered by the guarantee. Default: 0.3 for the synthetic data, else 0."`
	SplitSeed  uint64  `default:"1" help:"Seed of the split into training and held-out records."`
	PublicData bool    `help:"The data are public: nothing is charged, and the report says so."`
	DataID     string  `placeholder:"ID" help:"Name of the data in the ledger. Default: the schema's data_id."`
	Seed       *uint64 `help:"Seed the noise, for reproduction only: the noise is then not secret."`
	planFlags
	ledgerFlag
}

// Help shows examples.
func (trainCmd) Help() string {
	return `A private run is charged to the ledger before any record is used, and is charged even if it is
interrupted. Nothing is charged when a flag, the schema or the data are wrong.

Examples:
  dyad train
  dyad train --data patients.csv --schema patients.yaml --epsilon 1 --delta 1e-5
  dyad train --data patients.csv --schema patients.yaml --algorithm offpairc --epsilon 2 --out second.json
  dyad train --data patients.csv --schema patients.yaml --epsilon 1 --delta 0 --out pure.json
  dyad train --data patients.csv --schema patients.yaml --task metric --epsilon 2 --out metric.json
  dyad train --data patients.csv --schema patients.yaml --mode nonprivate --public-data --holdout 0.3 --out baseline.json`
}

// trainResult is the JSON output of train.
type trainResult struct {
	Task      string             `json:"task"`
	Data      string             `json:"data"`
	DataID    string             `json:"data_id"`
	Public    bool               `json:"public"`
	Records   int                `json:"training_records"`
	Heldout   int                `json:"held_out_records"`
	Report    algorithms.Report  `json:"report"`
	Guarantee privacy.Guarantee  `json:"guarantee"`
	Run       string             `json:"run,omitempty"`
	Ledger    string             `json:"ledger,omitempty"`
	Spent     *spending          `json:"spent_in_all,omitempty"`
	Model     string             `json:"model,omitempty"`
	Seconds   float64            `json:"training_seconds"`
	Held      *evaluation        `json:"held_out,omitempty"`
	Compared  map[string]float64 `json:"-"`
}

// Run trains a model.
func (c *trainCmd) Run(a *app) error {
	data, source, err := c.load(a)
	if err != nil {
		return err
	}
	schema := data.Schema()
	public := c.PublicData || schema.Public
	train, held, err := c.split(data.Records)
	if err != nil {
		return err
	}
	shape := shapeOf(data.Encoder, train.Len())
	algorithm, plan, err := c.plan(shape)
	if err != nil {
		return err
	}
	out := c.Out
	if out == "" && c.Data != "" {
		out = "model.json"
	}
	if err := checkOut(out, c.Force); err != nil {
		return err
	}
	result := trainResult{Task: c.Task, Data: source, DataID: schema.DataID, Public: public, Records: train.Len()}
	if c.DataID != "" {
		result.DataID = c.DataID
	}
	options := algorithms.Options{Public: public, DataID: result.DataID, Tracker: a.tracker("training")}
	if c.Seed != nil {
		options.Source = privacy.NewSeededSource(*c.Seed)
	}
	if !public {
		if options.Ledger, result.Ledger, err = c.open(); err != nil {
			return err
		}
		if options.Fingerprint, err = fingerprint(options.Ledger, c.Data); err != nil {
			return err
		}
	}
	run, err := algorithms.Run(a.ctx, train, algorithm, plan, options)
	if err != nil {
		return err
	}
	result.Report, result.Guarantee, result.Run, result.Seconds = plan.Report(), run.Guarantee, run.Run, run.Seconds
	result.Report.Guarantee = run.Guarantee
	if out != "" {
		m := model{
			Format: modelFormat, Version: version, Created: time.Now().UTC().Truncate(time.Second),
			Task: c.Task, DataID: result.DataID, Run: run.Run,
			Features: data.Encoder.FeatureNames(), Weights: run.Weights, Encoder: data.Encoder,
			Report: result.Report, Guarantee: run.Guarantee,
		}
		if result.Model, err = m.write(out); err != nil {
			return err
		}
		if result.Model != out {
			a.note("dyad: cannot write %s; the model was saved as %s instead", out, result.Model)
		}
	}
	if held != nil {
		if result.Held, err = evaluate(a.ctx, c.Task, run.Weights, held, train, 0, 0.95); err != nil {
			return fmt.Errorf("evaluation of the held-out records (the model is trained and charged): %w", err)
		}
		result.Heldout = held.Len()
	}
	if options.Ledger != nil {
		delta := plan.Spec.Budget.Delta
		if delta == 0 { // other runs on the data may need one
			delta = privacy.DefaultDelta(train.Len())
		}
		if result.Spent, err = spendingOf(options.Ledger, result.DataID, delta); err != nil {
			return err
		}
	}
	return a.emit(result, result.text(c.Data == ""))
}

// syntheticRecords is the size of the embedded default.
const syntheticRecords = 10_000

// load reads the data, or makes the synthetic ones.
func (c *trainCmd) load(a *app) (*dataset.Dataset, string, error) {
	if c.Data == "" {
		if c.Schema != "" {
			return nil, "", badInput("--schema without --data; name the data file, or leave both out for the synthetic data")
		}
		d, err := dataset.SyntheticClinical(syntheticRecords, 1)
		return d, "synthetic clinical records, generated by this program", err
	}
	if c.Schema == "" {
		return nil, "", badInput("--data needs --schema; \"dyad data schema %s\" drafts one", c.Data)
	}
	s, err := dataset.LoadSchema(c.Schema)
	if err != nil {
		return nil, "", asInput(err)
	}
	d, err := a.readData(c.Data, s, dataset.Options{})
	return d, c.Data, err
}

// split holds out a fraction of the records; held is nil without one.
func (c *trainCmd) split(r *engine.Records) (train, held *engine.Records, err error) {
	fraction := c.Holdout
	if fraction == 0 && c.Data == "" {
		fraction = 0.3
	}
	if !(fraction >= 0 && fraction < 1) {
		return nil, nil, badInput("--holdout is %v, want at least 0 and below 1", fraction)
	}
	if fraction == 0 {
		return r, nil, nil
	}
	keep, out, err := dataset.Split(r.Len(), 1-fraction, c.SplitSeed)
	if err != nil {
		return nil, nil, asInput(err)
	}
	return r.Subset(keep), r.Subset(out), nil
}

func fingerprint(l *privacy.Ledger, path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", asInput(err)
	}
	defer f.Close()
	return l.Fingerprint(f)
}

func (r *trainResult) text(synthetic bool) string {
	var b strings.Builder
	visibility := "private"
	if r.Public {
		visibility = "public"
	}
	fmt.Fprintf(&b, "%-11s %s (%s, data id %s): %d records to train", "data", r.Data, visibility, r.DataID, r.Records)
	if r.Heldout > 0 {
		fmt.Fprintf(&b, ", %d held out", r.Heldout)
	}
	fmt.Fprintf(&b, "\n%s", r.Report.Text())
	if r.Ledger != "" {
		fmt.Fprintf(&b, "%-11s run %s charged to %q in %s\n", "ledger", r.Run, r.DataID, r.Ledger)
		fmt.Fprintf(&b, "%-11s spent on it in all: %s\n", "", r.Spent.text)
	}
	if r.Held != nil {
		fmt.Fprintf(&b, "%-11s %d records, objective %.6g\n%s", "held out", r.Heldout, r.Held.Objective, r.Held.figures("            %s: %s\n"))
		if !r.Public {
			fmt.Fprintf(&b, "%-11s computed from private records: these figures are not covered by the guarantee\n", "")
		}
	}
	if r.Model != "" {
		use := "score new records: dyad predict"
		if r.Task == taskMetric {
			use = "map records by the metric: dyad transform"
		}
		fmt.Fprintf(&b, "%-11s %s (%s %s --data FILE)\n", "model", r.Model, use, r.Model)
	} else if synthetic {
		fmt.Fprintf(&b, "%-11s not saved; add --out FILE. On your own data:\n%-11s dyad data schema FILE > schema.yaml, edit it, dyad train --data FILE --schema schema.yaml --epsilon 1\n", "model", "")
	}
	fmt.Fprintf(&b, "%-11s %.2f s of training\n", "time", r.Seconds)
	return b.String()
}
