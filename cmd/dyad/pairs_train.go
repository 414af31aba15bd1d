package main

import (
	"errors"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"dyad/algorithms"
	"dyad/algorithms/pairs"
	"dyad/engine/cuda"
)

type pairsTrainCmd struct {
	pairSource
	Out     string `short:"o" default:"pairs.json" placeholder:"FILE" help:"Model file."`
	Workers int    `positive:"" default:"1" help:"CPU workers; the result has the same bits for any number."`
	deviceFlag
	pairFlags
	runFlags
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
  dyad pairs train --data patients.csv --schema patients.yaml --density 2 --degree-cap 6 --method input --out input.json
  dyad pairs train --data patients.csv --schema patients.yaml --density 2 --degree-cap 6 --mode nonprivate --public-data --out baseline-pairs.json
  dyad pairs train --data patients.csv --schema patients.yaml --tuple 4 --loss triplet --epsilon 2 --out triplet.json
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
	out, err := newOutput(c.Out, c.Force, c.Data, c.Schema, c.pairSource.Pairs, c.Ledger)
	if err != nil {
		return err
	}
	if done, err := c.republish(a, out, &runOutcome{Data: c.Data, Public: c.PublicData}); done || err != nil {
		return err
	}
	d, err := c.load(a, c.pairFlags, classes)
	if err != nil {
		return err
	}
	plan, err := c.plan(d.shape)
	if err != nil {
		return err
	}
	a.noteWarnings(&plan.Plan)
	data, err := d.engineData(plan)
	if err != nil {
		return err
	}
	if !classes && plan.Spec.Unit == pairs.Individual && plan.Mode != algorithms.NonPrivate && d.graph.MaxDegree() > plan.Spec.Kappa {
		return badInput("%s: an individual is in more than --kappa %d pairs; cap them with --degree-cap, or plan for a larger kappa", c.pairSource.Pairs, plan.Spec.Kappa)
	}
	options := pairs.Options{Workers: c.Workers}
	schema := d.records.Schema()
	result := pairsTrainResult{Dropped: d.dropped, Report: plan.Report(), runOutcome: runOutcome{Data: c.Data, DataID: schema.DataID, Public: c.PublicData || schema.Public}}
	if result.Pairs = &c.pairSource.Pairs; classes {
		result.Pairs = nil
	}
	if moments := plan.Spec.Method == pairs.Moments; moments && c.Device != "auto" && c.Device != "cpu" {
		return badInput("--device %s: moments of pairs are summed on the CPU in this version", c.Device)
	} else if !classes && !moments {
		done, err := c.openDevice(c.Workers, cuda.AutoPrecision)
		if err != nil {
			return err
		}
		defer done()
		c.noteDevice(a, nil)
		options.Engine = c.pairEngine(c.Workers)
	}
	var m *model
	shelf := a.newShelf(out, func(o *algorithms.Result) *model {
		result.ran(o.Guarantee, o.Run, 0)
		result.Report.Guarantee = o.Guarantee
		m = pairModel(d, plan, &result, a.began, o.Weights)
		return m
	})
	if options.Options, err = c.execution(a, &result.runOutcome, shelf, c.Checkpoint, c.Data, c.pairSource.Pairs); err != nil {
		return err
	}
	run, err := pairs.Run(a.ctx, data, d.classes, plan, options)
	if err != nil {
		return a.charged(err)
	}
	a.noteRestored(run.Run, run.Restored, plan.Batches*plan.Spec.Epochs)
	result.ran(run.Guarantee, run.Run, run.Seconds)
	result.Report.Guarantee = run.Guarantee
	var away error
	if result.Model, away = shelf.saved(run.Weights, run.Guarantee, run.Run); away != nil && !errors.Is(away, errElsewhere) {
		return away
	}
	if err := result.spent(options.Ledger, plan.Spec.Budget.Delta, d.graph.Len()); err != nil {
		return errors.Join(away, err)
	}
	if m == nil { // no --out
		m = pairModel(d, plan, &result, a.began, run.Weights)
	}
	err = a.emit(result, result.text(m.Task))
	a.at("reported")
	return errors.Join(away, err)
}

func (a *app) noteRestored(run string, batches, of int) {
	if batches > 0 {
		a.note("dyad: run %s continued after batch %d of %d, that of its last checkpoint", run, batches, of)
	}
}

// pairModel is the model file: weights of scores as they are, and of a metric
// the coordinates of W^T W, whose distances are those of W x.
func pairModel(d *pairData, p *pairs.Plan, r *pairsTrainResult, began time.Time, w []float64) *model {
	s := p.Spec
	var f algorithms.Facts
	f.Add("algorithm", p.Algorithm)
	f.AddSome("paper", r.Report.Word("paper"))
	f.Add("mode", p.Mode.String())
	f.Add("records", s.Individuals)
	f.Add("features", s.Dim)
	f.Add("norm_bound", 1)
	f.Add("loss", s.Loss.Name())
	f.Add("schedule", s.StepRule())
	f.Add("steps", p.Batches*s.Epochs)
	f.AddSome("noise", r.Report.Word("noise"))
	m := &model{
		Format: modelFormat, Version: version, Created: began,
		Task: taskAUC, DataID: r.DataID, Run: r.Run,
		Features: d.records.Encoder.FeatureNames(), Weights: w, Encoder: d.records.Encoder,
		Report: algorithms.Report{Facts: f, Events: r.Report.Events, Guarantee: r.Guarantee}, Guarantee: r.Guarantee,
	}
	if s.Loss.Name() != lossBradleyTerry {
		m.Task, m.Weights, m.PairLoss = taskMetric, metricOf(w, s.Rows, s.Dim), &pairLoss{Name: s.Loss.Name(), Tuple: s.Tuple}
		if name, value := s.Loss.Parameter(); name == "temperature" {
			m.PairLoss.Temperature = value
		} else {
			m.PairLoss.Margin = value
		}
	}
	if m.Pairs = &r.Report; r.Pairs == nil {
		m.Pairs, m.Tuples = nil, &r.Report
	}
	return m
}

func (r *pairsTrainResult) text(task string) string {
	var b strings.Builder
	switch {
	case r.Pairs == nil:
		r.writeData(&b, ", classes of the records")
	case *r.Pairs == "":
		r.writeData(&b, ", pairs drawn by ids")
	default:
		r.writeData(&b, ", pairs of "+*r.Pairs)
	}
	if r.Dropped > 0 {
		line(&b, "", "pairs above the degree cap were dropped")
	}
	b.WriteString(r.Report.Text())
	r.writeLedger(&b)
	r.writeModel(&b, task)
	r.writeTime(&b)
	return b.String()
}
