package command

import (
	"cmp"

	lib "dyad"
	"dyad/algorithms/evaluate"
	"dyad/engine/dataset"
)

type evaluatePrivateCmd struct {
	evaluatedFlags
	releaseFlags
	figureFlags
	Threshold float64 `default:"0" help:"Score at or above which a record counts as positive, for the accuracy."`

	aim  *evaluate.Aim // aim of dyad threshold; nil if no threshold is chosen
	held target        // target for the figures of held-out records of a training; zero if --out applies
	with string        // file of the second model, if two models are compared
}

// errCountsAsPrivate is the error of an evaluation without a budget on data that were not declared public.
var errCountsAsPrivate = badInput("the data count as private; add --epsilon EPSILON for private figures, or run " +
	`"dyad evaluate exact" with --public-data if they are public, or with --exact-figures (no guarantee)`)

// Run releases private figures.
func (c *evaluatePrivateCmd) Run(a *app) error {
	m, err := a.openModel(c.Model, c.Ledger)
	if err == nil && c.Epsilon == nil {
		err = errCountsAsPrivate
	}
	if err != nil {
		return err
	}
	return c.private(a, m, nil, c.PublicData)
}

// readAs reads the records for private figures with the encoding of a model.
func (c *evaluatePrivateCmd) readAs(a *app, m *model, public bool) (*lib.Data, int, error) {
	return c.read(a, m, c.Data, reading{persons: dataset.KeepPersons, n: c.N, public: public})
}

// asks returns the options of package dyad for the figures of a model, or for its difference from another model.
func (c *evaluatePrivateCmd) asks(m, other *model) lib.FigureOptions {
	o := c.of(m, c.Epsilon, c.Delta)
	o.Threshold, o.Aim, o.Confidence, o.Compare = c.Threshold, c.aim, c.Confidence, other
	o.Names.Data, o.Names.Model, o.Names.Compare = c.Data.String(), c.Model, c.with
	return o
}

// private releases private figures, or prints their plan.
func (c *evaluatePrivateCmd) private(a *app, m, other *model, public bool) error {
	o := c.asks(m, other)
	if c.Plan {
		p, err := lib.PlanFigures(lib.ShapeOf(m.Encoder, c.N), o)
		if err != nil {
			return err
		}
		return a.emitPlan(&p.Plan.Plan)
	}
	as := cmp.Or(c.held, targetOf(c.Out, "evaluation.json", public))
	of := runOutcome{DataID: m.DataID, Public: public}
	if !public {
		o.Names.Ledger, _ = c.path() // opening it reports the error
	}
	var p *lib.FigurePlan
	var r *privateResult
	d := lib.FigureData{}
	k := charging{runFlags: c.runFlags, as: as, inputs: c.Data.and(c.Reference.and(c.Labels, c.Model)...),
		doing: "evaluating", page: c.pageFlag, track: c.trackFlag, outcome: &of}
	k.recovered = func(saved *lib.Outcome, _ *lib.Ledger) error {
		if err := k.noteReleased(a, saved, "report is"); c.Report != "" && err == nil {
			a.note("dyad: \"dyad report %s --figures %s\" makes the page of these figures", c.Model, saved.File)
		}
		return nil
	}
	k.plan = func() (planned, error) {
		if m.Task == taskMetric && c.Reference.given() && c.Data.shared(c.Reference) > 0 {
			return planned{}, badInput("%s is given both as the data and as the public reference", c.Reference)
		}
		err := o.Check()
		if err == nil {
			d, err = c.figureData(a, m, other, public)
		}
		if err == nil {
			p, err = lib.PlanFigures(d.Shape(), o)
		}
		if err == nil {
			err = p.Fits(d)
		}
		if err != nil {
			return planned{}, err
		}
		return planned{plan: &p.Plan.Plan, delta: p.Options.Budget.Delta, n: p.Options.Records}, nil
	}
	k.run = func(o lib.Run) (done bool, away error) {
		r, away = a.release(p, d, o)
		if done, away = settled(asResult(away)); !done {
			return false, a.charged(away)
		}
		of.Run, r.whole = r.Run, c.Out == ""
		return true, away
	}
	k.tell = func() error {
		if err := r.told(of.Spent); err != nil {
			return err
		}
		return a.emitBrief(r, r.text(), r.brief(a))
	}
	k.draw = func(l *lib.Ledger) (document, error) { return c.page(m, r, l) }
	k.tracked = func() (string, trackedRun) { return c.Model, trackedRun{model: m, figures: r} }
	return k.perform(a)
}

// figureData reads the records of private figures.
func (c *evaluatePrivateCmd) figureData(a *app, m, other *model, public bool) (d lib.FigureData, err error) {
	if d.Data, d.Rest, err = c.readAs(a, m, public); err != nil {
		return d, err
	}
	if other != nil { // the same records, with the encoding of the other model
		d.Compared, _, err = c.readAs(a, other, public)
	}
	if err != nil || m.Task != taskMetric {
		return d, err
	}
	reference, err := a.readTraining(c.Reference, m.Encoder.Schema(),
		dataset.Options{Persons: dataset.IgnorePersons}, true)
	if err == nil {
		d.Reference = lib.NewData(reference)
	}
	return d, err
}

// page returns the page of released figures.
func (c *evaluatePrivateCmd) page(m *model, r *privateResult, l *lib.Ledger) (d document, err error) {
	d = modelDocument(m, c.Model)
	d.figures = r
	if d.charges, err = chargesOf(l, m.DataID, r.Guarantee.Delta); err == nil {
		err = d.alsoCharged(l, r)
	}
	if d.charges != nil && len(d.charges.runs) == 0 { // the model was charged to another ledger
		d.charges = nil
		if d.otherCharges != nil {
			d.charges, d.otherCharges = d.otherCharges[0], nil
		}
	}
	return d, err
}
