package serve_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"dyad/algorithms/local/serve"
	"dyad/internal/must"
)

// raw sends the text of a request and returns the status of the answer, 0 for none.
func raw(t *testing.T, address, text string) int {
	t.Helper()
	c := dial(t, address, "", false)
	if _, err := io.WriteString(c, text); err != nil {
		return 0
	}
	r, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return 0
	}
	r.Body.Close()
	return r.StatusCode
}

// Bodies that come slowly hold every place, and honest requests are answered at once: no slow one is waited for.
func TestSlowBodiesMakeRoom(t *testing.T) {
	const places = 300
	s := open(t, t.TempDir(), protocol(200))
	address := listen(t, s, serve.HandlerOptions{Connections: places, BodyWait: time.Hour})
	var slow []net.Conn
	for range places {
		c := dial(t, address, "", false)
		must.Get(io.WriteString(c, "POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 4000\r\n\r\n{"))(t)
		slow = append(slow, c)
	}
	for i := range 50 {
		remote := serve.Remote{URL: "http://" + address, Client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}}
		must.Get(remote.Submit(context.Background(), submission(t, s.Plan(), s.State(), fmt.Sprint("u", i), uint64(i))))(t, i)
	}
	held := 0
	for _, c := range slow {
		must.Do(t, c.SetReadDeadline(time.Now().Add(time.Millisecond)))
		if _, err := c.Read(make([]byte, 1)); errors.Is(err, os.ErrDeadlineExceeded) {
			held++
		}
	}
	if held < places/2 {
		t.Errorf("%d of %d slow bodies are still awaited after 50 honest messages: they waited for the others", held, places)
	}
}

// A request under a name that is not the server's is refused: a web page can give its own name the server's address.
func TestOtherHostsAreRefused(t *testing.T) {
	address := listen(t, open(t, t.TempDir(), protocol(20)), serve.HandlerOptions{Hosts: []string{"study.example.org", "*.example.net"}})
	for host, served := range map[string]bool{
		"127.0.0.1:8377": true, "[::1]:8377": true, "::1": true, "10.0.0.1": true, "[fe80::1%25eth0]:80": true, "localhost": true, "LOCALHOST:1": true,
		"study.example.org": true, "Study.Example.org.:443": true, "a.example.net": true, "a.b.example.net": false, "example.net": false,
		"evil.example": false, "evil.example:8377": false, "study.example.org.evil.example": false, "127.0.0.1.evil.example": false, "localhost.evil.example": false,
	} {
		for _, request := range []string{"GET /v1/state", "GET /v1/users/u", "POST /v1/messages"} {
			want := http.StatusMisdirectedRequest
			if served {
				want = map[string]int{"POST /v1/messages": http.StatusUnsupportedMediaType}[request]
				if want == 0 {
					want = http.StatusOK
				}
			}
			must.Equal(t, raw(t, address, request+" HTTP/1.1\r\nHost: "+host+"\r\n\r\n"), want, "%s, Host %s: status",
				request, host)
		}
	}
}

// A body that does not come in its time is refused, and what no client sends is refused before its body is read.
func TestRequestsAreRefusedBeforeTheirBodies(t *testing.T) {
	key := must.Get(serve.NewTokenKey())(t)
	s := open(t, t.TempDir(), protocol(20))
	plain := listen(t, s, serve.HandlerOptions{BodyWait: 50 * time.Millisecond})
	patient := listen(t, s, serve.HandlerOptions{BodyWait: time.Hour, Tokens: key})
	const post, json, long = "POST /v1/messages HTTP/1.1\r\nHost: localhost\r\n", "Content-Type: application/json\r\n", "Content-Length: 4000\r\n\r\n{"
	for what, c := range map[string]struct {
		address, text string
		status        int
	}{
		"slow body":        {plain, post + json + long, http.StatusRequestTimeout},
		"no token":         {patient, post + json + "Dyad-User: u\r\n" + long, http.StatusForbidden},
		"wrong token":      {patient, post + json + "Dyad-User: u\r\nAuthorization: Bearer " + strings.Repeat("A", 43) + "\r\n" + long, http.StatusForbidden},
		"no user":          {patient, post + json + long, http.StatusBadRequest},
		"impossible user":  {plain, post + json + "Dyad-User: a%0Ab\r\n" + long, http.StatusBadRequest},
		"text":             {patient, post + "Content-Type: text/plain\r\n" + long, http.StatusUnsupportedMediaType},
		"no type":          {patient, post + long, http.StatusUnsupportedMediaType},
		"a page":           {patient, post + json + "Origin: https://evil.example\r\n" + long, http.StatusForbidden},
		"a page that asks": {patient, "GET /v1/state HTTP/1.1\r\nHost: localhost\r\nOrigin: null\r\n\r\n", http.StatusForbidden},
		"chunked":          {patient, post + json + "Transfer-Encoding: chunked\r\n\r\n", http.StatusLengthRequired},
		"chunked, length":  {patient, post + json + "Transfer-Encoding: chunked\r\n" + long, http.StatusLengthRequired},
		"too long":         {patient, post + json + "Content-Length: 99999999\r\n\r\n{", http.StatusRequestEntityTooLarge},
	} {
		must.Equal(t, raw(t, c.address, c.text), c.status, "%s: status", what)
	}
	must.Equal(t, s.State().Visits, 0, "a message was accepted")
	m := submission(t, s.Plan(), s.State(), "u", 1)
	text := fmt.Sprintf(`{"user":"u","epoch":1,"takes":%v,"seed":%q,"choice":%d}`, m.Takes, m.Seed, m.Choice)
	must.Equal(t, raw(t, plain, post+json+fmt.Sprintf("Dyad-User: v\r\nContent-Length: %d\r\n\r\n%s", len(text), text)),
		http.StatusBadRequest, "a message of another user than its header: status")
	must.Equal(t, raw(t, plain, post+json+fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(text), text)), http.StatusOK,
		"a message of an earlier client: status")
}
