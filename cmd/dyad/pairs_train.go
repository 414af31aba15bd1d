package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"dyad/algorithms"
	"dyad/algorithms/pairs"
	"dyad/engine/pairgraph"
	"dyad/privacy"
)

type pairsTrainCmd struct {
	pairSource
	Out        string        `short:"o" default:"pairs.json" placeholder:"FILE" help:"Model file."`
	Force      bool          `help:"Replace an existing model file."`
	DataID     string        `placeholder:"ID" help:"Name of the data in the ledger. Default: the schema's data_id."`
	Workers    int           `positive:"" default:"1" help:"CPU workers; the result has the same bits for any number."`
	Resume     string        `placeholder:"RUN" help:"Continue a charged run that has released nothing, at no further cost, with the flags and the data of its first attempt."`
	Checkpoint time.Duration `name:"checkpoint-every" default:"1m" placeholder:"DURATION" help:"Keep the state of a private run beside the ledger this often, for --resume; it is as private as the records. 0: never."`
	Seed       *uint64       `help:"Seed the noise, for reproduction only: the noise is then not secret."`
	deviceFlag
	pairFlags
	ledgerFlag
}

// Help shows examples.
func (pairsTrainCmd) Help() string {
	return `A run is charged to the ledger before any pair is used. Nothing is charged when a flag, the schema, the records or the
pairs are wrong. If a run is interrupted, no result has left the program: the same command with --resume RUN continues it
at no further cost ("dyad ledger show" lists such runs). Who is paired with whom is public, and so is --kappa; features and labels are private.
With --tuple or --all-pairs no pairs are named: a metric is learned from the classes of the records.

The model of a metric is used by "dyad transform" and "dyad evaluate", that of preferences by "dyad predict".

Examples:
  dyad pairs train --data patients.csv --schema patients.yaml --density 2 --degree-cap 6 --epsilon 2 --out drawn.json
  dyad pairs train --data patients.csv --schema patients.yaml --density 2 --degree-cap 6 --sampling poisson --batch 60 --out poisson.json
  dyad pairs train --data people.csv --schema people.yaml --pairs pairs.csv --kappa 3 --epsilon 2 --out metric-pairs.json
  dyad pairs train --data people.csv --schema people.yaml --pairs preferences.csv --loss bradley-terry --kappa 3 --out scores-pairs.json
  dyad pairs train --data patients.csv --schema patients.yaml --density 2 --degree-cap 6 --method input --out input.json
  dyad pairs train --data patients.csv --schema patients.yaml --density 2 --degree-cap 6 --mode nonprivate --public-data --out baseline-pairs.json
  dyad pairs train --data patients.csv --schema patients.yaml --tuple 4 --loss triplet --epsilon 2 --out triplet.json
  dyad pairs train --data patients.csv --schema patients.yaml --all-pairs --epsilon 2 --out all-pairs.json`
}

type pairsTrainResult struct {
	Data      string            `json:"data"`
	Pairs     string            `json:"pairs"`
	DataID    string            `json:"data_id"`
	Public    bool              `json:"public"`
	Dropped   int               `json:"pairs_above_the_cap,omitempty"`
	Report    pairs.Report      `json:"report"`
	Guarantee privacy.Guarantee `json:"guarantee"`
	Run       string            `json:"run,omitempty"`
	Ledger    string            `json:"ledger,omitempty"`
	Spent     *spending         `json:"spent_in_all,omitempty"`
	Model     string            `json:"model,omitempty"`
	// Seconds is given for public data only.
	Seconds float64 `json:"training_seconds,omitempty"`
}

// Run trains a model.
func (c *pairsTrainCmd) Run(a *app, command *kong.Context) error {
	if classes, err := c.fromClasses(); err != nil {
		return err
	} else if classes {
		return c.trainTuples(a, command)
	}
	if err := checkOut(c.Out, c.Force, c.Data, c.Schema, c.pairSource.Pairs, c.Ledger); err != nil {
		return err
	}
	d, err := c.load(a, c.pairFlags)
	if err != nil {
		return err
	}
	plan, err := c.plan(d.shape())
	if err != nil {
		return err
	}
	data, err := d.engineData(plan)
	if err != nil {
		return err
	}
	if largest := d.graph.MaxDegree(); plan.Spec.Unit == pairs.Individual && plan.Spec.Mode != algorithms.NonPrivate && largest > plan.Spec.Kappa {
		return badInput("%s: an individual is in more than --kappa %d pairs; cap them with --degree-cap, or plan for a larger kappa", c.pairSource.Pairs, plan.Spec.Kappa)
	}
	done, err := c.openDevice(c.Workers)
	if err != nil {
		return err
	}
	defer done()
	c.noteDevice(a, nil)
	schema := d.records.Schema()
	result := pairsTrainResult{Data: c.Data, Pairs: c.pairSource.Pairs, DataID: schema.DataID, Public: c.PublicData || schema.Public, Dropped: d.dropped}
	if c.DataID != "" {
		result.DataID = c.DataID
	}
	options, ledger, err := c.options(a, result.DataID, result.Public, c.Data, c.pairSource.Pairs)
	if err != nil {
		return err
	}
	options.Engine, result.Ledger = c.pairEngine(c.Workers), ledger
	var run *pairs.Result
	if d.classes != nil {
		run, err = pairs.RunByClass(a.ctx, data, d.classes, plan, options)
	} else {
		run, err = pairs.Run(a.ctx, data, plan, options)
	}
	if err != nil {
		return a.charged(err)
	}
	a.noteRestored(run.Run, run.Restored, plan.Batches*plan.Spec.Epochs)
	result.Report, result.Guarantee, result.Run = plan.Report(), run.Guarantee, run.Run
	result.Report.Guarantee = run.Guarantee
	if result.Public {
		result.Seconds = run.Seconds
	}
	m := pairModel(d, plan, &result, run.W)
	if result.Model, err = a.saveModel(m, c.Out); err != nil {
		return err
	}
	if result.Spent, err = spentWith(options.Ledger, result.DataID, plan.Spec.Budget.Delta, d.graph.Len(), result.Model); err != nil {
		return err
	}
	err = a.emit(result, result.text(m.Task))
	a.at("reported")
	return err
}

// options open the ledger, unless data are public, and say how to carry out a plan over
// these files. Nothing is charged yet.
func (c *pairsTrainCmd) options(a *app, dataID string, public bool, files ...string) (o pairs.Options, ledger string, err error) {
	o = pairs.Options{Public: public, DataID: dataID, Workers: c.Workers, Resume: c.Resume, Tracker: a.tracker("training"), Trace: a.at}
	if a.hooks.stage != nil {
		o.Tracker = stageTracker{a}
	}
	if c.Seed != nil {
		o.Source = privacy.NewSeededSource(*c.Seed)
	}
	switch {
	case c.Checkpoint < 0:
		return o, "", badInput("--checkpoint-every is %v, want a positive duration, or 0 for none", c.Checkpoint)
	case public && c.Resume != "":
		return o, "", badInput("--resume continues a charged run, but these data are public and nothing is charged; leave it out")
	case public:
		return o, "", a.ctx.Err()
	}
	a.at("opening ledger")
	open := c.open
	if c.Resume != "" {
		open = c.openExisting
	}
	if o.Ledger, ledger, err = open(privacy.LedgerOptions{LockWait: a.hooks.lockWait, Trace: a.at}); err != nil {
		return o, "", err
	}
	if c.Checkpoint > 0 {
		o.Checkpoints = algorithms.Checkpoints{Prefix: ledger + ".", Every: c.Checkpoint, Failed: a.checkpointFailed}
	}
	if o.Fingerprint, err = fingerprint(o.Ledger, files...); err != nil {
		return o, "", err
	}
	return o, ledger, a.ctx.Err() // an interrupt in time charges nothing
}

func (a *app) noteRestored(run string, batches, of int) {
	if batches > 0 {
		a.note("dyad: run %s continued after batch %d of %d, that of its last checkpoint", run, batches, of)
	}
}

// pairModel is the model file: weights of scores as they are, and of a metric
// the coordinates of W^T W, whose distances are those of W x.
func pairModel(d *pairData, p *pairs.Plan, r *pairsTrainResult, w []float64) *model {
	task, dim := taskAUC, p.Spec.Dim
	var loss *pairLoss
	if l, ok := p.Spec.Loss.(pairgraph.Contrastive); ok {
		task, loss = taskMetric, &pairLoss{Name: l.Name(), Margin: l.Margin}
		w = metricOf(w, p.Spec.Rows, dim)
	}
	return &model{
		Format: modelFormat, Version: version, Created: time.Now().UTC().Truncate(time.Second),
		Task: task, DataID: r.DataID, Run: r.Run,
		Features: d.records.Encoder.FeatureNames(), Weights: w, Encoder: d.records.Encoder,
		Report: algorithms.Report{
			Algorithm: p.Algorithm(), Paper: r.Report.Paper, Mode: r.Report.Mode, Records: p.Spec.Individuals, Features: dim,
			Norm: 1, Loss: r.Report.Loss, Rule: r.Report.StepRule, Steps: p.Batches * p.Spec.Epochs, Noise: r.Report.Noise,
			Events: r.Report.Events, Guarantee: r.Guarantee,
		},
		Pairs: &r.Report, PairLoss: loss, Guarantee: r.Guarantee,
	}
}

func (r *pairsTrainResult) text(task string) string {
	var b strings.Builder
	visibility := "private"
	if r.Public {
		visibility = "public"
	}
	from := "pairs drawn by ids"
	if r.Pairs != "" {
		from = "pairs of " + r.Pairs
	}
	fmt.Fprintf(&b, "%-11s %s, %s (%s, data id %s)\n", "data", r.Data, from, visibility, r.DataID)
	if r.Dropped > 0 {
		fmt.Fprintf(&b, "%-11s pairs above the degree cap were dropped\n", "")
	}
	b.WriteString(r.Report.Text())
	if r.Ledger != "" {
		fmt.Fprintf(&b, "%-11s run %s charged to %q in %s\n", "ledger", r.Run, r.DataID, r.Ledger)
		fmt.Fprintf(&b, "%-11s spent on it in all: %s\n", "", r.Spent.text)
	}
	use := fmt.Sprintf("score individuals: dyad predict %s --data FILE", r.Model)
	if task == taskMetric {
		use = fmt.Sprintf("map individuals by the metric: dyad transform %s --data FILE --out FILE", r.Model)
	}
	fmt.Fprintf(&b, "%-11s %s (%s)\n", "model", r.Model, use)
	if r.Public {
		fmt.Fprintf(&b, "%-11s %.2f s of training\n", "time", r.Seconds)
	}
	return b.String()
}
