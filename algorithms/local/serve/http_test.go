package serve_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dyad/algorithms/local"
	"dyad/algorithms/local/serve"
	"dyad/internal/must"
)

// served starts a server of s, which ends with the test, and returns its address.
func served(t testing.TB, s *serve.Service, o serve.HandlerOptions) string {
	t.Helper()
	server := httptest.NewServer(serve.Handler(s, o))
	t.Cleanup(server.Close)
	return server.URL
}

// post sends a message as JSON, with the token of a user if there is one, and returns the status and the refusal. A refusal must have a reason.
func post(t *testing.T, server, body, token string) (status int, refusal struct{ Error, Code string }) {
	t.Helper()
	q := must.Get(http.NewRequest(http.MethodPost, server+"/v1/messages", strings.NewReader(body)))(t)
	q.Header.Set("Content-Type", "application/json")
	var named struct{ User string }
	if json.Unmarshal([]byte(body), &named) == nil && token != "" {
		q.Header.Set("Dyad-User", url.PathEscape(named.User))
	}
	q.Header.Set("Authorization", "Bearer "+token)
	r := must.Get(http.DefaultClient.Do(q))(t)
	defer r.Body.Close()
	if err := json.NewDecoder(r.Body).Decode(&refusal); err != nil || r.StatusCode >= 400 && (refusal.Error == "" || refusal.Code == "") {
		t.Errorf("%.80s: status %d without a reason (%v)", body, r.StatusCode, err)
	}
	return r.StatusCode, refusal
}

// posted sends a message without a token and returns the status.
func posted(t *testing.T, server, body string) int {
	t.Helper()
	status, _ := post(t, server, body, "")
	return status
}

// Every malformed, oversized, replayed or out-of-range message gets a 4xx with a reason
// and changes nothing.
func TestHTTPRefusals(t *testing.T) {
	s := open(t, t.TempDir(), protocol(3))
	server := served(t, s, serve.HandlerOptions{})
	good := submission(t, s.Plan(), s.State(), "a", 1)
	text, _ := json.Marshal(good)
	change := func(f func(m map[string]any)) string {
		var m map[string]any
		_ = json.Unmarshal(text, &m)
		f(m)
		out, _ := json.Marshal(m)
		return string(out)
	}
	for name, c := range map[string]struct {
		body   string
		status int
	}{
		"empty":           {"", 400},
		"not JSON":        {"hello", 400},
		"two values":      {string(text) + "{}", 400},
		"unknown field":   {change(func(m map[string]any) { m["x"] = 1 }), 400},
		"two users":       {strings.Replace(string(text), "{", `{"user":"b",`, 1), 400}, // a proxy may check either
		"user and USER":   {strings.Replace(string(text), "{", `{"USER":"b",`, 1), 400},
		"folded name":     {strings.Replace(string(text), "{", `{"u\u017fer":"b",`, 1), 400},
		"null":            {"null", 400},
		"no user":         {change(func(m map[string]any) { delete(m, "user") }), 400},
		"long user":       {change(func(m map[string]any) { m["user"] = strings.Repeat("u", 129) }), 400},
		"short seed":      {change(func(m map[string]any) { m["seed"] = "AAAA" }), 400},
		"choice 2 of 2":   {change(func(m map[string]any) { m["choice"] = 2 }), 400},
		"negative choice": {change(func(m map[string]any) { m["choice"] = -1 }), 400},
		"does not take":   {`{"user":"a","epoch":1,"takes":false}`, 400},
		"epoch 0":         {change(func(m map[string]any) { m["epoch"] = 0 }), 400},
		"epoch 2":         {change(func(m map[string]any) { m["epoch"] = 2 }), 409},
		"oversized":       {change(func(m map[string]any) { m["seed"] = strings.Repeat("A", 5000) }), 413},
	} {
		must.Equal(t, posted(t, server, c.body), c.status, "%s: status", name)
	}
	must.Equal(t, s.State().Visits, 0, "refused messages were counted")
	remote := serve.Remote{URL: server}
	must.Get(remote.Submit(context.Background(), good))(t)
	var refused *serve.RefusedError
	if _, err := remote.Submit(context.Background(), good); !errors.As(err, &refused) || refused.Status != 409 {
		t.Errorf("a replayed message: %v, want 409", err)
	}
	protocol := must.Get(remote.Plan(context.Background()))(t)
	must.Equal(t, must.Get(protocol.Plan())(t).Guarantee.Epsilon, 2, "the client's plan")
	// Beyond the rate a good message is refused and changes nothing; what is malformed
	// does not count.
	remote.URL = served(t, s, serve.HandlerOptions{MessagesPerSecond: 1e-3})
	for range 3 {
		must.Equal(t, posted(t, remote.URL, "x"), 400, "what is no message: status")
	}
	must.Check(remote.Submit(context.Background(), submission(t, s.Plan(), s.State(), "b", 2)))(t, "within the rate limit")
	if _, err := remote.Submit(context.Background(), submission(t, s.Plan(), s.State(), "c", 3)); !errors.As(err, &refused) || refused.Status != 429 {
		t.Errorf("beyond the rate limit: %v, want 429", err)
	}
	if visits, _ := s.User("c"); s.State().Visits != 2 || visits != 0 {
		t.Errorf("a message beyond the rate was counted: %+v", s.State())
	}
	for _, bad := range []string{"", "localhost:80", "ftp://x"} {
		must.Err((serve.Remote{URL: bad}).State(context.Background()))(t, "address %q was accepted", bad)
	}
}

// The forms with other messages: what is refused leaves log, state and every user's ledger
// as they were; the control is accepted, written and charged.
func TestHTTPRefusalsOfOtherForms(t *testing.T) {
	seed := base64.StdEncoding.EncodeToString(make([]byte, 32))
	features := func(text string) string { return `{"user":"a","epoch":1,"features":[` + text + `],"label":1}` }
	for _, c := range []struct {
		method  local.Method
		refused map[string]int // by body
		good    []string       // bodies, one a user
		epsilon float64        // of a user with one message
	}{
		{local.PrestigeLabel, map[string]int{
			features("0.1,0.2"): 400, features("0.1,0.2,0.3,0.4"): 400, features("1,1,1"): 400, features("1e308,1e308,0"): 400, features("1e400,0,0"): 400, features(`"x",0,0`): 400,
			`{"user":"a","epoch":1,"features":[0.1,0.2,0.3],"label":0}`:                       400,
			`{"user":"a","epoch":1,"features":[0.1,0.2,0.3],"label":2}`:                       400,
			`{"user":"a","epoch":1,"features":[0.1,0.2,0.3],"label":1,"choice":1}`:            400,
			`{"user":"a","epoch":1,"takes":true,"seed":"` + seed + `"}`:                       400,
			`{"user":"a","epoch":1,"features":[0.1,0.2,0.3],"label":1,"seed":"` + seed + `"}`: 400,
			`{"user":"a","epoch":2,"features":[0.1,0.2,0.3],"label":1}`:                       409,
			features(strings.Repeat(" ", 4096+32*3) + "0.1,0.2,0.3"):                          413,
		}, []string{features("0.1,0.2,0.3"), strings.Replace(features(strings.Repeat(" ", 4000)+"0.1,0.2,0.3"), `"a"`, `"b"`, 1)}, 1},
		{local.PrestigeParticipation, map[string]int{
			`{"user":"a","epoch":1,"takes":false,"seed":"` + seed + `"}`:                   400,
			`{"user":"a","epoch":1,"takes":false,"choice":1}`:                              400,
			`{"user":"a","epoch":1,"takes":true}`:                                          400,
			`{"user":"a","epoch":1,"takes":true,"seed":"` + seed + `","choice":70000}`:     400,
			`{"user":"a","epoch":1,"takes":true,"seed":"` + seed + `","features":[1,0,0]}`: 400,
			`{"user":"a","epoch":1,"takes":false,"label":1}`:                               400,
			`{"user":"a","epoch":-1,"takes":false}`:                                        400,
			`{"user":"a","epoch":1e99,"takes":false}`:                                      400,
		}, []string{`{"user":"a","epoch":1,"takes":false}`, `{"user":"b","epoch":1,"takes":true,"seed":"` + seed + `"}`}, 1},
	} {
		p := protocol(2)
		p.Method = c.method
		dir := t.TempDir()
		s := open(t, dir, p)
		server := served(t, s, serve.HandlerOptions{})
		all := func() string {
			log := must.Get(os.ReadFile(filepath.Join(dir, "messages.log")))(t)
			ledger := ""
			for _, u := range []string{"a", "b"} {
				visits, epsilon := s.User(u)
				ledger += fmt.Sprintf("%s %d %.12g;", u, visits, epsilon)
			}
			return fmt.Sprintf("%s\n%+v\n%s", log, s.State(), ledger)
		}
		refuse := func(body string, want int) {
			t.Helper()
			before := all()
			must.Equal(t, posted(t, server, body), want, "%s: %.80s: status", c.method, body)
			must.Equal(t, all(), before, "%s: %.80s: refused, and it changed something", c.method, body)
		}
		for body, want := range c.refused {
			refuse(body, want)
		}
		for i, body := range c.good {
			before := all()
			if code := posted(t, server, body); code != http.StatusOK || all() == before {
				t.Errorf("%s: %.80s: status %d, want a change", c.method, body, code)
			}
			if visits, epsilon := s.User("a"); visits != 1 || epsilon < c.epsilon || epsilon > c.epsilon*(1+1e-9) {
				t.Errorf("%s: user a: %d visits of epsilon %v, want 1 of %v", c.method, visits, epsilon, c.epsilon)
			}
			if i == 0 {
				refuse(body, http.StatusConflict)
			}
		}
		if c.method == local.PrestigeLabel {
			refuse(c.good[0], http.StatusGone) // both epochs ran on two answers
		}
		// A restart has the same ledger.
		before := all()
		must.Do(t, s.Close())
		if s = open(t, dir, p); all() != before {
			t.Errorf("%s: a restart changed\n%s\nto\n%s", c.method, before, all())
		}
	}
}

// What is no request of the protocol gets a 404 with a reason, in JSON.
func TestHTTPUnknownRequests(t *testing.T) {
	s := open(t, t.TempDir(), protocol(3))
	server := served(t, s, serve.HandlerOptions{})
	for request, want := range map[string]int{
		"GET /": 404, "GET /v1/messages": 404, "DELETE /v1/users/a": 404, "POST /v1/state": 404, "GET /v2/plan": 404, "GET /v1/users/": 404,
		"GET /v1/plan": 200, "GET /v1/state": 200, "GET /v1/users/a": 200,
	} {
		method, path, _ := strings.Cut(request, " ")
		q := must.Get(http.NewRequest(method, server+path, nil))(t)
		r := must.Get(http.DefaultClient.Do(q))(t)
		var body map[string]any
		err := json.NewDecoder(r.Body).Decode(&body)
		r.Body.Close()
		if r.StatusCode != want || err != nil || (body["error"] != nil) != (want != 200) {
			t.Errorf("%s: status %d, %v, %v, want %d", request, r.StatusCode, body, err, want)
		}
	}
}

// A log that cannot be written refuses the message, changes nothing, and says so to the
// next one too; what was acknowledged before is there after a restart.
func TestLogThatCannotBeWritten(t *testing.T) {
	dir, p := t.TempDir(), protocol(3)
	s := open(t, dir, p)
	ctx := context.Background()
	must.Get(s.Submit(ctx, submission(t, s.Plan(), s.State(), "a", 1)))(t)
	before := s.State()
	serve.BreakLog(s)
	for _, user := range []string{"b", "c", "b"} {
		must.Fail(s.Submit(ctx, submission(t, s.Plan(), before, user, 2)))(t, serve.ErrUnavailable, "user ", user, " on a broken log")
		if visits, _ := s.User(user); visits != 0 || !slices.Equal(s.State().Model, before.Model) || s.State().Visits != 1 {
			t.Errorf("a message that is not on disk was counted: %+v", s.State())
		}
	}
	_ = s.Close()
	text := must.Get(os.ReadFile(filepath.Join(dir, "messages.log")))(t)
	must.Equal(t, bytes.Count(text, []byte{'\n'}), 3, "lines of the log: the plan, the begin of a batch and a message")
	s = open(t, dir, p)
	if _, err := s.Submit(ctx, submission(t, s.Plan(), s.State(), "b", 2)); err != nil || s.State().Visits != 2 {
		t.Errorf("after the restart: %v, %+v", err, s.State())
	}
}
