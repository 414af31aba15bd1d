package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"dyad/algorithms"
	"dyad/algorithms/local"
	"dyad/engine"
	"dyad/engine/dataset"
	"dyad/engine/metrics"
	"dyad/privacy"
)

type localSimulateCmd struct {
	Data       string    `placeholder:"FILE" help:"Data file, one record a user. Without it: synthetic clinical records made by this program, public."`
	Schema     string    `placeholder:"FILE" help:"Schema of the data (YAML)."`
	Users      int       `positive:"" short:"n" default:"10000" help:"Number of synthetic users, without --data."`
	Out        string    `short:"o" placeholder:"FILE" help:"Model file, for \"dyad predict\"."`
	Force      bool      `help:"Replace an existing model file."`
	Resume     string    `placeholder:"RUN" help:"Save the model of a run that was stopped between its release and the name of its file, with the flags of that run. Nothing is charged."`
	Holdout    *float64  `placeholder:"F" help:"Fraction of the records held out and evaluated. Default: 0.3 for public data, else 0."`
	SplitSeed  uint64    `default:"1" help:"Seed of the split into training and held-out records."`
	Grid       []float64 `name:"l2-grid" placeholder:"LAMBDA,..." help:"Choose lambda among these by cross-validation at the users, which is charged. Not with --shuffle-delta."`
	Folds      int       `positive:"" default:"10" help:"Folds of the cross-validation."`
	Balance    bool      `help:"Leave out users of the larger class until both are equal. Only for public data: who is asked would depend on the label."`
	PublicData bool      `help:"The data are public: nothing is charged, and the report says so."`
	DataID     string    `placeholder:"ID" help:"Name of the data in the ledger. Default: the schema's data_id."`
	Seed       *uint64   `help:"Seed the users' noise, for reproduction only: the noise is then not secret."`
	labelsFlag
	iterateFlag
	localFlags
	ledgerFlag
}

// Help shows examples.
func (localSimulateCmd) Help() string {
	return `Runs every user's side and the server's side in this program. Whoever runs it sees the records, so private data
are charged to the ledger: what leaves is the model, which is a function of the private messages.

Examples:
  dyad local simulate
  dyad local simulate --method djw --loss hinge --epsilon 4 --epochs 3 --iterate last
  dyad local simulate --method prestige-label --epsilon 2 --loss ramp --loss-param s=-1
  dyad local simulate -n 2000 --epochs 2 --l2-grid 0.1,1 --folds 3
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
	Choice     []float64          `json:"cross_validated_accuracies,omitempty"`
	PerVisit   float64            `json:"epsilon_per_visit,omitempty"`
	Shuffled   *privacy.Guarantee `json:"shuffled,omitempty"`
	Iterate    string             `json:"iterate"`
	Weights    []float64          `json:"weights"`
	Heldout    int                `json:"held_out_records"`
	Held       *localFigures      `json:"held_out,omitempty"`

	plan *local.Plan
}

// localFigures are figures of both iterates on held-out records.
type localFigures struct {
	Last    float64 `json:"accuracy_last"`
	Average float64 `json:"accuracy_average"`
	AUC     float64 `json:"auc"` // of the one that is kept
}

// Run simulates.
func (c *localSimulateCmd) Run(a *app) error {
	out, err := newOutput(c.Out, c.Force, c.Data, c.Schema, c.Labels, c.Ledger)
	if err != nil {
		return err
	}
	if c.Resume != "" {
		f := runFlags{Resume: c.Resume, ledgerFlag: c.ledgerFlag}
		if done, err := f.republish(a, out, &runOutcome{Data: c.Data, Public: c.PublicData}); done || err != nil {
			return err
		}
		return badInput("no model of run %q is kept: a simulation releases its model at the end, or nothing; start a new one without --resume", c.Resume)
	}
	data, source, err := (&trainCmd{Data: c.Data, Schema: c.Schema, PublicData: c.PublicData, labelsFlag: c.labelsFlag}).loadOr(a, c.Users)
	if err != nil {
		return err
	}
	schema := data.Schema()
	r := localResult{Iterate: c.Iterate, runOutcome: runOutcome{Data: source, DataID: schema.DataID, Public: c.PublicData || schema.Public}}
	if c.DataID != "" {
		r.DataID = c.DataID
	}
	if schema.IsGraded() {
		return badInput("local learners need labels of two classes, and those of %s are graded", source)
	}
	if c.Balance && !r.Public {
		return badInput("--balance would ask a user or not by the label, which tells the label: it is only for data declared public")
	}
	train, held, err := c.split(data.Records, r.Public)
	if err != nil {
		return err
	}
	protocol, err := c.protocol(train.Len(), train.Dim())
	if err != nil {
		return err
	}
	p, err := protocol.Plan()
	if err != nil {
		return asInput(err)
	}
	if p.Guarantee.Kind != privacy.LocalDP && !r.Public {
		return badInput("method %s does not protect whole records, so it runs on private data only if they are declared public: --public-data", p.Method)
	}
	if len(c.Grid) > 0 && c.ShuffleDelta != 0 {
		return badInput("--shuffle-delta is stated for the messages of one training, and --l2-grid makes more of them; leave one out")
	}
	if r.Shuffled, err = c.shuffled(p); err != nil {
		return err
	}
	if len(c.Grid) > 0 {
		if err := local.CheckChoice(protocol, c.Grid, c.Folds, train.Len()); err != nil {
			return asInput(err)
		}
	}
	src, err := c.source()
	if err != nil {
		return err
	}
	var ledger *privacy.Ledger // nil for public data
	if !r.Public {
		if ledger, err = c.charge(a, &r, p, data, src); err != nil {
			return err
		}
	}
	began := time.Now()
	r.Guarantee = p.Guarantee
	if len(c.Grid) > 0 {
		choice, err := local.ChooseL2(a.ctx, protocol, c.Grid, c.Folds, train, src)
		if err != nil {
			return asInput(err)
		}
		r.Choice, protocol.L2 = choice.Accuracies, choice.L2
		if p, err = protocol.Plan(); err != nil {
			return asInput(err)
		}
		r.Guarantee = p.Choosing(choice)
	}
	st, err := local.Simulate(a.ctx, p, train, src, localProgress(a.tracker("visiting users")))
	if err != nil {
		return err
	}
	r.fill(c, p, st, src.Secret(), time.Since(began))
	for _, g := range []*privacy.Guarantee{&r.Guarantee, r.Shuffled} {
		if g != nil {
			addSchema(g, schema)
		}
	}
	if held != nil {
		if err := r.evaluate(st, held); err != nil {
			return err
		}
	}
	away := r.save(a, c, out, ledger, data.Encoder)
	if away != nil && !errors.Is(away, errElsewhere) {
		return away
	}
	if err := r.spent(ledger, privacy.DefaultDelta(p.Users), p.Users); err != nil {
		return errors.Join(away, err)
	}
	return errors.Join(away, a.emit(r, r.text()))
}

// source draws for the users.
func (c *localSimulateCmd) source() (*privacy.Source, error) {
	if c.Seed != nil {
		return privacy.NewSeededSource(*c.Seed), nil
	}
	return privacy.NewSource()
}

// charge charges all messages of a user, and returns the ledger.
func (c *localSimulateCmd) charge(a *app, r *localResult, p *local.Plan, data *dataset.Dataset, src *privacy.Source) (*privacy.Ledger, error) {
	l, path, err := c.open(privacy.LedgerOptions{LockWait: a.hooks.lockWait, Trace: a.at})
	if err != nil {
		return nil, err
	}
	print, err := fingerprint(l, c.Data, data.LabelsFile)
	if err != nil {
		return nil, err
	}
	guarantee := p.Guarantee
	if len(c.Grid) > 0 {
		guarantee = p.Choosing(local.Choice{Accuracies: make([]float64, len(c.Grid)), Folds: c.Folds})
	}
	session, err := l.Begin(privacy.Charge{
		DataID: r.DataID, Algorithm: "local-" + p.Method.String(), Events: []privacy.Event{privacy.PureEvent{Epsilon: privacy.BelowDecimal(p.Epsilon), Count: p.Messages(len(c.Grid), c.Folds)}},
		Guarantee: guarantee.String(), Unit: "one record", Relation: "replace-one", Released: "the model of a simulation of all users", Fingerprint: print,
	}, src)
	if err != nil {
		return nil, err
	}
	r.Run, r.Ledger = session.Receipt().Run, path
	session.Close()
	a.at("charged")
	return l, nil
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

func (r *localResult) fill(c *localSimulateCmd, p *local.Plan, st *local.State, secret bool, took time.Duration) {
	r.plan = p
	r.Method, r.Loss, r.Users, r.Features, r.Epochs = p.Method.String(), p.Loss.Name(), p.Users, p.Dim, p.Epochs
	r.Visits, r.L2, r.PerVisit = st.Visits, p.L2, p.Epsilon
	if r.Public {
		r.Updates, r.Seconds = &st.Updates, took.Seconds()
	}
	r.Weights = c.of(st.W, st.Average())
	warn := func(text string) {
		r.Guarantee.Warnings = append(append([]string(nil), r.Guarantee.Warnings...), text)
	}
	if !secret {
		warn("reproducible, noise is not secret: the guarantee holds for users who draw their own")
	}
	if c.Balance {
		warn("NOT PRIVATE: users were left out by their labels; a deployment that did so would tell labels")
	}
	if p.Guarantee.Kind == privacy.None {
		r.PerVisit = 0
	}
}

// evaluate judges both iterates on held-out records.
func (r *localResult) evaluate(st *local.State, held *engine.Records) error {
	accuracy := func(w []float64) (float64, []float64, error) {
		s, err := metrics.Scores(held, w)
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

// save keeps the model, records its release and gives it its name, in this order: what was
// paid for is on disk before nothing more can be drawn for it.
func (r *localResult) save(a *app, c *localSimulateCmd, out *output, ledger *privacy.Ledger, encoder *dataset.Encoder) error {
	definition, err := lossFlags{c.Loss, c.LossParam, c.LossClip}.definition()
	if err != nil {
		return err
	}
	m := localModel(r.plan, definition, encoder, r.Weights, r.Visits, r.Guarantee)
	m.DataID, m.Run = r.DataID, r.Run
	s := a.newShelf(out, func(*algorithms.Outcome) *model { return m })
	if ledger != nil {
		s.other = []string{filepath.Dir(ledger.Path()), os.TempDir()}
		kept, err := s.Keep(&algorithms.Outcome{Weights: m.Weights, Guarantee: m.Guarantee, Run: m.Run})
		if err != nil { // saved prints it
			kept, s.file = privacy.Kept{}, nil
		}
		a.at("kept")
		if err := ledger.Release(r.Run, kept); err != nil {
			if !errors.Is(err, privacy.ErrUnacknowledged) {
				s.Drop()
			}
			return err
		}
		a.at("released")
	}
	r.Model, err = s.saved(m.Weights, m.Guarantee, m.Run)
	return err
}

// localModel is the model file of a plan after so many visits.
func localModel(p *local.Plan, loss lossSpec, e *dataset.Encoder, w []float64, visits int64, g privacy.Guarantee) *model {
	return &model{
		Format: modelFormat, Version: version, Created: time.Now().UTC().Truncate(time.Second),
		Task: taskAUC, Loss: &loss, DataID: e.Schema().DataID, Features: e.FeatureNames(), Weights: w, Encoder: e, Guarantee: g,
		Report: algorithms.Report{
			Algorithm: "local-" + p.Method.String(), Paper: "Han et al. 2019", Mode: "local", Records: p.Users, Features: p.Dim, Norm: p.FeatureNorm,
			Radius: p.Radius, L2: p.L2, Loss: p.Loss.Name(), Lipschitz: p.Lipschitz, Rule: "R/(lambda B sqrt t)", Steps: int(visits), Guarantee: g,
		},
	}
}

func (r *localResult) text() string {
	var b strings.Builder
	r.writeData(&b, fmt.Sprintf(": %d users, %d held out", r.Users, r.Heldout))
	r.plan.Guarantee = r.Guarantee // with what the run added
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
