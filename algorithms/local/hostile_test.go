package local_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"dyad/algorithms/local"
	"dyad/engine"
	"dyad/internal/must"
	"dyad/privacy"
	randomiser "dyad/privacy/local"
)

// hostileStates are states that no server of a plan publishes, chosen so that w.x
// overflows for some records only: whether a message comes would then tell which.
func hostileStates(q *local.Plan) map[string]*local.State {
	with := func(epoch int, w ...float64) *local.State {
		st := q.Start()
		st.Epoch, st.W = epoch, w
		return st
	}
	return map[string]*local.State{
		"an infinite difference": with(1, 1e308, -1e308, 0),
		"an infinity":            with(1, math.Inf(1), 0, 0),
		"not a number":           with(1, math.NaN(), 0, 0),
		"beyond the radius":      with(1, 3*q.Radius, 0, 0),
		"an epoch too many":      with(q.Epochs+1, 0, 0, 0),
		"an epoch of years":      with(math.MaxInt, 0, 0, 0),
		"epoch 0":                with(0, 0, 0, 0),
		"a short model":          with(1, 0),
	}
}

// Whether a user sends does not depend on the record, whatever the server publishes.
// The server need not be trusted, and a difference here would have no finite epsilon.
func TestHostileServerLearnsNothingFromSilence(t *testing.T) {
	records := []engine.Record{
		{X: []float64{5, 5, 0}, Y: 1}, {X: []float64{5, -5, 0}, Y: 1}, {X: []float64{0, 0, 1}, Y: -1}, {X: []float64{0, 0, 0}, Y: 1},
	}
	for _, m := range []local.Method{local.Prestige, local.DJW, local.PrestigeParticipation} {
		p := protocol(m)
		p.FeatureNorm = 10
		q := plan(t, p)
		sends := func(st *local.State, z engine.Record) bool {
			_, err := local.NewClient(q, privacy.NewSeededSource(1)).Message(st, z)
			return err == nil
		}
		for _, z := range records {
			if !sends(q.Start(), z) {
				t.Errorf("%s: no message for the start", m)
			}
			edge := q.Start()
			edge.W[0] = q.Radius
			if !sends(edge, z) {
				t.Errorf("%s: no message for a model on the sphere", m)
			}
		}
		for name, st := range hostileStates(q) {
			for _, z := range records {
				if sends(st, z) {
					t.Errorf("%s: %s: a message was sent", m, name)
				}
			}
		}
		// Nor does a record that is not finite, or beyond the bound, stay silent.
		for _, x := range []float64{math.NaN(), math.Inf(1), 1e308, math.MaxFloat64} {
			for _, w := range []float64{-q.Radius / 2, 0} { // the gradient, or its norm, overflows
				st := q.Start()
				st.W[0], st.W[1] = q.Radius/2, w
				for _, y := range []float64{1, -1} {
					if !sends(st, engine.Record{X: []float64{x, x, 0}, Y: y}) {
						t.Errorf("%s: a record of %v sends nothing", m, x)
					}
				}
			}
		}
	}
}

// A protocol that comes from a server is planned in a bounded time: all its epochs at a
// threshold that no record reaches took the square of their number.
func TestHostileProtocolEnds(t *testing.T) {
	p := protocol(local.Prestige)
	p.Threshold, p.ThresholdStep = 1e9, 1e-9
	p.Epochs = local.MaxEpochs
	planned := make(chan *local.Plan, 1)
	go func() {
		q, err := p.Plan()
		must.CheckDo(t, err)
		planned <- q
	}()
	select {
	case q := <-planned:
		must.Contain(t, strings.Join(q.Guarantee.Warnings, " "), "the first 1000000 epochs")
	case <-time.After(20 * time.Second):
		t.Fatal("the plan takes too long")
	}
	p.Epochs++
	must.Fail(p.Plan())(t, local.ErrProtocol, p.Epochs, " epochs")
	p.Epochs, p.Users = 1, 1<<41
	must.Fail(p.Plan())(t, local.ErrProtocol, p.Users, " users")
}

// TestHostileServerLearnsNothingFromSilence can fail: with the first hostile state the margin of one record is
// not a number, and its gradient cannot be sent, while that of the other can.
func TestHostileStateSeparatesRecords(t *testing.T) {
	q := plan(t, protocol(local.DJW))
	c := must.Get(randomiser.Direction{Dim: 3, Bound: 1, Epsilon: 1}.Channel())(t)
	w := hostileStates(q)["an infinite difference"].W
	sends := func(x ...float64) bool {
		margin := 0.0
		for i, v := range x {
			margin += w[i] * v
		}
		f := logistic{}.DPhi(margin)
		_, err := c.Send([]float64{f * x[0], f * x[1], f * x[2]}, privacy.NewSeededSource(1))
		return err == nil
	}
	if sends(5, 5, 0) || !sends(5, -5, 0) {
		t.Error("the hostile state does not separate the two records; choose another for the test")
	}
}

// torn is a loss whose slope is not a number for some margins.
type torn struct{ logistic }

func (torn) Slope(v float64) float64 {
	return []float64{-1, math.NaN(), math.Inf(1)}[int(math.Abs(v)*10)%3]
}

// Nor is a user silent, or treated in another way, where a server's loss has no slope.
func TestHostileLossLearnsNothingFromSilence(t *testing.T) {
	for _, m := range []local.Method{local.Prestige, local.DJW, local.PrestigeParticipation} {
		p := protocol(m)
		p.Loss = torn{}
		q := plan(t, p)
		for _, x := range []float64{0, 0.02, 0.03, 0.05, 0.5} {
			st := q.Start()
			st.W[0] = q.Radius
			src := privacy.NewSeededSource(1)
			msg, err := local.NewClient(q, src).Message(st, engine.Record{X: []float64{x, 0, 0}, Y: 1})
			if err != nil || m != local.PrestigeParticipation && !msg.Takes {
				t.Errorf("%s, x = %v: %+v, %v", m, x, msg, err)
			}
		}
	}
}
