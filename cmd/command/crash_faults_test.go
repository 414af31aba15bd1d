//go:build unix

package command

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"dyad/internal/crash"
	"dyad/internal/must"
	"dyad/privacy"
	"dyad/privacy/account"
	"dyad/privacy/ledger"
)

// lockHeld says whether the program holds the ledger's lock at a stage.
func lockHeld(stage string) bool {
	name, _, _ := strings.Cut(stage, "#")
	switch name {
	case "locked", "admitted", "head prepared", "line written", "line durable", "head renamed", "acknowledged":
		return true
	}
	return false
}

// otherRun is a second process with a run of its own on the same ledger.
func (f *fixture) otherRun(t *testing.T, stage string) {
	t.Helper()
	e := f.start(t, crash.Spec{Args: f.train("--out", f.in("out/other.json"))}).End()
	if lockHeld(stage) {
		e.Want(t, "the other run", exitResource, "has held the lock")
		return
	}
	e.Want(t, "the other run", exitOK, "charged to")
	m := must.Get(readModel(f.in("out/other.json")))(t)
	f.known = append(f.known, m.Run)
}

// sameRun is a second process that resumes the run while the first is alive.
func (f *fixture) sameRun(t *testing.T, stage string) {
	t.Helper()
	run := ""
	for _, line := range strings.Split(f.get(t, "ledger/ledger.jsonl"), "\n") {
		if _, rest, ok := strings.Cut(line, `"type":"charge"`); ok {
			_, rest, _ = strings.Cut(rest, `"run":"`)
			run, _, _ = strings.Cut(rest, `"`) // the last charge is the attacked run's
		}
	}
	e := f.start(t, crash.Spec{Args: f.train("--out", f.in("out/other.json"), "--resume", run)}).End()
	switch {
	case lockHeld(stage):
		e.Want(t, "the second process", exitResource, "has held the lock")
	case stage == "released#1":
		e.Want(t, "the second process", exitInput, "was released on")
	default:
		e.Want(t, "the second process", exitOK, "run "+run)
	}
}

// chargeAt adds a charge made under a clock that is far off.
func (f *fixture) chargeAt(t *testing.T, year string) {
	t.Helper()
	y := must.Get(strconv.Atoi(year))(t)
	m := must.Get(readModel(f.in("out/model.json")))(t)
	l := must.Get(ledger.Open(f.in("ledger/ledger.jsonl")))(t)
	must.Get(l.Begin(ledger.Charge{
		DataID: m.DataID, Run: "clock", Algorithm: "dpgdsc", Time: time.Date(y, 1, 1, 0, 0, 0, 0, time.UTC),
		Events: []account.Event{account.GaussianEvent{Sensitivity: 1, Sigma: 10}},
	}, privacy.NewSeededSource(1)))(t)
	f.known = append(f.known, "clock")
}

// damaged breaks the ledger at a stage, checks that it is noticed, and restores
// it from a backup afterwards, as the message asks.
func (f *fixture) damaged(t *testing.T, spec crash.Spec, c cell) ended {
	t.Helper()
	spec.Fault = "pause"
	child := f.start(t, spec)
	child.Paused(t)
	backup := map[string]string{}
	for _, name := range []string{"ledger/ledger.jsonl", "ledger/ledger.jsonl.head"} {
		backup[name] = f.get(t, name)
	}
	lines := strings.SplitAfter(backup["ledger/ledger.jsonl"], "\n")
	switch c.fault {
	case "line lost":
		f.put(t, map[string]string{"ledger/ledger.jsonl": strings.Join(lines[:len(lines)-2], "")})
	case "line cut":
		f.put(t, map[string]string{"ledger/ledger.jsonl": strings.TrimSuffix(strings.Join(lines, ""), lines[len(lines)-2][30:])})
	case "line edited":
		lines[1] = strings.Replace(lines[1], `"sigma":`, `"sigma":9`, 1)
		f.put(t, map[string]string{"ledger/ledger.jsonl": strings.Join(lines, "")})
	case "head deleted":
		must.Do(t, os.Remove(f.in("ledger/ledger.jsonl.head")))
	}
	broken := f.get(t, "ledger/ledger.jsonl")
	if broken == backup["ledger/ledger.jsonl"] && c.fault != "head deleted" {
		t.Fatal("nothing was damaged")
	}
	e := child.End()
	must.Equal(t, f.get(t, "ledger/ledger.jsonl"), broken, "the program wrote to a damaged ledger")
	says := c.says
	if c.want == done && c.fault == "line lost" {
		says = "lost lines"
	}
	for _, args := range [][]string{
		{"ledger", "verify", "--ledger", f.in("ledger/ledger.jsonl")},
		{"ledger", "show", "--ledger", f.in("ledger/ledger.jsonl")},
		f.train("--out", f.in("out/refused.json")),
	} {
		f.dyad(args...).Want(t, strings.Join(args[:2], " ")+" on the damaged ledger", exitResource, says)
	}
	f.put(t, backup)
	return e
}

// cutModel cuts the new model short: no command uses it.
func (f *fixture) cutModel(t *testing.T, _ string) {
	t.Helper()
	whole := f.get(t, "out/model.json")
	for _, size := range []int{0, 1, len(whole) / 3, len(whole) - 3} {
		f.put(t, map[string]string{"out/model.json": whole[:size]})
		for _, command := range [][]string{{"predict"}, {"evaluate", "--exact-figures"}, {"transform", "--out", f.in("out/mapped.csv")}} {
			e := f.dyad(append(command, f.in("out/model.json"), "--data", f.in("in/patients.csv"))...)
			e.Want(t, command[0], exitInput, "cut short")
			must.Equal(t, e.Stdout, "", "%s of %d bytes of a model printed", command[0], size)
		}
	}
	f.put(t, map[string]string{"out/model.json": whole})
}
