package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestNetwork: a network of one's own is planned, charged, trained, verified, scored, evaluated and attacked by the commands of the program.
func TestNetwork(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	run := func(want, line string) {
		t.Helper()
		var out, errs bytes.Buffer
		if code := with.Run(t.Context(), strings.Fields(line), strings.NewReader(""), &out, &errs); code != 0 || !strings.Contains(out.String()+errs.String(), want) {
			t.Errorf("%s: exit %d, want %q in %s%s", line, code, want, out.String(), errs.String())
		}
	}
	run("", "data synth r.csv --schema s.yaml -n 80")
	schema, err := os.ReadFile("s.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "s.yaml"), bytes.Replace(schema, []byte("public: true"), []byte("public: false"), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	run("gorgonia waves", "plan -n 100 -d 3 --model waves --epsilon 2")
	run("epsilon = 2", "train --data r.csv --schema s.yaml --model waves --steps 3 --epsilon 2 --ledger l.jsonl --out m.json")
	run("verified", "verify m.json --ledger l.jsonl")
	run("row,score", "predict m.json --data r.csv")
	run("AUC", "evaluate m.json --data r.csv --epsilon 1 --ledger l.jsonl")
	run("audited", "lab audit gradient-perturbation --model waves -n 8 --steps 2 --step-size 0.1 --runs 60")
}
