//go:build unix

package command

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"dyad/internal/crash"
	"dyad/internal/must"
	"dyad/internal/sizes"
	"dyad/privacy"
	"dyad/privacy/account"
	"dyad/privacy/ledger"
)

// interrupted is a fixture with a charged run that released nothing.
func interrupted(t *testing.T, more ...string) (f *fixture, run string) {
	t.Helper()
	f = newFixture(t)
	f.start(t, crash.Spec{Args: f.train(more...), Stage: "training", Fault: "kill"}).End()
	run, charges, _ := f.attacked(t)
	if charges != 1 {
		t.Fatalf("%d charges, want 1", charges)
	}
	return f, run
}

// A file of flags starts a job, and the same file and --resume finish it.
func TestResumeWithConfig(t *testing.T) {
	f := newFixture(t)
	f.put(t, map[string]string{"in/run.yaml": fmt.Sprintf("verbose: true\ndata: [%s]\nschema: %s\nalgorithm: "+
		"dpgdsc\nepsilon: 1\ndelta: 1e-5\nworkers: 1\nforce: true\nout: %s\nledger: %s\n",
		f.in("in/patients.csv"), f.in("in/patients.yaml"), f.in("out/model.json"), f.in("ledger/ledger.jsonl"))})
	args := []string{"train", "--config", f.in("in/run.yaml")}
	f.start(t, crash.Spec{Args: args, Stage: "training", Fault: "kill"}).End()
	run, charges, _ := f.attacked(t)
	if charges != 1 {
		t.Fatalf("%d charges, want 1", charges)
	}
	f.dyad(append(args, "--epsilon", "2", "--resume", run)...).Want(t, "another epsilon", exitInput,
		"was charged for the guarantee")
	f.dyad(append(args, "--resume", run)...).Want(t, "resume", exitOK, "run "+run)
}

// A training with a choice of pairs that is interrupted or killed before or after its choice is charged once, shows its passes, and goes on to a model that names
// the pair; so does one that was released and not named.
func TestChosenPairsAreResumed(t *testing.T) {
	for _, c := range []struct {
		stage, fault string
		code         int
	}{{"training", "kill", killed}, {"checkpoint saved#3", "interrupt", exitCancelled}, {"released", "kill", killed}} {
		if testing.Short() && c.fault != "interrupt" {
			continue
		}
		f := newFixture(t)
		f.put(t, map[string]string{"in/patients.yaml": "choose_interactions: 1\n" + f.get(t, "in/patients.yaml")})
		args := f.train("--algorithm", "moments", "--steps", "2", "--epsilon", "700", "--yes", "--checkpoint-every", "1ns",
			"--data-id", "pairs")
		if e := f.start(t, crash.Spec{Args: args, Stage: c.stage, Fault: c.fault}).End(); e.Code != c.code {
			t.Fatalf("%+v: exit %d: %s%s", c, e.Code, e.Stdout, e.Stderr)
		}
		run, charges, _ := f.attacked(t)
		if charges != 1 {
			t.Fatalf("%+v: %d charges, want 1", c, charges)
		}
		says := `"chosen_interactions": [`
		if c.stage == "released" { // it gets its name, and nothing is trained
			says = run
		}
		f.dyad(append(args, "--resume", run, "--json")...).Want(t, "resume", exitOK, says)
		if m, err := readModel(f.in("out/model.json")); err != nil || m.Run != run ||
			len(m.Encoder.Schema().Interactions) != 1 {
			t.Errorf("%+v: the model of run %s, %v", c, run, err)
		}
		if _, charges, _ := f.attacked(t); charges != 1 {
			t.Errorf("%+v: %d charges after it was resumed, want 1", c, charges)
		}
	}
}

// A run is resumed only as it was charged; what is refused writes nothing.
func TestResumeFlagRefusals(t *testing.T) {
	sizes.NotShort(t, "slow")
	f, run := interrupted(t)
	before := f.get(t, "ledger/ledger.jsonl")
	resume := func(more ...string) ended { return f.dyad(f.train(append([]string{"--resume", run}, more...)...)...) }
	for what, c := range map[string]struct {
		e    ended
		says string
	}{
		"another epsilon": {resume("--epsilon", "2"), "was charged for the guarantee (1, 1e-05)-differentially private"},
		// 55 of the old list
		"other steps":       {resume("--steps", "17"), "was charged with other options"},
		"another id":        {resume("--data-id", "other"), `charged for data id "`},
		"another algorithm": {resume("--algorithm", "offpairc"), `charged for algorithm "dpgdsc", but now it is "offpairc"`},
		"a seed": {resume("--seed", "3"),
			`charged for noise "from the operating system", but now it is "from a seed"`},
		"public data":    {resume("--public-data"), "leave --resume out"},
		"synthetic data": {f.dyad("train", "--resume", run), "leave --resume out"},
		"an unknown run": {f.dyad(f.train("--resume", "NOBODY")...), `the ledger has no run "NOBODY"`},
		"no ledger": {f.dyad(f.train("--resume", run, "--ledger", f.in("ledger/none.jsonl"))...),
			"there is no ledger"},
	} {
		c.e.Want(t, what, exitInput, c.says)
	}
	data := f.get(t, "in/patients.csv")
	lines := strings.SplitAfter(data, "\n")
	lines[1], lines[2] = lines[2], lines[1] // as many records, in another order
	f.put(t, map[string]string{"in/patients.csv": strings.Join(lines, "")})
	resume().Want(t, "another file", exitInput, "was charged for other data")
	f.put(t, map[string]string{"in/patients.csv": data})
	must.Equal(t, f.get(t, "ledger/ledger.jsonl"), before, "a refused resume wrote to the ledger")
	must.Err(os.Stat(f.in("ledger/none.jsonl")))(t, "a refused resume made a ledger")
	resume().Want(t, "control", exitOK, "run "+run)
}

// Two losses may have the same constants and so the same release; a run of one is not
// resumed as the other.
func TestResumeComparesTheFormula(t *testing.T) {
	sizes.NotShort(t, "slow")
	f, run := interrupted(t, "--loss", "(u-1)^2")
	resume := func(formula string) ended { return f.dyad(f.train("--resume", run, "--loss", formula)...) }
	resume("(u+1)^2").Want(t, "another formula", exitInput, `was charged for objective "custom: (u-1)^2`)
	resume("(u-1)^2").Want(t, "control", exitOK, "run "+run)
}

// A seeded run is resumed with a seed and stays marked.
func TestResumeOfASeededRun(t *testing.T) {
	f, run := interrupted(t, "--seed", "3")
	f.dyad(f.train("--resume", run)...).Want(t, "without a seed", exitInput, `charged for noise "from a seed"`)
	f.dyad(f.train("--resume", run, "--seed", "3")...).Want(t, "with a seed", exitOK, "noise is not secret")
}

// ledger show lists what can be resumed, as text and as JSON.
func TestLedgerShowListsUnfinishedRuns(t *testing.T) {
	f, run := interrupted(t)
	l := must.Get(ledger.Open(f.in("ledger/ledger.jsonl")))(t)
	m := must.Get(readModel(f.in("out/model.json")))(t)
	must.Get(l.Begin(ledger.Charge{DataID: m.DataID, Run: "FOREIGN", Algorithm: "other",
		Events: []account.Event{account.PublicEvent{}}}, privacy.NewSeededSource(1)))(t)
	show := []string{"ledger", "show", "--ledger", f.in("ledger/ledger.jsonl")}
	e := f.dyad(show...)
	for _, says := range []string{"unfinished run " + run + ": dpgdsc", "--resume " + run, "unfinished run FOREIGN",
		"cannot be resumed"} {
		e.Want(t, "show", exitOK, says)
	}
	var ids []struct {
		Unfinished []unfinishedRun `json:"unfinished_runs"`
	}
	must.Do(t, json.Unmarshal([]byte(f.dyad(append(show, "--json")...).Stdout), &ids))
	if len(ids) != 1 || len(ids[0].Unfinished) != 2 || ids[0].Unfinished[0].Run != run ||
		!ids[0].Unfinished[0].Resumable || ids[0].Unfinished[1].Resumable {
		t.Errorf("JSON lists %+v", ids)
	}
	f.dyad(f.train("--resume", run)...).Want(t, "resume", exitOK, "run "+run)
	if e := f.dyad(show...); strings.Contains(e.Stdout, run) {
		t.Errorf("a released run is still listed:\n%s", e.Stdout)
	}
}
