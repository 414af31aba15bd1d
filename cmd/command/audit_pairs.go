package command

import (
	"cmp"
	"context"
	"slices"

	"github.com/alecthomas/kong"

	lib "dyad"
	"dyad/algorithms/audit"
	"dyad/algorithms/pairs"
)

type auditPairsCmd struct {
	N         int `positive:"" short:"n" default:"16" help:"Number of individuals or records."`
	D         int `positive:"" short:"d" default:"2"`
	PairCount int `positive:"" name:"pairs" placeholder:"N" help:"Number of pairs. Default: --kappa, in one batch."`
	pairFlags
	auditFlags
}

// Run carries out the attack.
func (c *auditPairsCmd) Run(a *app, command *kong.Context) error {
	return c.attack(a, func(ctx context.Context) (audit.Target, error) { return c.target(ctx, command) })
}

// target makes the plan and searches for the data sets to attack.
func (c *auditPairsCmd) target(ctx context.Context, command *kong.Context) (audit.Target, error) {
	given := func(name string) bool {
		return slices.ContainsFunc(command.Path, func(p *kong.Path) bool { return p.Flag != nil && p.Flag.Name == name })
	}
	moments := c.Method == pairs.Moments.String()
	if !given("clip") {
		c.Clip = 1e-4
	}
	if !given("step-size") && !moments {
		c.StepSize = 1e-9
	}
	shape := lib.PairShape{Individuals: c.N, Features: c.D, Pairs: c.PairCount}
	var err error
	if shape.Classes, err = c.fromClasses(command); err != nil {
		return audit.Target{}, err
	}
	switch {
	case shape.Classes && c.PairCount != 0:
		return audit.Target{}, badInput("--pairs does not go with --tuple or --all-pairs; leave --pairs out")
	case !shape.Classes && c.Density != 0:
		return audit.Target{}, badInput("an audit makes its own pairs; use --pairs instead of --density")
	case !shape.Classes:
		c.Kappa = cmp.Or(c.Kappa, c.DegreeCap, 1)
		shape.Pairs = cmp.Or(shape.Pairs, c.Kappa)
		if c.Batch == 0 && c.sampling() == pairs.Fixed.String() && !moments {
			c.Batch = shape.Pairs
		}
	}
	plan, err := c.planOf(shape)
	switch {
	case err != nil:
		return audit.Target{}, err
	case shape.Classes:
		return audit.WorstTuples(ctx, plan)
	}
	return audit.WorstPairs(ctx, plan, 0)
}

// planOf returns the plan of a shape with the network of the flags, as for a training.
func (c *auditPairsCmd) planOf(shape lib.PairShape) (*pairs.Plan, error) {
	source, err := c.source(identityFlag{}, shape.Classes)
	if err != nil {
		return nil, err
	}
	if source.Network != nil {
		filled, err := source.Shape(c.N, c.D, shape.Pairs, nil)
		if err != nil {
			return nil, asInput(err)
		}
		shape.Network = filled.Network
	}
	p, err := c.plan(shape)
	if err != nil {
		return nil, err
	}
	return p.Plan, nil
}
