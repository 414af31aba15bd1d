package command

import (
	"errors"
	"fmt"
	"strings"
	"time"

	lib "dyad"
	"dyad/engine"
	"dyad/engine/dataset"
	"dyad/engine/metrics"
	"dyad/privacy"
)

type localSimulateCmd struct {
	Data       dataFiles `needs:"schema" why:"\"dyad data schema FILE\" drafts one" placeholder:"FILE" help:"As in train, with one record per user."`
	Schema     string    `needs:"data" placeholder:"FILE"`
	Users      int       `name:"n" aliases:"users" positive:"" short:"n" default:"10000" help:"Number of synthetic users, without --data."`
	Out        string    `writes:"model" short:"o" placeholder:"FILE" help:"Model file, for \"dyad predict\". Default: local.json on private data, or local.RUN.json if that exists; on public data none."`
	Holdout    *float64  `within:"[0,1)" placeholder:"F" help:"As in train. Held-out public records are evaluated. Default: 0.3 for public data, else 0."`
	SplitSeed  uint64    `default:"1" help:"Seed of the split into training and held-out records."`
	Grid       []float64 `name:"l2-grid" placeholder:"LAMBDA" help:"Values of lambda to cross-validate. This is charged. Not with --shuffle-delta."`
	Folds      int       `positive:"" default:"10" help:"Folds of the cross-validation."`
	Balance    bool      `help:"Leave out users of the larger class until both classes have equal size. Only for public data."`
	PublicData bool      `help:"The data are public: no budget is charged, and the report says so."`
	labelsFlag
	iterateFlag
	localFlags
	runFlags
}

// localResult is the JSON output of local simulate.
type localResult struct {
	runOutcome                    // the guarantee is the protocol's guarantee for one user
	Method     string             `json:"method"`
	Loss       string             `json:"loss"`
	Users      int                `json:"users"`
	Features   int                `json:"features"`
	Epochs     int                `json:"epochs"`
	Visits     int64              `json:"visits"`
	Updates    *int64             `json:"updates,omitempty"` // for public data only, because without privacy the number depends on the records
	L2         float64            `json:"l2"`
	Parameters int                `json:"parameters,omitempty"` // number of parameters of a network
	Choice     []float64          `json:"cross_validated_accuracies,omitempty"`
	PerVisit   float64            `json:"epsilon_per_visit,omitempty"`
	Shuffled   *privacy.Guarantee `json:"shuffled,omitempty"`
	Iterate    string             `json:"iterate"`
	Weights    []float64          `json:"weights"`
	Heldout    int                `json:"held_out_records"`
	Held       *localFigures      `json:"held_out,omitempty"`

	plan *lib.Study
}

// localFigures holds performance figures of both iterates on held-out records.
type localFigures struct {
	Last    float64 `json:"accuracy_last"`
	Average float64 `json:"accuracy_average"`
	AUC     float64 `json:"auc"` // AUC of the iterate that is saved
}

// Run simulates.
func (c *localSimulateCmd) Run(a *app) error {
	r := localResult{Iterate: c.Iterate, runOutcome: runOutcome{Data: c.Data.String(), Public: c.PublicData ||
		!c.Data.given()}}
	as := targetOf(c.Out, "local.json", r.Public)
	var train, held *lib.Data
	k := charging{runFlags: c.runFlags, as: as, inputs: c.Data.and(c.Schema, c.Labels), doing: "visiting users",
		outcome: &r.runOutcome}
	k.plan = func() (p planned, err error) {
		from := trainedFlags{Data: c.Data, Schema: c.Schema, PublicData: c.PublicData, Holdout: c.Holdout,
			SplitSeed: c.SplitSeed, labelsFlag: c.labelsFlag}
		data, source, err := from.loadOr(a, c.Users, dataset.RefusePersons, nil)
		if err != nil {
			return p, err
		}
		schema := data.Schema()
		r.runOutcome = runOutcome{Data: source, DataID: schema.DataID, Public: c.PublicData || schema.Public}
		if usual := 0.3; r.Public && from.Holdout == nil {
			from.Holdout = &usual
		}
		if train, held, err = from.split(lib.NewData(data)); err != nil {
			return p, err
		}
		if c.Balance && r.Public { // Fits refuses private data, in a text that does not count their classes
			train = train.Balanced(c.SplitSeed)
		}
		o, err := c.study()
		if err != nil {
			return p, err
		}
		o.Candidates, o.Folds, o.Last, o.Balanced = c.Grid, c.Folds, c.Iterate == "last", c.Balance
		if r.plan, err = lib.PlanStudy(train.Shape(), o); err != nil {
			return p, err
		}
		if err := r.plan.Fits(train, r.Public); err != nil {
			return p, err
		}
		r.Shuffled, err = c.shuffled(r.plan)
		return planned{n: r.plan.Users, free: as.spare && r.Public}, err
	}
	k.run = func(o lib.Run) (bool, error) {
		began := time.Now()
		run, found, away := r.plan.Run(a.ctx, train, o)
		done, away := settled(r.ran(a, run, away))
		if !done {
			return false, away
		}
		if found == nil { // another process released the result meanwhile
			return false, errors.Join(away, k.model(a, &run.Outcome, o.Ledger))
		}
		if r.Public {
			r.Updates, r.Seconds = &found.Updates, time.Since(began).Seconds()
		}
		p := found.Plan
		r.plan.Plan = p
		r.Method, r.Loss, r.Users, r.Features, r.Epochs = p.Method.String(), p.Loss.Name(), p.Users, p.Dim, p.Epochs
		r.Visits, r.L2, r.Weights, r.Choice = found.Visits, p.L2, run.Weights, found.Choice.Accuracies
		if p.Network != nil {
			r.Parameters = p.Parameters
		}
		if p.Guarantee.Kind != privacy.None {
			r.PerVisit = p.Epsilon
		}
		if r.Shuffled != nil {
			*r.Shuffled = train.Shape().OfUsers(*r.Shuffled)
		}
		switch {
		case held != nil && r.Public:
			away = errors.Join(away, r.evaluate(found.W, found.Average(), held.Records))
		case held != nil: // without noise, figures tell of the records, and so does the error for one class
			r.Heldout = held.Shape().Records
		}
		return true, away
	}
	k.tell = func() error { return a.emit(r, r.text(c.Folds)) }
	return k.perform(a)
}

// evaluate computes the figures of both iterates on held-out records.
func (r *localResult) evaluate(last, average []float64, held *engine.Records) error {
	var accuracies [3]float64
	var scores []float64
	var err error
	for i, w := range [][]float64{last, average, r.Weights} {
		if scores, err = (&model{Task: taskAUC, Network: r.plan.Network(), Weights: w}).Score(held); err == nil {
			accuracies[i], err = metrics.Accuracy(scores, held.Labels(), -r.plan.Bias)
		}
		if err != nil {
			return err
		}
	}
	r.Heldout, r.Held = held.Len(), &localFigures{Last: accuracies[0], Average: accuracies[1]}
	if r.Held.AUC, err = metrics.AUC(scores, held.Labels()); err != nil {
		r.Held = nil // the records have only one class
	}
	return nil
}

func (r *localResult) text(folds int) string {
	var b strings.Builder
	r.writeData(&b, fmt.Sprintf(": %d users, %d held out", r.Users, r.Heldout))
	r.plan.Restate(r.Guarantee, len(r.Choice), folds) // including the statements added by the run
	b.WriteString(localText(r.plan, r.Shuffled))
	if len(r.Choice) > 0 {
		line(&b, "lambda", "%g, chosen by cross-validation (estimated accuracies: %.4g)", r.L2, r.Choice)
	}
	if r.Updates != nil {
		line(&b, "visits", "%d, %d updates", r.Visits, *r.Updates)
	} else {
		line(&b, "visits", "%d", r.Visits)
	}
	r.writeLedger(&b)
	if r.Held != nil {
		line(&b, "held out", "%d records; accuracy %.6f (last iterate) and %.6f (average); AUC %.6f (%s)", r.Heldout,
			r.Held.Last, r.Held.Average, r.Held.AUC, r.Iterate)
	} else if r.Heldout > 0 {
		line(&b, "held out", "%d records were not used; figures with a guarantee: dyad evaluate private %s --data FILE "+
			"--holdout F --epsilon E", r.Heldout, r.Model)
	}
	r.writeModel(&b, taskAUC)
	if r.Public {
		line(&b, "time", "%.2f s, %.0f visits/s", r.Seconds, float64(r.Visits)/r.Seconds)
	}
	return b.String()
}
