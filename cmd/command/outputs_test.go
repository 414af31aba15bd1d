package command

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dyad/internal/files"
	"dyad/internal/must"
)

// Every flag of every command that names a file to write says what the file will hold, or is in the list of those
// whose content does not depend on the ending of a name.
func TestOutputsSayWhatTheyHold(t *testing.T) {
	parser := must.Get(newParser(&cli{}, io.Discard, io.Discard))(t)
	others := map[string]string{"export": "the format is a flag", "lab curve": "a prefix", "lab reproduce": "a folder"}
	tagged := 0
	for _, leaf := range parser.Model.Leaves(false) {
		for _, level := range leaf.AllFlags(false) {
			for _, f := range level {
				writes := f.Tag.Has("writes")
				switch command := leaf.Path(); {
				case writes && !files.Content(f.Tag.Get("writes")).Known():
					t.Errorf("%s --%s writes %q, which is no content", command, f.Name, f.Tag.Get("writes"))
				case writes:
					tagged++
				case slices.Contains([]string{"out", "report", "out-schema"}, f.Name) && others[command] == "" && !f.IsBool():
					t.Errorf("%s --%s does not say what it writes", command, f.Name)
				}
			}
		}
	}
	if tagged < 20 {
		t.Errorf("%d outputs are tagged", tagged)
	}
}

// A name that ends as another format is refused before the charge, with the command that writes it.
func TestOtherEndingsAreRefusedBeforeTheCharge(t *testing.T) {
	dir := clinic(t, 100)
	private := []string{"--data", "patients.csv", "--schema", "patients.yaml", "--ledger", "l.jsonl"}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"train", "--out", "m.onnx"}, "dyad export MODEL --onnx"},
		{[]string{"train", "--out", "m.ONNX"}, "dyad export MODEL --onnx"},
		{[]string{"train", "--report", "page.pdf"}, "in a browser"},
		{[]string{"train", "--out", "m.json.gz"}, "compress the file afterwards"},
		{[]string{"search", "--out", "m.parquet", "--candidates", "absent.yaml"}, "dyad data convert"},
		{[]string{"online", "--out", "m.pkl", "--state", "s", "--records", "100"}, "Python package"},
		{[]string{"cluster", "--out", "c.xlsx", "--epsilon", "1", "--k", "2"}, "spreadsheets"},
		{[]string{"local", "simulate", "--out", "m.pt"}, "ONNX"},
	} {
		ends(t, dir, exitInput, c.want, append(c.args, private...)...)
		if exists(filepath.Join(dir, "l.jsonl")) {
			t.Fatal("a ledger was opened")
		}
	}
	mustRun(t, dir, append([]string{"train", "--out", "m.json"}, private...)...)
	ends(t, dir, exitInput, "--python", "export", "m.json", "--onnx", "-o", "m.py")
	if files, _ := filepath.Glob(filepath.Join(dir, "m.*")); len(files) != 1 {
		t.Errorf("files: %q", files)
	}
	must.Err(os.Stat(filepath.Join(dir, "page.pdf")))(t, "a page with the name of a PDF was written")
}

// A cap below what was spent needs --close, and the message has what was spent and the cap that stays.
func TestCapBelowWhatWasSpent(t *testing.T) {
	dir := clinic(t, 100)
	const id = "synthetic-clinical"
	set := func(epsilon string, more ...string) (int, string) {
		t.Helper()
		code, out, errs := dyad(t, dir, append([]string{"ledger", "init", id, "--epsilon", epsilon, "--delta", "1e-5"}, more...)...)
		return code, out + errs
	}
	train := func(name string) int {
		code, _, _ := dyad(t, dir, "train", "--data", "patients.csv", "--schema", "patients.yaml", "--epsilon", "1", "--delta", "1e-5", "--out", name)
		return code
	}
	if code := train("a.json"); code != exitOK {
		t.Fatal(code)
	}
	if code, text := set("0.5"); code != exitInput || !strings.Contains(text, "--close") || !strings.Contains(text, "there is no cap yet") || !strings.Contains(text, "is spent on") {
		t.Errorf("exit %d: %s", code, text)
	}
	if code, text := set("4"); code != exitOK || strings.Contains(text, "before:") {
		t.Errorf("exit %d: %s", code, text)
	}
	if code, text := set("0.5"); code != exitInput || !strings.Contains(text, "at most epsilon = 4 at delta = 1e-05") {
		t.Errorf("exit %d: %s", code, text)
	}
	must.Equal(t, train("b.json"), exitOK, "the cap was changed by a command that failed: exit")
	if code, text := set("0.5", "--close"); code != exitOK || !strings.Contains(text, "no further run is admitted") || !strings.Contains(text, "before: at most epsilon = 4") {
		t.Errorf("exit %d: %s", code, text)
	}
	must.Equal(t, train("c.json"), exitResource, "a closed data set: exit")
}
