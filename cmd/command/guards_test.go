package command

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"dyad/internal/files"
	"dyad/internal/must"
	"dyad/internal/sizes"
)

// A model that does not fit is refused before the charge: with less memory than its
// parameters need, and of more parameters than any machine holds.
func TestMemoryIsAskedBeforeTheCharge(t *testing.T) {
	dir := clinic(t, 100)
	t.Chdir(dir)
	for _, c := range []struct {
		args   []string
		memory float64
		code   int
	}{
		{[]string{"train", "--data", "patients.csv", "--schema", "patients.yaml", "--ledger", "l.jsonl"}, 100, exitInput},
		{[]string{"train", "--data", "patients.csv", "--schema", "patients.yaml", "--ledger", "l.jsonl", "--task", "metric"}, 100, exitInput},
		{[]string{"online", "--data", "patients.csv", "--schema", "patients.yaml", "--ledger", "l.jsonl", "--state", "s", "--records", "100"}, 100, exitInput},
		{[]string{"train", "--data", "patients.csv", "--schema", "patients.yaml", "--ledger", "l.jsonl"}, 1e9, exitOK},
	} {
		code, _, errs := hooked(context.Background(), hooks{memory: c.memory}, c.args...)
		if code != c.code || c.code == exitInput && !strings.Contains(errs, "memory") {
			t.Errorf("%v with %g bytes: exit %d: %s", c.args, c.memory, code, errs)
		}
		if _, err := os.Stat("l.jsonl"); (err == nil) != (c.code == exitOK) {
			t.Errorf("%v: ledger: %v", c.args, err)
		}
	}
	for _, args := range [][]string{
		{"plan", "-n", "1000", "-d", "9223372036854775807"},
		{"plan", "-n", "1000", "-d", "9223372036854775807", "--task", "metric"},
		{"plan", "-n", "1000", "-d", "100000", "--task", "metric"},
		{"plan", "compare", "-n", "1000", "-d", "100000", "--task", "metric"},
	} {
		ran(t, dir, args...).exits(exitInput)
	}
}

// Plans take no memory for the model, so that they can be made for another machine.
func TestPlansAllocateNoModel(t *testing.T) {
	sizes.NotShort(t, "slow")
	for _, args := range [][]string{
		{"plan", "-n", "1000", "-d", "100000000"},
		{"plan", "-n", "1000", "-d", "90000", "--task", "metric"},
		{"plan", "compare", "-n", "1000", "-d", "90000", "--task", "metric"},
		{"lab", "losses", "check", "logistic", "-d", "90000", "--task", "metric"},
	} {
		mustRun(t, t.TempDir(), args...)
	}
}

// A file that is no model is refused at its first bytes, however long it is.
func TestModelsAreReadWithALimit(t *testing.T) {
	dir := clinic(t, 10)
	lines := filepath.Join(dir, "lines.jsonl")
	must.Do(t, os.WriteFile(lines, bytes.Repeat([]byte("{\"x\": 1}\n"), 10), 0o600))
	for _, name := range []string{"/dev/zero", "patients.csv", "lines.jsonl", "."} {
		if _, err := os.Stat(name); name == "/dev/zero" && err != nil {
			continue
		}
		ran(t, dir, "predict", name, "--data", "patients.csv").exits(exitInput)
	}
	var v struct{ A string }
	path := filepath.Join(dir, "long.json")
	must.Do(t, os.WriteFile(path, []byte(`{"a": "`+strings.Repeat("x", 100)+`"}`), 0o600))
	must.FailDo(t, files.ReadJSON(path, 50, &v), "50 bytes", "a limit of 50 bytes")
	if err := files.ReadJSON(path, 200, &v); err != nil || len(v.A) != 100 {
		t.Errorf("a limit of 200 bytes: %v", err)
	}
}

// A mistyped --ledger begins a new ledger, without the charges of the right one: it shows.
func TestNewLedgerIsAnnounced(t *testing.T) {
	dir := clinic(t, 60)
	const says = "a new ledger was made"
	for _, c := range []struct {
		ledger string
		args   []string
		want   bool
	}{
		{"l.jsonl", []string{"train", "--force"}, true},
		{"l.jsonl", []string{"train", "--force"}, false},
		{"l.jsonl", []string{"online", "--state", "s", "--records", "60"}, false},
		{"lx.jsonl", []string{"online", "--state", "t", "--records", "60"}, true},
	} {
		r := ran(t, dir, append(c.args, "--data", "patients.csv", "--schema", "patients.yaml", "--ledger", c.ledger)...).exits(exitOK)
		r.contains(r.errs, c.want, []string{says}).contains(r.out, false, []string{says})
	}
}

// Private data from a pipe are refused before the charge: the ledger could not tell whether a resumed run
// reads the same records.
func TestPrivateDataAreAFile(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("names a pipe by /proc")
	}
	dir := clinic(t, 200)
	text := must.Get(os.ReadFile(filepath.Join(dir, "patients.csv")))(t)
	pipe := func() string {
		r, w := must.Get2(os.Pipe())(t)
		t.Cleanup(func() { r.Close() })
		go func() { w.Write(text); w.Close() }()
		return fmt.Sprintf("/proc/self/fd/%d", r.Fd())
	}
	ends(t, dir, exitInput, "store the data in a file", "train", "--data", pipe(), "--schema", "patients.yaml", "--epsilon", "1", "--out", "m.json")
	if ledger, err := os.ReadFile(filepath.Join(dir, "state", "dyad", "ledger.jsonl")); err == nil && bytes.Contains(ledger, []byte(`"charge"`)) {
		t.Errorf("something was charged: %s", ledger)
	}
	mustRun(t, dir, "train", "--data", pipe(), "--schema", "patients.yaml", "--public-data", "--out", "m.json")
}
