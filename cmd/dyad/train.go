package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"dyad/algorithms"
	"dyad/engine/dataset"
	"dyad/privacy"
)

type trainCmd struct {
	Data       string        `placeholder:"FILE" help:"Data file, CSV or LIBSVM, gzipped or not. Without it: synthetic clinical records made by this program, public."`
	Schema     string        `placeholder:"FILE" help:"Schema of the data (YAML); \"dyad data schema FILE\" drafts one."`
	Out        string        `short:"o" placeholder:"FILE" help:"Model file. Default: model.json with --data; the synthetic run writes one only if asked."`
	Force      bool          `help:"Replace an existing model file."`
	Holdout    *float64      `placeholder:"F" help:"Fraction of the records held out and evaluated. The figures are not covered by the guarantee. Default: 0.3 for the synthetic data, else 0."`
	SplitSeed  uint64        `default:"1" help:"Seed of the split into training and held-out records."`
	PublicData bool          `help:"The data are public: nothing is charged, and the report says so."`
	Group      string        `name:"group-column" placeholder:"NAME" help:"Column of public query groups: pairs are formed within a group only. Default: the schema's column with role group."`
	DataID     string        `placeholder:"ID" help:"Name of the data in the ledger. Default: the schema's data_id."`
	Resume     string        `placeholder:"RUN" help:"Continue a charged run that has released nothing, at no further cost, with the flags and the data of its first attempt."`
	Checkpoint time.Duration `name:"checkpoint-every" default:"1m" placeholder:"DURATION" help:"Keep the state of a private run beside the ledger this often, for --resume; it is as private as the records. 0: never."`
	Seed       *uint64       `help:"Seed the noise, for reproduction only: the noise is then not secret."`
	labelsFlag
	planFlags
	ledgerFlag
}

// Help shows examples.
func (trainCmd) Help() string {
	return `A private run is charged to the ledger before any record is used. If it is interrupted it stays charged,
but no result has left the program: the same command with --resume RUN continues it at no further cost, from its
last checkpoint if it ran for a minute ("dyad ledger show" lists such runs). Nothing is charged when a flag, the
schema or the data are wrong.

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
	Task      string            `json:"task"`
	Data      string            `json:"data"`
	DataID    string            `json:"data_id"`
	Public    bool              `json:"public"`
	Records   int               `json:"training_records"`
	Heldout   int               `json:"held_out_records"`
	Report    algorithms.Report `json:"report"`
	Guarantee privacy.Guarantee `json:"guarantee"`
	Run       string            `json:"run,omitempty"`
	Ledger    string            `json:"ledger,omitempty"`
	Spent     *spending         `json:"spent_in_all,omitempty"`
	Model     string            `json:"model,omitempty"`
	// Seconds is given for public data only: a time can depend on records, and
	// the report is part of what an adversary sees.
	Seconds float64     `json:"training_seconds,omitempty"`
	Held    *evaluation `json:"held_out,omitempty"`
	// HeldProblem says why the held-out records gave no figures.
	HeldProblem string `json:"held_out_problem,omitempty"`
}

// Run trains a model.
func (c *trainCmd) Run(a *app) error {
	data, source, err := c.load(a)
	if err != nil {
		return err
	}
	schema := data.Schema()
	public := c.PublicData || schema.Public
	train, held, err := c.split(sampleOf(data))
	if err != nil {
		return err
	}
	shape := shapeOf(data.Encoder, train.records.Len())
	shape.groups = train.sizes()
	closeDevice, err := c.openDevice(c.Workers)
	if err != nil {
		return err
	}
	defer closeDevice()
	algorithm, plan, err := c.plan(shape)
	if err != nil {
		return err
	}
	loss, err := c.definition()
	if err != nil {
		return err
	}
	out := c.Out
	if out == "" && c.Data != "" {
		out = "model.json"
	}
	if err := checkOut(out, c.Force, c.Data, c.Schema, c.Labels, c.Ledger); err != nil {
		return err
	}
	result := trainResult{Task: c.Task, Data: source, DataID: schema.DataID, Public: public, Records: train.records.Len()}
	if c.DataID != "" {
		result.DataID = c.DataID
	}
	options := algorithms.Options{Public: public, DataID: result.DataID, Resume: c.Resume, Tracker: a.tracker("training"), Trace: a.at}
	if a.hooks.stage != nil {
		options.Tracker = stageTracker{a}
	}
	if c.Seed != nil {
		options.Source = privacy.NewSeededSource(*c.Seed)
	}
	if c.Checkpoint < 0 {
		return badInput("--checkpoint-every is %v, want a positive duration, or 0 for none", c.Checkpoint)
	}
	if public && c.Resume != "" {
		return badInput("--resume continues a charged run, but these data are public and nothing is charged; leave it out")
	}
	if !public {
		a.at("opening ledger")
		open := c.open
		if c.Resume != "" {
			open = c.openExisting
		}
		if options.Ledger, result.Ledger, err = open(privacy.LedgerOptions{LockWait: a.hooks.lockWait, Trace: a.at}); err != nil {
			return err
		}
		if c.Checkpoint > 0 {
			options.Checkpoints = algorithms.Checkpoints{Prefix: result.Ledger + ".", Every: c.Checkpoint, Failed: a.checkpointFailed}
		}
		if options.Fingerprint, err = fingerprint(options.Ledger, c.Data, data.LabelsFile); err != nil {
			return err
		}
	}
	if err := a.ctx.Err(); err != nil {
		return err // nothing is charged yet
	}
	problem := plan.Spec.Kernel.Problem()
	c.noteDevice(a, &problem)
	run, err := algorithms.Run(a.ctx, train.records, algorithm, plan, options)
	if err != nil {
		return a.charged(err)
	}
	if run.Restored > 0 {
		a.note("dyad: run %s continued after step %d of %d, that of its last checkpoint", run.Run, run.Restored, plan.Schedule.Steps)
	}
	result.Report, result.Guarantee, result.Run = plan.Report(), run.Guarantee, run.Run
	if public {
		result.Seconds = run.Seconds
	}
	result.Report.Guarantee = run.Guarantee
	if out != "" {
		m := model{
			Format: modelFormat, Version: version, Created: time.Now().UTC().Truncate(time.Second),
			Task: c.Task, Loss: &loss, DataID: result.DataID, Run: run.Run,
			Features: data.Encoder.FeatureNames(), Weights: run.Weights, Encoder: data.Encoder,
			Report: result.Report, Guarantee: run.Guarantee,
		}
		if result.Model, err = a.saveModel(&m, out); err != nil {
			return err
		}
	}
	if held != nil {
		// The model is trained, charged and saved: figures that cannot be had
		// are a warning.
		if result.Held, err = evaluate(a.ctx, c.Task, plan.Spec.Kernel.Problem().Loss, run.Weights, *held, train.records, defaultEvaluation); err != nil {
			if a.ctx.Err() != nil {
				return a.ctx.Err()
			}
			result.HeldProblem = strings.TrimPrefix(message(err), "dyad: ")
		}
		result.Heldout = held.records.Len()
	}
	if result.Spent, err = spentWith(options.Ledger, result.DataID, plan.Spec.Budget.Delta, train.records.Len(), result.Model); err != nil {
		return err
	}
	err = a.emit(result, result.text(c.Data == ""))
	a.at("reported")
	return err
}

// charged tells about the charge of a run that failed, if there is one.
func (a *app) charged(err error) error {
	var c *algorithms.ChargedError
	if errors.As(err, &c) && c.Resumable {
		fmt.Fprintf(a.stderr, "dyad: run %s is charged and released nothing; the same command with --resume %s continues it at no further cost\n", c.Run, c.Run)
	} else if c != nil {
		fmt.Fprintf(a.stderr, "dyad: run %s is charged and finished, so it cannot be resumed; what was trained here was dropped\n", c.Run)
	}
	if errors.Is(err, privacy.ErrResume) || errors.Is(err, algorithms.ErrCheckpoint) {
		return asInput(err)
	}
	return err
}

// checkpointFailed tells that a run could not keep its state; it goes on.
func (a *app) checkpointFailed(err error) { a.note("%s", message(err)) }

// printModel saves a model that no disk takes: it was paid for.
func (a *app) printModel(m *model, cause error) error {
	text, err := m.text()
	if err == nil {
		_, err = a.stdout.Write(text)
	}
	if err != nil {
		return fmt.Errorf("the model is charged and lost: %w", errors.Join(cause, err))
	}
	return fmt.Errorf("%w\nthe model was written to standard output instead; save it, its run cannot be repeated without a new charge", cause)
}

// saveModel writes a model and returns the name that it got, which is another one if out
// cannot be written.
func (a *app) saveModel(m *model, out string) (string, error) {
	name, err := m.write(out, a.at)
	if err != nil {
		return "", a.printModel(m, err)
	}
	if name != out {
		a.note("dyad: cannot write %s; the model was saved as %s instead", out, name)
	}
	return name, nil
}

// spentWith is what was spent on data in all after a run over n records that saved its
// model; nil without a ledger.
func spentWith(l *privacy.Ledger, dataID string, delta float64, n int, model string) (*spending, error) {
	if l == nil {
		return nil, nil
	}
	if delta == 0 { // other runs on the data may need one
		delta = privacy.DefaultDelta(n)
	}
	s, err := spendingOf(l, dataID, delta)
	if err != nil {
		return nil, fmt.Errorf("the model is trained, charged and saved as %s, but the ledger cannot be read back: %w", model, err)
	}
	return s, nil
}

// stageTracker reports the middle of the training as a stage.
type stageTracker struct{ a *app }

// Step implements algorithms.Tracker.
func (t stageTracker) Step(done, total int) {
	if done == (total+1)/2 {
		t.a.at("training")
	}
}

// syntheticRecords is the size of the embedded default.
const syntheticRecords = 10_000

// load reads the data, or makes the synthetic ones.
func (c *trainCmd) load(a *app) (*dataset.Dataset, string, error) {
	return c.loadOr(a, syntheticRecords)
}

// loadOr is load with n synthetic records.
func (c *trainCmd) loadOr(a *app, n int) (*dataset.Dataset, string, error) {
	if c.Data == "" {
		if c.Schema != "" {
			return nil, "", badInput("--schema without --data; name the data file, or leave both out for the synthetic data")
		}
		d, err := dataset.SyntheticClinical(n, 1)
		return d, "synthetic clinical records, generated by this program", err
	}
	if c.Schema == "" {
		return nil, "", badInput("--data needs --schema; \"dyad data schema %s\" drafts one", c.Data)
	}
	s, err := dataset.LoadSchema(c.Schema)
	if err != nil {
		return nil, "", asInput(err)
	}
	if err := setGroupColumn(s, c.Group); err != nil {
		return nil, "", err
	}
	d, err := a.readData(c.Data, s, c.options(dataset.Options{}))
	return d, c.Data, err
}

// split holds out a fraction of the records, or of the groups; held is nil
// without one.
func (c *trainCmd) split(all sample) (train sample, held *sample, err error) {
	fraction := 0.0
	switch {
	case c.Holdout != nil:
		fraction = *c.Holdout
	case c.Data == "":
		fraction = 0.3
	}
	if !(fraction >= 0 && fraction < 1) {
		return sample{}, nil, badInput("--holdout is %v, want at least 0 and below 1", fraction)
	}
	if fraction == 0 {
		return all, nil, nil
	}
	train, out, err := all.split(fraction, c.SplitSeed)
	if err != nil {
		return sample{}, nil, asInput(err)
	}
	return train, &out, nil
}

// fingerprint is that of the files that the records came from, one after the
// other.
func fingerprint(l *privacy.Ledger, paths ...string) (string, error) {
	var all []io.Reader
	for _, path := range paths {
		if path == "" {
			continue
		}
		f, err := os.Open(path)
		if err != nil {
			return "", asInput(err)
		}
		defer f.Close()
		all = append(all, f)
	}
	return l.Fingerprint(io.MultiReader(all...))
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
	if r.HeldProblem != "" {
		fmt.Fprintf(&b, "%-11s no figures: %s\n", "held out", r.HeldProblem)
	}
	if r.Held != nil {
		fmt.Fprintf(&b, "%-11s %d records, objective %.6g\n%s", "held out", r.Heldout, *r.Held.Objective, r.Held.figures("            %s: %s\n"))
		if !r.Public {
			fmt.Fprintf(&b, "%-11s computed from private records: these figures are not covered by the guarantee\n", "")
		}
	}
	if r.Model != "" {
		use := fmt.Sprintf("score new records: dyad predict %s --data FILE", r.Model)
		if r.Task == taskMetric {
			use = fmt.Sprintf("map records by the metric: dyad transform %s --data FILE --out FILE", r.Model)
		}
		fmt.Fprintf(&b, "%-11s %s (%s)\n", "model", r.Model, use)
	} else if synthetic {
		fmt.Fprintf(&b, "%-11s not saved; add --out FILE. On your own data:\n%-11s dyad data schema FILE > schema.yaml, edit it, dyad train --data FILE --schema schema.yaml --epsilon 1\n", "model", "")
	}
	if r.Public {
		fmt.Fprintf(&b, "%-11s %.2f s of training\n", "time", r.Seconds)
	}
	return b.String()
}
