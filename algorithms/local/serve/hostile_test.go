package serve_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"dyad/algorithms/local"
	"dyad/algorithms/local/serve"
	"dyad/engine"
	"dyad/internal/must"
	"dyad/internal/sizes"
)

// Replays, and messages that no user can have sent, take nothing from the rate of the others.
func TestReplaysUseUpNobodysRate(t *testing.T) {
	s := open(t, t.TempDir(), protocol(20))
	one := func() string { // of a server that accepts one message, and no second one for long
		return served(t, s, serve.HandlerOptions{MessagesPerSecond: 1e-3})
	}
	text := func(user string) string {
		m := must.Get(json.Marshal(submission(t, s.Plan(), s.State(), user, 1)))(t)
		return string(m)
	}
	// The same message many times at once is one message.
	mallory, url := text("mallory"), one()
	var wait sync.WaitGroup
	codes := make(chan int, 50)
	for range cap(codes) {
		wait.Go(func() { codes <- posted(t, url, mallory) })
	}
	wait.Wait()
	close(codes)
	count := map[int]int{}
	for c := range codes {
		count[c]++
	}
	if count[200] != 1 || count[409] != 49 {
		t.Errorf("50 copies at once: %v, want one 200 and 49 times 409", count)
	}
	url = one()
	for _, body := range []string{mallory, strings.Replace(mallory, `"epoch":1`, `"epoch":2`, 1), `{"user":"m2","epoch":1,"takes":true,"seed":"AA=="}`} {
		for range 20 {
			if c := posted(t, url, body); c != 409 && c != 400 {
				t.Fatalf("%.60s: status %d", body, c)
			}
		}
	}
	must.Equal(t, posted(t, url, text("honest")), 200, "an honest message after the replays: status")
	must.Equal(t, posted(t, url, text("third")), 429, "the next one: status")
}

// Where tokens say who it is, a user who does not stop is refused, alone.
func TestRateOfOneUser(t *testing.T) {
	s := open(t, t.TempDir(), protocol(20))
	key := must.Get(serve.NewTokenKey())(t)
	server := served(t, s, serve.HandlerOptions{Tokens: key})
	send := func(user string) int {
		m, _ := json.Marshal(submission(t, s.Plan(), s.State(), user, 1))
		token := must.Get(key.Study(serve.PublicPlan(s.Plan())).Token(user))(t)
		status, _ := post(t, server, string(m), token)
		return status
	}
	count := map[int]int{}
	for range 60 {
		count[send("mallory")]++
	}
	if count[200] != 1 || count[429] < 20 || count[409] < 10 {
		t.Errorf("60 messages of one user: %v", count)
	}
	must.Equal(t, send("honest"), 200, "another user: status")
}

// A message that waits for the disk has no receipt yet: a copy of it is told "twice" only if
// it was written.
func TestTwiceMeansWritten(t *testing.T) {
	s := open(t, t.TempDir(), protocol(20))
	m := submission(t, s.Plan(), s.State(), "a", 1)
	serve.BreakLog(s)
	var wait sync.WaitGroup
	for range 200 {
		wait.Go(func() {
			must.Fail(s.Submit(context.Background(), m))(t, serve.ErrUnavailable, "on a log that cannot be written")
		})
	}
	wait.Wait()
}

// listen serves s on a port of this machine.
func listen(t *testing.T, s *serve.Service, o serve.HandlerOptions) (address string) {
	t.Helper()
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	server := serve.NewServer(s, o)
	go server.Serve(l)
	t.Cleanup(func() { _ = server.Close() })
	return l.Addr().String()
}

// dial opens a connection, writes text and, if answered, reads an answer.
func dial(t *testing.T, address, text string, answered bool) net.Conn {
	t.Helper()
	c := must.Get(net.Dial("tcp", address))(t)
	t.Cleanup(func() { _ = c.Close() })
	must.Get(io.WriteString(c, text))(t)
	if answered {
		r := must.Get(http.ReadResponse(bufio.NewReader(c), nil))(t)
		_, _ = io.Copy(io.Discard, r.Body)
	}
	return c
}

// closed reports whether the other side closes c within a moment.
func closed(c net.Conn) bool {
	_ = c.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
	_, err := c.Read(make([]byte, 1))
	var slow net.Error
	return err != nil && !(errors.As(err, &slow) && slow.Timeout())
}

// Connections that are idle, silent or slow make room for an honest message.
func TestIdleConnectionsMakeRoom(t *testing.T) {
	const most = 8
	s := open(t, t.TempDir(), protocol(20))
	address := listen(t, s, serve.HandlerOptions{Connections: most})
	var idle []net.Conn
	for i := range 60 {
		switch i % 3 {
		case 0:
			idle = append(idle, dial(t, address, "", false))
		case 1:
			idle = append(idle, dial(t, address, "GET /v1/state HTTP/1.1\r\nHost: localhost\r\nX-Slow: ", false))
		case 2:
			idle = append(idle, dial(t, address, "GET /v1/plan HTTP/1.1\r\nHost: localhost\r\n\r\n", true))
		}
	}
	remote := serve.Remote{URL: "http://" + address, Client: &http.Client{Timeout: 2 * time.Second}}
	must.Check(remote.Submit(context.Background(), submission(t, s.Plan(), s.State(), "honest", 1)))(t,
		"an honest message among idle connections")
	alive := 0
	for _, c := range idle {
		if !closed(c) {
			alive++
		}
	}
	if alive > most {
		t.Errorf("%d connections of 60 are open, want at most %d", alive, most)
	}
}

// wide is a service whose state has about 8 MB.
func wide(t *testing.T) *serve.Service {
	p := protocol(100)
	p.Dim = 200_000
	s := open(t, t.TempDir(), p)
	moved(t, s, 0)
	return s
}

// moved changes the model of a wide service.
func moved(t *testing.T, s *serve.Service, i int) {
	t.Helper()
	c := local.NewClient(s.Plan(), source(uint64(i)))
	x := make([]float64, s.Plan().Dim)
	x[0] = 1
	m := must.Get(c.Message(&local.State{Epoch: s.State().Epoch, W: s.State().Model}, engine.Record{X: x, Y: 1}))(t)
	b := must.Get(serve.NewSubmission(fmt.Sprint("u", i), s.State().Epoch, m))(t)
	must.Get(s.Submit(context.Background(), b))(t)
}

// Requests for a state at the same time share one encoding, and get what the service has.
func TestStateIsEncodedOnce(t *testing.T) {
	sizes.NotShort(t, "slow")
	s := wide(t)
	server := served(t, s, serve.HandlerOptions{})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var wait sync.WaitGroup
	for range 40 {
		wait.Go(func() {
			r, err := http.Get(server + "/v1/state")
			if err != nil {
				t.Error(err)
				return
			}
			defer r.Body.Close()
			if n, err := io.Copy(io.Discard, r.Body); err != nil || n < 4<<20 || r.StatusCode != 200 {
				t.Errorf("status %d, %d bytes, %v", r.StatusCode, n, err)
			}
		})
	}
	wait.Wait()
	runtime.ReadMemStats(&after)
	if made := after.TotalAlloc - before.TotalAlloc; made > 150<<20 {
		t.Errorf("40 requests allocated %d MB, want one encoding of 8 MB and its buffers", made>>20)
	}
	remote := serve.Remote{URL: server}
	for i := 1; i < 3; i++ {
		moved(t, s, i)
		st, err := remote.State(context.Background())
		if want := s.State(); err != nil || st.Visits != want.Visits || st.Model[7] != want.Model[7] || st.Average[7] != want.Average[7] {
			t.Errorf("after message %d: %v, visits %d, want %d", i, err, st.Visits, want.Visits)
		}
	}
}

// Readers that stop do not hold a state each: the memory of old ones is bounded, and honest
// requests get one of the present epoch all the same.
func TestSlowReadersHoldLittle(t *testing.T) {
	sizes.NotShort(t, "slow")
	s := wide(t)
	address := listen(t, s, serve.HandlerOptions{})
	heap := func() int {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc >> 20)
	}
	before := heap()
	for i := 1; i < 30; i++ {
		c := dial(t, address, "", false)
		must.Do(t, c.(*net.TCPConn).SetReadBuffer(4096)) // else the kernel holds the answer
		must.Get(io.WriteString(c, "GET /v1/state HTTP/1.1\r\nHost: localhost\r\n\r\n"))(t)
		must.Get(c.Read(make([]byte, 12)))(t) // the answer has begun
		moved(t, s, i)
	}
	if held := heap() - before; held > 130 {
		t.Errorf("30 slow readers hold %d MB, want 64 and what the last update needs", held)
	}
	st, err := serve.Remote{URL: "http://" + address}.State(context.Background())
	if err != nil || st.Epoch != s.State().Epoch || len(st.Model) != s.Plan().Dim {
		t.Errorf("an honest request: %v, epoch %d", err, st.Epoch)
	}
}

// A user is one id: what JSON decodes to the same replacement character is no id, nor is
// what hides or breaks a line.
func TestUserIDs(t *testing.T) {
	s := open(t, t.TempDir(), protocol(20))
	server := served(t, s, serve.HandlerOptions{})
	key := must.Get(serve.NewTokenKey())(t)
	good, _ := json.Marshal(submission(t, s.Plan(), s.State(), "USER", 1))
	send := func(id string) int { return posted(t, server, strings.Replace(string(good), "USER", id, 1)) }
	for _, id := range []string{"\xff", "\xfe", "a\xc0b", `\ud800`, `a\nb`, `a\u0000`, `\u001b[2J`, `\u202eabc`, `a\u200bb`, "\ufeffa", `\ufffd`, "a\u2028b", "\u0085", ""} {
		must.Equal(t, send(id), 400, "id %+q: status", id)
	}
	for _, id := range []string{"\xff", "a\nb", "\x00", "\u202ea", "\ufffd"} {
		must.Err(key.Study(serve.PublicPlan(s.Plan())).Token(id))(t, "a token for %+q was made", id)
	}
	for _, id := range []string{"anna", "Ångström 7", "李", "a@b.c", "O'Neill"} {
		must.Equal(t, send(id), 200, "id %+q: status", id)
	}
	must.Equal(t, s.State().Visits, 5, "messages")
}
