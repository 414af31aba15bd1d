// Package algotest attacks algorithms with neighbouring data sets.
//
// Record/replay: a run on D is recorded; the run on a neighbour D' is answered
// with the recorded releases. A sound algorithm then asks for the same things in
// the same order, moves each released vector by at most its certificate, and
// returns the same bits, because what it returns depends on data only through
// releases. If its guarantee rests on secret batches or steps, it returns the same bits
// for other ones too, and steps of a secret state are coupled: the two runs get the same
// noise, and their states may not drift apart faster than certified. (The idea is that of the dp-recorder project; arXiv 2602.17454.)
package algotest

import (
	"context"
	"errors"
	"fmt"
	"math"

	"dyad/algorithms"
	"dyad/engine"
	"dyad/privacy"
	"dyad/privacy/account"
)

// Violation is what an attack found.
type Violation struct{ Reason string }

func (v Violation) Error() string { return "algotest: " + v.Reason }

func violation(format string, args ...any) error {
	return Violation{fmt.Sprintf(format, args...)}
}

// call is one thing that an algorithm asked for.
type call struct {
	kind        string // permutation, sample, ball, hidden, release, exact, gradient, step
	detail      string // sizes; must not depend on data
	certificate privacy.Certificate
	noise       privacy.Mechanism
	before      []float64 // the exact vector of a release
	after       []float64 // what came out
	order       []int32
}

// tape records a run, or checks a second one against it. The recorded run goes
// through a session of the plan, so that releases that were not planned fail.
type tape struct {
	session *privacy.LiveSession
	calls   []call
	replay  bool
	// other: a replay on the same data with other secret coins, batches and hidden
	// noise. Releases are answered as recorded, so the result must not change.
	other   bool
	next    int
	largest float64 // moved / certified, over all releases
	mu2     float64 // sum of (moved / sigma)^2 over Gaussian releases
	pure    float64 // sum of moved / scale over K-norm and Laplace releases
	apart   float64 // distance of the secret states of the two runs
	err     error   // first violation
}

func (t *tape) fail(format string, args ...any) {
	if t.err == nil {
		t.err = violation(format, args...)
	}
}

// expect returns the recorded call that must match c, or nil.
func (t *tape) expect(c call) *call {
	if t.next >= len(t.calls) {
		t.fail("on the neighbour the algorithm asks for more: %s %s", c.kind, c.detail)
		return nil
	}
	r := &t.calls[t.next]
	t.next++
	if r.kind != c.kind || r.detail != c.detail {
		t.fail("call %d is %s %s on one data set and %s %s on its neighbour", t.next, r.kind, r.detail, c.kind, c.detail)
		return nil
	}
	return r
}

// Permutation records or replays data-independent coins.
func (t *tape) Permutation(n int) []int32 {
	c := call{kind: "permutation", detail: fmt.Sprint(n)}
	if t.replay {
		if r := t.expect(c); r != nil {
			return append([]int32(nil), r.order...)
		}
		return t.session.Permutation(n)
	}
	c.order = t.session.Permutation(n)
	t.calls = append(t.calls, c)
	return append([]int32(nil), c.order...)
}

// Sample records or replays data-independent coins: both runs draw the same batches.
func (t *tape) Sample(order []int32, m int) error {
	c := call{kind: "sample", detail: fmt.Sprint(len(order), m)}
	if t.replay {
		if r := t.expect(c); r != nil && t.other {
			return t.session.Sample(order, m)
		} else if r != nil {
			copy(order, r.order)
		}
		return t.err
	}
	if err := t.session.Sample(order, m); err != nil {
		return err
	}
	c.order = append([]int32(nil), order...)
	t.calls = append(t.calls, c)
	return nil
}

// SamplePoisson records or replays data-independent coins.
func (t *tape) SamplePoisson(dst []int32, n int, rate float64) ([]int32, error) {
	c := call{kind: "Poisson sample", detail: fmt.Sprint(n, rate)}
	if t.replay {
		r := t.expect(c)
		if r == nil {
			return nil, t.err
		}
		if !t.other {
			return append(dst[:0], r.order...), t.err
		}
		return t.session.SamplePoisson(dst, n, rate)
	}
	dst, err := t.session.SamplePoisson(dst, n, rate)
	if err != nil {
		return nil, err
	}
	c.order = append([]int32(nil), dst...)
	t.calls = append(t.calls, c)
	return dst, nil
}

// UniformBall records or replays data-independent coins.
func (t *tape) UniformBall(dst []float64, radius float64) {
	c := call{kind: "ball", detail: fmt.Sprint(len(dst), radius)}
	if t.replay {
		if r := t.expect(c); r != nil {
			copy(dst, r.after)
			return
		}
	}
	t.session.UniformBall(dst, radius)
	c.after = append([]float64(nil), dst...)
	if !t.replay {
		t.calls = append(t.calls, c)
	}
}

// noisy records a draw of noise and returns nil, or returns the recorded draw that x is
// to be compared with, nil if there is none.
func (t *tape) noisy(kind string, x []float64, cert privacy.Certificate, m privacy.Mechanism, draw func([]float64, privacy.Certificate, privacy.Mechanism) error) (*call, error) {
	c := call{kind: kind, detail: fmt.Sprint(len(x)), certificate: cert, noise: m, before: append([]float64(nil), x...)}
	if !t.replay {
		if err := draw(x, cert, m); err != nil {
			return nil, err
		}
		c.after = append([]float64(nil), x...)
		t.calls = append(t.calls, c)
		return nil, nil
	}
	r := t.expect(c)
	if r == nil {
		clear(x)
		return nil, t.err
	}
	if !r.certificate.Equal(cert) || r.noise != m {
		t.fail("%s %d: the certificate or the noise depends on the data", kind, t.next)
	}
	return r, nil
}

// Release records the vector and its noisy version, or checks how far the
// vector moved and answers with the recorded version.
func (t *tape) Release(x []float64, cert privacy.Certificate, m privacy.Mechanism) error {
	r, err := t.noisy("release", x, cert, m, t.session.Release)
	if r == nil {
		return err
	}
	if t.other {
		copy(x, r.after)
		return nil
	}
	if cert.HiddenSteps() > 0 {
		t.hidden(x, r, m)
		t.apart = 0
		copy(x, r.after)
		return nil
	}
	var square float64
	for k := range x {
		square += (x[k] - r.before[k]) * (x[k] - r.before[k])
	}
	moved := math.Sqrt(square)
	t.largest = max(t.largest, moved/cert.Sensitivity())
	if !(moved <= cert.Sensitivity()) {
		t.fail("release %d: moved %.6g, certified %.6g", t.next, moved, cert.Sensitivity())
	}
	switch m := m.(type) {
	case privacy.Gaussian:
		t.mu2 += square / (m.Sigma * m.Sigma)
	case privacy.KNorm:
		t.pure += moved / m.Scale
	case privacy.Laplace:
		for k := range x {
			t.pure += math.Abs(x[k]-r.before[k]) / m.Scale
		}
	}
	copy(x, r.after)
	return nil
}

// HiddenStep records a step of a secret state, or checks how far the state moved and gives
// it the recorded noise: the state of the replay goes its own way.
func (t *tape) HiddenStep(x []float64, cert privacy.Certificate, m privacy.Mechanism) error {
	r, err := t.noisy("hidden", x, cert, m, t.session.HiddenStep)
	if r == nil {
		return err
	}
	moved := append([]float64(nil), r.before...)
	if t.other { // the noise of another run: its law is symmetric
		privacy.RoundToGrid(x, m.GridSize())
		privacy.RoundToGrid(moved, m.GridSize())
		for k := range x {
			x[k] -= r.after[k] - moved[k]
		}
		return nil
	}
	moved = t.hidden(x, r, m)
	for k := range x {
		x[k] += r.after[k] - moved[k]
	}
	t.apart = distance(x, r.after)
	return nil
}

// hidden checks that the states before the noise, rounded to the grid, are not farther
// apart than the certificate's contraction and gap allow. It rounds x and returns the
// rounded recorded state.
func (t *tape) hidden(x []float64, r *call, m privacy.Mechanism) []float64 {
	e, ok := m.Event(r.certificate).(account.ConvergentEvent)
	if !ok {
		t.fail("hidden step %d: the noise has no convergent event", t.next)
		return r.before
	}
	before := append([]float64(nil), r.before...)
	privacy.RoundToGrid(before, e.Grid)
	privacy.RoundToGrid(x, e.Grid)
	allowed := e.Contraction*min(t.apart, e.Diameter) + e.Gap - e.Grid*math.Sqrt(float64(len(x)))
	moved := distance(x, before)
	t.largest = max(t.largest, (moved-e.Contraction*min(t.apart, e.Diameter))/e.Gap)
	if !(moved <= allowed*(1+1e-12)) {
		t.fail("hidden step %d: the states are %.6g apart, certified %.6g", t.next, moved, allowed)
	}
	return before
}

func distance(a, b []float64) float64 {
	var square float64
	for k := range a {
		square += (a[k] - b[k]) * (a[k] - b[k])
	}
	return math.Sqrt(square)
}

// together checks what all releases of a replay moved against the whole guarantee: a
// plan may charge less than the sum of its releases, if they read different records.
// Batches are known here, so the mu of a plan that draws some is that for known ones.
func (t *tape) together(p *algorithms.Plan) {
	const slack = 1 + 1e-9
	g := p.Guarantee
	var total account.Total
	for _, e := range p.Events() {
		if err := total.Compose(e); err != nil {
			t.fail("the events have no total: %v", err)
		}
	}
	if mu := math.Sqrt(t.mu2); g.Kind == privacy.ApproxDP && mu > total.Mu()*slack {
		t.fail("all releases together move %.6g standard deviations, and the guarantee is %.6g-GDP", mu, total.Mu())
	}
	if g.Kind == privacy.PureDP && t.pure > g.Epsilon*slack {
		t.fail("all releases together move the log-likelihood by up to %.6g, and the guarantee is epsilon = %.6g", t.pure, g.Epsilon)
	}
}

// ReleaseExact records the exact release of a non-private run.
func (t *tape) ReleaseExact(x []float64) error {
	c := call{kind: "exact", detail: fmt.Sprint(len(x)), after: append([]float64(nil), x...)}
	if !t.replay {
		if err := t.session.ReleaseExact(x); err != nil {
			return err
		}
		t.calls = append(t.calls, c)
		return nil
	}
	if r := t.expect(c); r != nil {
		copy(x, r.after)
	}
	return t.err
}

// Choose and Best are not recorded, and refused.
func (t *tape) Choose([]int64, privacy.Certificate, float64) (int, error) {
	return 0, violation("a choice, which is not recorded")
}

// Best is refused as Choose.
func (t *tape) Best(privacy.Selection, func(int, privacy.Session) ([]float64, error)) (int, []float64, error) {
	return 0, nil, violation("a selection, which is not recorded")
}

// Step makes the number of steps part of what must not depend on data.
func (t *tape) Step(done, total int) {
	c := call{kind: "step", detail: fmt.Sprint(done, total)}
	if t.replay {
		t.expect(c)
		return
	}
	t.calls = append(t.calls, c)
}

// watched makes queries part of the tape.
type watched struct {
	engine.Evaluator
	t *tape
}

// Sum notes what a query is about: pairs and the centre that their records are moved to, or
// everything of moments. A centre or a weight that was not released differs between neighbours.
func (w watched) Sum(ctx context.Context, dst []float64, q engine.Query) error {
	c := call{kind: "moments", detail: fmt.Sprintf("%+v", q)}
	if p := q.Pairs; p != nil {
		c = call{kind: "gradient", detail: fmt.Sprintf("%T %d %x %x", p, p.Len(), q.Centre, q.Radius)}
	}
	if w.t.replay {
		w.t.expect(c)
	} else {
		w.t.calls = append(w.t.calls, c)
	}
	return w.Evaluator.Sum(ctx, dst, q)
}

// Replay runs plan p of a on data and replays it on every neighbour, each of the
// same shape and bounds. It returns a Violation if the algorithm is not sound on
// them, and the largest moved/certified ratio seen.
func Replay(a algorithms.Algorithm, p *algorithms.Plan, data *engine.Records, neighbours []*engine.Records, seed uint64) (float64, error) {
	session, err := privacy.NewPublicSession(privacy.NewSeededSource(seed), p.Events())
	if err != nil {
		return 0, err
	}
	record := &tape{session: session}
	want, err := run(a, p, data, record)
	if err != nil {
		return 0, err
	}
	if len(record.calls) == 0 {
		return 0, violation("the run asked for nothing")
	}
	largest := 0.0
	if batch, _ := p.Certificate().Batch(); batch > 0 || p.Certificate().HiddenSteps() > 0 {
		other := &tape{session: session, calls: record.calls, replay: true, other: true}
		got, err := run(a, p, data, other)
		switch {
		case other.err != nil:
			return largest, fmt.Errorf("other secret coins: %w", other.err)
		case err != nil:
			return largest, err
		case !sameBits(got, want):
			return largest, fmt.Errorf("other secret coins: %w", violation("the result depends on batches or steps that must stay secret"))
		}
	}
	for i, neighbour := range neighbours {
		replay := &tape{session: session, calls: record.calls, replay: true}
		got, err := run(a, p, neighbour, replay)
		replay.together(p)
		largest = max(largest, replay.largest)
		switch {
		case replay.err != nil:
			return largest, fmt.Errorf("neighbour %d: %w", i, replay.err)
		case err != nil:
			return largest, err
		case replay.next != len(record.calls):
			return largest, fmt.Errorf("neighbour %d: %w", i, violation("the algorithm stops after %d of %d calls", replay.next, len(record.calls)))
		case !sameBits(got, want):
			return largest, fmt.Errorf("neighbour %d: %w", i, violation("the result depends on an unreleased value"))
		}
	}
	return largest, nil
}

func run(a algorithms.Algorithm, p *algorithms.Plan, data *engine.Records, t *tape) ([]float64, error) {
	ev, err := p.Spec.Kernel.Bind(data)
	if err != nil {
		return nil, err
	}
	w, err := a.Train(context.Background(), watched{ev, t}, p, t, algorithms.Tracker{OnStep: t.Step})
	return w, errors.Join(err, ev.Close())
}

func sameBits(a, b []float64) bool {
	if len(a) != len(b) {
		return false
	}
	for k := range a {
		if math.Float64bits(a[k]) != math.Float64bits(b[k]) {
			return false
		}
	}
	return true
}
