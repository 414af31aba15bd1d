package experiment

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"

	"dyad/algorithms"
	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/engine/objective"
	"dyad/privacy"
)

// The measures of a loss.
const (
	measureObjective = "objective"
	measureExcess    = "excess"
	measureRegret    = "regret"
)

// measures are the names of Plan.Measure. L is the mean loss of all pairs plus ObjectiveL2/2 ||w||^2:
//
//   - objective is L on the training records,
//   - excess is L on the test records minus its minimum over the ball of the plan's radius. With many test
//     records it is the excess population risk,
//   - regret is the regret of a stream ([Huai20] equation 4) divided by the number of its records, for online algorithms.
func measures() []string { return []string{measureObjective, measureExcess, measureRegret} }

// measuredRadius is the radius of the ball over which the minimum for excess is taken. It is 1 in the papers.
const measuredRadius = 1

// measure is the value of a run.
func (w *worker) measure(ctx context.Context, m *method, o outcome) (float64, error) {
	switch w.plan.Measure {
	case measureObjective:
		return w.objective(ctx, m, o.weights, w.train)
	case measureExcess:
		if math.IsNaN(w.best) {
			var err error
			if w.best, err = w.least(ctx); err != nil {
				return 0, err
			}
		}
		v, err := w.objective(ctx, m, o.weights, w.test)
		return v - w.best, err
	case measureRegret:
		if m.stream == nil {
			return 0, fmt.Errorf("%s is not an online algorithm, so it has no regret", m.name)
		}
		return o.regret, nil
	}
	return w.score(ctx, m, o)
}

// objective is L on the records.
func (w *worker) objective(ctx context.Context, m *method, weights []float64, r *engine.Records) (float64, error) {
	if weights == nil {
		return 0, fmt.Errorf("%s gives scores but no weights, so its objective is unknown", m.name)
	}
	return meanLoss(ctx, m.loss(w.plan.Task), weights, w.plan.ObjectiveL2, r)
}

// meanLoss is the mean loss of all pairs plus l2/2 ||w||^2.
func meanLoss(ctx context.Context, loss engine.Loss, w []float64, l2 float64, r *engine.Records) (float64, error) {
	v, err := objective.Mean(ctx, loss, w, r)
	return v + l2/2*squaredNorm(w), err
}

// least is the minimum of L on the test records.
func (w *worker) least(ctx context.Context) (float64, error) {
	r := w.test
	problem := engine.Problem{N: r.Len(), D: r.Dim(), Bounds: r.Bounds(), Loss: taskLoss(w.plan.Task),
		Radius: measuredRadius}
	s, err := algorithms.NewSpec(cpu.Backend{Workers: runtime.GOMAXPROCS(0)}, problem, 0, privacy.Budget{},
		algorithms.NonPrivate)
	if err != nil {
		return 0, err
	}
	ev, err := s.Kernel.Bind(r)
	if err != nil {
		return 0, err
	}
	defer ev.Close()
	v, _, err := leastLoss(ctx, ev, problem, s.Constants, w.plan.ObjectiveL2, r)
	return v, err
}

// planStream plans the method's online algorithm for n records, for a problem with its loss.
func (m *method) planStream(backend engine.Backend, problem engine.Problem,
	budget privacy.Budget) (*algorithms.Plan, error) {
	problem.Radius = cmp.Or(m.settings.radius, measuredRadius)
	l2 := 0.0
	switch {
	case m.settings.l2 != nil:
		l2 = *m.settings.l2
	case m.stream.Info().NeedsL2:
		l2 = 1e-3 // the papers' weight
	}
	s, err := algorithms.NewStreamSpec(backend, problem, algorithms.StreamOptions{Horizon: problem.N}, l2, budget,
		m.settings.mode)
	if err != nil {
		return nil, err
	}
	s.PaperUnsound = m.settings.unsound
	return m.stream.Plan(s)
}

// fitStream takes the training records in a random order of the split, which is the same for all methods. The
// model is the average of the iterates ([Huai20] equation 6).
func (w *worker) fitStream(ctx context.Context, one run) (outcome, error) {
	r := w.train
	_, p, err := w.planned(one)
	if err != nil {
		return outcome{}, err
	}
	session, err := privacy.NewPublicSession(privacy.NewSeededSource(one.row.Seed), p.Events())
	if err != nil {
		return outcome{}, err
	}
	defer session.Close()
	stream, err := algorithms.NewStream(p, session)
	if err != nil {
		return outcome{}, err
	}
	regret := NewRegret(p)
	row := make([]float64, r.Dim())
	for _, i := range rand.New(rand.NewPCG(uint64(one.row.Split), 1)).Perm(r.Len()) {
		r.Row(i, row)
		regret.Take(row, r.Label(i))
		released, err := stream.Step(ctx, row, r.Label(i))
		if err != nil {
			return outcome{}, err
		}
		if released != nil {
			regret.Update(released)
		}
	}
	out := outcome{weights: stream.Average(), passes: p.Work.Gradients / (float64(r.Len()) * float64(r.Len()-1))}
	if w.plan.Measure == measureRegret {
		if most := MostRegretRecords(len(out.weights)); r.Len() > most {
			return outcome{}, fmt.Errorf("computing the regret of %d records with %d parameters takes too long; use at "+
				"most %d records", r.Len(), len(out.weights), most)
		}
		measured, err := regret.Measure(ctx, p)
		if err != nil {
			return outcome{}, err
		}
		out.regret = measured.Regret / float64(measured.Records)
	}
	return out, nil
}

// majorityShare returns the share of the test records that belong to the larger class of the training records.
func majorityShare(train, test *engine.Records) float64 {
	positive, same := 0, 0
	for i := range train.Len() {
		if train.Label(i) > 0 {
			positive++
		}
	}
	for i := range test.Len() {
		if (test.Label(i) > 0) == (2*positive > train.Len()) {
			same++
		}
	}
	return float64(same) / float64(test.Len())
}
