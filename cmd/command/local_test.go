package command

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"dyad/algorithms/local/serve"
	"dyad/engine/dataset"
	"dyad/internal/files"
	"dyad/internal/must"
	"dyad/internal/sizes"
	"dyad/privacy"
	"dyad/privacy/ledger"
)

// lineWatch is a writer that tells the address that a server prints.
type lineWatch struct {
	text    bytes.Buffer
	address chan string
}

// Write implements io.Writer.
func (w *lineWatch) Write(p []byte) (int, error) {
	w.text.Write(p)
	for _, line := range strings.Split(w.text.String(), "\n") {
		if a, ok := strings.CutPrefix(line, "listening "); ok && w.address != nil {
			w.address <- strings.TrimSpace(a)
			close(w.address)
			w.address = nil
		}
	}
	return len(p), nil
}

// localServer runs "dyad local server" until stop, which returns its exit code.
func localServer(t *testing.T, dir string, args ...string) (address string, stop func() int) {
	t.Helper()
	t.Chdir(dir)
	ctx, cancel := context.WithCancel(context.Background())
	out := &lineWatch{address: make(chan string, 1)}
	told, ended := out.address, make(chan int, 1)
	var errs bytes.Buffer
	go func() {
		ended <- run(ctx, append([]string{"local", "server", "--listen", "127.0.0.1:0"}, args...),
			strings.NewReader(""), out, &errs)
	}()
	select {
	case address = <-told:
	case code := <-ended:
		t.Fatalf("the server ended with %d: %s", code, errs.String())
	case <-time.After(time.Minute):
		t.Fatal("the server does not listen")
	}
	return address, func() int {
		cancel()
		return <-ended
	}
}

func TestLocalServerAndClients(t *testing.T) {
	sizes.NotShort(t, "slow")
	const users = 12
	dir := clinic(t, 60)
	serving := []string{"--dir", "study", "-n", fmt.Sprint(users), "--schema", "patients.yaml", "--epochs", "2",
		"--epsilon", "1"}
	address, stop := localServer(t, dir, serving...)
	answer := func(user int, more ...string) (int, string, string) {
		args := []string{"local", "client", "--server", address, "--data", "patients.csv", "--schema", "patients.yaml",
			"--row", fmt.Sprint(user + 1),
			"--user", fmt.Sprint("u", user), "--memory", fmt.Sprintf("u%d.json", user), "--max-epsilon", "2"}
		return dyad(t, dir, append(args, more...)...)
	}
	if code, _, errs := answer(0, "--max-epsilon", "1.9"); code != exitResource ||
		!strings.Contains(errs, "--max-epsilon") {
		t.Errorf("a protocol of epsilon 2 at --max-epsilon 1.9: exit %d: %s", code, errs)
	}
	must.Err(os.Stat(filepath.Join(dir, "u0.json")))(t, "a refused protocol left something in the memory")
	for u := range users {
		if code, out, errs := answer(u); code != exitOK ||
			!strings.Contains(out, "the server accepted the message of epoch 1") {
			t.Fatalf("user %d: exit %d: %s%s", u, code, out, errs)
		}
		if u == 3 { // before the epoch ends
			before, _ := os.ReadFile(filepath.Join(dir, "u3.json"))
			code, out, _ := answer(u)
			after, _ := os.ReadFile(filepath.Join(dir, "u3.json"))
			if code != exitOK || !strings.Contains(out, "no new message was drawn") || !bytes.Equal(before, after) {
				t.Errorf("a second answer in an epoch: exit %d: %s", code, out)
			}
			// A client that lost the receipt sends the same message again.
			var memory memoryFile
			if err := json.Unmarshal(after, &memory); err != nil || len(memory.Answers) != 1 {
				t.Fatalf("memory %s: %v", after, err)
			}
			memory.Answers[0].Accepted = false
			sealed := must.Get(files.Sealed(memory))(t)
			write(t, dir, "u3.json", string(sealed))
			if code, out, errs := answer(u); code != exitOK || !strings.Contains(out, "no new message was drawn") {
				t.Errorf("a message without receipt: exit %d: %s%s", code, out, errs)
			}
			// Without its memory it would draw a second one; the server refuses that.
			must.Do(t, os.Remove(filepath.Join(dir, "u3.json")))
			if code, out, _ := answer(u); code != exitOK || !strings.Contains(out, "already had the message") {
				t.Errorf("a client without memory: exit %d: %s", code, out)
			}
			// Another user with this memory is told whose message the server has.
			if _, out, _ := answer(u, "--user", "another"); !strings.Contains(out, "the message names the user u") {
				t.Errorf("another user: %s", out)
			}
		}
	}
	state, err := serve.Remote{URL: address}.State(context.Background())
	if err != nil || state.Visits != users || state.Epoch != 2 {
		t.Errorf("state %+v, %v, want %d visits", state, err, users)
	}
	must.Equal(t, stop(), exitOK, "an interrupted server exits with")
	if code, _, errs := answer(1); code != exitResource {
		t.Errorf("a client without a server: exit %d: %s", code, errs)
	}
	// The restarted server has the same state, and another protocol is refused.
	check := decoded[localServerState](t, dir, append([]string{"--json", "local", "server", "--check"}, serving...)...)
	must.Equal(t, check.State.Visits, users, "--check: visits")
	ends(t, dir, exitInput, "another protocol", append(append([]string{"local", "server", "--check"}, serving...),
		"--epsilon", "0.5")...)
	address, stop = localServer(t, dir, serving...)
	defer stop()
	if code, out, errs := answer(5, "--json"); code != exitOK || !strings.Contains(out, `"outcome": "accepted"`) ||
		!strings.Contains(out, `"epsilon_spent": 2`) {
		t.Errorf("the second epoch: exit %d: %s%s", code, out, errs)
	}
}

// A memory is charged for every protocol that was answered, and a damaged one stops
// the client.
func TestLocalClientMemory(t *testing.T) {
	sizes.NotShort(t, "slow")
	dir := clinic(t, 60)
	plan := func(epsilon string) {
		mustRun(t, dir, "local", "plan", "-n", "60", "--schema", "patients.yaml", "--epochs", "2", "--epsilon", epsilon,
			"--out", "p"+epsilon+".json")
	}
	plan("1")
	plan("2")
	client := func(protocol, most string, more ...string) (int, string, string) {
		return dyad(t, dir, append([]string{"local", "client", "--protocol", protocol, "--data", "patients.csv", "--schema",
			"patients.yaml", "--user", "u", "--memory", "m.json", "--max-epsilon", most}, more...)...)
	}
	code, first, errs := client("p1.json", "2")
	if code != exitOK || !strings.Contains(first, `"seed"`) {
		t.Fatalf("exit %d: %s", code, first+errs)
	}
	if code, again, _ := client("p1.json", "2"); code != exitOK || again != first {
		t.Errorf("asked again: exit %d, another message was drawn:\n%s%s", code, first, again)
	}
	// One message of epsilon 1 was sent; the other protocol costs 4.
	if code, _, _ := client("p2.json", "4.9"); code != exitResource {
		t.Errorf("1 + 4 at --max-epsilon 4.9: exit %d", code)
	}
	if code, _, errs := client("p2.json", "5"); code != exitOK {
		t.Errorf("1 + 4 at --max-epsilon 5: exit %d: %s", code, errs)
	}
	// One digit of the protocol's hash: the message would be unknown, and another one be drawn and sent.
	text := must.Get(os.ReadFile(filepath.Join(dir, "m.json")))(t)
	at := bytes.Index(text, []byte(`"protocol": "`)) + len(`"protocol": "`)
	text[at] = "10"[text[at]&1]
	write(t, dir, "m.json", string(text))
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	defer server.Close()
	for _, where := range [][]string{{"--protocol", "p1.json"}, {"--server", server.URL}} {
		ran(t, dir, append([]string{"local", "client", "--data", "patients.csv", "--schema", "patients.yaml", "--user", "u",
			"--memory", "m.json", "--max-epsilon", "9"}, where...)...).exits(exitInput).warns("checksum", "no message was sent")
		must.Equal(t, asked, 0, "a changed digit: requests")
	}
	for name, text := range map[string]string{"cut": `{"format": "dyad-local-client/1", "answ`, "other": `{"format": "x"}`,
		"no epsilon": `{"format": "dyad-local-client/1", "answers": [{"epoch": 1}]}`} {
		write(t, dir, "m.json", text)
		if code, _, errs := client("p1.json", "2"); code != exitInput || !strings.Contains(errs, "damaged") {
			t.Errorf("%s memory: exit %d: %s", name, code, errs)
		}
	}
	must.Do(t, os.Remove(filepath.Join(dir, "m.json")))
	// What no user should answer.
	text = must.Get(os.ReadFile(filepath.Join(dir, "p1.json")))(t)
	for change, want := range map[string]string{
		`"method": "sgd"`:              "no guarantee",
		`"method": "curriculum"`:       "no guarantee",
		`"method": "prestige-printed"`: "no guarantee",
		`"method": "prestige-label"`:   "--public-features",
	} {
		write(t, dir, "bad.json", strings.Replace(string(text), `"method": "prestige"`, change, 1))
		if code, _, errs := client("bad.json", "9"); code != exitInput || !strings.Contains(errs, want) {
			t.Errorf("%s: exit %d: %s", change, code, errs)
		}
	}
	// The guarantee is computed here, whatever the server says.
	write(t, dir, "bad.json", strings.Replace(string(text), `"epsilon": 2`, `"epsilon": 0.01`, 1))
	if code, _, _ := client("bad.json", "1"); code != exitResource {
		t.Errorf("a server that understates its epsilon: exit %d", code)
	}
	must.Err(os.Stat(filepath.Join(dir, "m.json")))(t, "a refused protocol left something in the memory")
	if code, _, errs := client("p1.json", "2", "--row", "61"); code != exitInput ||
		!strings.Contains(errs, "there are only 60 rows") {
		t.Errorf("row 61 of 60: exit %d: %s", code, errs)
	}
}

// Two epochs of a server, the second through another name.
func TestLocalMemoryTwoEpochsTwoNames(t *testing.T) {
	dir := clinic(t, 60)
	address, stop := localServer(t, dir, "--dir", "study", "-n", "1", "--schema", "patients.yaml", "--epochs", "3",
		"--epsilon", "0.2")
	defer stop()
	must.Do(t, os.Symlink("real.json", filepath.Join(dir, "link.json")))
	for i, memory := range []string{"real.json", "link.json", "real.json"} {
		args := []string{"--json", "local", "client", "--server", address, "--data", "patients.csv", "--schema",
			"patients.yaml", "--user", "u", "--memory", memory, "--max-epsilon", "2"}
		ran(t, dir, args...).exits(exitOK).prints(fmt.Sprintf(`"epsilon_spent": 0.%d`, 2*(i+1)))
	}
}

// memoryFile is the file of serve.Memory.
type memoryFile struct {
	Format  string
	Answers []serve.Remembered
}

// prestige-label: one memoised answer of every user, then the model is there.
func TestLocalLabelServer(t *testing.T) {
	sizes.NotShort(t, "slow")
	const users = 8
	dir := clinic(t, 60)
	address, stop := localServer(t, dir, "--dir", "labels", "-n", fmt.Sprint(users), "--schema", "patients.yaml",
		"--method", "prestige-label", "--epochs", "3", "--epsilon", "2")
	defer stop()
	for u := range users {
		args := []string{"--json", "local", "client", "--server", address, "--data", "patients.csv", "--schema",
			"patients.yaml", "--row", fmt.Sprint(u + 1),
			"--user", fmt.Sprint("u", u), "--memory", fmt.Sprintf("u%d.json", u), "--max-epsilon", "2", "--public-features"}
		ends(t, dir, exitOK, `"epsilon_spent": 2`, args...)
	}
	st, err := serve.Remote{URL: address}.State(context.Background())
	if err != nil || !st.Done || st.Visits != 3*users {
		t.Errorf("state %+v, %v, want all %d visits done", st, err, 3*users)
	}
}

// The saved model is what the server publishes, with the guarantee of the protocol as this
// program computes it; a server without a message or with another protocol than the schema
// fits gives none.
func TestLocalModel(t *testing.T) {
	dir := clinic(t, 60)
	address, stop := localServer(t, dir, "--dir", "study", "-n", "4", "--schema", "patients.yaml", "--epochs", "2",
		"--epsilon", "1")
	defer stop()
	save := []string{"local", "model", "--server", address, "--schema", "patients.yaml"}
	ends(t, dir, exitInput, "no user has answered", save...)
	for u := range 3 {
		user := fmt.Sprint("u", u)
		answerAs(t, dir, address, user, "--row", fmt.Sprint(u+1)).exits(exitOK)
	}
	st, err := serve.Remote{URL: address}.State(context.Background())
	if err != nil || slices.Equal(st.Model, st.Average) {
		t.Fatalf("state %+v, %v", st, err)
	}
	for iterate, want := range map[string][]float64{"average": st.Average, "last": st.Model} {
		out := iterate + ".json"
		mustRun(t, dir, append(save, "--iterate", iterate, "--out", out)...)
		m, err := readModel(filepath.Join(dir, out))
		if err != nil || !slices.Equal(m.Weights, want) || m.Guarantee.Kind != privacy.LocalDP || m.Guarantee.Epsilon != 2 {
			t.Errorf("%s: %v, weights %v, want %v; %s", iterate, err, m.Weights, want, m.Guarantee)
		}
		mustRun(t, dir, "predict", out, "--data", "patients.csv")
	}
	ends(t, dir, exitInput, "exists", append(save, "--out", "last.json")...)
	write(t, dir, "narrow.yaml",
		"data_id: x\ncsv: {header: true}\ncolumns:\n  - {name: a, range: [0, 1]}\n  - {name: y, role: label, positive: 1}\n")
	ends(t, dir, exitInput, "1 features", "local", "model", "--server", address, "--schema", "narrow.yaml")
	ran(t, dir, "local", "model", "--server", "http://127.0.0.1:1", "--schema", "patients.yaml").exits(exitResource)
}

func TestLocalSimulate(t *testing.T) {
	dir := clinic(t, 300)
	type result struct {
		Guarantee privacy.Guarantee
		Visits    int64
		Updates   *int64
		L2        float64
		Choice    []float64 `json:"cross_validated_accuracies"`
	}
	simulate := func(code int, says string, args ...string) (r result) {
		t.Helper()
		out := ran(t, dir, append([]string{"--json", "local", "simulate"}, args...)...).exits(code).says(says).out
		if code == exitOK {
			must.CheckDo(t, json.Unmarshal([]byte(out), &r))
		}
		return r
	}
	private := []string{"--data", "patients.csv", "--schema", "patients.yaml", "--epochs", "2"}
	with := func(more ...string) []string { return append(append([]string(nil), private...), more...) }
	r := simulate(exitOK, `"run"`, with("--out", "m.json")...)
	if r.Guarantee.Kind != privacy.LocalDP || r.Guarantee.Epsilon != 2 || r.Visits != 600 || r.Updates != nil {
		t.Errorf("%+v, want epsilon 2 and 600 visits", r)
	}
	mustRun(t, dir, "predict", "m.json", "--data", "patients.csv", "--out", "s.csv")
	// Cross-validation is charged: 3 folds and 2 candidates are 4 more trainings of 2
	// visits and 2 answers, and the ledger has them.
	r = simulate(exitOK, "", with("--l2-grid", "0.1,1", "--folds", "3")...)
	if e := r.Guarantee.Epsilon; e < 12 || e > 12.001 || len(r.Choice) != 2 {
		t.Errorf("cross-validation costs %v with accuracies %v, want 12 and 2", e, r.Choice)
	}
	l := must.Get(ledger.Open(filepath.Join(dir, "state", "dyad", "ledger.jsonl")))(t)
	id := must.Get(dataset.LoadSchema(filepath.Join(dir, "patients.yaml")))(t)
	if spent, err := l.Summary(id.DataID, 1e-9); err != nil || spent.Runs != 2 || spent.Pure < 14-1e-12 ||
		spent.Pure > 14.001 {
		t.Errorf("the ledger has %v (%v), want two runs of pure epsilon 2 + 12", spent, err)
	}
	// What is charged is what the ledger says, before and after the run.
	if text, err := os.ReadFile(filepath.Join(dir, "state", "dyad", "ledger.jsonl")); err != nil ||
		!strings.Contains(string(text), `"guarantee":"2-locally`) || !strings.Contains(string(text), `"guarantee":"12-locally`) {
		t.Errorf("the ledger does not name both guarantees (%v): %s", err, text)
	}
	// Shuffling is stated for one training. Nothing is charged for what is refused.
	simulate(exitInput, "one training", with("--l2-grid", "0.1,1", "--folds", "3", "--shuffle-delta", "1e-6")...)
	simulate(exitInput, "cross-validation", with("--l2-grid", "0.1,1", "--folds", "200")...)
	simulate(exitInput, "L2 weight", with("--l2-grid", "0.1,1e300", "--folds", "3")...)
	simulate(exitInput, "helps only below the local epsilon", with("--shuffle-delta", "1e-6")...)
	if spent, err := l.Summary(id.DataID, 1e-9); err != nil || spent.Runs != 2 {
		t.Errorf("a refusal was charged: %v, %v", spent, err)
	}
	// Without privacy the choice says so.
	r = simulate(exitOK, "NOT PRIVATE", "-n", "200", "--method", "sgd", "--l2-grid", "0.1,1", "--folds", "2",
		"--epochs", "1")
	must.Equal(t, r.Guarantee.Kind, privacy.None, "sgd has guarantee %v", r.Guarantee)
	// Balancing by label, and methods that do not protect records, need public data.
	simulate(exitInput, "reveals the labels", with("--balance")...)
	simulate(exitOK, "NOT PRIVATE: labels decided which users were left out", with("--balance", "--public-data")...)
	for _, m := range []string{"sgd", "curriculum", "prestige-printed", "prestige-label"} {
		simulate(exitInput, "--public-data", with("--method", m)...)
		simulate(exitOK, "", with("--method", m, "--public-data")...)
	}
	simulate(exitOK, "noise is not secret", "-n", "100", "--seed", "1", "--epochs", "1")
	simulate(exitInput, "belong together", "-n", "100", "--kwik-ratio", "2")
	simulate(exitInput, "not bounded", "-n", "100", "--loss", "exp(-u*u*u)", "--radius", "1e3")
	r = simulate(exitOK, "", "-n", "100", "--radius", "1", "--kwik-ratio", "1", "--kwik-delta", "0.1")
	must.Equal(t, r.Visits, 3*70, "visits of ceil(ln 10) epochs of 70 users")
	simulate(exitOK, "trusted shuffler", "-n", "10000", "--epochs", "1", "--epsilon", "0.5", "--shuffle-delta", "1e-6")
}

func TestLocalAudit(t *testing.T) {
	sizes.NotShort(t, "slow")
	for _, c := range []struct {
		code int
		says string
		args []string
	}{
		{exitOK, "not refuted", []string{"prestige"}},
		{exitOK, "not refuted", []string{"prestige-participation"}},
		{exitOK, "not refuted", []string{"prestige-label"}},
		{exitOK, "would detect a leak of twice the claim", []string{"djw", "--direction-pairs", "4"}},
		{exitOK, "would NOT refute half of the claim", []string{"djw", "--epsilon", "20"}},
		{exitFailure, "THE CLAIM IS REFUTED", []string{"prestige-printed", "--epsilon", "0.2"}},
		{exitInput, "answers only once", []string{"prestige-label", "--visits", "2"}},
		{exitInput, "", []string{"sgd"}},
	} {
		ran(t, t.TempDir(), append([]string{"local", "audit", "--runs", "2000"}, c.args...)...).exits(c.code).says(c.says)
	}
}
