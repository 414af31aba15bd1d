package localserve_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"dyad/algorithms/local"
	"dyad/cmd/dyad/localserve"
	"dyad/engine"
	"dyad/privacy"
	randomiser "dyad/privacy/local"
)

// logistic is the loss as users and server build it, each by itself.
func logistic() local.Loss {
	e, err := engine.NewExpression("logistic", "log1p(exp(-u))", engine.ExpressionOptions{})
	if err != nil {
		panic(err)
	}
	return local.ScalarLoss{Of: e}
}

func protocol(users int) local.Protocol {
	return local.Protocol{Method: local.DJW, Loss: logistic(), Dim: 3, FeatureNorm: 1, Radius: 5, L2: 0.1, Users: users, Epochs: 2, Epsilon: 1}
}

func planOf(t testing.TB, p local.Protocol) *local.Plan {
	t.Helper()
	q, err := p.Plan()
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func open(t testing.TB, dir string, p local.Protocol) *localserve.Service {
	t.Helper()
	s, err := localserve.Open(dir, planOf(t, p))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// submission is the message of a user for the service's present state.
func submission(t testing.TB, p *local.Plan, st localserve.PublicState, user string, seed uint64) localserve.Submission {
	t.Helper()
	c := local.NewClient(p, privacy.NewSeededSource(seed))
	m, err := c.Message(&local.State{Epoch: st.Epoch, W: st.Model}, engine.Record{X: []float64{0.5, -0.2, 0.1}, Y: 1})
	if err != nil {
		t.Fatal(err)
	}
	s, err := localserve.NewSubmission(user, st.Epoch, m)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// replayed is the state by a serial replay of the log with the library alone.
func replayed(t testing.TB, dir string, p *local.Plan) (*local.State, int) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "messages.log"))
	if err != nil {
		t.Fatal(err)
	}
	st, n := p.Start(), 0
	for i, line := range bytes.Split(bytes.TrimSuffix(text, []byte{'\n'}), []byte{'\n'}) {
		if i == 0 || string(line[9:]) == "batch" {
			continue
		}
		var s struct {
			Seed   []byte
			Choice uint16
		}
		if err := json.Unmarshal(line[9:], &s); err != nil {
			t.Fatal(err)
		}
		m := local.Message{Takes: true, Direction: randomiser.DirectionMessage{Seed: [32]byte(s.Seed), Choice: s.Choice}}
		if err := p.Apply(st, []local.Message{m}); err != nil {
			t.Fatal(err)
		}
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
			r, err := s.Submit(ctx, m)
			if err != nil {
				t.Fatal(err)
			}
			if want := int64(3*(epoch-1) + u + 1); r.Visit != want || r.Visits != epoch || math.Abs(r.Epsilon-float64(epoch)) > 1e-12 {
				t.Errorf("receipt %+v, want visit %d and epsilon %d", r, want, epoch)
			}
			before := s.State()
			_, err = s.Submit(ctx, m)
			if !errors.Is(err, localserve.ErrTwice) && !errors.Is(err, localserve.ErrEpoch) && !errors.Is(err, localserve.ErrFull) {
				t.Errorf("the same message again: %v", err)
			}
			if after := s.State(); !slices.Equal(before.Model, after.Model) || before.Visits != after.Visits {
				t.Error("a refused message changed the state")
			}
			// A restart at any time gives the same state.
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = open(t, dir, p)
			if after := s.State(); !slices.Equal(before.Model, after.Model) || before.Visits != after.Visits || before.Epoch != after.Epoch {
				t.Errorf("a restart changed the state from %+v to %+v", before, after)
			}
		}
	}
	if st := s.State(); !st.Done || st.Visits != 6 {
		t.Errorf("after two epochs: %+v", st)
	}
	if _, err := s.Submit(ctx, localserve.Submission{User: "late", Epoch: 3, Takes: true}); !errors.Is(err, localserve.ErrFull) {
		t.Errorf("a message after the end: %v", err)
	}
}

func TestLogDamage(t *testing.T) {
	dir, p := t.TempDir(), protocol(5)
	s := open(t, dir, p)
	for u := range 4 {
		if _, err := s.Submit(context.Background(), submission(t, s.Plan(), s.State(), fmt.Sprint(u), uint64(u))); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := localserve.Open(dir, planOf(t, p)); err == nil || !strings.Contains(err.Error(), "another server") {
		t.Errorf("two servers on one directory: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "messages.log")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(whole, []byte{'\n'})
	visits := func(text []byte) (int64, error) {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := localserve.Open(dir, planOf(t, p))
		if err != nil {
			return 0, err
		}
		defer s.Close()
		return s.State().Visits, nil
	}
	// Lines: the plan, then for each user the begin of a batch and a message.
	last := len(whole) - len(lines[8])
	for cut := last + 1; cut < len(whole); cut += 7 {
		if n, err := visits(whole[:cut]); n != 3 || err != nil {
			t.Errorf("cut in the last line: %d visits, %v, want 3", n, err)
		}
	}
	// Pages that a power loss left unwritten in the last batch, which nobody acknowledged.
	for name, at := range map[string]int{"its message": last + 20, "its begin": last - len(lines[7]) + 2, "the end of its message": len(whole) - 1} {
		zeroed := slices.Clone(whole)
		zeroed[at] = 0
		if n, err := visits(zeroed); n != 3 || err != nil {
			t.Errorf("the last batch with a zero in %s: %d visits, %v, want 3", name, n, err)
		}
	}
	for name, at := range map[string]int{"message": len(lines[0]) + len(lines[1]) + 40, "end": len(lines[0]) + len(lines[1]) + len(lines[2]) - 1, "begin": len(lines[0]) + len(lines[1]) + len(lines[2]) + 3, "plan": 20} {
		flipped := slices.Clone(whole)
		flipped[at] ^= 1
		if n, err := visits(flipped); err == nil {
			t.Errorf("a damaged %s of an acknowledged batch was read: %d visits", name, n)
		}
	}
	if _, err := visits(append(slices.Clone(whole), lines[2]...)); err == nil {
		t.Error("a message that occurs twice in the log was counted twice")
	}
	if n, err := visits(whole); n != 4 || err != nil {
		t.Errorf("the undamaged log: %d visits, %v", n, err)
	}
	other := p
	other.Epsilon = 0.5
	if _, err := localserve.Open(dir, planOf(t, other)); err == nil || !strings.Contains(err.Error(), "another protocol") {
		t.Errorf("another epsilon on the same log: %v", err)
	}
	printed := p
	printed.Method = local.PrestigePrinted
	if _, err := localserve.Open(t.TempDir(), planOf(t, printed)); err == nil {
		t.Error("the printed algorithm is served")
	}
}

// TestMain runs this binary as a server when asked to, so that tests can kill one.
func TestMain(m *testing.M) {
	if dir := os.Getenv("DYAD_TEST_LOCAL_SERVER"); dir != "" {
		serve(dir)
		return
	}
	os.Exit(m.Run())
}

func serve(dir string) {
	var users int
	_, _ = fmt.Sscan(os.Getenv("DYAD_TEST_LOCAL_USERS"), &users)
	q, err := protocol(users).Plan()
	if err == nil {
		var s *localserve.Service
		if s, err = localserve.Open(dir, q); err == nil {
			var l net.Listener
			if l, err = net.Listen("tcp", os.Getenv("DYAD_TEST_LOCAL_ADDRESS")); err == nil {
				err = localserve.NewServer(s, localserve.HandlerOptions{}).Serve(l)
			}
		}
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func TestKilledServerLosesNothing(t *testing.T) {
	if testing.Short() {
		killedServer(t, 500, 2)
		return
	}
	killedServer(t, 3000, 6)
}

// 100,000 messages; throughput and p99 with the kills in them.
func BenchmarkKilledServer(b *testing.B) {
	for range b.N {
		rate, p99 := killedServer(b, 50_000, 8)
		b.ReportMetric(rate, "messages/s")
		b.ReportMetric(p99.Seconds()*1e3, "p99-ms")
	}
}

// killedServer lets 50 clients send a message for each user in both epochs while the
// server is killed at random. The final state must equal a serial replay of the log,
// with exactly one message of every user an epoch.
func killedServer(t testing.TB, users, kills int) (rate float64, p99 time.Duration) {
	const clients = 50
	dir := t.TempDir()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	start := func() *exec.Cmd {
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), "DYAD_TEST_LOCAL_SERVER="+dir, fmt.Sprint("DYAD_TEST_LOCAL_USERS=", users), "DYAD_TEST_LOCAL_ADDRESS="+address)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		return c
	}
	server := start()
	q := planOf(t, protocol(users))
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	transport := &http.Transport{MaxIdleConnsPerHost: clients}
	remote := localserve.Remote{URL: "http://" + address, Client: &http.Client{Transport: transport, Timeout: 10 * time.Second}}
	var wait sync.WaitGroup
	var latencies sync.Map
	epoch := func(number int) {
		for k := range clients {
			wait.Go(func() {
				client := local.NewClient(q, privacy.NewSeededSource(uint64(number*clients+k)))
				st := &local.State{Epoch: number, W: make([]float64, q.Dim)}
				var times []time.Duration
				for u := k; u < users; u += clients {
					m, err := client.Message(st, engine.Record{X: []float64{0.5, 0, 0}, Y: 1})
					if err != nil {
						t.Error(err)
						return
					}
					s, _ := localserve.NewSubmission(fmt.Sprint(u), number, m)
					for ctx.Err() == nil {
						began := time.Now()
						_, err := remote.Submit(ctx, s)
						times = append(times, time.Since(began))
						var refused *localserve.RefusedError
						if err == nil || errors.As(err, &refused) && refused.Status < 500 {
							break // accepted now, or by a server that died before it could say so
						}
						time.Sleep(5 * time.Millisecond)
					}
				}
				latencies.Store(number*clients+k, times)
			})
		}
	}
	began := time.Now()
	stop := make(chan struct{})
	killed := make(chan int)
	go func() {
		r, n := rand.New(rand.NewPCG(1, 1)), 0
		for range kills {
			select {
			case <-stop:
				killed <- n
				return
			case <-time.After(time.Duration(20+r.IntN(100)) * time.Millisecond):
			}
			_ = server.Process.Kill()
			_ = server.Wait()
			n++
			server = start()
		}
		killed <- n
	}()
	for number := 1; number <= 2; number++ {
		epoch(number)
		wait.Wait()
	}
	close(stop)
	n := <-killed
	seconds := time.Since(began).Seconds()
	var final localserve.PublicState
	for range 200 {
		if final, err = remote.State(ctx); err == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	_ = server.Process.Kill()
	_ = server.Wait()
	if err != nil {
		t.Fatal(err)
	}
	want, messages := replayed(t, dir, q)
	if n == 0 || messages != 2*users || !final.Done || final.Visits != int64(2*users) || !slices.Equal(final.Model, want.W) || !slices.Equal(final.Average, want.Average()) {
		t.Errorf("%d kills, %d messages in the log, final state %+v; want kills, %d messages and the state of a serial replay", n, messages, final, 2*users)
	}
	var all []time.Duration
	latencies.Range(func(_, v any) bool { all = append(all, v.([]time.Duration)...); return true })
	slices.Sort(all)
	return float64(messages) / seconds, all[len(all)*99/100]
}
