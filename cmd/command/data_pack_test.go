package command

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"dyad/internal/must"
)

// modelWeights are the weights of a model file, as they are written.
func modelWeights(t *testing.T, dir, name string) string {
	t.Helper()
	text := must.Get(os.ReadFile(filepath.Join(dir, name)))(t)
	var m struct {
		Weights json.RawMessage `json:"weights"`
	}
	must.Do(t, json.Unmarshal(text, &m), name)
	return string(m.Weights)
}

// A pack trains, holds out and evaluates as the file that it was made of, to the bit; so does a pack in
// float32 as --store float32, whose model scores what was rounded as it was.
func TestPackTrainsAsItsFile(t *testing.T) {
	dir := t.TempDir()
	run := func(args ...string) string {
		t.Helper()
		return mustRun(t, dir, args...)
	}
	run("data", "synth", "c.csv", "-n", "700", "--schema", "c.yaml")
	run("data", "pack", "c.csv", "--schema", "c.yaml", "-o", "wide.dyadpack")
	run("data", "pack", "c.csv", "--schema", "c.yaml", "--store", "float32", "-o", "narrow.dyadpack")
	run("data", "synth", "made.dyadpack", "-n", "700", "--store", "float32", "--schema", "made.yaml")
	if info, err := os.Stat(filepath.Join(dir, "wide.dyadpack")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("a pack has the mode %v, %v", info.Mode(), err)
	}
	weights := map[string]string{}
	for name, more := range map[string][]string{
		"csv": {"c.csv"}, "csv64": {"c.csv", "--store", "float64"}, "wide": {"wide.dyadpack"},
		"mapped": {"wide.dyadpack", "--store", "mmap"}, "held": {"wide.dyadpack", "--store", "float64"},
		"csv32": {"c.csv", "--store", "float32"}, "narrow": {"narrow.dyadpack"},
		"narrow32": {"narrow.dyadpack", "--store", "float32"}, "made": {"made.dyadpack"},
	} {
		run(append([]string{"train", "--schema", "c.yaml", "--public-data", "--mode", "nonprivate", "--holdout", "0.3",
			"--out", name + ".json", "--data"}, more...)...)
		weights[name] = modelWeights(t, dir, name+".json")
	}
	for name, like := range map[string]string{"csv64": "csv", "wide": "csv", "mapped": "csv", "held": "csv",
		"narrow": "csv32", "narrow32": "csv32", "made": "csv32"} {
		must.Equal(t, weights[name], weights[like], "%s has other weights than %s", name, like)
	}
	if weights["csv"] == weights["csv32"] {
		t.Error("float32 has the weights of float64: nothing was rounded")
	}
	auc := regexp.MustCompile(`"auc": ?[0-9.]+`)
	a := auc.FindString(run("evaluate", "narrow.json", "--data", "c.csv", "--holdout", "0.3", "--public-data", "--json"))
	b := auc.FindString(run("evaluate", "narrow.json", "--data", "narrow.dyadpack", "--holdout", "0.3",
		"--public-data", "--json"))
	if a == "" || a != b {
		t.Errorf("the AUC of the file is %s and that of its pack %s", a, b)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"train", "--data", "c.csv", "--schema", "c.yaml", "--store", "mmap", "--out", "x.json"},
			"c.csv is not a pack; \"dyad data pack c.csv"},
		{[]string{"train", "--data", "narrow.dyadpack", "--schema", "c.yaml", "--store", "float64", "--out", "x.json"},
			"stores float32, but float64 was requested"},
		{[]string{"evaluate", "wide.json", "--data", "narrow.dyadpack", "--public-data"},
			"stores float32, but float64 was requested"},
		{[]string{"predict", "narrow.json", "--data", "narrow.dyadpack"}, "give the file from which the pack was made"},
		{[]string{"data", "inspect", "narrow.dyadpack", "--schema", "c.yaml"}, "give the file from which the pack was made"},
		{[]string{"data", "convert", "narrow.dyadpack", "y.csv", "--schema", "c.yaml"},
			"give the file from which the pack was made"},
		{[]string{"data", "pack", "narrow.dyadpack", "--schema", "c.yaml", "-o", "y.dyadpack"}, "is a pack already"},
		{[]string{"data", "pack", "c.csv", "--schema", "c.yaml", "-o", "narrow.dyadpack"}, "exists"},
		{[]string{"data", "pack", "c.csv", "--schema", "c.yaml", "-o", "c.csv", "--force"},
			"its ending means CSV"},
		{[]string{"data", "synth", "y.csv", "--features", "3"}, ".dyadpack"},
		{[]string{"data", "synth", "y.dyadpack", "--visits"}, "dyad data pack"},
	} {
		ends(t, dir, exitInput, c.want, c.args...)
	}
	left, err := filepath.Glob(filepath.Join(dir, ".dyad-tmp-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("temporary files are left: %v, %v", left, err)
	}
}

// A private run on a pack is charged once, names the same data again and warns of other data, and a pack
// of persons says how many they are and not how many rows.
func TestPackOfPersonsInALedger(t *testing.T) {
	dir := t.TempDir()
	run := func(want int, args ...string) (out, errs string) {
		t.Helper()
		return ran(t, dir, args...).exits(want).texts()
	}
	for i, name := range []string{"v", "other"} {
		run(exitOK, "data", "synth", name+".csv", "--visits", "--persons", "210", "--max-rows", "12", "--seed",
			[]string{"1", "2"}[i], "--schema", "v.yaml", "--force")
		out, _ := run(exitOK, "data", "pack", name+".csv", "--schema", "v.yaml", "--store", "float32", "-o", name+
			".dyadpack", "--json")
		if !strings.Contains(out, `"persons"`) || !strings.Contains(out, "210") || strings.Contains(out, "300") {
			t.Errorf("%s", out)
		}
	}
	train := func(data, out string) string {
		text, errs := run(exitOK, "train", "--data", data, "--schema", "v.yaml", "--epsilon", "1", "--out", out, "--verbose")
		return text + errs
	}
	const warning = "differ from the data of run"
	for _, c := range []struct {
		data, out string
		warns     bool
	}{{"v.dyadpack", "a.json", false}, {"v.dyadpack", "b.json", false}, {"other.dyadpack", "c.json", true}} {
		if text := train(c.data, c.out); strings.Contains(text, warning) != c.warns {
			t.Errorf("%s, a warning %t wanted: %s", c.data, c.warns, text)
		}
	}
	out, _ := run(exitOK, "ledger", "show", "synthetic-visits")
	if strings.Count(out, "for one person") < 1 {
		t.Errorf("the ledger says %s", out)
	}
}

// Packs of every version of the format are read (docs/formats.md). Add a file for a new version; never
// change an old one.
func TestOldPacksAreRead(t *testing.T) {
	home := must.Get(os.Getwd())(t)
	dir := t.TempDir()
	text := must.Get(os.ReadFile(filepath.Join(home, "testdata", "formats", "pack-1.dyadpack")))(t)
	write(t, dir, "old.dyadpack", string(text))
	write(t, dir, "old.csv", "who,age,out\na,20,no\nb,50,yes\na,80,yes\nc,35,no\n")
	write(t, dir, "old.yaml", oldPackSchema)
	for _, name := range []string{"old.dyadpack", "old.csv"} {
		mustRun(t, dir, "train", "--data", name, "--schema", "old.yaml", "--store",
			map[string]string{"old.csv": "float32", "old.dyadpack": "mmap"}[name], "--mode", "nonprivate", "--out", name+".json")
	}
	if a, b := modelWeights(t, dir, "old.dyadpack.json"), modelWeights(t, dir, "old.csv.json"); a != b {
		t.Errorf("weights %s of the old pack, %s of its data", a, b)
	}
}

const oldPackSchema = "data_id: old\npublic: true\nformat: csv\ncsv: {header: true}\nids: public\ncolumns:\n  - " +
	"{name: who, role: person}\n  - {name: age, range: [0, 90]}\n  - {name: out, role: label, positive: \"yes\"}\n"
