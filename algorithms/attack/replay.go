// Package attack compares runs on neighbouring data sets (docs/design.md#one-attack-room). It has neighbours for
// each kind of input, and a session that records a run and answers the run on a neighbour with the recorded answers.
// The score of an attack is the distance between the requests of both runs, divided by the certified distance.
// Audits, the tables of tests and the search for neighbours in bench/attacks use this package.
//
// Record/replay: a run on D is recorded, and the run on a neighbour D' is answered with the recorded releases. A sound
// algorithm then makes the same calls in the same order and moves each released vector by at most its certificate. It
// returns the same bits, because its result depends on data only through releases. If its guarantee rests on secret
// batches or steps, it returns the same bits for other secret coins, too. Steps of a secret state are coupled: the two
// runs get the same noise, and their states may not drift apart faster than certified. (The idea comes from the
// dp-recorder project; arXiv 2602.17454.)
package attack

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"dyad/algorithms"
	"dyad/engine"
	"dyad/privacy"
	"dyad/privacy/account"
)

// moves holds the distances between the releases of a run and of its replay.
type moves struct {
	run     *Recorder // the replay, which records violations
	largest float64   // moved / certified, the largest over all releases; for a stream, of all releases together
	mu2     float64   // sum of (moved / sigma)^2 over Gaussian releases
	pure    float64   // sum of moved / scale over K-norm and Laplace releases
	square  float64   // sum of moved^2
	apart   float64   // distance of the secret states of the two runs
}

// compare compares all calls of a replay with the recorded calls that answered them.
func compare(run *Recorder, stream bool) *moves {
	m := &moves{run: run}
	for i := range min(len(run.Calls), len(run.Of.Calls)) {
		c, r := run.Calls[i], run.Of.Calls[i]
		switch {
		case c.Kind != r.Kind || c.Detail != r.Detail:
			return m // recorded by the recorder
		case c.Kind == Choice || c.Kind == Selection:
			run.Fail("call %d is a %s, but its scores cannot be compared here", i+1, c.Kind)
		case c.Kind == Hidden || c.Kind == Release && c.Certificate.HiddenSteps() > 0:
			m.hidden(i, c, r)
			m.apart = Apart(c.Certificate, c.After, r.After)
		case c.Kind == Release:
			m.release(i, c, r)
			if joint := c.Certificate.Sensitivity(); stream {
				m.largest = math.Sqrt(m.square) / joint
				if !(m.largest <= 1) {
					run.Fail("releases up to call %d differ by %.6g in total, but the certificate allows only %.6g", i+1,
						math.Sqrt(m.square), joint)
				}
			}
		}
	}
	return m
}

// release checks how far a released vector moved.
func (m *moves) release(i int, c, r Call) {
	moved, certified := Apart(c.Certificate, c.Before, r.Before), c.Certificate.Sensitivity()
	m.square += moved * moved
	m.largest = max(m.largest, moved/certified)
	if !(moved <= certified) {
		m.run.Fail("release %d: moved %.6g, certified %.6g", i+1, moved, certified)
	}
	switch noise := c.Noise.(type) {
	case privacy.Gaussian:
		m.mu2 += moved / noise.Sigma * moved / noise.Sigma
	case privacy.KNorm:
		m.pure += moved / noise.Scale
	case privacy.Laplace:
		for k, v := range c.Before {
			m.pure += math.Abs(v-r.Before[k]) / noise.Scale
		}
	}
}

// hidden checks that the states before the noise, rounded to the grid, are not farther apart than the
// contraction and gap of the certificate allow.
func (m *moves) hidden(i int, c, r Call) {
	e, ok := c.Noise.Event(r.Certificate).(account.ConvergentEvent)
	if !ok {
		m.run.Fail("the noise of hidden step %d has no ConvergentEvent", i+1)
		return
	}
	here, there := slices.Clone(c.Before), slices.Clone(r.Before)
	privacy.RoundToGrid(here, e.Grid)
	privacy.RoundToGrid(there, e.Grid)
	allowed := e.Contraction*min(m.apart, e.Diameter) + e.Gap - e.Grid*math.Sqrt(float64(len(here)))
	moved := Apart(c.Certificate, here, there)
	m.largest = max(m.largest, (moved-e.Contraction*min(m.apart, e.Diameter))/e.Gap)
	if !(moved <= allowed*(1+1e-12)) {
		m.run.Fail("hidden step %d: before the noise, the two states differ by %.6g; the certificate allows %.6g", i+1,
			moved, allowed)
	}
}

// together checks the moves of all releases of a replay against the whole guarantee. A plan may charge less
// than the sum of its releases if they read different records. Batches are known in a replay, so for a plan
// with random batches mu is the mu for known batches.
func (m *moves) together(p *algorithms.Plan) {
	const slack = 1 + 1e-9
	g := p.Guarantee
	var total account.Total
	for _, e := range p.Events() {
		if err := total.Compose(e); err != nil {
			m.run.Fail("the events have no total: %v", err)
		}
	}
	if mu := math.Sqrt(m.mu2); g.Kind == privacy.ApproxDP && mu > total.Mu()*slack {
		m.run.Fail("on the neighbour, the releases together move by %.6g standard deviations of the noise; the "+
			"plan allows %.6g",
			mu, total.Mu())
	}
	if g.Kind == privacy.PureDP && m.pure > g.Epsilon*slack {
		m.run.Fail("all releases together cost epsilon %.6g, but the stated epsilon is only %.6g",
			m.pure, g.Epsilon)
	}
}

// watched records queries, too.
type watched struct {
	engine.Evaluator
	r *Recorder
}

// Sum records the input of a query. For gradients, it records the pairs, Centre and Radius. For moments, it
// records all fields of the query. If the algorithm uses a centre or a weight that was not released, the
// recorded inputs of neighbours differ.
func (w watched) Sum(ctx context.Context, dst []float64, q engine.Query) error {
	if p := q.Pairs; p != nil {
		w.r.Note("gradient", fmt.Sprintf("%T %d %x %x", p, p.Len(), q.Centre, q.Radius))
	} else {
		w.r.Note("moments", fmt.Sprintf("%+v", q))
	}
	return w.Evaluator.Sum(ctx, dst, q)
}

// Replay runs the plan p of the algorithm a on data, and replays the run on every neighbour. Each neighbour
// must have the same shape and bounds. It returns the largest moved/certified ratio of all releases, and a
// Violation if the algorithm is not sound on these data sets.
func Replay(a algorithms.Algorithm, p *algorithms.Plan, data *engine.Records, neighbours []*engine.Records,
	seed uint64) (float64, error) {
	return replayAll(p, false, data, neighbours, seed, func(data *engine.Records, r *Recorder) ([]float64, error) {
		ev, err := p.Spec.Kernel.Bind(data)
		if err != nil {
			return nil, err
		}
		// the number of steps may not depend on data
		step := func(done, total int) { r.Note("step", fmt.Sprint(done, total)) }
		w, err := a.Train(context.Background(), watched{ev, r}, p, r, algorithms.Tracker{OnStep: step})
		return w, errors.Join(err, ev.Close())
	})
}

// replayAll replays a run on every neighbour. All releases of a stream have one certificate.
func replayAll(p *algorithms.Plan, stream bool, data *engine.Records, neighbours []*engine.Records, seed uint64,
	run func(*engine.Records, *Recorder) ([]float64, error)) (largest float64, err error) {
	session, err := privacy.NewPublicSession(privacy.NewSeededSource(seed), p.Events())
	if err != nil {
		return 0, err
	}
	record := &Recorder{Session: session}
	want, err := run(data, record)
	if err != nil {
		return 0, err
	}
	if len(record.Calls) == 0 {
		return 0, Violation{"the run asked for nothing"}
	}
	again := func(data *engine.Records, r *Recorder, what, depends string) error {
		got, err := run(data, r)
		if !r.Fresh {
			moved := compare(r, stream)
			if !stream {
				moved.together(p)
			}
			largest = max(largest, moved.largest)
		}
		if err = r.Outcome(err); err == nil && !SameBits(got, want) {
			err = Violation{"the result depends on " + depends}
		}
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		return nil
	}
	if batch, _ := p.Certificate().Batch(); !stream && (batch > 0 || p.Certificate().HiddenSteps() > 0) {
		if err := again(data, &Recorder{Session: session, Of: record, Fresh: true}, "other secret coins",
			"batches or steps that must stay secret"); err != nil {
			return 0, err
		}
	}
	for i, neighbour := range neighbours {
		if err := again(neighbour, &Recorder{Session: session, Of: record}, fmt.Sprintf("neighbour %d", i),
			"an unreleased value"); err != nil {
			return largest, err
		}
	}
	return largest, nil
}
