package command

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
)

// TestCancelledNamesTheResult: an interrupt of what follows a complete model names the model's file.
func TestCancelledNamesTheResult(t *testing.T) {
	dir := clinic(t, 200)
	in := func(name string) string { return filepath.Join(dir, name) }
	for _, stage := range []string{"charged", "trained"} { // of the held-out figures
		out := in(stage + ".json")
		ctx, cancel := context.WithCancel(t.Context())
		seen := 0
		code, stdout, stderr := hooked(ctx, reach(stage, func() {
			if seen++; seen == 2 {
				cancel()
			}
		}), "train", "--data", in("patients.csv"), "--schema", in("patients.yaml"), "--algorithm", "dpgdsc", "--holdout", "0.3", "--holdout-epsilon", "1", "--out", out, "--ledger", in(stage+".jsonl"))
		cancel()
		if code != exitCancelled || !strings.Contains(stderr, "the result is complete and is saved as "+out) || !exists(out) {
			t.Errorf("%s: exit %d: %s%s", stage, code, stdout, stderr)
		}
	}
}

// TestSeedKeepsNoCheckpoints: a private run with seeded noise says that it keeps no checkpoints, and others do not say so.
func TestSeedKeepsNoCheckpoints(t *testing.T) {
	dir := clinic(t, 200)
	for flags, note := range map[string]bool{"--seed 1": true, "": false, "--seed 1 --checkpoint-every 0": false, "--seed 1 --public-data": false} {
		args := append([]string{"train", "--data", "patients.csv", "--schema", "patients.yaml", "--algorithm", "dpgdsc", "--force", "--ledger", "l.jsonl"}, strings.Fields(flags)...)
		r := ran(t, dir, args...).exits(exitOK)
		r.contains(r.errs, note, []string{"--seed keeps no checkpoints"})
	}
}
