package command

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dyad/engine/dataset/catalog/schemas"
	"dyad/internal/experiment/reproduce"
	"dyad/internal/experiment/reproduce/plans"
	"dyad/internal/must"
)

// TestReproduceList: every item has a state, data that are missing have a command, and a wrong name is bad input.
func TestReproduceList(t *testing.T) {
	dir := t.TempDir()
	got := decoded[struct{ Items []reproduce.State }](t, dir, "lab", "reproduce", "--list", "--json", "--dir", dir)
	states := map[string]string{}
	for _, s := range got.Items {
		states[s.Paper+" "+s.Item] = s.State
		if s.State == reproduce.MissingData && !strings.Contains(strings.Join(s.Why, " "), "dyad data fetch") {
			t.Errorf("%s %s does not say how to get its data: %q", s.Paper, s.Item, s.Why)
		}
	}
	for item, want := range map[string]string{"xue table4": reproduce.MissingData, "xue table1": reproduce.NotRun, "han figure5": reproduce.Impossible} {
		must.Equal(t, states[item], want, "%s is", item)
	}
	ends(t, dir, exitInput, "table4", "lab", "reproduce", "xue", "table9")
	ends(t, dir, exitInput, "no results", "lab", "reproduce", "--pages-only", "--out", "mistyped", "--pages", "p")
	if exists(filepath.Join(dir, "p")) {
		t.Error("pages of no results were written")
	}
}

// TestReproduceQuick runs one small item from plan to page; a second call has nothing left to run.
func TestReproduceQuick(t *testing.T) {
	dir := t.TempDir()
	args := []string{"lab", "reproduce", "xue", "table1", "--quick", "--out", "q", "--dir", dir}
	mustRun(t, dir, args...)
	before := must.Get(os.ReadFile(filepath.Join(dir, "q", "xue-table1.csv")))(t)
	mustRun(t, dir, args...)
	if after, _ := os.ReadFile(filepath.Join(dir, "q", "xue-table1.csv")); string(after) != string(before) {
		t.Error("the second call changed the result")
	}
	pages := filepath.Join(dir, "q", "reproduce-xue.html")
	must.Do(t, os.Remove(pages))
	ran(t, dir, append(args, "--pages-only")...).exits(exitOK).want(exists(pages), "the pages")
	for _, name := range []string{"reproduce-xue.html", "verdicts.md"} {
		text, err := os.ReadFile(filepath.Join(dir, "q", name))
		if err != nil || !strings.Contains(string(text), "dpgdsc") {
			t.Errorf("%s: %v, %d bytes", name, err, len(text))
		}
	}
}

// TestReproduceOfNothingFails: a script sees that an item has no figures, and the message has the command that makes them, or the one
// that fetches its data, or why there is none. The page is written all the same, and pages alone are not a run.
func TestReproduceOfNothingFails(t *testing.T) {
	for item, want := range map[string]string{
		"xue table4":          "dyad data fetch",
		"han figure4 --quick": "go -C bench run ./local",
		"han figure5":         "no item was run: han-figure5: ",
	} {
		dir := t.TempDir()
		args := append(append([]string{"lab", "reproduce"}, strings.Fields(item)...), "--out", "q", "--dir", dir)
		out := ran(t, dir, args...).exits(exitFailure).warns(want, "no item was run").out
		page := filepath.Join("q", "reproduce-"+strings.Fields(item)[0]+".html")
		if !strings.Contains(out, "page "+page) || !exists(filepath.Join(dir, page)) {
			t.Errorf("%s: no page: %s", item, out)
		}
		mustRun(t, dir, append(args, "--pages-only")...)
	}
}

// TestPaperUnsoundIsForPublicData: the flag is refused without --public-data, before anything is charged, and
// every output of a run with it says what it is.
func TestPaperUnsoundIsForPublicData(t *testing.T) {
	dir := t.TempDir()
	mustRun(t, dir, "data", "synth", "p.csv", "-n", "60", "--schema", "p.yaml")
	base := []string{"train", "--data", "p.csv", "--schema", "p.yaml", "--algorithm", "offpairstrc", "--mode", "paper", "--ledger", "l.jsonl"}
	for _, refused := range [][]string{{"--paper-unsound"}, {"--paper-unsound", "--public-data", "--mode", "certified"}} {
		ends(t, dir, exitInput, "--paper-unsound", append(base, refused...)...)
	}
	must.Err(os.Stat(filepath.Join(dir, "l.jsonl")))(t, "a refused run was charged")
	out := mustRun(t, dir, append(base, "--paper-unsound", "--public-data", "--verbose")...)
	model := must.Get(os.ReadFile(filepath.Join(dir, "model.json")))(t)
	for name, text := range map[string]string{"report": out, "model": string(model)} {
		if !strings.Contains(text, "paper-unsound: ") || !strings.Contains(text, "PAPER-UNSOUND") {
			t.Errorf("the %s does not say paper-unsound", name)
		}
	}
}

// TestCommittedVerdicts: docs/verdicts.md is what the catalogue and the committed results give.
func TestCommittedVerdicts(t *testing.T) {
	all := must.Get(reproduce.Items(plans.Files, schemas.Files))(t)
	want := must.Get(os.ReadFile("../../docs/verdicts.md"))(t)
	var got bytes.Buffer
	must.Do(t, reproduce.WriteVerdicts(&got, all, "../../bench/results/reproduce", "../../bench/results", catalogue()))
	if !bytes.Equal(got.Bytes(), want) {
		t.Error("docs/verdicts.md is not what the committed results give: dyad lab reproduce --pages-only")
	}
}
