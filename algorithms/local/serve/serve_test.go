package serve_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"dyad/algorithms/local"
	"dyad/algorithms/local/serve"
	"dyad/engine"
	"dyad/internal/must"
	"dyad/privacy"
	randomiser "dyad/privacy/local"
)

// logistic is the loss as users and server build it, each by itself.
func logistic() engine.MarginLoss {
	e, err := engine.NewExpression("logistic", "log1p(exp(-u))", engine.ExpressionOptions{})
	if err != nil {
		panic(err)
	}
	return e
}

func protocol(users int) local.Protocol {
	return local.Protocol{Method: local.DJW, Loss: logistic(), Dim: 3, FeatureNorm: 1, Radius: 5, L2: 0.1, Users: users, Epochs: 2, Epsilon: 1,
		Threshold: 1.25, ThresholdStep: 0.75, Bias: 0.25, ResponseShare: 0.3} // no default of Protocol, so that a lost field shows
}

func planOf(t testing.TB, p local.Protocol) *local.Plan {
	t.Helper()
	return must.Get(p.Plan())(t)
}

// usersPlan is the plan that a user makes of the text that a server with plan p sends.
func usersPlan(t testing.TB, p *local.Plan) *local.Plan {
	t.Helper()
	var sent serve.Protocol
	must.Do(t, json.Unmarshal(must.Get(json.Marshal(serve.PublicPlan(p)))(t), &sent))
	q := must.Get(sent.Plan())(t)
	again, first := q.Protocol, p.Protocol
	again.Loss, first.Loss = nil, nil // values of two types
	must.Same(t, again, first, "the user's protocol")
	return q
}

func open(t testing.TB, dir string, p local.Protocol) *serve.Service {
	t.Helper()
	s := must.Get(serve.Open(dir, planOf(t, p), ""))(t)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// submission is the message of a user for the service's present state.
func submission(t testing.TB, p *local.Plan, st serve.PublicState, user string, seed uint64) serve.Submission {
	t.Helper()
	c := local.NewClient(p, privacy.NewSeededSource(seed))
	m := must.Get(c.Message(&local.State{Epoch: st.Epoch, W: st.Model}, engine.Record{X: []float64{0.5, -0.2, 0.1}, Y: 1}))(t)
	return must.Get(serve.NewSubmission(user, st.Epoch, m))(t)
}

// replayed is the state by a serial replay of the log with the library alone.
func replayed(t testing.TB, dir string, p *local.Plan) (*local.State, int) {
	t.Helper()
	text := must.Get(os.ReadFile(filepath.Join(dir, "messages.log")))(t)
	st, n := p.Start(), 0
	for i, line := range bytes.Split(bytes.TrimSuffix(text, []byte{'\n'}), []byte{'\n'}) {
		if i == 0 || string(line[9:]) == "batch" {
			continue
		}
		var s struct {
			Seed   []byte
			Choice uint16
		}
		must.Do(t, json.Unmarshal(line[9:], &s))
		m := local.Message{Takes: true, Direction: randomiser.DirectionMessage{Seed: [32]byte(s.Seed), Choice: s.Choice}}
		must.Do(t, p.Apply(st, []local.Message{m}))
		n++
	}
	return st, n
}

func TestServiceAppliesOnceAndResumes(t *testing.T) {
	dir, p := t.TempDir(), protocol(3)
	s := open(t, dir, p)
	ctx := context.Background()
	for epoch := 1; epoch <= 2; epoch++ {
		for u := range 3 {
			m := submission(t, s.Plan(), s.State(), fmt.Sprint("user ", u), uint64(10*epoch+u))
			r := must.Get(s.Submit(ctx, m))(t)
			if want := int64(3*(epoch-1) + u + 1); r.Visit != want || r.Visits != epoch || math.Abs(r.Epsilon-float64(epoch)) > 1e-12 {
				t.Errorf("receipt %+v, want visit %d and epsilon %d", r, want, epoch)
			}
			before := s.State()
			_, err := s.Submit(ctx, m)
			if !errors.Is(err, serve.ErrTwice) && !errors.Is(err, serve.ErrEpoch) && !errors.Is(err, serve.ErrFull) {
				t.Errorf("the same message again: %v", err)
			}
			if after := s.State(); !slices.Equal(before.Model, after.Model) || before.Visits != after.Visits {
				t.Error("a refused message changed the state")
			}
			// A restart at any time gives the same state.
			must.Do(t, s.Close())
			s = open(t, dir, p)
			if after := s.State(); !slices.Equal(before.Model, after.Model) || before.Visits != after.Visits || before.Epoch != after.Epoch {
				t.Errorf("a restart changed the state from %+v to %+v", before, after)
			}
		}
	}
	if st := s.State(); !st.Done || st.Visits != 6 {
		t.Errorf("after two epochs: %+v", st)
	}
	must.Fail(s.Submit(ctx, serve.Submission{User: "late", Epoch: 3, Takes: true}))(t, serve.ErrFull, "a message after the end")
}

func TestLogDamage(t *testing.T) {
	dir, p := t.TempDir(), protocol(5)
	s := open(t, dir, p)
	for u := range 4 {
		must.Get(s.Submit(context.Background(), submission(t, s.Plan(), s.State(), fmt.Sprint(u), uint64(u))))(t)
	}
	must.Fail(serve.Open(dir, planOf(t, p), ""))(t, "another server", "two servers on one directory")
	path := filepath.Join(dir, "messages.log")
	whole := must.Get(os.ReadFile(path))(t)
	// Nothing is written over what another program added under the lock.
	must.Do(t, os.WriteFile(path, append(slices.Clone(whole), "other"...), 0o600))
	_, err := s.Submit(context.Background(), submission(t, s.Plan(), s.State(), "4", 4))
	if text, read := os.ReadFile(path); !errors.Is(err, serve.ErrUnavailable) || read != nil || len(text) != len(whole)+len("other") {
		t.Errorf("a log that another program changed: %v, %v, and %d bytes", err, read, len(text)-len(whole))
	}
	must.Do(t, s.Close())
	lines := bytes.SplitAfter(whole, []byte{'\n'})
	visits := func(text []byte) (int64, error) {
		must.Do(t, os.WriteFile(path, text, 0o600))
		s, err := serve.Open(dir, planOf(t, p), "")
		if err != nil {
			return 0, err
		}
		defer s.Close()
		return s.State().Visits, nil
	}
	// Lines: the plan, then for each user the begin of a batch and a message.
	last := len(whole) - len(lines[8])
	for cut := last + 1; cut < len(whole); cut += 7 {
		must.Equal(t, must.Get(visits(whole[:cut]))(t), 3, "cut in the last line: visits")
	}
	// Pages that a power loss left unwritten in the last batch, which was not acknowledged.
	for name, at := range map[string]int{"its message": last + 20, "its begin": last - len(lines[7]) + 2, "the end of its message": len(whole) - 1} {
		zeroed := slices.Clone(whole)
		zeroed[at] = 0
		must.Equal(t, must.Get(visits(zeroed))(t), 3, "the last batch with a zero in %s: visits", name)
	}
	for name, at := range map[string]int{"message": len(lines[0]) + len(lines[1]) + 40, "end": len(lines[0]) + len(lines[1]) + len(lines[2]) - 1, "begin": len(lines[0]) + len(lines[1]) + len(lines[2]) + 3, "plan": 20} {
		flipped := slices.Clone(whole)
		flipped[at] ^= 1
		if n, err := visits(flipped); err == nil {
			t.Errorf("a damaged %s of an acknowledged batch was read: %d visits", name, n)
		}
	}
	must.Err(visits(append(slices.Clone(whole), lines[2]...)))(t, "a message that occurs twice in the log was counted twice")
	must.Equal(t, must.Get(visits(whole))(t), 4, "the undamaged log: visits")
	other := p
	other.Epsilon = 0.5
	must.Fail(serve.Open(dir, planOf(t, other), ""))(t, "another protocol", "another epsilon on the same log")
	printed := p
	printed.Method = local.PrestigePrinted
	must.Err(serve.Open(t.TempDir(), planOf(t, printed), ""))(t, "the printed algorithm is served")
}
