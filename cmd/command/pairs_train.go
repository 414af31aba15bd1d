package command

import (
	"errors"
	"fmt"
	"strings"

	"github.com/alecthomas/kong"

	lib "dyad"
	"dyad/algorithms"
	"dyad/algorithms/pairs"
	"dyad/engine/cuda"
	"dyad/engine/dataset"
	"dyad/privacy"
)

type pairsTrainCmd struct {
	pairSource
	Out     string `writes:"model" short:"o" default:"pairs.json" placeholder:"FILE" help:"Model file."`
	Workers int    `positive:"" default:"1" help:"CPU workers; the result has the same bits for any number."`
	deviceFlag
	pairFlags
	runFlags
	pageFlag
	trackFlag
	confirmFlag
	checkpointFlag
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
  dyad pairs train --data people.csv --schema people.yaml --pairs pairs.csv --kappa 3 --epsilon 2 --method moments --out moments-pairs.json
  dyad pairs train --data people.csv --schema people.yaml --pairs preferences.csv --loss bradley-terry --kappa 3 --out scores-pairs.json
  dyad pairs train --data patients.csv --schema patients.yaml --density 2 --degree-cap 6 --loss infonce --rows 4 --out infonce.json
  dyad pairs train --data patients.csv --schema patients.yaml --density 2 --degree-cap 6 --method input --out input.json
  dyad pairs train --data patients.csv --schema patients.yaml --density 2 --degree-cap 6 --mode nonprivate --public-data --out baseline-pairs.json
  dyad pairs train --data patients.csv --schema patients.yaml --tuple 4 --loss triplet --epsilon 2 --out triplet.json
  dyad pairs train --data patients.csv --schema patients.yaml --tuple 4 --loss npair --model mlp --hidden 8 --rows 4 --epsilon 2 --out npair.json
  dyad pairs train --data patients.csv --schema patients.yaml --all-pairs --epsilon 2 --out all-pairs.json`
}

type pairsTrainResult struct {
	runOutcome
	Pairs   *string           `json:"pairs,omitempty"` // of labelled pairs: their file, "" if they were drawn
	Dropped int               `json:"pairs_above_the_cap,omitempty"`
	Report  algorithms.Report `json:"report"`
}

// Run trains a model.
func (c *pairsTrainCmd) Run(a *app, command *kong.Context) error {
	classes, err := c.fromClasses(command)
	if err != nil {
		return err
	}
	if err := checkOut(c.Out, c.Force, c.Data.and(c.Schema, c.pairSource.Pairs, c.Ledger)...); err != nil {
		return err
	}
	page, err := c.output(c.Force, c.Data.and(c.Schema, c.pairSource.Pairs, c.Ledger, c.Out)...)
	if err != nil {
		return err
	}
	if err := c.checkTrack(); err != nil {
		return err
	}
	saved := runOutcome{Data: c.Data.String(), Public: c.PublicData}
	if done, err := c.republish(a, target{name: c.Out}, &saved); done || err != nil {
		return errors.Join(err, a.savedPage(page, &saved), c.saved(a, &saved))
	}
	if err := c.unprotected(a, c.Mode, c.Schema, c.PublicData, c.Resume != ""); err != nil {
		return err
	}
	d, err := c.load(a, c.pairFlags, classes)
	if err != nil {
		return err
	}
	plan, err := c.plan(d.Shape())
	if err != nil {
		return err
	}
	if err := d.Fits(plan); err != nil {
		return fmt.Errorf("%s: %w", c.pairSource.Pairs, err)
	}
	schema := d.Schema()
	a.noteWarnings(&plan.Plan, c.PublicData || schema.Public)
	result := pairsTrainResult{Dropped: d.Dropped, runOutcome: runOutcome{Data: c.Data.String(), DataID: schema.DataID, Public: c.PublicData || schema.Public}}
	if result.Pairs = &c.pairSource.Pairs; classes {
		result.Pairs = nil
	}
	if moments := plan.Spec.Method == pairs.Moments; (moments || c.softmax()) && c.Device != "auto" && c.Device != "cpu" {
		return badInput("--device %s: moments of pairs and softmax losses of batches are summed on the CPU in this version", c.Device)
	} else if !classes && !moments && !c.softmax() {
		done, err := c.openDevice(c.Workers, cuda.AutoPrecision)
		if err != nil {
			return err
		}
		defer done()
		c.noteDevice(a, nil)
	}
	options, err := c.execution(a, &result.runOutcome, target{name: c.Out}, c.Checkpoint)
	if err != nil {
		return err
	}
	run, away := lib.TrainPairs(a.ctx, d, plan, c.device, c.Workers, options)
	if away = result.ran(a, run, away); away != nil && !isElsewhere(away) {
		return away
	}
	a.noteRestored(run.Run, run.Restored, plan.Batches*plan.Spec.Epochs)
	if result.Report = plan.Report(); run.Pairs != nil {
		result.Report = *run.Pairs
	} else if run.Tuples != nil {
		result.Report = *run.Tuples
	}
	result.spent(a, options.Ledger, plan.Spec.Budget.Delta, plan.Spec.Individuals)
	err = a.emitBrief(result, result.text(run.Task), result.brief(a, run.Task, schema, plan.Guarantee))
	if page != nil {
		err = errors.Join(err, a.trainedPage(page, &result.runOutcome, run.Model, options.Ledger, plan.Guarantee))
	}
	err = errors.Join(err, c.write(a, result.Model, trackedRun{model: run.Model}))
	a.at("reported")
	return errors.Join(away, err)
}

func (a *app) noteRestored(run string, batches, of int) {
	if batches > 0 {
		a.note("dyad: run %s continued after batch %d of %d, that of its last checkpoint", run, batches, of)
	}
}

// terms are what the training compared.
func (r *pairsTrainResult) terms() string {
	switch {
	case r.Pairs == nil:
		return "classes of the records"
	case *r.Pairs == "":
		return "pairs drawn by ids"
	}
	return "pairs of " + *r.Pairs
}

// brief is the report of a training in a few lines.
func (r *pairsTrainResult) brief(a *app, task string, s *dataset.Schema, planned privacy.Guarantee) string {
	var b strings.Builder
	r.writeMade(&b, taskMetric, r.terms()+" of "+r.Data, s) // labels of records give no direction to preferences
	if r.Dropped > 0 {
		line(&b, "warning", "pairs above the degree cap were dropped")
	}
	a.writeWords(&b, r.Guarantee, planned, r.Spent)
	r.writeNext(&b, task)
	return b.String()
}

func (r *pairsTrainResult) text(task string) string {
	var b strings.Builder
	r.writeData(&b, ", "+r.terms())
	if r.Dropped > 0 {
		line(&b, "", "pairs above the degree cap were dropped")
	}
	b.WriteString(r.Report.Text())
	r.writeLedger(&b)
	r.writeModel(&b, task)
	r.writeTime(&b)
	return b.String()
}
