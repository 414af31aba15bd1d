package command

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"dyad/docs/checker"
	"dyad/internal/must"
	"dyad/internal/sizes"
	"dyad/privacy/ledger"
)

// written is a file that a command writes: the command without --out and --ledger, and what other commands make of the file.
type written struct {
	args   string
	model  bool   // dyad report reads it
	export string // the format of dyad export
	charge bool   // it is a release of one run, which is stopped after its charge and resumed once
	none   bool   // it is not a release with a guarantee of its own: verify has no verdict of it
	ending string // that the command adds to --out
}

const (
	private = " --data patients.csv --schema patients.yaml"
	links   = "pairs train --density 2 --degree-cap 6 --epsilon 2"
)

// writes has a row for every command with --out: the files that it writes.
var writes = map[string][]written{
	"train": {
		{args: "train --epsilon 1" + private, model: true, export: "--python", charge: true},
		{args: "train --epsilon 1 --algorithm dpgdsc" + private, model: true, export: "--onnx", charge: true},
		{args: "train --epsilon 1 --delta 0 --algorithm moments" + private, model: true, export: "--sql duckdb", charge: true},
		{args: "train --epsilon 1 --algorithm offpairstrc" + private, model: true, charge: true},
		{args: "train --epsilon 1 --model mlp --hidden 2 --steps 2" + private, model: true, export: "--onnx", charge: true},
		{args: "train --epsilon 2 --task metric" + private, model: true, export: "--npz", charge: true},
		{args: "train --mode nonprivate --yes" + private, model: true, export: "--go", charge: true},
		{args: "train --epsilon 1 --public-data" + private, model: true, export: "--python"},
	},
	"online": {{args: "online --records 60 --every 20 --state OUT.state" + private, model: true, export: "--python"}},
	"search": {
		{args: "search --epsilon 1 --road compose --candidates settings.yaml" + private, model: true, export: "--python", charge: true},
		{args: "search --epsilon 1 --road random-stopping --candidates settings.yaml" + private, model: true, export: "--python", charge: true},
		{args: "search --epsilon 1 --models file0,file1" + private, model: true, export: "--python"}, // a copy of one
	},
	"pairs train": {
		{args: links + " --method moments" + private, model: true, charge: true},
		{args: links + " --method input" + private, model: true, charge: true},
		{args: links + private, model: true, charge: true},
		{args: links + " --loss infonce --rows 4" + private, model: true, charge: true},
	},
	"cluster": {
		{args: "cluster -k 2" + private, charge: true},
		{args: "cluster -k 2 --metric file5" + private, charge: true},
	},
	"local simulate": {
		{args: "local simulate --epsilon 2 --epochs 2" + private, model: true, export: "--python", charge: true},
		{args: "local simulate --method djw --epsilon 2 --epochs 1 --l2-grid 0.1,1 --folds 3" + private, model: true, export: "--python", charge: true},
		{args: "local simulate --epsilon 2 --epochs 1 --public-data" + private, model: true, export: "--python"},
	},
	"local plan":       {{args: "local plan -n 60 --epochs 2 --schema patients.yaml", none: true}},
	"local model":      {{args: "local model --server ADDRESS --schema patients.yaml", model: true, export: "--python"}},
	"evaluate private": {{args: "evaluate file0 --data patients.csv --epsilon 1", charge: true}},
	"evaluate compare": {{args: "evaluate compare file0 --with file0 --data patients.csv --epsilon 1", charge: true}},
	"baseline":         {{args: "baseline --public-data" + private, model: true, export: "--python"}, {args: "baseline --yes" + private, model: true, export: "--python", charge: true}},
	"threshold":        {{args: "threshold file0 --data patients.csv --epsilon 1 --aim balanced", charge: true}},
	"predict":          {{args: "predict file0 --data patients.csv", none: true}},
	"transform":        {{args: "transform file5 --data patients.csv", none: true}},
	"lab influence":    {{args: "lab influence file7 --data patients.csv --public-data", none: true}},
	"export":           {{args: "export file0 --python", none: true}},
	"report":           {{args: "report file0", none: true}},
	"lab curve": {
		{args: "lab curve --epsilon 1 --splits 1 --algorithm moments --public-data" + private, none: true},
		{args: "lab curve --epsilon 1 --splits 1 --algorithm moments --holdout-epsilon 1 --yes" + private, charge: true, ending: ".json"},
	},
	"start":         {{args: "start patients.csv --label outcome", none: true}},
	"data schema":   {{args: "data schema patients.csv --label outcome", none: true}},
	"data pack":     {{args: "data pack patients.csv --schema patients.yaml", none: true}},
	"lab reproduce": nil, // a folder of tables of public data
}

// Whatever the program writes it also trusts: the file of every command with --out is "verified" or "not covered", with its ledger
// and without, before the ledger is compacted and after it, from a run that was resumed as from one that was not; and it is
// read by report, export and predict.
func TestGenuineFilesAreNeverRefused(t *testing.T) {
	var c cli
	parser := must.Get(newParser(&c, &bytes.Buffer{}, &bytes.Buffer{}))(t)
	rows := maps.Clone(writes)
	var order []*kong.Node
	for _, l := range parser.Model.Leaves(false) {
		path := strings.TrimPrefix(l.Path(), "dyad ")
		if !has(l, "out") {
			continue
		}
		if _, ok := rows[path]; !ok {
			t.Errorf("%q writes a file and has no row: say how, and what reads it", path)
		}
		delete(rows, path)
		order = append(order, l)
	}
	for path := range rows {
		t.Errorf("there is no command %q with --out", path)
	}
	sizes.NotShort(t, "slow")
	dir := clinic(t, 120)
	write(t, dir, "settings.yaml", "candidates:\n- {name: strong, algorithm: moments, ridge: 4}\n- {name: weak, algorithm: dpgdsc}\n")
	address, stop := localServer(t, dir, "--dir", "study", "-n", "4", "--schema", "patients.yaml", "--epochs", "2", "--epsilon", "1")
	defer stop()
	answerAs(t, dir, address, "u", "--row", "1").exits(exitOK)
	slices.SortStableFunc(order, func(x, y *kong.Node) int { // file0 and others are models of train that rows of other commands name
		first := map[bool]int{true: -1}
		return first[x.FullPath() == "dyad train"] - first[y.FullPath() == "dyad train"]
	})
	made := map[string]written{}
	for _, leaf := range order {
		for _, w := range writes[strings.TrimPrefix(leaf.Path(), "dyad ")] {
			name := fmt.Sprintf("file%d", len(made))
			args := strings.Fields(strings.NewReplacer("OUT", name, "ADDRESS", address).Replace(w.args))
			w.args = strings.Join(args, " ")
			args = append(args, "--out", name)
			if has(leaf, "ledger") {
				args = append(args, "--ledger", "l.jsonl")
			}
			if w.charge {
				args = append(args, "--resume", stoppedAfterTheCharge(t, dir, args))
			}
			mustRun(t, dir, args...)
			made[name+w.ending] = w
		}
	}
	for _, stage := range []string{"as it is", "compacted"} {
		for name, w := range made {
			trusted(t, dir, name, w, stage)
		}
		mustRun(t, dir, "ledger", "compact", "--ledger", "l.jsonl")
	}
}

// Files of earlier versions, with the ledgers of their runs.
func TestGenuineOldFilesAreNeverRefused(t *testing.T) {
	for version, files := range map[string]map[string]written{
		"37eed79": {
			"linear.json": {model: true, export: "--python"}, "metric.json": {model: true, export: "--npz"}, "input.json": {model: true},
			"local.json": {model: true, export: "--python"}, "online.json": {model: true, export: "--python"},
		},
		"11567631": {
			"linear.json": {model: true, export: "--python"}, "pairs.json": {model: true}, "search.json": {model: true, export: "--python"},
			"local.json": {model: true, export: "--python"}, "clusters.json": {},
		},
	} {
		dir := t.TempDir()
		must.Do(t, os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "formats", version))))
		must.Do(t, os.Rename(filepath.Join(dir, "ledger.jsonl"), filepath.Join(dir, "l.jsonl")))
		must.Do(t, os.Rename(filepath.Join(dir, "ledger.jsonl.head"), filepath.Join(dir, "l.jsonl.head")))
		here := must.Get(os.Getwd())(t)
		for _, stage := range []string{"as it is", "compacted"} {
			for name, w := range files {
				w.args = version
				trusted(t, dir, name, w, stage)
			}
			mustRun(t, dir, "ledger", "compact", "--ledger", "l.jsonl")
		}
		t.Chdir(here)
	}
}

func has(command *kong.Node, flag string) bool {
	return slices.ContainsFunc(command.Flags, func(f *kong.Flag) bool { return f.Name == flag })
}

// stoppedAfterTheCharge is the run of a command that is interrupted when its charge is durable.
func stoppedAfterTheCharge(t *testing.T, dir string, args []string) string {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	t.Setenv("XDG_STATE_HOME", filepath.Join(dir, "state"))
	t.Chdir(dir)
	code, _, errs := hooked(ctx, reach("charged", cancel), args...)
	l := must.Get(ledger.Open("l.jsonl"))(t)
	open, err := l.Unfinished("")
	if code != exitCancelled || err != nil || len(open) == 0 {
		t.Fatalf("dyad %v: exit %d, want an interrupt with one run to resume; %d, %v: %s", args, code, len(open), err, errs)
	}
	return open[len(open)-1].Run
}

// trusted tells of a genuine file that a reader of it refuses.
func trusted(t *testing.T, dir, name string, w written, stage string) {
	t.Helper()
	tell := func(args []string, code int, says string) {
		t.Errorf("%s, of \"dyad %s\", %s: dyad %s: exit %d: %s", name, w.args, stage, strings.Join(args, " "), code, says)
	}
	for _, more := range [][]string{nil, {"--ledger", "l.jsonl"}} {
		args := append([]string{"verify", name, "--json"}, more...)
		code, out, errs := dyad(t, dir, args...)
		var r judgement
		err := json.Unmarshal([]byte(out), &r)
		verdict := r.Verdict.Verdict
		if good := verdict == checker.Verified && code == exitOK || verdict == checker.NotCovered && code == exitFailure; !good && !(w.none && verdict != checker.Refused) || err != nil && !w.none {
			tell(args, code, out+errs)
		}
		if w.charge && !w.none && len(more) > 0 && !strings.Contains(r.Ledger, "one charge of this plan") {
			tell(args, code, "it does not hold the plan that was charged: "+out)
		}
	}
	var readers [][]string
	if w.model {
		readers = append(readers, []string{"report", name, "--ledger", "l.jsonl", "--force", "--out", "page.html"})
	}
	if w.export != "" {
		readers = append(readers, append([]string{"export", name, "--force", "--out", "exported"}, strings.Fields(w.export)...))
	}
	for _, args := range readers {
		if code, _, errs := dyad(t, dir, args...); code != exitOK {
			tell(args, code, errs)
		}
	}
}
