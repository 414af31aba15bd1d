package serve

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"dyad/algorithms/local"
	"dyad/engine"
	"dyad/internal/files"
	"dyad/internal/must"
)

// fuzzPlan is a small protocol.
func fuzzPlan(f *testing.F, method local.Method, network bool) *local.Plan {
	f.Helper()
	e := must.Get(engine.NewExpression("logistic", "log1p(exp(-u))", engine.ExpressionOptions{}))(f)
	q := local.Protocol{Method: method, Loss: e, Dim: 3, FeatureNorm: 1, Radius: 5, L2: 0.1, Users: 3, Epochs: 1, Epsilon: 1}
	if network {
		q.Radius, q.L2, q.Users, q.Epsilon, q.Network = 0, 0, 20, 8, &local.Network{Hidden: 2}
	}
	return must.Get(q.Plan())(f)
}

var fuzzMessages = []string{
	`{"user":"ann","epoch":1,"takes":true,"seed":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=","choice":1}`,
	`{"user":"bob","epoch":1,"takes":false}`, `{"user":"a","epoch":1,"features":[0.1,0.2,0.3],"label":-1}`,
	`{"user":"\ud800","epoch":1,"takes":true}`, `{"user":"a","epoch":1} {}`, `{"user":"` + "\xff" + `"}`, `[[[`,
}

// A message is refused, or it is taken and leaves a finite state.
func FuzzSubmission(f *testing.F) {
	for _, m := range fuzzMessages {
		f.Add(m)
	}
	plans := []*local.Plan{fuzzPlan(f, local.DJW, false), fuzzPlan(f, local.PrestigeLabel, false), fuzzPlan(f, local.DJW, true), fuzzPlan(f, local.PrestigeLabel, true)}
	f.Fuzz(func(t *testing.T, body string) {
		var m Submission
		if decodeOne(strings.NewReader(body), &m) != nil {
			return
		}
		for _, p := range plans {
			s := &Service{plan: p, state: p.Start(), last: map[string]int{}, visits: map[string]int{}, known: map[string]string{}}
			message, err := s.check(m)
			if err != nil {
				continue
			}
			if err := s.apply(m, message); err != nil || s.visits[m.User] != 1 {
				t.Fatalf("%s was accepted and not applied: %v", body, err)
			}
			for _, w := range s.state.W {
				if math.IsNaN(w) || math.IsInf(w, 0) {
					t.Fatalf("%s made the state %v", body, s.state.W)
				}
			}
			if _, err := s.check(m); err == nil {
				t.Fatalf("%s was accepted twice", body)
			}
		}
	})
}

// answers sends the same response to every request.
type answers struct {
	status int
	body   string
}

func (a answers) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: a.status, Body: io.NopCloser(strings.NewReader(a.body))}, nil
}

// FuzzResponse: no response of a server makes a client panic, or print anything but ASCII.
func FuzzResponse(f *testing.F) {
	f.Add(http.StatusOK, `{"epoch":1,"w":[0,0,0]}`)
	f.Add(http.StatusConflict, `{"error":"\u001b[2Jdyad: verified","code":"duplicate"}`)
	f.Add(http.StatusBadGateway, "<html>\x1b[2J")
	f.Add(http.StatusOK, "\xff\u202e")
	f.Fuzz(func(t *testing.T, status int, body string) {
		r := Remote{URL: "http://localhost", Client: &http.Client{Transport: answers{status, body}}}
		_, planErr := r.Plan(t.Context())
		_, stateErr := r.State(t.Context())
		for _, err := range []error{planErr, stateErr} {
			if err == nil {
				continue
			}
			if refused := new(RefusedError); status != http.StatusOK && (!errors.As(err, &refused) || refused.Status != status) {
				t.Errorf("status %d: %v", status, err)
			}
			if text := err.Error(); strings.ContainsFunc(text, func(c rune) bool { return c < ' ' || c > '~' }) {
				t.Errorf("a terminal would get %q", text)
			}
		}
	})
}

// A log is refused and left as it is, or what is not whole is cut off and it reads the same from then on.
func FuzzLog(f *testing.F) {
	header := []byte(`{"plan":1}`)
	whole := line(header)
	for _, m := range fuzzMessages[:3] {
		whole = append(append(whole, batchLine...), line([]byte(m))...)
	}
	f.Add(whole)
	f.Add(whole[:len(whole)-5])
	f.Add(append(whole[:len(whole):len(whole)], make([]byte, 100)...))
	f.Add(append(line(header), batchLine...))
	f.Add([]byte("00000000 x\n"))
	dir := f.TempDir()
	path := filepath.Join(dir, "messages.log")
	f.Fuzz(func(t *testing.T, data []byte) {
		must.Do(t, os.WriteFile(path, data, 0o600))
		read := func() (all []Submission, err error) {
			l, err := openLog(dir, header, func(s Submission) error { all = append(all, s); return nil })
			if err == nil {
				err = l.close()
			}
			return all, err
		}
		first, err := read()
		after := must.Get(os.ReadFile(path))(t)
		if err != nil {
			if !bytes.Equal(after, data) {
				t.Fatal("a log that was refused was changed")
			}
			return
		}
		if !bytes.HasPrefix(data, after) && !bytes.Equal(after, line(header)) {
			t.Fatalf("%q became %q", data, after)
		}
		again, err := read()
		if err != nil || !reflect.DeepEqual(first, again) {
			t.Fatalf("%v, then %v, %v", first, again, err)
		}
	})
}

// The memory of a client is refused, or it is written again as it was read.
func FuzzMemory(f *testing.F) {
	f.Add([]byte(`{"format":"dyad-local-client/1","answers":[{"protocol":"0f","epoch":1,"epsilon":1,"accepted":true,"message":` + fuzzMessages[0] + `}]}`))
	f.Add([]byte(`{"format":"dyad-local-client/1","answers":null}`))
	f.Add([]byte(`{"format":"dyad-local-client/2"}`))
	sealed := must.Get(files.Sealed(remembered{memoryFormat, []Remembered{{Protocol: "0f", Epoch: 1, Epsilon: 1}}}))(f)
	f.Add(sealed)
	path := filepath.Join(f.TempDir(), "memory.json")
	f.Fuzz(func(t *testing.T, text []byte) {
		must.Do(t, os.WriteFile(path, text, 0o600))
		m, err := OpenMemory(path)
		if err != nil {
			return
		}
		kept, spent := m.Messages(), m.Spent()
		err = m.write()
		m.Close()
		must.Do(t, err)
		again, err := OpenMemory(path)
		if err != nil || again.Spent() != spent || len(again.Messages()) != len(kept) {
			t.Fatalf("%v, then %v, %v", kept, again, err)
		}
		again.Close()
	})
}

// Keys and tokens are refused, or they are the ones in the file.
func FuzzTokenKey(f *testing.F) {
	f.Add([]byte(tokenKeyHeader + "0000000000000000000000000000000000000000000000000000000000000000\n"))
	f.Add([]byte(tokenKeyHeader + "00"))
	f.Add(bytes.Repeat([]byte("A"), 43))
	path := filepath.Join(f.TempDir(), "key")
	f.Fuzz(func(t *testing.T, text []byte) {
		must.Do(t, os.WriteFile(path, text, 0o600))
		if k, err := ReadTokenKey(path); err == nil {
			study := k.Study(Protocol{})
			token, err := study.Token("ann")
			if err != nil || !study.Valid("ann", token) || study.Valid("bob", token) {
				t.Fatalf("%q: %v", text, err)
			}
		}
		if token, err := ReadToken(path); err == nil && len(token) != 43 {
			t.Fatalf("token %q", token)
		}
	})
}

// A protocol of a hostile server is refused, or is one that a server here would state in the same words.
func FuzzProtocol(f *testing.F) {
	for _, p := range []*local.Plan{fuzzPlan(f, local.DJW, false), fuzzPlan(f, local.PrestigeLabel, false), fuzzPlan(f, local.Prestige, false), fuzzPlan(f, local.Prestige, true)} {
		text := must.Get(json.Marshal(PublicPlan(p)))(f)
		f.Add(text)
		f.Add(bytes.Replace(text, []byte(`"method":"`), []byte(`"method":"\u001b[2J`), 1)) // its error has a backslash
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var p Protocol
		if json.Unmarshal(text, &p) != nil || p.Dim > 1000 || p.Network != nil && p.Network.Hidden > 100 || len(p.Loss.Formula) > 200 {
			return // large ones take their time and are bounded by tests of their own
		}
		plan, err := p.Plan()
		if err != nil {
			text := err.Error()
			if len(text) > 6*maxPrinted || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) {
				t.Fatalf("%q is not printable", text)
			}
			return
		}
		stated := PublicPlan(plan)
		stated.Loss = p.Loss // the client's own has no formula to tell
		again := must.Get(stated.Plan())(t, string(text))
		first, _ := json.Marshal(PublicPlan(plan))
		if second, err := json.Marshal(PublicPlan(again)); err != nil || !bytes.Equal(first, second) {
			t.Fatalf("%v\n%s\n%s", err, first, second)
		}
	})
}
