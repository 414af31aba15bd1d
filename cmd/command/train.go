package command

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	lib "dyad"
	"dyad/algorithms"
	"dyad/engine/dataset"
	"dyad/privacy"
)

type trainCmd struct {
	trainedFlags
	holdoutFlags
	planFlags
}

func (r trainResult) saved() (run, file string) {
	run, file = r.runOutcome.saved()
	if r.HeldPrivate != nil {
		file += " and " + r.HeldPrivate.Out
	}
	return run, file
}

// Run trains a model.
func (c *trainCmd) Run(a *app) error {
	if err := c.openTeam(a); err != nil {
		return err
	}
	if a.team.follows() {
		return c.serve(a)
	}
	name := cmp.Or(c.Out, pick(c.Data.given(), "model.json", ""))
	if c.HoldoutEpsilon != nil { // this command carries out both runs
		c.Resume = strings.TrimSuffix(c.Resume, heldSuffix)
	}
	if named, err := c.named(name); err != nil {
		return err
	} else if named {
		return c.resumeHeld(a, name)
	}
	if (c.Report != "" || c.Track != "") && c.ExactFigures {
		return errNoExact
	}
	r := &trainResult{Task: c.Task, runOutcome: runOutcome{Data: c.Data.String(), Public: c.PublicData || !c.Data.given()}}
	var (
		ready      preparedRun
		approved   string          // digest of the approved page
		evaluation *lib.FigurePlan // plan for the held-out records
		run        *lib.Trained
	)
	k := charging{
		runFlags: c.runFlags, as: target{name: name}, inputs: c.Data.and(c.Schema, c.Labels), every: c.Checkpoint,
		doing: "training",
		page:  c.pageFlag, track: c.trackFlag, outcome: &r.runOutcome,
	}
	if c.HoldoutEpsilon != nil {
		k.after = func() error { return c.resumeHeld(a, r.Model) }
	}
	k.plan = func() (p planned, err error) {
		if err := c.checkUnsound(c.PublicData); err != nil {
			return p, err
		}
		if err := c.unprotected(a, c.Mode, c.Schema, c.PublicData, c.Resume != ""); err != nil {
			return p, err
		}
		ready, err = c.prepare(a)
		p.close = ready.close
		if err == nil {
			err = a.needsMemory(ready.plan.Coordinates())
		}
		if err == nil {
			evaluation, err = c.heldPlan(r, ready)
		}
		if err != nil {
			return p, err
		}
		plan, problem := ready.plan, ready.plan.Spec.Kernel.Problem()
		schema := ready.train.Schema()
		r.Basis, r.persons, r.schema = ready.basis, schema.ByPerson(), schema
		r.Records, r.runOutcome = problem.N, runOutcome{Data: ready.source, DataID: schema.DataID,
			Public: c.PublicData || schema.Public}
		p.plan, p.delta, p.n = plan.Plan, plan.Spec.Budget.Delta, r.Records
		if !r.Public && c.Resume == "" {
			err = c.checkAlone()
		}
		if err == nil {
			approved, err = c.approvedFlag.agrees(plan.Plan, evaluation, schema, c.DataID)
		}
		c.noteDevice(a, &problem)
		if p.delta*float64(problem.N) > 1 && !r.Public {
			p.ask = append(p.ask, fmt.Sprintf("delta is %g, which is above 1/n; such a delta allows the release of "+
				"a whole record", p.delta))
		}
		if s := plan.Seconds(); s > longSeconds {
			p.ask = append(p.ask, fmt.Sprintf("training takes %s of one core", algorithms.Duration(s)))
		}
		if r.InAll != nil { // the report states the guarantee of both at this delta
			p.delta = r.InAll.Delta
		}
		return p, err
	}
	k.begin = func(o lib.Run) error { return checkBoth(o, ready.plan.Plan, evaluation, r.DataID) }
	k.run = func(o lib.Run) (bool, error) {
		if a.team != nil {
			o.Team = a.team.lead
		}
		var missing, away error // error of the private figures, error of the run
		if evaluation != nil {
			o.Released = func(m *model) { missing = c.releaseHeld(a, r, m, name, ready.held) }
		}
		o.Approved, r.approved = approved, c.Approved
		run, away = ready.plan.Run(a.ctx, ready.share, o)
		done, away := settled(r.ran(a, run, away))
		if !done {
			return false, away
		}
		a.noteRestored(run, "step", ready.plan.Schedule.Steps)
		r.Report, r.Weights = run.Report, weightIntervals(run.Model)
		if s := ready.train.Schema(); s.ChooseInteractions > 0 {
			r.Pairs = run.Encoder.Schema().Interactions[len(s.Interactions):]
		}
		if missing != nil && r.HeldPrivate == nil {
			missing = c.withoutHeld(a, r, missing)
		} else if ready.held != nil && evaluation == nil {
			missing = c.evaluateHeld(a, r, run, ready.held, ready.train)
		}
		return true, errors.Join(away, missing)
	}
	k.tell = func() error {
		return a.emitBrief(r, r.text(!c.Data.given()), r.brief(a, !c.Data.given(), ready.plan.Guarantee))
	}
	k.draw = func(*lib.Ledger) (document, error) { return r.page(run.Model, ready.held, ready.plan.Guarantee) }
	k.tracked = func() (string, trackedRun) {
		t := trackedRun{model: run.Model, figures: r.HeldPrivate}
		if r.Public {
			t.open = r.Held
		}
		return r.Model, t
	}
	return k.perform(a)
}

// heldPlan returns the plan of the private figures of held-out records, or nil if there are none, and adds it
// to the training.
func (c *trainCmd) heldPlan(r *trainResult, ready preparedRun) (*lib.FigurePlan, error) {
	// The releases and the cost of an evaluation do not depend on the model, so any model can be used here.
	var out lib.Shape
	if ready.held != nil {
		out, r.Heldout = ready.held.Shape(), ready.held.Records.Units()
	}
	m := &model{Task: c.Task, Weights: make([]float64, ready.plan.Coordinates())}
	p, err := c.planned(m, out, c.PublicData || ready.train.Schema().Public, c.Delta)
	if err == nil {
		r.InAll, err = inAll(ready.plan.Plan, p)
	}
	return p, err
}

// errNoExact is the error for a page, or a run folder, with exact private figures.
var errNoExact = badInput("--report and --track must not show exact private figures; replace --exact-figures by " +
	"--epsilon or --holdout-epsilon")

// page returns the page of a training.
func (r *trainResult) page(m *model, held *lib.Data, planned privacy.Guarantee) (d document, err error) {
	d = modelDocument(m, cmp.Or(r.Model, "model.json")) // name that the model would have if it were saved
	d.planned, d.figures = planned, r.HeldPrivate
	if r.HeldCommand != "" {
		d.buy = r.HeldCommand + " --report page.html"
	}
	if g, figures := r.both(); figures {
		d.guarantee, d.seen = g, "this model and its figures"
	}
	d.open, err = opened(r.Public, m, r.Held, held, fmt.Sprintf("%d held-out %s", r.Heldout, r.unit()))
	return d, err
}

// baseline returns the figures of a model trained on the same records without privacy.
func (c *trainCmd) baseline(a *app, train, held *lib.Data) (*evaluation, error) {
	plan, err := planFlags{methodFlags: methodFlags{Mode: algorithms.NonPrivate.String()},
		problemFlags: problemFlags{Task: c.Task, deviceFlag: c.deviceFlag}}.plan(train.Shape())
	if err != nil {
		return nil, err
	}
	run, err := plan.Run(a.ctx, train, lib.Run{Public: true})
	if err != nil {
		return nil, err
	}
	return run.Evaluate(a.ctx, held, lib.EvaluateOptions{Among: train.Records})
}

// longSeconds is the estimated time from which on a training asks for confirmation before it is charged.
const longSeconds = 600

// syntheticRecords is the number of records of the built-in synthetic data.
const syntheticRecords = 10_000

func (r *trainResult) text(synthetic bool) string {
	var b strings.Builder
	split := fmt.Sprintf(": %d %s to train", r.Records, r.unit())
	if r.Heldout > 0 {
		split += fmt.Sprintf(", %d held out", r.Heldout)
	}
	r.writeData(&b, split)
	r.writeBasis(&b)
	b.WriteString(r.Report.Text())
	r.writeLedger(&b)
	writeWeights(&b, r.Weights)
	r.writeHeld(&b, r.Heldout, r.unit(), r.Public)
	if r.Model == "" && synthetic {
		line(&b, "model", "not saved; add --out FILE to save it. For your own data, run:")
		line(&b, "", "dyad data schema FILE > schema.yaml, edit it, dyad train --data FILE --schema schema.yaml --epsilon 1")
	}
	r.writeModel(&b, r.Task)
	r.writeTime(&b)
	return b.String()
}

// readChosen reads data whose schema leaves the basis to training. It first reads the data without a basis to find the
// number of training records. If a basis is then chosen, it reads the data again. line names the choice and the reason.
// It is "" if the schema does not have the key and no basis is chosen.
func (c *trainCmd) readChosen(s *dataset.Schema, read readBy) (d *dataset.Dataset, line string, err error) {
	narrow := s.Decided()
	if d, err = read(narrow); err != nil || s.Basis == "" && !c.Data.again() {
		return d, "", err
	}
	n := d.Records.Units()
	if fraction := c.fraction(); fraction > 0 {
		keep, _, err := dataset.Split(n, 1-fraction, c.SplitSeed)
		if err != nil {
			return nil, "", asInput(err)
		}
		n = len(keep)
	}
	chosen, line, err := c.basisFor(s, n, d.Records.Units())
	if err != nil || chosen.Basis == narrow.Basis {
		return d, line, err
	}
	d = nil // frees memory for the second reading
	d, err = read(chosen)
	return d, line, err
}
