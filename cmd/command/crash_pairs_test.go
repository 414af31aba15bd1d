//go:build unix

package command

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"dyad/internal/crash"
	"dyad/internal/must"
	"dyad/internal/sizes"
	"dyad/privacy/ledger"
)

// pairsCell is an attack on "dyad pairs train" that keeps a checkpoint after every batch.
type pairsCell struct {
	sampling string // or "input", "moments", "tuples", "network", "all pairs"
	fault    string
	stage    string
	code     int
	want     outcome
	from     int // batch after which the resumed run continues
	says     string
	short    bool
}

// pairsBatches is the number of batches of the attacked training: 240 drawn pairs in
// batches of 60, or 30 tuples in batches of 7 or more, five epochs.
const pairsBatches = 20

var pairsMatrix = []pairsCell{
	{"fixed", "kill", "admitted#1", killed, untouched, 0, "", false},
	{"fixed", "kill", "line durable#1", killed, pending, 0, "", false},
	{"fixed", "kill", "charged#1", killed, pending, 0, "", false},
	{"fixed", "kill", "checkpoint saved#7", killed, pending, 7, "", true},
	{"fixed", "kill", "checkpoint written#7", killed, pending, 6, "", false},
	{"fixed", "kill", "training#1", killed, pending, 10, "", false},
	{"fixed", "kill", "kept#1", killed, pending, 20, "", false},
	{"fixed", "kill", "line durable#2", killed, unnamed, 0, "", false},
	{"fixed", "kill", "released#1", killed, unnamed, 0, "", true},
	{"fixed", "kill", "model renamed#1", killed, done, 0, "", false},
	{"poisson", "kill", "checkpoint saved#1", killed, pending, 1, "", false},
	{"poisson", "kill", "checkpoint saved#7", killed, pending, 7, "", true},
	{"poisson", "kill", "training#1", killed, pending, 10, "", false},
	{"poisson", "kill", "trained#1", killed, pending, 20, "", false},
	{"poisson", "kill", "released#1", killed, unnamed, 0, "", false},
	{"poisson", "interrupt", "training#1", exitCancelled, pending, 10, resumeIt, true},
	{"poisson", "full", "checkpoint saved#7", exitResource, pending, 7, "no checkpoint was written after step 8", false},
	{"poisson", "lost", "training#1", killed, pending, 0, "", false},
	{"tuples", "kill", "checkpoint saved#7", killed, pending, 7, "", true},
	{"tuples", "interrupt", "training#1", exitCancelled, pending, 10, resumeIt, false},
	{"tuples", "kill", "kept#1", killed, pending, 20, "", false},
	{"tuples", "kill", "released#1", killed, unnamed, 0, "", true},
	{"network", "kill", "checkpoint saved#7", killed, pending, 7, "", true},
	{"network", "interrupt", "training#1", exitCancelled, pending, 10, resumeIt, false},
	{"network", "kill", "released#1", killed, unnamed, 0, "", false},
	{"all pairs", "kill", "kept#1", killed, pending, 5, "", false},
	{"all pairs", "kill", "released#1", killed, unnamed, 0, "", false},
	{"moments", "kill", "charged#1", killed, pending, 0, "", false},
	{"moments", "kill", "training#1", killed, pending, 0, "", true},
	{"moments", "interrupt", "charged#1", exitCancelled, pending, 0, resumeIt, false},
	{"moments", "kill", "released#1", killed, unnamed, 0, "", false},
	{"input", "kill", "training#1", killed, pending, 0, "", false},
	{"input", "interrupt", "trained#1", exitCancelled, pending, 0, resumeIt, false},
	{"input", "kill", "released#1", killed, unnamed, 0, "", false},
}

// pairsTrain is the command line of the attacked training.
func (f *fixture) pairsTrain(how string, more ...string) []string {
	args := []string{"pairs", "train", "--verbose", "--data", f.in("in/patients.csv"), "--schema", f.in("in/patients.yaml"),
		"--checkpoint-every", "1ns", "--force", "--out", f.in("out/pairs.json"), "--ledger", f.in("ledger/ledger.jsonl")}
	if how == "all pairs" {
		return append(append(args, "--all-pairs"), more...)
	}
	if how == "tuples" {
		return append(append(args, "--tuple", "4", "--loss", "triplet", "--batch", "7"), more...)
	}
	if how == "network" {
		return append(append(args, "--tuple", "4", "--loss", "npair", "--batch", "7", "--epochs", "5", "--model", "mlp", "--hidden", "4", "--rows", "2"), more...)
	}
	args = append(args, "--density", "2", "--degree-cap", "6")
	switch how {
	case "input":
		args = append(args, "--method", "input", "--batch", "60")
	case "moments":
		args = append(args, "--method", "moments")
	default:
		args = append(args, "--sampling", how, "--batch", "60")
	}
	return append(args, more...)
}

// A pair training that dies is resumed from its last checkpoint and charged once; what
// was drawn before is not drawn again, and noise on the data is drawn anew.
func TestPairsCrashMatrix(t *testing.T) {
	for _, c := range pairsMatrix {
		if !sizes.Full() && !c.short {
			continue
		}
		t.Run(fmt.Sprintf("%s, %s at %s", c.sampling, c.fault, c.stage), func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			spec := crash.Spec{Args: f.pairsTrain(c.sampling), Stage: c.stage, Fault: c.fault}
			if c.fault == "lost" {
				spec.Fault = "kill"
			}
			e := f.start(t, spec).End()
			e.Want(t, "attacked run", c.code, c.says)
			if c.fault == "lost" {
				for _, name := range f.checkpoints(t) {
					must.Do(t, os.Remove(name))
				}
			}
			f.checkPairs(t, c, e)
		})
	}
}

func (f *fixture) checkPairs(t testing.TB, c pairsCell, e ended) {
	t.Helper()
	f.dyad("ledger", "verify", "--ledger", f.in("ledger/ledger.jsonl")).Want(t, "verify", exitOK, "is intact")
	run, charges, finished := f.attacked(t)
	if want := c.want != untouched; (charges == 1) != want || slices.Contains(finished, ledger.StatusReleased) != (c.want == unnamed || c.want == done) {
		t.Errorf("want %s; got %d charges, finish lines %q", c.want, charges, finished)
	}
	if _, all, kept := f.models(t, run, e.Stdout); (all == 1) != (c.want == done) || (kept == 1) != (c.want == unnamed) {
		t.Errorf("%d models of the attacked run, %d kept", all, kept)
	}
	switch c.want {
	case untouched:
		f.dyad(f.pairsTrain(c.sampling)...).Want(t, "again", exitOK, "charged to")
		return
	case unnamed:
		f.saveKept(t, run, f.pairsTrain(c.sampling))
	case pending:
		next := f.dyad(f.pairsTrain(c.sampling, "--resume", run)...)
		next.Want(t, "resume", exitOK, "run "+run)
		batches := pairsBatches
		if c.sampling == "all pairs" {
			batches = 5
		}
		if says := fmt.Sprintf("continued after batch %d of %d,", c.from, batches); strings.Contains(next.Stderr, says) != (c.from > 0) || c.from == 0 && strings.Contains(next.Stderr, "continued after") {
			t.Errorf("want a run that continues after batch %d: %s", c.from, next.Stderr)
		}
	}
	if _, all, kept := f.models(t, run, ""); all != 1 || kept != 0 {
		t.Errorf("%d models in the end, %d kept", all, kept)
	}
	f.wantClean(t)
	if again, charges, finished := f.attacked(t); again != run || charges != 1 || !slices.Equal(finished, []string{ledger.StatusReleased}) {
		t.Errorf("afterwards: %d charges, finish lines %q; want one of each", charges, finished)
	}
	f.dyad(f.pairsTrain(c.sampling, "--resume", run)...).Want(t, "resume after the release", exitInput, "was released on")
	f.dyad(f.pairsTrain(c.sampling, "--out", f.in("out/next.json"))...).Want(t, "next run", exitOK, "charged to")
	if left := f.checkpoints(t); len(left) > 0 {
		t.Errorf("checkpoints are left: %q", left)
	}
}

// Control: the check notices a run that starts again and one that is charged twice. And a
// run is resumed as it was charged, with its data.
func TestPairsCrashCheckNotices(t *testing.T) {
	sizes.NotShort(t, "controls of what is in files")
	// Noise for fixed batches takes no search, so the controls take it where any will do.
	c := pairsCell{"fixed", "kill", "training#1", killed, pending, 10, "", true}
	attacked := func(sampling string) (*fixture, ended, string) {
		f := newFixture(t)
		e := f.start(t, crash.Spec{Args: f.pairsTrain(sampling), Stage: "training", Fault: "kill"}).End()
		run, _, _ := f.attacked(t)
		return f, e, run
	}
	for text, spoil := range map[string]func(f *fixture, run string) error{
		"want a run that continues after batch 10": func(f *fixture, run string) error {
			return os.Remove(f.in("ledger/ledger.jsonl." + run + ".checkpoint"))
		},
		"got 2 charges": func(f *fixture, _ string) error {
			f.dyad(f.pairsTrain(c.sampling, "--out", f.in("out/again.json"))...)
			return nil
		},
	} {
		f, e, run := attacked(c.sampling)
		must.Do(t, spoil(f, run))
		r := &recorder{TB: t}
		f.checkPairs(r, c, e)
		must.Contain(t, r.said, text)
	}
	f, _, run := attacked("poisson")
	before := f.get(t, "ledger/ledger.jsonl")
	resume := func(says string, more ...string) {
		t.Helper()
		f.dyad(f.pairsTrain("poisson", append(more, "--resume", run)...)...).Want(t, fmt.Sprint(more), exitInput, says)
	}
	whole := f.get(t, "in/patients.csv")
	name := "ledger/ledger.jsonl." + run + ".checkpoint"
	checkpoint := f.get(t, name)
	resume("leave --resume out", "--public-data")
	resume("another plan", "--margin", "0.5")
	resume("another plan", "--shrink")
	must.Do(t, os.Remove(f.in(name))) // without it the charge must match
	resume("was charged for the guarantee", "--sampling", "fixed")
	resume("was charged for objective", "--margin", "0.5")
	resume("was charged for objective", "--shrink")
	f.put(t, map[string]string{name: checkpoint[:len(checkpoint)/2]})
	f.dyad(f.pairsTrain("poisson", "--resume", run)...).Want(t, "a checkpoint cut short", exitInput, "cut short")
	f.put(t, map[string]string{name: checkpoint, "in/patients.csv": whole + "\n"})
	f.dyad(f.pairsTrain("poisson", "--resume", run)...).Want(t, "other data", exitInput, "")
	f.put(t, map[string]string{"in/patients.csv": whole})
	must.Equal(t, f.get(t, "ledger/ledger.jsonl"), before, "a refused resume wrote to the ledger")
	f.dyad(f.pairsTrain("poisson", "--resume", run)...).Want(t, "control", exitOK, "run "+run)
}
