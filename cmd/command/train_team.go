package command

import (
	"errors"
	"fmt"

	lib "dyad"
	"dyad/engine/dataset"
	"dyad/engine/team"
)

// preparedRun holds the data that every process of a team has before a charge.
type preparedRun struct {
	train, held *lib.Data // held is nil if no records are held out
	share       *lib.Data // part of train on which this process trains
	plan        *lib.Training
	source      string
	basis       string // basis chosen by auto, and the reason
	done        func()
}

func (p *preparedRun) close() {
	if p.done != nil {
		p.done()
	}
}

// prepare reads the data, makes the plan, and agrees on it with the other processes of a team.
func (c *trainCmd) prepare(a *app) (preparedRun, error) {
	if work, err := a.team.begin(a.ctx); !work || err != nil {
		return preparedRun{}, err
	}
	p, err := c.read(a)
	if a.team == nil {
		p.share = p.train
		return p, err
	}
	if err := a.team.settle(a.ctx, err); err != nil {
		return p, err
	}
	p.share, err = p.plan.Join(a.ctx, a.team.member(), p.train,
		team.Statement{Name: "the flags of the split", Text: fmt.Sprint(c.fraction(), c.SplitSeed)})
	if err = a.team.agreed(err); err != nil {
		return p, err
	}
	if p.held == nil {
		p.train = p.share
	}
	if !a.team.follows() {
		a.team.lead = p.plan.Lead(a.team.member(), p.share)
	}
	return p, nil
}

// read reads the data and makes the plan.
func (c *trainCmd) read(a *app) (p preparedRun, err error) {
	if a.team != nil && !c.Data.given() { // rank 0 reports this for all
		return p, badInput("--team needs --data; only a single process can use synthetic records")
	}
	all, source, err := c.loadOr(a, syntheticRecords, dataset.KeepPersons, func(s *dataset.Schema, read readBy) (d *dataset.Dataset, err error) {
		d, p.basis, err = c.readChosen(s, read)
		return d, err
	})
	if err != nil {
		return p, err
	}
	p.source = source
	if p.train, p.held, err = c.split(lib.NewData(all)); err != nil {
		return p, err
	}
	c.crew = a.team.member()
	if p.done, err = c.planFlags.open(false); err != nil {
		return p, err
	}
	p.plan, err = c.plan(p.train.Shape())
	return p, err
}

// serve is the counterpart of Run on the other ranks of a team. These ranks use no ledger, add no noise and
// write no model.
func (c *trainCmd) serve(a *app) error {
	ctx, stop := patient(a.ctx)
	defer stop()
	p, err := c.prepare(a)
	defer p.close()
	if err != nil || p.share == nil {
		return err
	}
	p.train, p.held = nil, nil
	err = p.plan.Serve(ctx, a.team.member(), p.share)
	a.team.orderly = err == nil || errors.Is(err, team.ErrInputs)
	return err
}
