//go:build unix

package main

import (
	"context"
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"

	"dyad/cmd/command"
	"dyad/internal/crash"
	"dyad/internal/must"
)

// TestMain makes a child of the tests the program.
func TestMain(m *testing.M) {
	crash.Main(m, func(ctx context.Context, args []string, stage func(string)) int {
		with := extras
		with.Trace = stage
		return with.Run(ctx, args, os.Stdin, os.Stdout, os.Stderr)
	}, func(args []string) {
		os.Args = append([]string{"dyad"}, args...)
		command.Main(extras)
	})
}

// released is a model file without what two runs of one plan do not share: the name of the run, the time, and the sum over the file.
func released(t *testing.T, name string) map[string]any {
	t.Helper()
	text := must.Get(os.ReadFile(name))(t)
	var m map[string]any
	must.Do(t, json.Unmarshal(text, &m))
	for _, key := range []string{"run", "checksum", "created"} {
		if m[key] == nil {
			t.Fatalf("%s has no %s", name, key)
		}
		delete(m, key)
	}
	return m
}

// A training of a network of a file that is told to end, or killed, is charged once and resumed from its last step. One with noise of a seed keeps
// no steps, and is resumed to the bytes of a run that nothing stopped.
func TestNetworksOfFilesAreResumed(t *testing.T) {
	for _, c := range []struct {
		command, fault, stage string
		code                  int
		says                  string
	}{
		{"train --steps 6", "terminate", "checkpoint saved#2", 130, "continued after step 2 of 6"},
		{"train --steps 6 --algorithm subsampled-descent --batch-records 20", "kill", "checkpoint saved#2", crash.Killed, "continued after step 2 of 6"},
		{"pairs train --epochs 6 --tuple 4 --loss npair --rows 2", "terminate", "checkpoint saved#2", 130, "continued after batch 2 of 6"},
		{"train --steps 6 --seed 5", "terminate", "training", 130, "noise is not secret"},
		{"pairs train --epochs 6 --tuple 4 --loss npair --rows 2 --seed 5", "kill", "training", crash.Killed, "noise is not secret"},
	} {
		folder(t)
		line := c.command + " --data r.csv --schema s.yaml --model net.yaml --checkpoint-every 1ns --verbose"
		says(t, 0, "run ", line+" --ledger whole.jsonl --out whole.json")
		line += " --ledger l.jsonl --out m.json"
		crash.Start(t, t.TempDir(), crash.Spec{Args: strings.Fields(line), Stage: c.stage, Fault: c.fault}).End().Want(t, line, c.code, "")
		var shown []struct {
			Unfinished []struct{ Run string } `json:"unfinished_runs"`
		}
		if err := json.Unmarshal([]byte(says(t, 0, "", "ledger show --ledger l.jsonl --json")), &shown); err != nil || len(shown) != 1 || len(shown[0].Unfinished) != 1 {
			t.Fatalf("%s: the ledger shows %+v, %v", line, shown, err)
		}
		must.Err(os.Stat("m.json"))(t, "%s: a model before the release", line)
		says(t, 0, c.says, line+" --resume "+shown[0].Unfinished[0].Run)
		if a, b := released(t, "whole.json"), released(t, "m.json"); strings.Contains(line, "--seed") != reflect.DeepEqual(a, b) {
			t.Errorf("%s: the resumed model is\n%v\nand that of a run without a fault\n%v", line, b, a)
		}
		if spent := says(t, 0, "", "ledger show --ledger l.jsonl"); !strings.Contains(spent, "1 run") {
			t.Error(spent)
		}
		code, verdict := 0, "verified"
		if strings.Contains(line, "subsampled") || strings.Contains(line, "--seed") {
			code, verdict = 1, "not covered"
		}
		says(t, code, "verdict     "+verdict, "verify m.json --ledger l.jsonl")
	}
}
