package command

import (
	"encoding/json"
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"dyad/internal/must"
)

// judging are the commands that take a model file, by the place where they take it. %s is the file.
var judging = map[string]string{
	"lab audit pairs --init":  "lab audit pairs --model mlp --set init=%s --runs 1000",
	"cluster --metric":        "cluster -k 2 --plan -n 100 --schema patients.yaml --metric %s",
	"evaluate private model":  "evaluate %s --plan -n 100 --epsilon 1",
	"evaluate exact model":    "evaluate exact %s --data patients.csv --exact-figures",
	"evaluate compare model":  "evaluate compare %s --with good.json --plan -n 100 --epsilon 1",
	"evaluate compare --with": "evaluate compare good.json --with %s --plan -n 100 --epsilon 1",
	"export model":            "export %s --python",
	"lab influence model":     "lab influence %s --data patients.csv --exact-figures",
	"pairs plan --init":       "pairs plan -n 100 -d 3 --model mlp --set init=%s",
	"pairs train --init":      "pairs train --data patients.csv --schema patients.yaml --model mlp --set init=%s",
	"plan train --init":       "plan -n 100 -d 3 --model mlp --set init=%s",
	"plan compare --init":     "plan compare -n 100 -d 3 --model mlp --set init=%s",
	"predict model":           "predict %s --data patients.csv",
	"report model":            "report %s --out page.html",
	"search --models":         "search --models %s,good.json --plan -n 100 --schema patients.yaml",
	"threshold model":         "threshold %s --figures none.json",
	"train --init":            "train --model mlp --set init=%s",
	"transform model":         "transform %s --data patients.csv --out t.csv",
	"verify model":            "verify %s",
}

// A file of clusters has a verdict, too: predict says it, and transform refuses the file in other words.
func TestPredictJudgesClusters(t *testing.T) {
	dir := clinic(t, 200)
	for name, flags := range map[string]string{"paid": "--ledger l.jsonl", "public": "--public-data"} {
		args := strings.Fields("cluster -q -k 2 --data patients.csv --schema patients.yaml --out " + name + ".json " + flags)
		mustRun(t, dir, args...)
		ran(t, dir, "predict", name+".json", "--data", "patients.csv").exits(exitOK).lacks("checker")
	}
}

// Every command that takes a model file says first that a file is refused, whatever becomes of the command; report and
// export write nothing about it. The rows are compared with the command table.
func TestEveryCommandJudges(t *testing.T) {
	dir := clinic(t, 200)
	var m any
	must.Do(t, json.Unmarshal(verifiable(t, dir, "good", "--algorithm dpgdsc"), &m))
	m.(map[string]any)["weights"].([]any)[0] = 1e6 // outside of the ball
	write(t, dir, "forged.json", string(sealed(t, m)))
	parser := must.Get(newParser(&cli{}, nil, nil))(t)
	rows := maps.Clone(judging)
	var walk func(n *kong.Node, name string)
	walk = func(n *kong.Node, name string) {
		check := func(place string, v *kong.Value) {
			if help := v.Help; strings.HasPrefix(help, "Model file") && v.Name != "out" || v.Tag.PlaceHolder == "MODEL" || place == "search --models" {
				if judging[place] == "" {
					t.Errorf("%s takes a model file and has no row here", place)
				}
				delete(rows, place)
			}
		}
		for _, p := range n.Positional {
			check(name+" "+p.Name, p)
		}
		for _, f := range n.Flags {
			check(name+" --"+f.Name, f.Value)
		}
		for _, c := range n.Children {
			walk(c, strings.TrimSpace(name+" "+c.Name))
		}
	}
	walk(parser.Model.Node, "")
	for place := range rows {
		t.Errorf("%s is no place in the command table", place)
	}
	for place, args := range judging {
		code, out, errs := dyad(t, dir, strings.Fields(strings.Replace(args, "%s", "forged.json", 1))...)
		first, _, _ := strings.Cut(errs, "\n")
		if refusing := strings.HasPrefix(place, "report") || strings.HasPrefix(place, "export"); !strings.Contains(first, "forged.json is refused") || refusing && (code != exitInput || out != "") {
			t.Errorf("%s: exit %d: %s%s", place, code, out, errs)
		}
		if _, _, errs := dyad(t, dir, strings.Fields(strings.Replace(args, "%s", "good.json", 1))...); strings.Contains(errs, "is refused") || strings.Contains(errs, "not covered") {
			t.Errorf("%s of a genuine file: %s", place, errs)
		}
	}
}

// A page and a ledger that is named: a forged epsilon, in a plan of its own that holds, ends the report.
func TestReportComparesTheLedger(t *testing.T) {
	dir := clinic(t, 200)
	var mine, its map[string]any
	if json.Unmarshal(verifiable(t, dir, "m", "--algorithm dpgdsc"), &mine) != nil {
		t.Fatal("the model cannot be read")
	}
	mustRun(t, dir, "train", "-q", "--data", "patients.csv", "--schema", "patients.yaml", "--out", "other.json", "--ledger", "other.jsonl", "--epsilon", "0.5", "--algorithm", "dpgdsc")
	other, err := os.ReadFile("other.json")
	if err != nil || json.Unmarshal(other, &its) != nil {
		t.Fatal(err)
	}
	its["run"] = mine["run"]
	write(t, dir, "forged.json", string(sealed(t, any(its))))
	ran(t, dir, "report", "forged.json", "--ledger", "l.jsonl").exits(exitInput).warns("hash of the file").want(!exists("forged.html"), "no page")
}
