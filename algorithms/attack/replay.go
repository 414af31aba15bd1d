// Package attack compares runs on neighbouring data sets (docs/design.md#one-attack-room). It has the neighbours by kind of input, the
// session that records a run and answers the run on a neighbour with the past of the first one, and the score: how far what both ask for is
// apart, over what is certified. Audits, the tables of tests and the search for neighbours in bench/attacks call it.
//
// Record/replay: a run on D is recorded; the run on a neighbour D' is answered with the recorded releases. A sound
// algorithm then asks for the same things in the same order, moves each released vector by at most its certificate, and
// returns the same bits, because what it returns depends on data only through releases. If its guarantee rests on
// secret batches or steps, it returns the same bits for other ones too, and steps of a secret state are coupled: the
// two runs get the same noise, and their states may not drift apart faster than certified. (The idea comes from the
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

func violation(format string, args ...any) error {
	return Violation{Reason: fmt.Sprintf(format, args...)}
}

// moves are how far the releases of a run and of its replay are apart.
type moves struct {
	run     *Recorder // the replay, which notes violations
	largest float64   // moved / certified, over all releases; of a stream of all together
	mu2     float64   // sum of (moved / sigma)^2 over Gaussian releases
	pure    float64   // sum of moved / scale over K-norm and Laplace releases
	square  float64   // sum of moved^2
	joint   float64   // certified for all releases together, of a stream
	apart   float64   // distance of the secret states of the two runs
}

// compare compares all calls of a replay with those that it was answered with.
func compare(run *Recorder, stream bool) *moves {
	m := &moves{run: run}
	for i := range min(len(run.Calls), len(run.Of.Calls)) {
		c, r := run.Calls[i], run.Of.Calls[i]
		switch {
		case c.Kind != r.Kind || c.Detail != r.Detail:
			return m // noted by the recorder
		case c.Kind == Choice || c.Kind == Selection:
			run.Fail("call %d is a %s, whose scores are not compared here", i+1, c.Kind)
		case c.Kind == Hidden || c.Kind == Release && c.Certificate.HiddenSteps() > 0:
			m.hidden(i, c, r)
			m.apart = Apart(c.Certificate, c.After, r.After)
		case c.Kind == Release:
			m.release(i, c, r)
			if joint := c.Certificate.Sensitivity(); stream {
				m.largest = math.Sqrt(m.square) / joint
				if !(m.largest <= 1) {
					run.Fail("all releases up to %d together: moved %.6g, certified %.6g", i+1, math.Sqrt(m.square), joint)
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

// hidden checks that the states before the noise, rounded to the grid, are not farther
// apart than the certificate's contraction and gap allow.
func (m *moves) hidden(i int, c, r Call) {
	e, ok := c.Noise.Event(r.Certificate).(account.ConvergentEvent)
	if !ok {
		m.run.Fail("hidden step %d: the noise has no convergent event", i+1)
		return
	}
	here, there := slices.Clone(c.Before), slices.Clone(r.Before)
	privacy.RoundToGrid(here, e.Grid)
	privacy.RoundToGrid(there, e.Grid)
	allowed := e.Contraction*min(m.apart, e.Diameter) + e.Gap - e.Grid*math.Sqrt(float64(len(here)))
	moved := Apart(c.Certificate, here, there)
	m.largest = max(m.largest, (moved-e.Contraction*min(m.apart, e.Diameter))/e.Gap)
	if !(moved <= allowed*(1+1e-12)) {
		m.run.Fail("hidden step %d: the states are %.6g apart, certified %.6g", i+1, moved, allowed)
	}
}

// together checks what all releases of a replay moved against the whole guarantee: a
// plan may charge less than the sum of its releases, if they read different records.
// Batches are known here, so the mu of a plan that draws some is that for known ones.
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
		m.run.Fail("all releases together move %.6g standard deviations, and the guarantee is %.6g-GDP", mu, total.Mu())
	}
	if g.Kind == privacy.PureDP && m.pure > g.Epsilon*slack {
		m.run.Fail("all releases together move the log-likelihood by up to %.6g, and the guarantee is epsilon = %.6g", m.pure, g.Epsilon)
	}
}

// watched makes queries part of what is recorded.
type watched struct {
	engine.Evaluator
	r *Recorder
}

// Sum notes what a query is about: pairs and the centre that their records are moved to, or
// everything of moments. A centre or a weight that was not released differs between neighbours.
func (w watched) Sum(ctx context.Context, dst []float64, q engine.Query) error {
	if p := q.Pairs; p != nil {
		w.r.Note("gradient", fmt.Sprintf("%T %d %x %x", p, p.Len(), q.Centre, q.Radius))
	} else {
		w.r.Note("moments", fmt.Sprintf("%+v", q))
	}
	return w.Evaluator.Sum(ctx, dst, q)
}

// Replay runs plan p of a on data and replays it on every neighbour, each of the
// same shape and bounds. It returns a Violation if the algorithm is not sound on
// them, and the largest moved/certified ratio seen.
func Replay(a algorithms.Algorithm, p *algorithms.Plan, data *engine.Records, neighbours []*engine.Records, seed uint64) (float64, error) {
	return replayAll(p, false, data, neighbours, seed, func(data *engine.Records, r *Recorder) ([]float64, error) {
		ev, err := p.Spec.Kernel.Bind(data)
		if err != nil {
			return nil, err
		}
		step := func(done, total int) { r.Note("step", fmt.Sprint(done, total)) } // their number may not depend on data
		w, err := a.Train(context.Background(), watched{ev, r}, p, r, algorithms.Tracker{OnStep: step})
		return w, errors.Join(err, ev.Close())
	})
}

// replayAll replays a run on every neighbour. All releases of a stream have one certificate.
func replayAll(p *algorithms.Plan, stream bool, data *engine.Records, neighbours []*engine.Records, seed uint64, run func(*engine.Records, *Recorder) ([]float64, error)) (largest float64, err error) {
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
		return 0, violation("the run asked for nothing")
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
			err = violation("the result depends on %s", depends)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		return nil
	}
	if batch, _ := p.Certificate().Batch(); !stream && (batch > 0 || p.Certificate().HiddenSteps() > 0) {
		if err := again(data, &Recorder{Session: session, Of: record, Fresh: true}, "other secret coins", "batches or steps that must stay secret"); err != nil {
			return 0, err
		}
	}
	for i, neighbour := range neighbours {
		if err := again(neighbour, &Recorder{Session: session, Of: record}, fmt.Sprintf("neighbour %d", i), "an unreleased value"); err != nil {
			return largest, err
		}
	}
	return largest, nil
}
