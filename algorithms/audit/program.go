package audit

import (
	"context"

	"dyad/algorithms"
	"dyad/engine"
	"dyad/privacy"
	"dyad/privacy/account"
)

// Program is an algorithm together with the two data sets on which it is attacked. It is for algorithms that do
// not train on engine.Records, and for seeded bugs.
type Program struct {
	Subject
	Guarantee   privacy.Guarantee
	Noise       privacy.Mechanism
	Certificate privacy.Certificate
	Events      []account.Event
	// Train trains on the data, or on the neighbour if neighbour is true, and releases through the session. It
	// is called from several goroutines at once.
	Train func(ctx context.Context, neighbour bool, s privacy.Session) ([]float64, error)
	// Draw is for local noise, which makes data private before any release. It replaces Train, Noise and
	// Certificate. It draws all released values at once, with noise from the seed.
	Draw func(neighbour bool, seed uint64) ([]float64, error)
	// Ratio returns a score of the values that Draw returned. The higher the score, the
	// more likely Draw used the neighbour.
	Ratio func(drawn []float64) float64
	// Rows are the rows of a plan if each release has its own certificate. They are nil if Certificate covers
	// all releases.
	Rows algorithms.Releases
	// EachMoves bounds how far the exact vector of each release moves, in the L2 norm. If it is 0,
	// the certificate bounds how far all releases move together. In this case, the noise
	// determines the norm and how the moves add up.
	EachMoves float64
}

// OnPlan returns an attack on the guarantee that a plan prints, by runs on two neighbouring data sets. It uses no other
// property of the plan, so the same call attacks every kind of run. train must release the rows of the plan through the
// session, in their order and each exactly once.
func OnPlan(p *algorithms.Plan, instance string,
	train func(ctx context.Context, neighbour bool, s privacy.Session) ([]float64, error)) Target {
	c := claimOf(p, engine.Problem{})
	c.Rows, c.Train = p.Releases, train
	return Target{Instance: instance, Program: &c}
}

// OnJobs does what OnPlan does, with one job for each of the two neighbouring data sets. Both jobs have the same plan.
// They may be of any kind: clusters, figures, thresholds, searches.
func OnJobs(data, neighbour algorithms.Job, instance string) Target {
	return OnPlan(data.Plan, instance, func(ctx context.Context, other bool, s privacy.Session) ([]float64, error) {
		return [2]algorithms.Job{data, neighbour}[index(other)].Train(ctx, s, algorithms.Tracker{})
	})
}

// OnKind is like OnPlan, for a user's own kind of run. The data sets have the plan's shape and differ in one record.
func OnKind(p *algorithms.KindPlan, data, neighbour *engine.Records, instance string) Target {
	t := OnPlan(&p.Plan, instance, func(ctx context.Context, other bool, s privacy.Session) ([]float64, error) {
		return p.Release(ctx, [2]*engine.Records{data, neighbour}[index(other)], s)
	})
	t.Program.Records, t.Program.Features = p.Shape.Records, p.Shape.Features
	return t
}

// draw makes a run of Draw.
func (p *Program) draw(neighbour bool, seed uint64) (o Observation, err error) {
	if o.Weights, err = p.Draw(neighbour, seed); err == nil {
		o.LogRatio = p.Ratio(o.Weights)
	}
	return o, err
}
