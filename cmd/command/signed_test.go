//go:build unix

package command

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	lib "dyad"
	"dyad/docs/checker"
	"dyad/internal/crash"
	"dyad/internal/must"
	"dyad/internal/sizes"
)

// owner is the key of the ledger of a folder.
func owner(t *testing.T, dir string) string {
	t.Helper()
	out := mustRun(t, dir, "ledger", "key")
	return strings.TrimSpace(out)
}

// bySignature is what "dyad verify --key" says of a file, in a folder without a ledger.
func bySignature(t *testing.T, dir, name, key string) result {
	t.Helper()
	alone := t.TempDir()
	for _, n := range []string{name, name + ".minisig"} {
		text, err := os.ReadFile(filepath.Join(dir, n))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		write(t, alone, filepath.Base(n), string(text))
	}
	return ran(t, alone, "verify", filepath.Base(name), "--key", key)
}

// TestEveryReleasedFileIsSigned: a file of every kind that a charged run releases is signed, once the ledger has a key, and a
// byte more in it is refused.
func TestEveryReleasedFileIsSigned(t *testing.T) {
	dir := clinic(t, 300)
	write(t, dir, "candidates.yaml", "candidates:\n  - name: a\n  - name: b\n    algorithm: moments\n    ridge: 4\n")
	before := strings.Fields("train --data patients.csv --schema patients.yaml --epsilon 1 --out before.json")
	mustRun(t, dir, before...)
	if _, err := os.Stat(filepath.Join(dir, "before.json.minisig")); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("a ledger without a key signs: %v", err)
	}
	key := owner(t, dir)
	from := " --data patients.csv --schema patients.yaml"
	for _, c := range []struct{ args, files string }{
		{"train --epsilon 1 --out linear.json" + from, "linear.json"},
		{"train --epsilon 1 --model mlp --hidden 2 --steps 5 --out network.json" + from, "network.json"},
		{"train --epsilon 1 --holdout 0.3 --holdout-epsilon 1 --out held.json" + from, "held.json held.figures.json"},
		{"pairs train --density 2 --degree-cap 6 --epsilon 2 --out pairs.json" + from, "pairs.json"},
		{"cluster -k 2 --epsilon 1 --out clusters.json" + from, "clusters.json"},
		{"search --candidates candidates.yaml --epsilon 2 --out searched.json" + from, "searched.json"},
		{"search --models linear.json,held.json --epsilon 1 --out winner.json" + from, "winner.json"},
		{"evaluate linear.json --data patients.csv --epsilon 1 --out figures.json", "figures.json"},
		{"threshold linear.json --data patients.csv --epsilon 1 --out threshold.json", "threshold.json"},
		{"local simulate --epsilon 4 --out local.json" + from, "local.json"},
		{"curve --epsilon 0.5,1 --holdout-epsilon 1 --yes --format svg --out curve" + from, "curve.json"},
		{"ledger sign before.json", "before.json"},
	} {
		if code, out, errs := dyad(t, dir, strings.Fields(c.args)...); code != exitOK {
			t.Errorf("dyad %s: exit %d: %s%s", c.args, code, out, errs)
			continue
		}
		for _, name := range strings.Fields(c.files) {
			if r := bySignature(t, dir, name, key).says("signed this file"); r.code != exitOK && r.code != exitFailure {
				t.Errorf("%s: exit %d", name, r.code)
			}
			text := must.Get(os.ReadFile(filepath.Join(dir, name)))(t)
			write(t, dir, name, string(text)+" ")
			bySignature(t, dir, name, key).exits(exitInput).says("the file is not the one that was signed")
			write(t, dir, name, string(text))
		}
	}
	write(t, dir, "own.json", "{}")
	ends(t, dir, exitInput, "has no release of a file with the hash", "ledger", "sign", "own.json")
}

// TestForgeriesAreRefusedByKey: files that make other true statements, and those that the checker does not look at, are refused for a
// reader without the ledger; so are signatures of other files and keys.
func TestForgeriesAreRefusedByKey(t *testing.T) {
	dir := clinic(t, 300)
	key := owner(t, dir)
	for _, name := range []string{"m.json", "other.json"} {
		mustRun(t, dir, "train", "--data", "patients.csv", "--schema", "patients.yaml", "--algorithm", "dpgdsc", "--epsilon",
			"1", "--out", name)
	}
	genuine := must.Get(os.ReadFile(filepath.Join(dir, "m.json")))(t)
	bySignature(t, dir, "m.json", key).exits(exitOK)
	at := func(value any, path ...string) func(map[string]any) {
		return func(m map[string]any) {
			for _, p := range path[:len(path)-1] {
				next, ok := m[p].(map[string]any)
				if !ok {
					next = map[string]any{}
					m[p] = next
				}
				m = next
			}
			m[path[len(path)-1]] = value
		}
	}
	for name, forge := range map[string]func(map[string]any){
		"steps of length 0":         at(0, "plan", "sensitivity", "step_size"),
		"a tiny radius":             at(1e-9, "plan", "radius"),
		"a raw record as weights":   at([]any{68, 1, 28.7, 1, 1, 1}, "weights"),
		"a person for a record":     at("one person", "guarantee", "unit"),
		"forty rows of a person":    at(40, "plan", "max_rows_per_person"),
		"more records":              at(1e15, "plan", "n"),
		"one step":                  at(1, "plan", "steps"),
		"tiny steps":                at(1e-300, "plan", "eta"),
		"a coarse grid":             at(1e300, "plan", "noise", "grid"),
		"a smaller epsilon":         at(0.001, "guarantee", "epsilon"),
		"a smaller delta":           at(1e-30, "guarantee", "delta"),
		"another noise multiplier":  at(9, "report", "noise_multiplier"),
		"no rounding error":         at(0, "plan", "mean_error"),
		"the data of others":        at("elsewhere", "data_id"),
		"code in the data id":       at(`x"""; print(1); """`, "data_id"),
		"another run":               at("RUN", "run"),
		"no warnings":               at([]any{}, "guarantee", "warnings"),
		"no plan and no guarantee":  func(m map[string]any) { delete(m, "plan"); delete(m, "guarantee") },
		"nothing but a new spacing": func(map[string]any) {},
	} {
		var m map[string]any
		must.Do(t, json.Unmarshal(genuine, &m))
		forge(m)
		text := sealed(t, m)
		if bytes.Equal(text, genuine) {
			t.Fatalf("%s: nothing is forged", name)
		}
		write(t, dir, "m.json", string(text))
		bySignature(t, dir, "m.json", key).exits(exitInput).says("the file is not the one that was signed")
	}
	write(t, dir, "m.json", string(genuine))
	stranger := owner(t, t.TempDir())
	bySignature(t, dir, "m.json", stranger).exits(exitInput).says("the signature was made with key")
	sig := must.Get(os.ReadFile(filepath.Join(dir, "other.json.minisig")))(t)
	write(t, dir, "m.json.minisig", string(sig))
	bySignature(t, dir, "m.json", key).exits(exitInput).says("the file is not the one that was signed")
	must.Do(t, os.Remove(filepath.Join(dir, "m.json.minisig")))
	bySignature(t, dir, "m.json", key).exits(exitInput).says("the signature of m.json cannot be read")
	mustRun(t, dir, "ledger", "sign", "m.json")
	bySignature(t, dir, "m.json", key).exits(exitOK)
}

// TestSignatureAfterACrash: a program that dies between release and name leaves what --resume names and signs; one that dies between
// name and signature what "ledger sign" signs.
func TestSignatureAfterACrash(t *testing.T) {
	sizes.NotShort(t, "slow")
	for stage, again := range map[string]func(f *fixture, run string) []string{
		"released": func(f *fixture, run string) []string { return f.train("--resume", run) },
		"model renamed": func(f *fixture, run string) []string {
			return []string{"ledger", "sign", f.in("out/model.json"), "--ledger", f.in("ledger/ledger.jsonl")}
		},
	} {
		f := newFixture(t)
		key := f.dyad("ledger", "key", "--ledger", f.in("ledger/ledger.jsonl"))
		key.Want(t, "a key", exitOK, "")
		f.start(t, crash.Spec{Args: f.train(), Stage: stage, Fault: "kill"}).End()
		run, _, _ := f.attacked(t)
		signature := f.in("out/model.json.minisig")
		if _, err := os.Stat(signature); !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("killed at %q: there is a signature (%v)", stage, err)
		}
		f.dyad(again(f, run)...).Want(t, stage, exitOK, "")
		f.dyad("verify", f.in("out/model.json"), "--key", strings.TrimSpace(key.Stdout)).Want(t, stage, exitOK,
			"signed this file")
	}
}

// TestSignedFileIsReadStrictly: a signature does not hide that ranges came from the data, a link is no place for one, and a ledger
// without the head that was signed is not the owner's.
func TestSignedFileIsReadStrictly(t *testing.T) {
	dir := clinic(t, 300)
	key := owner(t, dir)
	schema := must.Get(os.ReadFile(filepath.Join(dir, "patients.yaml")))(t)
	write(t, dir, "drafted.yaml", "bounds_from_data: true\n"+string(schema))
	train := func(name, schema string) {
		mustRun(t, dir, "train", "--data", "patients.csv", "--schema", schema, "--epsilon", "1", "--out", name)
	}
	train("drafted.json", "drafted.yaml")
	bySignature(t, dir, "drafted.json", key).exits(exitInput).says("ranges were taken from the data")

	write(t, dir, "elsewhere", "precious")
	must.Do(t, os.Symlink("elsewhere", filepath.Join(dir, "m.json.minisig")))
	train("m.json", "patients.yaml") // it is released, and the note about its signature is no failure
	if text, err := os.ReadFile(filepath.Join(dir, "elsewhere")); err != nil || string(text) != "precious" {
		t.Errorf("a link in place of a signature: its target is %q (%v)", text, err)
	}
	if code, _, errs := dyad(t, dir, "ledger", "sign", "m.json"); code == exitOK ||
		!strings.Contains(errs, "m.json.minisig is not a regular file") {
		t.Errorf("a link in place of a signature: exit %d: %s", code, errs)
	}
	must.Do(t, os.Remove(filepath.Join(dir, "m.json.minisig")))
	mustRun(t, dir, "ledger", "sign", "m.json")

	verify := []string{"verify", "m.json", "--key", key, "--ledger", "state/dyad/ledger.jsonl"}
	mustRun(t, dir, verify...)
	m := must.Get(lib.Load(filepath.Join(dir, "m.json")))(t)
	text := must.Get(os.ReadFile(filepath.Join(dir, "m.json")))(t)
	r, err := judgement{}.compared(m, text, strings.Repeat("0", 64), filepath.Join(dir, "state/dyad/ledger.jsonl"), false)
	if err != nil || r.Verdict.Verdict != checker.Refused || !strings.Contains(r.Why, "the signed head is not in this ledger") {
		t.Errorf("another head: %+v, %v", r, err)
	}
}

// TestWitnessOfTheLedger: a ledger that was put back is told, with the exit code of a damaged one.
func TestWitnessOfTheLedger(t *testing.T) {
	dir := clinic(t, 300)
	train := func(name string) {
		mustRun(t, dir, "train", "--data", "patients.csv", "--schema", "patients.yaml", "--epsilon", "1", "--out", name,
			"--ledger", "l.jsonl")
	}
	train("a.json")
	old := map[string][]byte{}
	for _, name := range []string{"l.jsonl", "l.jsonl.head"} {
		text := must.Get(os.ReadFile(filepath.Join(dir, name)))(t)
		old[name] = text
	}
	train("b.json")
	verify := []string{"ledger", "verify", "--ledger", "l.jsonl", "--witness", "elsewhere"}
	for _, says := range []string{"there was no file elsewhere, so no earlier head was compared", "the ledger continues from the head in elsewhere"} {
		must.Contain(t, mustRun(t, dir, verify...), says)
	}
	for name, text := range old {
		write(t, dir, name, string(text))
	}
	mustRun(t, dir, "ledger", "verify", "--ledger", "l.jsonl")
	ends(t, dir, exitResource, "an older copy or another ledger", verify...)
}
