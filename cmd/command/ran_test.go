package command

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dyad/engine/dataset"
	"dyad/internal/must"
)

// dyad runs the program in dir with a ledger of its own.
func dyad(t *testing.T, dir string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	t.Setenv("XDG_STATE_HOME", filepath.Join(dir, "state"))
	t.Chdir(dir)
	return hooked(context.Background(), hooks{}, args...)
}

// hooked runs the program with hooks in the folder of this process.
func hooked(ctx context.Context, h hooks, args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = runHooked(ctx, args, strings.NewReader(""), &out, &errs, h)
	return code, out.String(), errs.String()
}

// reach returns hooks that call do when a run reaches a stage.
func reach(stage string, do func()) hooks {
	return hooks{stage: func(at string) {
		if at == stage {
			do()
		}
	}}
}

// result is how a command ended. Its methods report what differs from the expectation.
type result struct {
	t         *testing.T
	dir       string
	args      []string
	code      int
	out, errs string
}

// ran runs a command.
func ran(t *testing.T, dir string, args ...string) result {
	t.Helper()
	code, out, errs := dyad(t, dir, args...)
	return result{t, dir, args, code, out, errs}
}

func (r result) want(holds bool, what string, about ...any) result {
	if !holds {
		r.t.Helper()
		r.t.Errorf("%q: exit %d, want %s: %s%s", r.args, r.code, fmt.Sprintf(what, about...), r.out, r.errs)
	}
	return r
}

func (r result) exits(code int) result {
	r.t.Helper()
	return r.want(r.code == code, "exit %d", code)
}

// contains wants texts in an output or, if not there is set, not in it.
func (r result) contains(output string, there bool, texts []string) result {
	r.t.Helper()
	for _, text := range texts {
		r.want(strings.Contains(output, text) == there, "%q %v", text, there)
	}
	return r
}

// prints wants texts on standard output, warns on standard error, says on one of them, and lacks on none.
func (r result) prints(texts ...string) result {
	r.t.Helper()
	return r.contains(r.out, true, texts)
}

func (r result) warns(texts ...string) result {
	r.t.Helper()
	return r.contains(r.errs, true, texts)
}

func (r result) says(texts ...string) result {
	r.t.Helper()
	return r.contains(r.out+r.errs, true, texts)
}

func (r result) lacks(texts ...string) result {
	r.t.Helper()
	return r.contains(r.out+r.errs, false, texts)
}

func (r result) counts(n int, text string) result {
	r.t.Helper()
	return r.want(strings.Count(r.out, text) == n, "%d times %q", n, text)
}

func (r result) printsOnly(text string) result {
	r.t.Helper()
	return r.want(r.out == text, "only %q", text)
}

func (r result) warnsNothing() result {
	r.t.Helper()
	return r.want(r.errs == "", "no warning")
}

// makes wants files, and without wants none of them.
func (r result) makes(names ...string) result {
	r.t.Helper()
	for _, name := range names {
		r.want(exists(filepath.Join(r.dir, name)), "%s", name)
	}
	return r
}

func (r result) without(names ...string) result {
	r.t.Helper()
	for _, name := range names {
		r.want(!exists(filepath.Join(r.dir, name)), "no %s", name)
	}
	return r
}

// decode reads standard output as JSON.
func (r result) decode(into any) result {
	r.t.Helper()
	must.Do(r.t, json.Unmarshal([]byte(r.out), into), r.args, r.out, r.errs)
	return r
}

func (r result) texts() (stdout, stderr string) { return r.out, r.errs }

// decoded runs a command that has to end well and reads its standard output as JSON.
func decoded[T any](t *testing.T, dir string, args ...string) (v T) {
	t.Helper()
	must.Do(t, json.Unmarshal([]byte(mustRun(t, dir, args...)), &v), args)
	return v
}

// ends runs a command, which ends with an exit code and says a text: on standard output if it ends well, on standard error otherwise.
func ends(t *testing.T, dir string, want int, says string, args ...string) (stdout, stderr string) {
	t.Helper()
	r := ran(t, dir, args...).exits(want)
	if want == exitOK {
		return r.prints(says).texts()
	}
	return r.warns(says).texts()
}

// mustRun runs a command that has to end well.
func mustRun(t *testing.T, dir string, args ...string) (stdout string) {
	t.Helper()
	r := ran(t, dir, args...)
	if r.code != exitOK {
		t.Fatalf("%q: exit %d: %s", args, r.code, r.errs)
	}
	return r.out
}

// damage writes damaged.json, which is a model of an earlier version that was changed.
func damage(t *testing.T, dir, model string, change func(raw map[string]any)) {
	t.Helper()
	var raw map[string]any
	must.Do(t, json.Unmarshal([]byte(read(t, dir, model)), &raw))
	change(raw)
	delete(raw, "checksum") // as if an earlier version had written it
	delete(raw, "plan")
	write(t, dir, "damaged.json", string(must.Get(json.Marshal(raw))(t)))
}

// clinic writes patients.csv and a private patients.yaml into a new folder.
func clinic(t *testing.T, n int) (dir string) {
	t.Helper()
	dir = t.TempDir()
	var text bytes.Buffer
	must.Do(t, dataset.WriteSyntheticClinical(&text, n, 5))
	private := strings.Replace(dataset.SyntheticClinicalYAML(), "public: true", "public: false", 1)
	if private == dataset.SyntheticClinicalYAML() {
		t.Fatal("the synthetic schema does not say public: true")
	}
	write(t, dir, "patients.csv", text.String())
	write(t, dir, "patients.yaml", private)
	return dir
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
}
