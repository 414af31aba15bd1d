package command

import (
	"cmp"
	"fmt"
	"runtime"
	"strings"

	"github.com/alecthomas/kong"

	lib "dyad"
	"dyad/algorithms"
	"dyad/algorithms/pairs"
	"dyad/engine/cuda"
	"dyad/engine/dataset"
	"dyad/engine/device"
	"dyad/privacy"
)

type pairsTrainCmd struct {
	pairSource
	Out     string `writes:"model" short:"o" default:"pairs.json" placeholder:"FILE" help:"Model file."`
	Workers int    `positive:""`
	deviceFlag
	pairFlags
	runFlags
	pageFlag
	trackFlag
	checkpointFlag
}

type pairsTrainResult struct {
	runOutcome
	Pairs   *string           `json:"pairs,omitempty"` // file of labelled pairs, "" if the pairs were drawn
	Dropped int               `json:"pairs_above_the_cap,omitempty"`
	Report  algorithms.Report `json:"report"`
}

// Run trains a model.
func (c *pairsTrainCmd) Run(a *app, command *kong.Context) error {
	classes, err := c.fromClasses(command)
	if err != nil {
		return err
	}
	r := pairsTrainResult{runOutcome: runOutcome{Data: c.Data.String(), Public: c.PublicData}}
	var d *lib.Pairs
	var plan *lib.PairTraining
	var m *lib.Trained
	workers := cmp.Or(c.Workers, runtime.GOMAXPROCS(0))
	return charging{
		runFlags: c.runFlags, as: target{name: c.Out}, inputs: c.Data.and(c.Schema, c.pairSource.Pairs), every: c.Checkpoint,
		doing: "training",
		page:  c.pageFlag, track: c.trackFlag, outcome: &r.runOutcome,
		plan: func() (p planned, err error) {
			if err := c.unprotected(a, c.Mode, c.Schema, c.PublicData, c.Resume != ""); err != nil {
				return p, err
			}
			if d, err = c.load(a, c.pairFlags, classes); err != nil {
				return p, err
			}
			if plan, err = c.plan(d.Shape()); err != nil {
				return p, err
			}
			if err := plan.Fits(d); err != nil {
				return p, fmt.Errorf("%s: %w", c.pairSource.Pairs, err)
			}
			r.DataID, r.Public, r.Dropped = d.Schema().DataID, c.PublicData || d.Schema().Public, d.Dropped
			if r.Pairs = &c.pairSource.Pairs; classes {
				r.Pairs = nil
			}
			p = planned{plan: &plan.Plan.Plan, delta: plan.Spec.Budget.Delta, n: plan.Spec.Individuals}
			named := c.Device != "auto" && c.Device != "cpu"
			if moments := plan.Spec.Method == pairs.Moments; moments && named {
				return p, badInput("--device %s is not possible, because this version sums the moments of pairs on the CPU",
					c.Device)
			} else if (!classes || plan.Spec.Network != nil) && !moments && (named || !c.softmax()) {
				if p.close, err = c.openDevice(workers, cuda.AutoPrecision); err == nil {
					c.noteDevice(a, nil)
				}
			}
			return p, err
		},
		run: func(o lib.Run) (bool, error) {
			var away error
			if o.On = c.device; o.On == nil {
				o.On, _ = device.Open(device.Options{Name: "cpu", Workers: c.Workers}) // cannot fail for the CPU
			}
			m, away = plan.Run(a.ctx, d, o)
			done, away := settled(r.ran(a, m, away))
			if !done {
				return false, away
			}
			a.noteRestored(m, "batch", plan.Batches*plan.Spec.Epochs)
			if r.Report = plan.Report(); m.Pairs != nil {
				r.Report = *m.Pairs
			} else if m.Tuples != nil {
				r.Report = *m.Tuples
			}
			return true, away
		},
		tell: func() error {
			return a.emitBrief(r, r.text(m.Task), r.brief(a, m.Task, d.Schema(), plan.Guarantee))
		},
		draw: func(*lib.Ledger) (document, error) {
			d := modelDocument(m.Model, r.Model)
			d.planned = plan.Guarantee
			return d, nil
		},
		tracked: func() (string, trackedRun) { return r.Model, trackedRun{model: m.Model} },
	}.perform(a)
}

// terms describes the pairs or tuples that the training compared.
func (r *pairsTrainResult) terms() string {
	switch {
	case r.Pairs == nil:
		return "classes of the records"
	case *r.Pairs == "":
		return "pairs drawn by ids"
	}
	return "pairs of " + *r.Pairs
}

// brief returns a report of a training in a few lines.
func (r *pairsTrainResult) brief(a *app, task string, s *dataset.Schema, planned privacy.Guarantee) string {
	var b strings.Builder
	r.writeMade(&b, taskMetric, r.terms()+" of "+r.Data, s) // for preferences, the labels of records give no direction
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
