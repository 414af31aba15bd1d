//go:build unix

package command

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"dyad/internal/crash"
	"dyad/internal/must"
	"dyad/internal/sizes"
)

// TestPageSaysWhatIsLeft: what the page says that one more run may have is admitted by the ledger, and 2 % more is not.
func TestPageSaysWhatIsLeft(t *testing.T) {
	for _, delta := range []string{"1e-5", "0"} {
		dir := clinic(t, 300)
		run := func(code int, args ...string) {
			t.Helper()
			ran(t, dir, args...).exits(code)
		}
		run(exitOK, "ledger", "init", "synthetic-clinical", "--epsilon", "2", "--delta", "1e-5")
		train := []string{"train", "--data", "patients.csv", "--schema", "patients.yaml", "--algorithm",
			"moments", "--epsilon"}
		run(exitOK, append(train, "0.9", "--delta", delta, "--out", "m.json", "--report", "m.html")...)
		text, err := os.ReadFile(filepath.Join(dir, "m.html"))
		if err != nil {
			t.Fatal(err)
		}
		found := regexp.MustCompile(`Left: one more run may cost epsilon = ([0-9.]+); the cap is epsilon = 2`).FindStringSubmatch(string(text))
		if found == nil {
			t.Fatalf("delta %s: the page lacks the budget that is left: %s", delta,
				regexp.MustCompile("Left: [^.]*").FindString(string(text)))
		}
		left := must.Get(strconv.ParseFloat(found[1], 64))(t)
		run(exitResource, append(train, fmt.Sprint(1.02*left), "--delta", "1e-5", "--out", "more.json")...)
		run(exitOK, append(train, found[1], "--delta", "1e-5", "--out", "last.json", "--report", "last.html")...)
		if text, err = os.ReadFile(filepath.Join(dir, "last.html")); err != nil ||
			!strings.Contains(string(text), "Left: no budget") && !strings.Contains(string(text), "Left: one more run may cost epsilon = 0.0") {
			t.Errorf("delta %s: the page of the last run says that more is left than a trifle (%v)", delta, err)
		}
	}
}

// TestPageHasChargesOfFigures: figures of other records are charged to their own id, and the page shows both.
func TestPageHasChargesOfFigures(t *testing.T) {
	dir := scoredClinic(t, 300)
	for _, args := range [][]string{
		{"evaluate", "model.json", "--data", "patients.csv", "--data-id", "next-year", "--epsilon", "1.5", "--out",
			"figures.json", "--report", "evaluated.html"},
		{"report", "model.json", "--figures", "figures.json", "--out", "both.html"},
	} {
		mustRun(t, dir, args...)
	}
	for _, page := range []string{"evaluated.html", "both.html"} {
		text := must.Get(os.ReadFile(filepath.Join(dir, page)))(t)
		must.Contain(t, string(text), "Charges on next-year", "Charges on synthetic-clinical", "evaluation",
			", the delta of this release. Left")
	}
}

// TestUnfinishedRunsAreNamed: who starts a killed run again, and not with --resume, is told what it costs before the charge.
func TestUnfinishedRunsAreNamed(t *testing.T) {
	sizes.NotShort(t, "slow")
	f := newFixture(t)
	f.start(t, crash.Spec{Args: f.train(), Stage: "training", Fault: "kill"}).End()
	e := f.dyad(f.train("--out", f.in("out/second.json"))...)
	e.Want(t, "the same run again", exitOK, "is charged and not finished")
}

// TestPageOfMixedUnits: a page of runs that protect different units has no total and says why, in words of its reader.
func TestPageOfMixedUnits(t *testing.T) {
	dir := clinic(t, 64)
	mustRun(t, dir, "train", "--data", "patients.csv", "--schema", "patients.yaml", "--out", "m.json",
		"--report", "m.html")
	mustRun(t, dir, "pairs", "train", "--data", "patients.csv", "--schema", "patients.yaml", "--density", "2",
		"--degree-cap", "6", "--loss", "infonce", "--epochs", "1", "--out", "p.json", "--report", "p.html")
	page := text(t, dir, "p.html")
	must.Contain(t, page, "protect different units (one record; one individual)",
		"costs of different units cannot be added: the runs of data id", "<dd>one individual of the 64 that train</dd>")
	for _, never := range []string{"accountant does not support", "account:"} {
		if strings.Contains(page, never) {
			t.Errorf("the page has %q", never)
		}
	}
	if page := text(t, dir, "m.html"); strings.Contains(page, "most rows counted per person") ||
		!strings.Contains(page, "<dd>one record of the 64 that train</dd>") {
		t.Error("the page of records has a row about persons, or not the unit")
	}
}
