//go:build linux

package command

import (
	"os"
	"slices"
	"strings"
	"testing"

	"dyad/engine/enginetest"
	"dyad/internal/must"
)

// A pack that changes on any rank of a team, also on one that follows, ends the run for all: nothing is released, the rank names its
// file, and the run is resumed at no further cost.
func TestChangedPackOfAnyRankIsNotReleased(t *testing.T) {
	f := newFixture(t)
	for at := range 2 {
		packs := []string{f.in("in/p0.dyadpack"), f.in("in/p1.dyadpack")}
		for _, pack := range packs {
			f.dyad("data", "pack", f.in("in/patients.csv"), "--schema", f.in("in/patients.yaml"), "-o", pack, "--force").Want(t, "pack", exitOK, "")
		}
		whole := must.Get(os.ReadFile(packs[at]))(t)
		out, book := f.in("out/team.json"), f.in("ledger/team"+string(rune('0'+at))+".jsonl")
		_ = os.Remove(out)
		run := func(stage string, more ...string) []rankEnd {
			return asTeam(enginetest.Members(2), reach(stage, func() { overwrite(t, packs[at]) }).stage, func(rank int) []string {
				return append([]string{"train", "--data", packs[rank], "--schema", f.in("in/patients.yaml"), "--algorithm", "gradient-perturbation", "--steps", "3", "--team", "mpi", "--ledger", book, "--out", out}, more...)
			})
		}
		ends := run("trained")
		_, id, named := strings.Cut(ends[0].Stderr, "--resume ")
		if ends[0].Code != exitFailure || !named || exists(out) {
			t.Fatalf("rank %d changed: rank 0: exit %d: %s%s", at, ends[0].Code, ends[0].Stdout, ends[0].Stderr)
		}
		if want := []int{exitOK, exitFailure}[at]; ends[1].Code != want || !strings.Contains(ends[at].Stderr, packs[at]) {
			t.Errorf("rank %d changed: rank 1: exit %d, want %d: %s", at, ends[1].Code, want, ends[1].Stderr)
		}
		must.Do(t, os.WriteFile(packs[at], whole, 0o600))
		id, _, _ = strings.Cut(id, " ")
		ends = run("never", "--resume", id)
		if codes := []int{ends[0].Code, ends[1].Code}; !slices.Equal(codes, []int{exitOK, exitOK}) || !exists(out) {
			t.Errorf("rank %d changed, resumed: %v: %s%s", at, codes, ends[0].Stderr, ends[1].Stderr)
		}
	}
}
