//go:build unix

package serve_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"dyad/algorithms/local"
	"dyad/algorithms/local/serve"
	"dyad/engine"
	"dyad/internal/crash"
	"dyad/internal/must"
	"dyad/internal/sizes"
	"dyad/privacy"
)

// TestMain runs this binary as a server or a client when asked to, so that tests can kill one.
func TestMain(m *testing.M) {
	if dir := os.Getenv("DYAD_TEST_LOCAL_SERVER"); dir != "" {
		fmt.Fprintln(os.Stderr, server(context.Background(), dir, os.Getenv("DYAD_TEST_LOCAL_ADDRESS"), os.Getenv("DYAD_TEST_LOCAL_USERS")))
		os.Exit(1)
	}
	crash.Main(m, func(ctx context.Context, args []string, stage func(string)) int {
		run := server
		if args[0] == "client" {
			run = func(ctx context.Context, dir, address, user string) error {
				return answers(ctx, dir, address, user, stage)
			}
		}
		if err := run(ctx, args[1], args[2], args[3]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return 0
	}, nil)
}

// server serves the protocol for a number of users, "N" or "N network", from a directory, until ctx ends.
func server(ctx context.Context, dir, address, number string) error {
	number, network := strings.CutSuffix(number, " network")
	var users int
	if _, err := fmt.Sscan(number, &users); err != nil {
		return err
	}
	p := protocol(users)
	if network {
		p = networkProtocol(users)
	}
	q, err := p.Plan()
	if err != nil {
		return err
	}
	s, err := serve.Open(dir, q, "")
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", address)
	if err == nil {
		err = serve.Run(ctx, s, l, serve.HandlerOptions{})
	}
	return errors.Join(err, s.Close())
}

// answers is a client that follows a server.
func answers(ctx context.Context, dir, address, user string, stage func(string)) error {
	m, err := serve.OpenMemory(filepath.Join(dir, user+".json"))
	if err != nil {
		return err
	}
	defer m.Close()
	c := serve.Client{Remote: serve.Remote{URL: "http://" + address}, User: user, Memory: m, Limits: serve.Limits{Epsilon: 16}, Beat: 10 * time.Millisecond, Trace: stage}
	a, err := c.Follow(ctx, engine.Record{X: []float64{0.5, -0.2, 0.1}, Y: 1}, 20*time.Millisecond)
	if err == nil {
		fmt.Println(a.Outcome)
	}
	return err
}

// freeAddress is an address on which no program listens.
func freeAddress(t testing.TB) string {
	t.Helper()
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer listener.Close()
	return listener.Addr().String()
}

// awaited returns the state of a server that may start within a few seconds.
func awaited(ctx context.Context, r serve.Remote) (st serve.PublicState, err error) {
	for range 100 {
		if st, err = r.State(ctx); err == nil {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	return st, err
}

// A server is killed again and again, and clients lose their connections and are killed after
// each of their stages. In the end every user has exactly one message in each epoch, no user
// remembers two, and another server on the same directory has the same state.
func TestKilledServerAndClients(t *testing.T) {
	users, kills := 10, 6
	if testing.Short() {
		users, kills = 5, 3
	}
	killedServerAndClients(t, protocol(users), "", kills)
}

// So it is with a network.
func TestKilledServerAndClientsOfANetwork(t *testing.T) {
	sizes.NotShort(t, "slow")
	killedServerAndClients(t, networkProtocol(8), " network", 4)
}

func killedServerAndClients(t *testing.T, p local.Protocol, kind string, kills int) {
	users := p.Users
	dir := t.TempDir()
	address := freeAddress(t)
	start := func() *crash.Child {
		return crash.Start(t, dir, crash.Spec{Args: []string{"server", filepath.Join(dir, "study"), address, fmt.Sprint(users, kind)}})
	}
	running := start()
	var wait sync.WaitGroup
	for u := range users {
		wait.Go(func() {
			args := []string{"client", dir, address, fmt.Sprint("u", u)}
			// Some die after they have drawn a message, some after they have sent it.
			if stage := []string{"", "message remembered", "message sent"}[u%3]; stage != "" {
				for range 2 {
					crash.Start(t, dir, crash.Spec{Args: args, Stage: stage, Fault: "kill"}).End().Want(t, "a client to be killed", crash.Killed, "")
				}
			}
			crash.Start(t, dir, crash.Spec{Args: args}).End().Want(t, fmt.Sprint("user ", u), 0, "over")
		})
	}
	done := make(chan struct{})
	go func() { wait.Wait(); close(done) }()
	for range kills {
		select {
		case <-done:
		case <-time.After(150 * time.Millisecond):
		}
		_ = running.Process.Kill()
		running.End()
		running = start()
	}
	<-done
	before, err := awaited(t.Context(), serve.Remote{URL: "http://" + address})
	if err != nil || !before.Done || before.Visits != int64(2*users) {
		t.Errorf("final state %+v, %v, want %d visits", before, err, 2*users)
	}
	must.Do(t, running.Process.Signal(syscall.SIGTERM))
	running.End().Want(t, "server after SIGTERM", 0, "stopping")
	text := must.Get(os.ReadFile(filepath.Join(dir, "study", "messages.log")))(t)
	log := slices.DeleteFunc(strings.Split(strings.TrimSpace(string(text)), "\n")[1:], func(line string) bool {
		return strings.HasSuffix(line, " batch")
	})
	for u := range users {
		m := must.Get(serve.OpenMemory(filepath.Join(dir, fmt.Sprint("u", u, ".json"))))(t)
		m.Close()
		if len(m.Messages()) != 2 || m.Spent() != 2*p.Epsilon {
			t.Errorf("user %d remembers %d messages of epsilon %v", u, len(m.Messages()), m.Spent())
		}
		for _, a := range m.Messages() { // the one on the server is the one drawn
			must.Equal(t, len(slices.DeleteFunc(slices.Clone(log), func(line string) bool { return !strings.Contains(line, a.Message.Seed) })), 1, "user %d, epoch %d: the server has the message", u, a.Epoch)
		}
	}
	must.Equal(t, len(log), 2*users, "messages of the server")
	if after := open(t, filepath.Join(dir, "study"), p).State(); !slices.Equal(after.Model, before.Model) || !after.Done {
		t.Errorf("the next server has the state %+v, want %+v", after, before)
	}
	must.Equal(t, len(must.Get(filepath.Glob(filepath.Join(dir, "study", "*")))(t)), 2, "files of the directory, which are log and lock")
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
	address := freeAddress(t)
	start := func() *exec.Cmd {
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), "DYAD_TEST_LOCAL_SERVER="+dir, fmt.Sprint("DYAD_TEST_LOCAL_USERS=", users), "DYAD_TEST_LOCAL_ADDRESS="+address)
		must.Do(t, c.Start())
		return c
	}
	server := start()
	q := planOf(t, protocol(users))
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	transport := &http.Transport{MaxIdleConnsPerHost: clients}
	remote := serve.Remote{URL: "http://" + address, Client: &http.Client{Transport: transport, Timeout: 10 * time.Second}}
	var wait sync.WaitGroup
	var latencies sync.Map
	var sent atomic.Int64
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
					s, _ := serve.NewSubmission(fmt.Sprint(u), number, m)
					for ctx.Err() == nil {
						began := time.Now()
						_, err := remote.Submit(ctx, s)
						times = append(times, time.Since(began))
						var refused *serve.RefusedError
						if err == nil || errors.As(err, &refused) && refused.Status < 500 {
							sent.Add(1)
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
		for k := range kills { // spread over the messages, however fast they are
			for sent.Load() < int64(2*users*(k+1)/(kills+1)+r.IntN(users/kills/2)) {
				select {
				case <-stop:
					killed <- n
					return
				case <-time.After(time.Millisecond):
				}
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
	final, err := awaited(ctx, remote)
	_ = server.Process.Kill()
	_ = server.Wait()
	must.Do(t, err)
	want, messages := replayed(t, dir, q)
	if n == 0 || messages != 2*users || !final.Done || final.Visits != int64(2*users) || !slices.Equal(final.Model, want.W) || !slices.Equal(final.Average, want.Average()) {
		t.Errorf("%d kills, %d messages in the log, final state %+v; want kills, %d messages and the state of a serial replay", n, messages, final, 2*users)
	}
	var all []time.Duration
	latencies.Range(func(_, v any) bool { all = append(all, v.([]time.Duration)...); return true })
	slices.Sort(all)
	return float64(messages) / seconds, all[len(all)*99/100]
}
