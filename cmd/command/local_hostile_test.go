package command

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"unicode"

	"dyad/algorithms/local/serve"
	"dyad/internal/must"
	"dyad/internal/sizes"
)

// spoof is what a hostile server writes where it can: it moves the cursor, sets a title,
// hides and forges lines.
const spoof = "\x1b[2J\x1b]0;title\a\r\nguarantee: epsilon 0.0001\n\u202egnol\u2066\u200b\u0085\x7f"

// fake is a server that answers with a protocol and states, one after the other, the last
// one for ever, and refuses messages if it has a refusal.
type fake struct {
	mu       sync.Mutex
	protocol serve.Protocol
	states   []serve.PublicState
	refusal  string
}

// ServeHTTP implements http.Handler.
func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
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
	default:
		v = serve.Receipt{Visit: 1}
		if f.refusal != "" {
			w.WriteHeader(http.StatusForbidden)
			v = map[string]string{"error": f.refusal, "code": f.refusal}
		}
	}
	_ = json.NewEncoder(w).Encode(v)
}

// pretend serves a protocol of epochs of the patients' schema, and their states.
func pretend(t *testing.T, dir string, epochs int) (*fake, string) {
	t.Helper()
	mustRun(t, dir, "local", "plan", "-n", "60", "--schema", "patients.yaml", "--epochs", fmt.Sprint(epochs), "--epsilon", "0.001", "--out", "fake.json", "--force")
	p := must.Get(readProtocol(filepath.Join(dir, "fake.json")))(t)
	f := &fake{protocol: p}
	for epoch := 1; epoch <= min(epochs, 5); epoch++ {
		f.states = append(f.states, serve.PublicState{Epoch: epoch, Epochs: epochs, Visits: 1, Model: make([]float64, p.Dim), Average: make([]float64, p.Dim)})
	}
	f.states = append(f.states, serve.PublicState{Epoch: epochs + 1, Epochs: epochs, Done: true})
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	return f, server.URL
}

// Nothing of a server's words reaches the terminal as it came.
func TestLocalServerTextOnTheTerminal(t *testing.T) {
	sizes.NotShort(t, "slow")
	dir := clinic(t, 60)
	f, address := pretend(t, dir, 2)
	good := f.protocol
	for name, change := range map[string]func(){
		"refusal":      func() { f.refusal = spoof },
		"long refusal": func() { f.refusal = strings.Repeat(spoof, 10_000) },
		"guarantee":    func() { f.protocol.Guarantee.Derivation, f.protocol.Guarantee.Unit = spoof, spoof },
		"assumptions": func() {
			f.protocol.Guarantee.Warnings, f.protocol.Guarantee.Assumptions = []string{spoof}, []string{spoof}
		},
		"method":        func() { f.protocol.Method = spoof },
		"long method":   func() { f.protocol.Method = strings.Repeat("x", 100_000) },
		"loss":          func() { f.protocol.Loss.Name = spoof },
		"formula":       func() { f.protocol.Loss.Formula = spoof },
		"bad loss":      func() { f.protocol.Loss.Formula = "log(u)" },
		"a parameter":   func() { f.protocol.Loss.Params = map[string]float64{spoof: 1} },
		"other version": func() { f.protocol.Version = 99 },
	} {
		f.mu.Lock()
		f.protocol, f.refusal = good, ""
		change()
		text, err := json.Marshal(f.protocol)
		f.mu.Unlock()
		if err != nil {
			t.Fatal(err)
		}
		write(t, dir, "p.json", string(text))
		record := []string{"--data", "patients.csv", "--schema", "patients.yaml", "--user", "u", "--memory", fmt.Sprintf("%x.json", name), "--max-epsilon", "2"}
		for _, args := range [][]string{
			append([]string{"local", "client", "--server", address}, record...),
			append([]string{"--json", "local", "client", "--server", address}, record...),
			append([]string{"local", "client", "--protocol", "p.json"}, record...),
			{"local", "model", "--server", address, "--schema", "patients.yaml", "--out", "m.json", "--force"},
		} {
			_, out, errs := dyad(t, dir, args...)
			says := out + errs
			if len(says) > 10_000 || strings.Contains(says, "epsilon 0.0001") && !strings.Contains(says, `\nguarantee: epsilon 0.0001`) {
				t.Errorf("%s, %v: %d bytes: %.300q", name, args[:3], len(says), says)
			}
			for _, r := range says {
				if r != '\n' && !unicode.IsPrint(r) {
					t.Errorf("%s, %v: %U on the terminal: %.300q", name, args[:3], r, says)
					break
				}
			}
		}
	}
	// What a client may say to the log of a server.
	var errs bytes.Buffer
	n, err := (&remarks{app: &app{stderr: &errs}}).Write([]byte("http: TLS handshake error: " + spoof + "\n"))
	if lines := strings.Split(errs.String(), "\n"); err != nil || n == 0 || len(lines) != 2 || strings.ContainsAny(lines[0], "\x1b\r\a") {
		t.Errorf("a line of the server's log: %q", errs.String())
	}
}

// A client refuses more epochs or directions than its user allows, before it plans them.
func TestLocalClientCaps(t *testing.T) {
	dir := clinic(t, 60)
	f, address := pretend(t, dir, 2)
	good := f.protocol
	for _, c := range []struct {
		epochs, pairs int
		flags         []string
		code          int
		says          string
	}{
		{2, 1, nil, exitOK, "more than 1000 epochs, 64 direction pairs"},
		{1001, 1, nil, exitInput, "1001 epochs, which is more than --max-epochs = 1000"},
		{1_000_000, 1024, nil, exitInput, "--max-epochs"},
		{1001, 1, []string{"--max-epochs", "2000"}, exitOK, "more than 2000 epochs"},
		{2, 1, []string{"--max-epochs", "1"}, exitInput, "--max-epochs = 1"},
		{2, 65, nil, exitInput, "65 direction pairs, which is more than --max-direction-pairs = 64"},
		{2, 65, []string{"--max-direction-pairs", "65"}, exitOK, "65 direction pairs"},
	} {
		f.mu.Lock()
		f.protocol = good
		f.protocol.Epochs, f.protocol.Pairs = c.epochs, c.pairs
		f.states = []serve.PublicState{{Epoch: 1, Model: make([]float64, good.Dim)}}
		f.mu.Unlock()
		answerAs(t, dir, address, "u", append(c.flags, "--memory", fmt.Sprintf("%d-%d-%d.json", c.epochs, c.pairs, len(c.flags)))...).exits(c.code).says(c.says)
	}
}
