package command

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dyad/internal/must"
)

// A file of flags does what the flags do, the command line overrides it, and what was used is written
// into the report and the model, but for names of files.
func TestConfig(t *testing.T) {
	dir := clinic(t, 200)
	write(t, dir, "run.yaml", "data: [patients.csv]\nschema: patients.yaml\nepsilon: 2\nalgorithm: offpairc\nout: made.json\nyes: true\n")
	var report struct {
		Options map[string]any
	}
	ran(t, dir, "train", "--config", "run.yaml", "--epsilon", "1.5", "--json").exits(exitOK).decode(&report)
	o := report.Options
	if o["epsilon"] != 1.5 || o["algorithm"] != "offpairc" || o["yes"] != true || o["schema"] != "patients.yaml" || o["config"] != "run.yaml" {
		t.Errorf("the report has the options %v", o)
	}
	if files, _ := o["data"].([]any); len(files) != 1 || files[0] != "patients.csv" {
		t.Errorf("the report has the data %v", o["data"])
	}
	m := must.Get(readModel(filepath.Join(dir, "made.json")))(t)
	if m.Guarantee.Epsilon > 1.5 || m.Options["epsilon"] != 1.5 || m.Options["algorithm"] != "offpairc" {
		t.Errorf("the model has the options %v and epsilon %v", m.Options, m.Guarantee.Epsilon)
	}
	for _, name := range words(placeFlags) {
		if m.Options[name] != nil {
			t.Errorf("a model that may be published names %s", name)
		}
	}
	// The same flags on the command line, and no file: a report without options, as before.
	ran(t, dir, "plan", "-n", "200", "-d", "3", "--json").exits(exitOK).lacks(`"options"`)
}

func TestConfigMistakes(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct{ text, want string }{
		{"n: 100\nd: 5\nepsilo: 1\n", "run.yaml:3: dyad plan has no flag --epsilo"},
		{"n: 100\nd: 5\nepsilon: much\n", "run.yaml, line 3"},
		{"n: 100\nd: 5\nepsilon: -1\n", "epsilon is -1"},
		{"n: 100\nd: 5\nepsilon: [1, 2]\n", "run.yaml:3: --epsilon takes one value"},
		{"n: 100\nd: {a: 5}\n", "run.yaml:2: d: want a value"},
		{"config: other.yaml\n", "run.yaml:1: dyad plan has no flag --config"},
		{"- n\n", "want lines such as"},
		{"", "the file is empty; want lines such as"},
		{"# n: 5\n", "the file is empty; want lines such as"},
		{"guarantee:\n", "want lines such as"},
		{"n: *x\n", "anchors"},
		{"n: 100\nn: 200\n", "n"},
	} {
		write(t, dir, "run.yaml", c.text)
		ends(t, dir, exitInput, c.want, "plan", "--config", "run.yaml")
	}
	ends(t, dir, exitInput, "nowhere.yaml", "plan", "--config", "nowhere.yaml")
	// The file of a training plans it, without its data; a share that is held out changes n.
	write(t, dir, "run.yaml", "data: nowhere.csv\nout: m.json\nyes: true\nepsilon: 2\n")
	_, flags, _ := dyad(t, dir, "plan", "-n", "100", "-d", "5", "--epsilon", "2")
	if _, out, errs := dyad(t, dir, "plan", "-n", "100", "-d", "5", "--config", "run.yaml"); out != flags || out == "" {
		t.Errorf("the file of a training: %s%s", out, errs)
	}
	write(t, dir, "run.yaml", "data: nowhere.csv\nholdout: 0.2\n")
	ends(t, dir, exitOK, "public: n = 80, d = 5", "plan", "-n", "100", "-d", "5", "--config", "run.yaml")
	write(t, dir, "run.yaml", "n: 100\nd: 5\nepsilon: 2\n")
	_, two, _ := dyad(t, dir, "plan", "--config=run.yaml")
	if _, flags, _ := dyad(t, dir, "plan", "-n", "100", "-d", "5", "--epsilon", "2"); two != flags || two == "" {
		t.Errorf("the file gives\n%s\nand the flags\n%s", two, flags)
	}
}

// Exports are refused where they have nowhere to go, and are for everybody.
func TestExportFiles(t *testing.T) {
	dir := clinic(t, 120)
	mustRun(t, dir, "train", "--data", "patients.csv", "--schema", "patients.yaml", "--public-data")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--onnx"}, "--out"},
		{nil, "--onnx"},
		{[]string{"--onnx", "--sql", "duckdb", "-o", "x"}, "exclude each other"},
		{[]string{"--sql", "oracle"}, "duckdb"},
		{[]string{"--go", "-o", "model.json", "--force"}, "its ending means JSON"},
		{[]string{"--go", "-o", "patients.csv"}, "its ending means CSV"},
	} {
		ends(t, dir, exitInput, c.want, append([]string{"export", "model.json"}, c.args...)...)
	}
	for _, flags := range [][]string{{"--onnx"}, {"--npz"}, {"--safetensors"}, {"--python"}, {"--go"}, {"--sql", "postgres"}} {
		mustRun(t, dir, append([]string{"export", "model.json", "--force", "-o", "out"}, flags...)...)
		if info, err := os.Stat(filepath.Join(dir, "out")); err != nil || info.Size() == 0 || info.Mode().Perm()&0o044 == 0 {
			t.Errorf("export %v: %v, %v", flags, info, err)
		}
	}
	m := must.Get(readModel(filepath.Join(dir, "model.json")))(t)
	text := must.Get(os.ReadFile(filepath.Join(dir, "model.json")))(t)
	_, sum, _ := strings.Cut(string(text), `"checksum": "`)
	if sql, err := m.Export("sql", ""); err != nil || !bytes.Contains(sql, []byte(strings.SplitN(sum, `"`, 2)[0])) {
		t.Errorf("the export lacks the checksum of the model's file: %v", err)
	}
}

func TestStandardInputAndUnknownCategories(t *testing.T) {
	dir := clinic(t, 120)
	mustRun(t, dir, "train", "--data", "patients.csv", "--schema", "patients.yaml", "--public-data")
	text := must.Get(os.ReadFile(filepath.Join(dir, "patients.csv")))(t)
	piped := func(text string, args ...string) (int, string, string) {
		var out, errs bytes.Buffer
		code := run(context.Background(), args, strings.NewReader(text), &out, &errs)
		return code, out.String(), errs.String()
	}
	_, want, _ := dyad(t, dir, "predict", "model.json", "--data", "patients.csv")
	if code, got, errs := piped(string(text), "predict", "model.json", "--data", "-"); code != exitOK || got != want || got == "" {
		t.Errorf("exit %d: the scores of standard input differ from those of the file: %s", code, errs)
	}
	if code, _, errs := piped(string(text), "train", "--data", "-", "--schema", "patients.yaml", "--public-data", "--out", "other.json"); code != exitInput || !strings.Contains(errs, "standard input") {
		t.Errorf("training on standard input: exit %d: %s", code, errs)
	}
	strange := strings.Replace(string(text), ",never,", ",sometimes,", 1)
	if strange == string(text) {
		t.Fatal("the records have no such category")
	}
	if code, _, errs := piped(strange, "predict", "model.json", "--data", "-"); code != exitInput || !strings.Contains(errs, "--set unknown=other") {
		t.Errorf("an unknown category: exit %d: %s", code, errs)
	}
	code, got, errs := piped(strange, "predict", "model.json", "--data", "-", "--unknown", "other")
	if code != exitOK || got == want || strings.Count(got, "\n") != strings.Count(want, "\n") {
		t.Errorf("an unknown category as other: exit %d: %s", code, errs)
	}
}

// TestPlaceFlags: every flag that takes a file or a folder is kept out of the options of a model's file.
func TestPlaceFlags(t *testing.T) {
	var c cli
	parser := must.Get(newParser(&c, io.Discard, io.Discard))(t)
	missing := func(list string) (names []string) {
		for _, leaf := range parser.Model.Leaves(false) {
			for _, group := range leaf.AllFlags(false) {
				for _, f := range group {
					if f.Name == "threshold" { // a number elsewhere, and predict, which takes a file of one, writes no model
						continue
					}
					if p := f.PlaceHolder; (strings.Contains(p, "FILE") || strings.Contains(p, "DIR") || p == "MODEL") && !slices.Contains(words(list), f.Name) && !slices.Contains(names, f.Name) {
						names = append(names, f.Name)
					}
				}
			}
		}
		return names
	}
	if names := missing(placeFlags); len(names) > 0 {
		t.Errorf("these flags take files and are not in placeFlags: %v", names)
	}
	if names := missing(strings.Replace(placeFlags, " schema ", " ", 1)); !slices.Equal(names, []string{"schema"}) {
		t.Errorf("the test does not see that --schema is missing, but %v", names)
	}
}
