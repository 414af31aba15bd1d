package serve_test

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode"

	"dyad/algorithms/local"
	"dyad/algorithms/local/serve"
	"dyad/engine"
	"dyad/internal/must"
	"dyad/internal/sizes"
	"dyad/privacy"
)

func source(seed uint64) *privacy.Source { return privacy.NewSeededSource(seed) }

// nasty moves the cursor, sets a title, hides and forges lines, and is long.
const nasty = "\x1b[2J\x1b]0;title\a\r\nguarantee: epsilon 0.0001\n\u202egnol\u2066\u200b\u0085\x9b\x00\x7f\u2028e\u0301"

// printable fails for text that is not one short line of ASCII.
func printable(t *testing.T, what, text string) {
	t.Helper()
	if len(text) > 2000 {
		t.Errorf("%s has %d bytes", what, len(text))
	}
	for _, r := range text {
		if r > unicode.MaxASCII || !unicode.IsPrint(r) {
			t.Errorf("%s has %U: %+q", what, r, text)
			return
		}
	}
}

// Whatever a server answers, no error of its client has a character that a terminal obeys.
func TestServerTextIsPrintable(t *testing.T) {
	answer := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
	quoted, _ := json.Marshal(nasty)
	long, _ := json.Marshal(strings.Repeat("long \u202e ", 100_000))
	raw := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			c, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				_, _ = io.WriteString(c, text)
				_ = c.Close()
			}
		}
	}
	for name, h := range map[string]http.HandlerFunc{
		"refusal":      answer(403, `{"error":`+string(quoted)+`,"code":`+string(quoted)+`}`),
		"long refusal": answer(503, `{"error":`+string(long)+`}`),
		"no JSON":      answer(200, nasty),
		"wrong type":   answer(200, `{"epoch":`+string(quoted)+`,"method":7}`),
		"long number":  answer(200, `{"epoch":1`+strings.Repeat("0", 1_000_000)+`,"users":1e`+strings.Repeat("9", 1000)+`}`),
		"redirect": func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Location"] = []string{"http://\x1b[2J/"}
			w.WriteHeader(302)
		},
		"status line": raw("HTTP/1.1 \x1b[2J200 \x1b]0;x\a\r\n\r\n"),
		"header":      raw("HTTP/1.1 200 OK\r\nX\x1b[2J: \x1b\r\n \r\n\r\n"),
	} {
		server := httptest.NewServer(h)
		remote := serve.Remote{URL: server.URL}
		_, planErr := remote.Plan(context.Background())
		_, stateErr := remote.State(context.Background())
		_, sendErr := remote.Submit(context.Background(), serve.Submission{User: "u", Epoch: 1})
		for what, err := range map[string]error{"plan": planErr, "state": stateErr, "message": sendErr} {
			if err == nil {
				if what == "state" && name != "wrong type" {
					t.Errorf("%s, %s: no error", name, what)
				}
				continue
			}
			printable(t, name+", "+what, err.Error())
		}
		server.Close()
	}
	// Errors keep what they are.
	server := httptest.NewServer(answer(409, `{"error":"x","code":"twice"}`))
	defer server.Close()
	var refused *serve.RefusedError
	if _, err := (serve.Remote{URL: server.URL}).State(context.Background()); !errors.As(err, &refused) || refused.Code != serve.CodeTwice {
		t.Errorf("%v is no refusal", err)
	}
}

// A protocol's own words are no better.
func TestProtocolTextIsPrintable(t *testing.T) {
	good := serve.PublicPlan(planOf(t, protocol(3)))
	for name, change := range map[string]func(p *serve.Protocol){
		"method":         func(p *serve.Protocol) { p.Method = nasty },
		"long method":    func(p *serve.Protocol) { p.Method = strings.Repeat("m", 1<<20) },
		"name":           func(p *serve.Protocol) { p.Loss.Name = nasty },
		"formula":        func(p *serve.Protocol) { p.Loss.Formula = "exp(-u) + " + nasty },
		"unknown":        func(p *serve.Protocol) { p.Loss.Formula = strings.Repeat("x", 999) },
		"params":         func(p *serve.Protocol) { p.Loss.Params = map[string]float64{nasty: 1} },
		"unbounded":      func(p *serve.Protocol) { p.Loss.Name, p.Loss.Formula = "a \u0301", "log(u)" },
		"clip":           func(p *serve.Protocol) { p.Loss.Clip = -1 },
		"bad dimensions": func(p *serve.Protocol) { p.Dim = -1 },
	} {
		p := good
		change(&p)
		if _, err := p.Plan(); err == nil {
			t.Errorf("%s: planned", name)
		} else {
			printable(t, name, err.Error())
		}
	}
}

// GET has no body, so that a server that does not expect one does not take it for the next
// request.
func TestGETHasNoBody(t *testing.T) {
	requests := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if requests++; r.Method == http.MethodGet && (len(body) != 0 || r.ContentLength != 0 || r.Header.Get("Content-Type") != "") {
			t.Errorf("%s %s with %q, length %d", r.Method, r.URL, body, r.ContentLength)
		}
		if _, sent := r.Header["Idempotency-Key"]; sent {
			t.Error("the mark for the client's transport was sent")
		}
		_, _ = io.WriteString(w, "{}")
	}))
	defer server.Close()
	remote := serve.Remote{URL: server.URL}
	_, _ = remote.Plan(context.Background())
	_, _ = remote.State(context.Background())
	_, _ = remote.Submit(context.Background(), serve.Submission{User: "u", Epoch: 1})
	must.Equal(t, requests, 3, "requests")
}

// A formula of a server is planned, or refused with the limit that it exceeds. The work of a plan grows with the
// operations of the slope, so the test counts these: "nested" and "many" formulas have more than MaxOperations.
func TestHostileFormulas(t *testing.T) {
	nest := func(open, shut string, n int) string { return strings.Repeat(open, n) + "u" + strings.Repeat(shut, n) }
	sum := func(form string, n int) string {
		terms := make([]string, n)
		for i := range terms {
			terms[i] = fmt.Sprintf(form, i)
		}
		return strings.Join(terms, "+")
	}
	good := serve.PublicPlan(planOf(t, protocol(3)))
	for name, formula := range map[string]string{
		"nested sqrt":   nest("sqrt(1+(", ")^2)", 80),
		"nested abs":    nest("abs(1-", ")", 120),
		"many tanh":     sum("tanh(u-%d)", 80),
		"20 sqrt":       nest("sqrt(1+(", ")^2)", 20),
		"20 abs":        nest("abs(1-", ")", 20),
		"fast kinks":    "abs(sin(1e9*u))",
		"fast":          sum("abs(sin(1e5*u+%d))", 12),
		"large product": strings.TrimSuffix(strings.Repeat("abs(abs(u-.123)-.1)*", 16), "*"),
		"wild powers":   nest("(1+", ")^1.3", 30),
		"masks":         nest("where(u>.1,1-u,2*", ")", 50),
	} {
		p := good
		p.Loss = serve.Loss{Name: name, Formula: formula}
		for _, clip := range []float64{0, 0.5} {
			p.Loss.Clip = clip
			_, err := p.Plan()
			tooLong := strings.HasPrefix(name, "nested") || strings.HasPrefix(name, "many")
			refused := err != nil && strings.Contains(err.Error(), fmt.Sprintf("at most %d are allowed", serve.MaxOperations))
			must.Equal(t, refused, tooLong, "%s, %d bytes, clip %g: %v", name, len(formula), clip, err)
			if err != nil && errors.Is(err, local.ErrProtocol) == refused {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// Client and server compute the same constants of every loss of the library, and none of
// them is near the limit for formulas of servers. What a client would refuse is not served.
func TestLossesOfTheLibraryAreServed(t *testing.T) {
	sizes.NotShort(t, "slow")
	served := 0
	for _, l := range engine.Library() {
		for _, clip := range []float64{0, 0.25} {
			e := must.Get(l.Expression(engine.ExpressionOptions{Clip: clip}))(t)
			if n := e.SlopeExpr().Size(); n > 40 {
				t.Errorf("the slope of %s has %d operations, more than the comment of MaxOperations says", e.Name(), n)
			}
			p := protocol(3)
			p.Loss = e
			own, err := p.Plan()
			if err != nil {
				continue // not bounded on these margins
			}
			seen, err := serve.PublicPlan(own).Plan()
			if err != nil || seen.Lipschitz != own.Lipschitz || seen.EstimateNorm != own.EstimateNorm {
				t.Errorf("%s, clip %g: a client has %v (%v), the server %v", e.Name(), clip, seen, err, own)
				continue
			}
			for v := -5.0; v <= 5; v += 0.25 {
				if a, b := seen.Loss.DPhi(v), own.Loss.DPhi(v); !(a-b <= 1e-12 && b-a <= 1e-12) {
					t.Errorf("%s, clip %g: the slope at %g is %v, at the server %v", e.Name(), clip, v, a, b)
				}
			}
			served++
		}
	}
	if served < 20 {
		t.Errorf("only %d losses", served)
	}
	e := must.Get(engine.NewExpression("deep", strings.Repeat("sqrt(1+(", 30)+"u"+strings.Repeat(")^2)", 30), engine.ExpressionOptions{}))(t)
	p := protocol(3)
	p.Loss = e
	must.Fail(serve.Open(t.TempDir(), planOf(t, p), ""))(t, "at most 128", "a loss that clients refuse")
}

// A server sends no client elsewhere, neither with the client of a Remote nor without one.
func TestRemoteFollowsNoRedirect(t *testing.T) {
	visited := 0
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { visited++ }))
	defer other.Close()
	server := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	defer server.Close()
	for _, client := range []*http.Client{nil, serve.NewHTTPClient(nil), serve.NewHTTPClient(x509.NewCertPool())} {
		var refused *serve.RefusedError
		if _, err := (serve.Remote{URL: server.URL, Client: client, Token: "secret"}).State(t.Context()); !errors.As(err, &refused) || refused.Status != http.StatusTemporaryRedirect {
			t.Errorf("a redirect: %v", err)
		}
	}
	if visited > 0 {
		t.Errorf("%d requests went elsewhere", visited)
	}
	if _, err := (serve.Remote{URL: server.URL, Client: http.DefaultClient}).State(t.Context()); visited != 1 { // control
		t.Errorf("a client of its own goes nowhere: %v", err)
	}
}
