package command

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	lib "dyad"
	"dyad/algorithms"
	"dyad/algorithms/local"
	"dyad/engine"
	"dyad/engine/dataset"
	"dyad/engine/metrics"
	"dyad/privacy"
)

type localSimulateCmd struct {
	Data       dataFiles `placeholder:"FILE" help:"Data file, one record a user. Without it: synthetic clinical records made by this program, public."`
	Schema     string    `placeholder:"FILE"`
	Users      int       `positive:"" short:"n" default:"10000" help:"Number of synthetic users, without --data."`
	Out        string    `writes:"model" short:"o" placeholder:"FILE" help:"Model file, for \"dyad predict\". Default: local.json on private data, or local.RUN.json if that exists; on public data none."`
	Holdout    *float64  `placeholder:"F" help:"Fraction of the records held out and evaluated. Default: 0.3 for public data, else 0."`
	SplitSeed  uint64    `default:"1" help:"Seed of the split into training and held-out records."`
	Grid       []float64 `name:"l2-grid" placeholder:"LAMBDA,..." help:"Choose lambda among these by cross-validation at the users, which is charged. Not with --shuffle-delta."`
	Folds      int       `positive:"" default:"10" help:"Folds of the cross-validation."`
	Balance    bool      `help:"Leave out users of the larger class until both are equal. Only for public data: who is asked would depend on the label."`
	PublicData bool      `help:"The data are public: nothing is charged, and the report says so."`
	labelsFlag
	iterateFlag
	localFlags
	runFlags
}

// Help shows examples.
func (localSimulateCmd) Help() string {
	return `Runs every user's side and the server's side in this program. Whoever runs it sees the records, so private data
are charged to the ledger: what leaves is the model, which is a function of the private messages. A run that was
stopped is continued at no further cost by the same command with --resume RUN.

Examples:
  dyad local simulate
  dyad local simulate --method djw --loss hinge --epsilon 4 --epochs 3 --iterate last
  dyad local simulate --method prestige-label --epsilon 2 --loss ramp --loss-param s=-1
  dyad local simulate -n 2000 --epochs 2 --l2-grid 0.1,1 --folds 3
  dyad local simulate -n 20000 --model mlp --hidden 4 --method djw --epsilon 4 --epochs 1 --batch 200
  dyad local simulate --data patients.csv --schema patients.yaml --epsilon 2 --epochs 2 --out local.json
  dyad local simulate --data patients.csv --schema patients.yaml --method sgd --public-data`
}

// localResult is the JSON output of local simulate.
type localResult struct {
	runOutcome                    // the guarantee is that of the protocol, for one user
	Method     string             `json:"method"`
	Loss       string             `json:"loss"`
	Users      int                `json:"users"`
	Features   int                `json:"features"`
	Epochs     int                `json:"epochs"`
	Visits     int64              `json:"visits"`
	Updates    *int64             `json:"updates,omitempty"` // public data: without privacy the number tells of records
	L2         float64            `json:"l2"`
	Parameters int                `json:"parameters,omitempty"` // of a network
	Choice     []float64          `json:"cross_validated_accuracies,omitempty"`
	PerVisit   float64            `json:"epsilon_per_visit,omitempty"`
	Shuffled   *privacy.Guarantee `json:"shuffled,omitempty"`
	Iterate    string             `json:"iterate"`
	Weights    []float64          `json:"weights"`
	Heldout    int                `json:"held_out_records"`
	Held       *localFigures      `json:"held_out,omitempty"`

	plan      *local.Plan
	folds     int
	guarantee privacy.Guarantee // of the messages, before told
}

// localFigures are figures of both iterates on held-out records.
type localFigures struct {
	Last    float64 `json:"accuracy_last"`
	Average float64 `json:"accuracy_average"`
	AUC     float64 `json:"auc"` // of the one that is kept
}

// Run simulates.
func (c *localSimulateCmd) Run(a *app) error {
	r := localResult{Iterate: c.Iterate, runOutcome: runOutcome{Data: c.Data.String(), Public: c.PublicData || !c.Data.given()}}
	as := targetOf(c.Out, "local.json", r.Public)
	var (
		data        *dataset.Dataset
		train, held *engine.Records
		protocol    local.Protocol
		definition  lib.Loss
		st          *local.State
	)
	k := charging{runFlags: c.runFlags, as: as, inputs: c.Data.and(c.Schema, c.Labels), doing: "visiting users", outcome: &r.runOutcome}
	k.plan = func() (p planned, err error) {
		var source string
		data, source, err = (&trainCmd{Data: c.Data, Schema: c.Schema, PublicData: c.PublicData, labelsFlag: c.labelsFlag}).loadOr(a, c.Users, dataset.RefusePersons, nil)
		if err != nil {
			return p, err
		}
		schema := data.Schema()
		r.runOutcome = runOutcome{Data: source, DataID: schema.DataID, Public: c.PublicData || schema.Public}
		if schema.IsGraded() {
			return p, badInput("local learners need labels of two classes, and those of %s are graded", source)
		}
		if c.Balance && !r.Public {
			return p, badInput("--balance would ask a user or not by the label, which tells the label: it is only for data declared public")
		}
		if train, held, err = c.split(data.Records, r.Public); err != nil {
			return p, err
		}
		if protocol, err = c.protocol(train.Len(), train.Dim()); err != nil {
			return p, err
		}
		if definition, err = (lossFlags{c.Loss, c.LossParam, c.LossClip}).definition(); err != nil {
			return p, err
		}
		if r.plan, err = protocol.Plan(); err != nil {
			return p, asInput(err)
		}
		if r.plan.Guarantee.Kind != privacy.LocalDP && !r.Public {
			return p, badInput("method %s does not protect whole records, so it runs on private data only if they are declared public: --public-data", r.plan.Method)
		}
		if len(c.Grid) > 0 && c.ShuffleDelta != 0 {
			return p, badInput("--shuffle-delta is stated for the messages of one training, and --l2-grid makes more of them; leave one out")
		}
		if r.Shuffled, err = c.shuffled(r.plan); err != nil {
			return p, err
		}
		if len(c.Grid) > 0 {
			err = asInput(local.CheckChoice(protocol, c.Grid, c.Folds, train.Len()))
		}
		return planned{n: r.plan.Users, free: as.spare && r.Public}, err
	}
	k.run = func(o lib.Run) (bool, error) {
		src, err := c.source()
		if err != nil {
			return false, err
		}
		o.Source = src
		p, network := r.plan, ""
		if n := p.Network; n != nil {
			network = fmt.Sprintf("; network %+v", *n)
		}
		objective := fmt.Sprintf("%s: %s %v, clip %v; lambda = %v of %v; radius = %v; bias = %v; %s of the iterates%s", definition.Name, definition.Formula, definition.Params, definition.Clip, p.L2, c.Grid, p.Radius, p.Bias, c.Iterate, network)
		job := p.Job(objective, len(c.Grid), c.Folds, func(ctx context.Context, t algorithms.Tracker) ([]float64, error) {
			var err error
			st, err = r.simulate(ctx, c, protocol, train, src, t)
			return r.Weights, err
		})
		began := time.Now()
		run, away := o.Do(a.ctx, lib.NewData(data).Source(), func(o *algorithms.Result) *model {
			if r.Public { // the report is that of the messages, which are made private whatever the data are
				o.Guarantee.Warnings = nil
			}
			return localModel(r.plan, definition, data.Encoder, a.began, o.Weights, r.Visits, r.told(c, data.Schema(), o.Guarantee))
		}, func(o algorithms.Options) (*algorithms.Result, error) { return algorithms.Execute(a.ctx, job, o) })
		done, away := settled(r.ran(a, run, away))
		if !done {
			return false, away
		}
		if r.Public {
			r.Updates, r.Seconds = &st.Updates, time.Since(began).Seconds()
		}
		if r.Shuffled != nil {
			addSchema(r.Shuffled, data.Schema())
		}
		if held != nil {
			away = errors.Join(away, r.evaluate(st, held))
		}
		return true, away
	}
	k.tell = func() error { return a.emit(r, r.text()) }
	return k.perform(a)
}

// simulate chooses lambda, if asked to, and runs all users and the server. What it puts into
// r leaves with the weights only.
func (r *localResult) simulate(ctx context.Context, c *localSimulateCmd, protocol local.Protocol, train *engine.Records, src *privacy.Source, t algorithms.Tracker) (*local.State, error) {
	p := r.plan
	r.guarantee = p.Guarantee
	if len(c.Grid) > 0 {
		choice, err := local.ChooseL2(ctx, protocol, c.Grid, c.Folds, train, src)
		if err != nil {
			return nil, asInput(err)
		}
		r.Choice, r.folds, protocol.L2 = choice.Accuracies, c.Folds, choice.L2
		if p, err = protocol.Plan(); err != nil {
			return nil, asInput(err)
		}
		r.guarantee = p.Choosing(choice)
	}
	st, err := local.Simulate(ctx, p, train, src, localProgress(t))
	if err != nil {
		return nil, err
	}
	r.plan = p
	r.Method, r.Loss, r.Users, r.Features, r.Epochs = p.Method.String(), p.Loss.Name(), p.Users, p.Dim, p.Epochs
	r.Visits, r.L2, r.Weights = st.Visits, p.L2, c.of(st.W, st.Average())
	if p.Network != nil {
		r.Parameters = p.Parameters
	}
	if p.Guarantee.Kind != privacy.None {
		r.PerVisit = p.Epsilon
	}
	return st, nil
}

// told is the guarantee of a run with what the run adds to it. That of private data is about what was charged and leaves,
// the model, in the words of the charge; users who send messages have that of the protocol.
func (r *localResult) told(c *localSimulateCmd, schema *dataset.Schema, charged privacy.Guarantee) privacy.Guarantee {
	g := r.guarantee
	g.Warnings = append(slices.Clone(g.Warnings), charged.Warnings...)
	if !r.Public {
		g.Unit, g.Relation, g.Released = charged.Unit, charged.Relation, charged.Released
	}
	if r.Public && c.Seed != nil { // of private data the charge says it
		g.Warnings = append(g.Warnings, "reproducible, noise is not secret: the guarantee holds for users who draw their own")
	}
	if c.Balance {
		g.Warnings = append(g.Warnings, "NOT PRIVATE: users were left out by their labels; a deployment that did so would tell labels")
	}
	addSchema(&g, schema)
	return g
}

// source draws for the users.
func (c *localSimulateCmd) source() (*privacy.Source, error) {
	if c.Seed != nil {
		return privacy.NewSeededSource(*c.Seed), nil
	}
	return privacy.NewSource()
}

// split holds out records and balances those to train.
func (c *localSimulateCmd) split(records *engine.Records, public bool) (train, held *engine.Records, err error) {
	fraction := 0.0
	switch {
	case c.Holdout != nil:
		fraction = *c.Holdout
	case public:
		fraction = 0.3
	}
	if !(fraction >= 0 && fraction < 1) {
		return nil, nil, badInput("--holdout is %v, want at least 0 and below 1", fraction)
	}
	train = records
	if fraction > 0 {
		keep, out, err := dataset.Split(records.Len(), 1-fraction, c.SplitSeed)
		if err != nil {
			return nil, nil, asInput(err)
		}
		train, held = records.Subset(keep), records.Subset(out)
	}
	if c.Balance {
		train = train.Subset(balanced(train.Labels(), c.SplitSeed))
	}
	return train, held, nil
}

// balanced are as many rows of both labels, at random by seed.
func balanced(labels []float64, seed uint64) []int {
	var rows [2][]int
	for _, i := range privacy.NewSeededSource(seed).Permutation(len(labels)) {
		class := 0
		if labels[i] > 0 {
			class = 1
		}
		rows[class] = append(rows[class], int(i))
	}
	m := min(len(rows[0]), len(rows[1]))
	return append(rows[0][:m:m], rows[1][:m]...)
}

// localProgress tells a tracker in thousandths.
func localProgress(t algorithms.Tracker) func(done, total int64) {
	return func(done, total int64) { t.Step(int(done*1000/total), 1000) }
}

// evaluate judges both iterates on held-out records.
func (r *localResult) evaluate(st *local.State, held *engine.Records) error {
	accuracy := func(w []float64) (float64, []float64, error) {
		s, err := (&model{Task: taskAUC, Network: networkOf(r.plan), Weights: w}).Score(held)
		if err != nil {
			return 0, nil, err
		}
		a, err := metrics.Accuracy(s, held.Labels(), -r.plan.Bias)
		return a, s, err
	}
	var f localFigures
	var err error
	if f.Last, _, err = accuracy(st.W); err != nil {
		return err
	}
	if f.Average, _, err = accuracy(st.Average()); err != nil {
		return err
	}
	_, scores, err := accuracy(r.Weights)
	if err != nil {
		return err
	}
	r.Heldout, r.Held = held.Len(), &f
	if f.AUC, err = metrics.AUC(scores, held.Labels()); err != nil {
		r.Held = nil // one class
	}
	return nil
}

// localModel is the model file of a plan after so many visits.
func localModel(p *local.Plan, loss lib.Loss, e *dataset.Encoder, began time.Time, w []float64, visits int64, g privacy.Guarantee) *model {
	r := algorithms.Report{Facts: p.Facts.Values(), Guarantee: g}
	r.Add("steps", visits)
	return &model{
		Network: networkOf(p), Version: version, Created: began,
		Task: taskAUC, Loss: &loss, DataID: e.Schema().DataID, Features: e.FeatureNames(), Weights: w, Encoder: e, Guarantee: g,
		Report: r,
	}
}

func (r *localResult) text() string {
	var b strings.Builder
	r.writeData(&b, fmt.Sprintf(": %d users, %d held out", r.Users, r.Heldout))
	r.plan.Restate(r.Guarantee, len(r.Choice), r.folds) // with what the run added
	b.WriteString(localText(r.plan, r.Shuffled))
	if len(r.Choice) > 0 {
		line(&b, "lambda", "%g, chosen by cross-validation; estimated accuracies %.4g", r.L2, r.Choice)
	}
	if r.Updates != nil {
		line(&b, "visits", "%d, %d updates", r.Visits, *r.Updates)
	} else {
		line(&b, "visits", "%d", r.Visits)
	}
	r.writeLedger(&b)
	if r.Held != nil {
		line(&b, "held out", "%d records: accuracy %.6f of the last iterate, %.6f of the average; AUC %.6f of the %s", r.Heldout, r.Held.Last, r.Held.Average, r.Held.AUC, r.Iterate)
		if !r.Public {
			line(&b, "", "computed from private records: these figures are not covered by the guarantee")
		}
	}
	r.writeModel(&b, taskAUC)
	if r.Public {
		line(&b, "time", "%.2f s, %.0f visits/s", r.Seconds, float64(r.Visits)/r.Seconds)
	}
	return b.String()
}
