package command

import "dyad/algorithms"

type baselineCmd struct {
	trainedFlags
	problemFlags
	Algorithm string `placeholder:"NAME" help:"projected-gradient, offgiga or your own algorithm. Default: projected-gradient."`
	holdoutFlags
	Delta   *float64 `placeholder:"DELTA" help:"Delta; 0 asks for pure epsilon. Default: min(1e-5, n^-1.5)."`
	Epsilon *float64 `hidden:""` // accepted so that a command line of dyad train can be reused
}

// Run trains without privacy.
func (c *baselineCmd) Run(a *app) error {
	if c.Epsilon != nil {
		a.note("dyad: epsilon %g is not used, because a baseline has no noise", *c.Epsilon)
	}
	return (&trainCmd{
		trainedFlags: c.trainedFlags, holdoutFlags: c.holdoutFlags,
		planFlags: planFlags{methodFlags: methodFlags{Algorithm: c.Algorithm, Mode: algorithms.NonPrivate.String()},
			budgetFlags: budgetFlags{Epsilon: 1, Delta: c.Delta}, problemFlags: c.problemFlags},
	}).Run(a)
}
