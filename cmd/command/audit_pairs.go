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
	PairCount int `positive:"" name:"pairs" placeholder:"N" help:"Number of pairs. Default: as many as --kappa, all in one batch."`
	pairFlags
	auditFlags
}

// Help returns a text with examples.
func (auditPairsCmd) Help() string {
	return `Like "dyad lab audit records", but for pairs: two data sets differ in one unit, and the bound that guesses prove is compared
with the claim. The options are as for "dyad pairs plan", but the attack chooses the pairs: one individual is in
--kappa of them. Clip and steps do not enter a guarantee; by default they are so small (--set clip=0.0001, --set
step-size=1e-9) that the worst case is attained. Give those of a training to attack it as it is.

Examples:
  dyad lab audit pairs --kappa 4 --epsilon 4 --runs 1000
  dyad lab audit pairs --kappa 3 --pairs 24 --set batch=6 --set epochs=3 --set noise=laplace --epsilon 2 --runs 500
  dyad lab audit pairs --unit group --kappa 3 --epsilon 4 --runs 500
  dyad lab audit pairs --unit pair --loss bradley-terry --epsilon 4 --runs 500 --json
  dyad lab audit pairs --kappa 6 --pairs 6 --set sampling=poisson --set batch=3 --set epochs=1 --epsilon 4 --runs 1000
  dyad lab audit pairs -n 16 -d 3 --kappa 1 --pairs 8 --loss infonce --rows 2 --set batch=8 --set epochs=1 --epsilon 4 --runs 500
  dyad lab audit pairs --kappa 2 --method input --runs 500
  dyad lab audit pairs --kappa 4 --method moments --epsilon 4 --runs 1000
  dyad lab audit pairs --unit group --kappa 2 --mode paper --rows 2 --epsilon 3 --runs 500
  dyad lab audit pairs -n 12 --tuple 4 --loss triplet --epsilon 4 --runs 500
  dyad lab audit pairs -n 12 --tuple 4 --loss npair --model mlp --set hidden=4 --rows 2 --runs 300
  dyad lab audit pairs -n 12 --all-pairs --epsilon 4 --runs 500`
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
		return audit.Target{}, badInput("--pairs is only for listed pairs; leave --pairs out with --tuple and --all-pairs")
	case !shape.Classes && c.Density != 0:
		return audit.Target{}, badInput("--density draws pairs, but an audit chooses its pairs; give the number of pairs " +
			"with --pairs")
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
