package command

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"dyad/internal/must"
)

// A plan prints its recipe, which plans the same again; the other commands take it, and the model has it.
func TestARecipeTravels(t *testing.T) {
	dir := clinic(t, 200)
	flags := []string{"--epsilon", "2", "--algorithm", "gradient-perturbation", "--loss", "log1p(exp(-s*u))", "--loss-param", "s=0.5", "--steps", "20", "--radius", "1.5"}
	plan := append([]string{"plan", "-n", "200", "--schema", "patients.yaml"}, flags...)
	out := mustRun(t, dir, plan...)
	block := regexp.MustCompile(`(?m)^recipe((?: +[a-z0-9-]+: .*\n)+)`).FindStringSubmatch(out)
	if block == nil {
		t.Fatal(out)
	}
	write(t, dir, "recipe.yaml", regexp.MustCompile(`(?m)^ +`).ReplaceAllString(block[1], ""))
	if again := mustRun(t, dir, "plan", "-n", "200", "--schema", "patients.yaml", "--config", "recipe.yaml"); again != out {
		t.Errorf("the recipe plans\n%s, and its flags\n%s", again, out)
	}
	write(t, dir, "computed.yaml", read(t, dir, "recipe.yaml")+"compute: {store: float32, team: mpi, parallel: 2}\n")
	if again := mustRun(t, dir, "plan", "-n", "200", "--schema", "patients.yaml", "--config", "computed.yaml"); again != out {
		t.Errorf("how a run is computed changes its plan to\n%s, from\n%s", again, out)
	}
	want := strings.Count(block[1], "\n")
	var report struct{ Recipe map[string]any }
	if err := json.Unmarshal([]byte(mustRun(t, dir, append(plan, "--json")...)), &report); err != nil || len(report.Recipe) != want || report.Recipe["steps"] != 20. {
		t.Errorf("%v: %v", err, report.Recipe)
	}
	// With the places of a training and how it is computed, and in two parts, it is a file for all commands.
	text := read(t, dir, "recipe.yaml")
	write(t, dir, "run.yaml", "guarantee:\n  "+strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n  ")+"\ncompute: {workers: 1, checkpoint-every: 1m}\ndata: patients.csv\nschema: patients.yaml\nout: m.json\nyes: true\n")
	mustRun(t, dir, "train", "--config", "run.yaml")
	m, err := readModel(filepath.Join(dir, "m.json"))
	if err != nil || len(m.Options) != want || fmt.Sprint(m.Options["loss-param"]) != "map[s:0.5]" || m.Options["workers"] != nil {
		t.Errorf("%v: the model has the options %v", err, m.Options)
	}
	mustRun(t, dir, "lab", "audit", "--config", "run.yaml", "--runs", "40", "-n", "20")
	write(t, dir, "short.yaml", "epsilon: 2\nalgorithm: dpgdsc\ncompute: {workers: 1, precision: auto}\nmode: certified\nout: other\n")
	mustRun(t, dir, "lab", "curve", "--config", "short.yaml", "--records", "300", "--splits", "1")
	must.Contain(t, read(t, dir, "other.csv"), "dpgdsc")
	write(t, dir, "settings.yaml", searchSettings)
	write(t, dir, "short.yaml", "epsilon: 2\nmode: certified\nmodel: linear\ntask: auc\nprecision: auto\ncheckpoint-every: 1m\n")
	mustRun(t, dir, "search", "--config", "short.yaml", "--candidates", "settings.yaml", "--plan", "-n", "300", "--schema", "patients.yaml")
}

// A recipe with a wrong key names line, key and the nearest right one, and a command does not leave out what changes a guarantee.
func TestWrongKeysOfARecipe(t *testing.T) {
	dir := clinic(t, 60)
	for _, c := range []struct{ command, text, want string }{
		{"plan -n 100 -d 5", "epsilon: 1\nradus: 2\n", "run.yaml:2: dyad plan has no flag --radus; did you mean radius?"},
		{"plan -n 100 -d 5", "guarantee:\n  epsilon: 1\n  step: 2\n", "run.yaml:3: dyad plan has no flag --step; did you mean steps?"},
		{"plan -n 100 -d 5", "guarantee:\n  epsilon: 1\n  workers: 2\n", "run.yaml:3: move workers from \"what is guaranteed\" to \"how it is computed\""},
		{"plan -n 100 -d 5", "compute: {epsilon: 1}\n", "run.yaml:1: move epsilon from \"how it is computed\" to \"what is guaranteed\""},
		{"lab curve", "epsilon: 1\nradius: 2\n", "run.yaml:2: dyad lab curve has no flag --radius, but the guarantee"},
		{"search --candidates c.yaml", "mode: paper\n", "run.yaml:1: dyad search has no flag --mode, but the guarantee"},
		{"plan -n 100 -d 5", "guarantee: epsilon=2\n", "run.yaml:1: guarantee: want options below this line"},
		{"plan -n 100 -d 5", "guarantee: {epsilon: 1}\nepsilon: 3\n", "run.yaml:2: epsilon is already in line 1"},
		{"plan -n 100 -d 5", "l2: 1\nalpha: 3\n", "run.yaml:2: l2 is already in line 1"},
		{"predict m.json", "workers: 2\n", "run.yaml:1: dyad predict has no flag --workers"},
	} {
		write(t, dir, "run.yaml", c.text)
		ends(t, dir, exitInput, c.want, append(strings.Fields(c.command), "--config", "run.yaml")...)
	}
}

// A key is given by --set, by a file and, as in older versions, as a flag, which gets a note; --set overrides the file.
func TestKeysAreSet(t *testing.T) {
	dir := clinic(t, 60)
	plan := words("plan -n 100 -d 5 --algorithm gradient-perturbation --loss log1p(exp(-s*u)) --set loss-param=s=0.5")
	write(t, dir, "run.yaml", "steps: 7\nradius: 2\n")
	code, want, errs := dyad(t, dir, append(plan, words("--set steps=20 --set radius=2")...)...)
	if code != exitOK || errs != "" || !strings.Contains(want, "steps: 20\n") {
		t.Fatalf("exit %d: %s%s", code, want, errs)
	}
	for args, note := range map[string]string{
		"--set=steps=20 --config run.yaml": "",
		"--steps 20 --set radius=2":        "dyad: some flags are keys now, or have another name: --set steps=20; the old flags work, too\n",
		"--steps=20 --radius=2 -q --json":  "",
	} {
		code, out, errs := dyad(t, dir, append(plan, words(args)...)...)
		if code != exitOK || errs != note || out != want && !strings.Contains(args, "--json") {
			t.Errorf("%s: exit %d: %s%s", args, code, out, errs)
		}
	}
	for args, want := range map[string]string{
		"--set stps=3":                          "--set stps: dyad plan has no flag --stps; did you mean steps?",
		"--set steps=3 --steps 4":               "--set steps takes one value, but is given more than once",
		"--set steps=3 --set steps=4":           "--set steps takes one value, but is given more than once",
		"--set algorithm=moments":               "--set algorithm takes one value, but is given more than once",
		"--set =3":                              "--set is \"=3\", want KEY=VALUE",
		"--set report=":                         "--set report is empty",
		"--set ridge=1":                         "gradient-perturbation does not take --set ridge;",
		"--model mlp --set hidden=4,-2":         "hidden layers have [4 -2] units; want at least 1",
		"--set steps=-3":                        "--set steps is -3, must be positive",
		"--set gain=2 --set help":               "has no flag --help",
		"--set total-step=1 --path 2":           "--set total-step takes one value",
		"--set l2=0.1 --alpha 2 --config x":     "--set l2 takes one value",
		"--set epsilon=two":                     "--set epsilon is \"two\", want a number",
		"--model mlp --set hidden=8 --set dim":  "--set is \"dim\", want KEY=VALUE, such as --set dim=M\n",
		"--set steps 5":                         "--set is \"steps\", want KEY=VALUE, such as --set steps=5\n",
		"--set momentum=2 --model mlp":          "the momentum is 2",
		"--set mode=paper --set public-data=no": "public-data",
	} {
		write(t, dir, "x", "epsilon: 1\n")
		ends(t, dir, exitInput, want, append(plan, words(args)...)...)
	}
	ran(t, dir, words("train --set mode=nonprivate --set out=m.json --set workers=1 --epsilon 2")...).exits(exitOK).warns("now dyad baseline", "epsilon 2 is not used, because a baseline has no noise")
}

// Every command that charges has the flags of a run, and a plan what its training takes.
func TestARunHasItsFlags(t *testing.T) {
	parser := must.Get(wholeGrammar())(t)
	for _, leaf := range parser.Model.Leaves(true) {
		command, has := leaf.Path(), map[string]bool{}
		for _, f := range leaf.Flags {
			has[f.Name] = true
		}
		if has["resume"] && command != "online" { // which keeps a state
			for _, name := range words("yes force data-id seed ledger delta") {
				if !has[name] && command+" "+name != "local simulate delta" { // a pure guarantee
					t.Errorf("dyad %s charges and has no --%s", command, name)
				}
			}
		}
	}
	// A plan takes what its training takes, but for data, results and the run.
	flags := map[string]bool{}
	for _, o := range whole.options {
		for _, c := range o.commands {
			flags[c+" --"+o.flag.Name] = true
		}
	}
	for at := range flags {
		if name, ok := strings.CutPrefix(at, "train --"); ok && partOf(name) == guaranteed && name != "exact-figures" && !flags["plan train --"+name] {
			t.Errorf("dyad train has --%s, and dyad plan has not", name)
		}
	}
}
