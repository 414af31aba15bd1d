package command

// labCmd groups the commands that examine algorithms and losses and do not use a user's data.
type labCmd struct {
	Audit      auditCmd      `cmd:"" help:"Attack an algorithm and bound its epsilon from below."`
	Curve      curveCmd      `cmd:"" help:"Draw the AUC against epsilon: algorithms x epsilons x splits."`
	Bench      benchCmd      `cmd:"" help:"Measure this machine: time, pairs per second, share of its peak."`
	Reproduce  reproduceCmd  `cmd:"" help:"Repeat the tables and figures of the papers."`
	Algorithms algorithmsCmd `cmd:"" help:"List the algorithms, or explain one."`
	Losses     lossesCmd     `cmd:"" help:"List the built-in losses, or prove the constants of your own."`
	Influence  influenceCmd  `cmd:"" help:"Rank records by what they do to a fit without noise: influence functions, stability."`
}
