package serve_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"dyad/algorithms/local/serve"
	"dyad/engine"
	"dyad/internal/must"
)

// scripted is a server that tells one state after the other, the last one for ever, and takes
// every message.
type scripted struct {
	mu         sync.Mutex
	protocol   serve.Protocol
	states     []serve.PublicState
	told, sent []time.Time // of states and messages
}

// ServeHTTP implements http.Handler.
func (f *scripted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var v any
	switch r.URL.Path {
	case "/v1/plan":
		v = f.protocol
	case "/v1/state":
		v = f.states[0]
		if len(f.states) > 1 {
			f.states = f.states[1:]
		}
		f.told = append(f.told, time.Now())
	default:
		f.sent = append(f.sent, time.Now())
		v = serve.Receipt{Visit: 1}
	}
	_ = json.NewEncoder(w).Encode(v)
}

// follows is a scripted server of so many epochs, and a client that follows it.
func follows(t *testing.T, epochs int) (*scripted, *serve.Client) {
	t.Helper()
	p := protocol(3)
	p.Epochs, p.Epsilon = epochs, 0.001
	q := planOf(t, p)
	f := &scripted{protocol: serve.PublicPlan(q)}
	for epoch := 1; epoch <= epochs; epoch++ {
		f.states = append(f.states, serve.PublicState{Epoch: epoch, Epochs: epochs, Visits: 1, Model: make([]float64, q.Dim)})
	}
	f.states = append(f.states, serve.PublicState{Epoch: epochs + 1, Epochs: epochs, Done: true})
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	m := must.Get(serve.OpenMemory(filepath.Join(t.TempDir(), "m.json")))(t)
	t.Cleanup(m.Close)
	return f, &serve.Client{Remote: serve.Remote{URL: server.URL}, User: "u", Memory: m, Limits: serve.Limits{Epsilon: 1}, Beat: time.Millisecond}
}

var somebody = engine.Record{X: []float64{0.5, -0.2, 0.1}, Y: 1}

// A client that follows plans a protocol once, and draws one message an epoch.
func TestFollowPlansOnce(t *testing.T) {
	f, c := follows(t, 5)
	planned := 0
	c.Trace = func(stage string) {
		if stage == "planned" {
			planned++
		}
	}
	a, err := c.Follow(t.Context(), somebody, time.Millisecond)
	if err != nil || a.Outcome != serve.Over || planned != 1 || len(f.sent) != 5 || len(c.Memory.Messages()) != 5 {
		t.Errorf("%+v, %v: planned %d times, %d messages sent, %d remembered; want 1, 5 and 5", a, err, planned, len(f.sent), len(c.Memory.Messages()))
	}
	f.protocol.L2 *= 2 // another protocol is planned anew
	f.states = []serve.PublicState{{Epoch: 1, Model: make([]float64, f.protocol.Dim)}}
	if _, err := c.Answer(t.Context(), somebody); err != nil || planned != 2 || len(c.Memory.Messages()) != 6 {
		t.Errorf("another protocol: %v, planned %d times, %d messages", err, planned, len(c.Memory.Messages()))
	}
}

// A message comes at a multiple of the beat after the model was told.
func TestMessageComesAtABeat(t *testing.T) {
	f, c := follows(t, 1)
	c.Beat = 400 * time.Millisecond
	must.Get(c.Answer(t.Context(), somebody))(t)
	if len(f.told) != 1 || len(f.sent) != 1 {
		t.Fatalf("%d states, %d messages", len(f.told), len(f.sent))
	}
	if gone := f.sent[0].Sub(f.told[0]); gone < c.Beat-time.Millisecond {
		t.Errorf("the message came %v after the state, want at least %v", gone, c.Beat)
	}
}
