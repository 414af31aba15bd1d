package audit

import (
	"context"

	"dyad/algorithms"
	"dyad/engine"
	"dyad/privacy"
	"dyad/privacy/account"
)

// Program is an algorithm together with the two data sets that it is attacked on, for what
// does not train on engine.Records, and for seeded bugs.
type Program struct {
	Algorithm, Mode, Loss string
	Variant               string // what else the claim depends on
	Records, Features     int
	Guarantee             privacy.Guarantee
	Noise                 privacy.Mechanism
	Certificate           privacy.Certificate
	Events                []account.Event
	// Train trains on the data, or on the neighbour, and releases through the session. It
	// is called from several goroutines at once.
	Train func(ctx context.Context, neighbour bool, s privacy.Session) ([]float64, error)
	// Draw, in place of Train, Noise and Certificate, draws all that is released at once,
	// from noise of that seed, for what is private before it is released: local noise.
	Draw func(neighbour bool, seed uint64) ([]float64, error)
	// Ratio scores what Draw draws, high for the neighbour.
	Ratio func(drawn []float64) float64
	// Rows are the rows of a plan whose releases have a certificate each; nil if Certificate covers all of them.
	Rows algorithms.Releases
	// EachMoves bounds by how much the exact vector of every release moves in the L2 norm;
	// 0 if the certificate bounds all of them together, in the norm and sum that go with
	// the noise.
	EachMoves float64
}

// OnPlan attacks the sentence that a plan prints: its guarantee, by a run on either of two neighbouring data sets. It asks for nothing else, so
// that every kind of run is attacked by the same call. train releases the rows of the plan, in their order and each once, through the session.
func OnPlan(p *algorithms.Plan, instance string, train func(ctx context.Context, neighbour bool, s privacy.Session) ([]float64, error)) Target {
	c := claimOf(p, engine.Problem{})
	c.Rows, c.Train = p.Releases, train
	return Target{Instance: instance, Program: &c}
}

// OnJobs is OnPlan for jobs of one plan on two neighbouring data sets, whatever the kind of run is: clusters, figures, thresholds, searches.
func OnJobs(data, neighbour algorithms.Job, instance string) Target {
	return OnPlan(data.Plan, instance, func(ctx context.Context, other bool, s privacy.Session) ([]float64, error) {
		return [2]algorithms.Job{data, neighbour}[index(other)].Train(ctx, s, algorithms.Tracker{})
	})
}

// OnKind is OnPlan for a kind of one's own. The records are of the plan's shape and differ in one.
func OnKind(p *algorithms.KindPlan, data, neighbour *engine.Records, instance string) Target {
	t := OnPlan(&p.Plan, instance, func(ctx context.Context, other bool, s privacy.Session) ([]float64, error) {
		return p.Release(ctx, [2]*engine.Records{data, neighbour}[index(other)], s)
	})
	t.Program.Records, t.Program.Features = p.Shape.Records, p.Shape.Features
	return t
}

// draw is a run of Draw.
func (p *Program) draw(neighbour bool, seed uint64) (o Observation, err error) {
	if o.Weights, err = p.Draw(neighbour, seed); err == nil {
		o.LogRatio = p.Ratio(o.Weights)
	}
	return o, err
}
