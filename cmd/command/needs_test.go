package command

import (
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"dyad/internal/input"
	"dyad/internal/must"
)

// A flag that needs another one is refused without it, and flags that exclude each other are refused together. What a tag names is a flag of
// the same command, and a group of flags has two or more.
func TestFlagsThatNeedOrExclude(t *testing.T) {
	dir := t.TempDir()
	for args, want := range map[string]string{
		"search --candidates c.yaml --schema s.yaml --data d.csv -n 5": "-n is for --plan",
		"cluster -k 2 --schema s.yaml --data d.csv -n 5":               "-n is for --plan",
		"data synth a.csv --persons 30":                                "--persons is for --visits",
		"data synth a.csv --visits --held-out-schema s.yaml":           "--held-out-schema is for --held-out",
		"plan -n 100 -d 5 --schema s.yaml":                             "exclude each other",
		"pairs plan -n 100 -d 5 --schema s.yaml --pairs 100":           "exclude each other",
		"plan -n 100 -d 5 --H 1 --total-step 1":                        "exclude each other",
		"plan -n 100 -d 5 --radius 1 --radius-diameter 1":              "exclude each other",
		"lab curve --part 1/2 --merge x":                               "--part and --merge exclude each other",
		// Each of these rows was a refusal in the code of its command.
		"account --delta 1e-5":                                            "missing flags: --epsilon",
		"account --epsilon 1 --sigma 2":                                   "--epsilon and --sigma exclude each other",
		"account --sigma 2 --scale 2":                                     "--sigma and --scale exclude each other",
		"account --sigma 2 --rate 0.1 --batch 3 --records 9":              "--rate and --batch exclude each other",
		"account --sigma 2 --batch 3":                                     "--batch is for --records",
		"account --sigma 2 --records 3":                                   "--records is for --batch",
		"account --sigma 2 --rate 1.5":                                    "--rate is 1.5, want above 0 and at most 1",
		"account --sigma 2 --delta 1":                                     "--delta is 1, want at least 0 and below 1",
		"lab audit dpgdsc --method canaries --person-rows 3":              "exclude each other: canaries are one run",
		"lab audit dpgdsc --method canaries --plot a.svg":                 "--method and --plot exclude each other",
		"lab audit dpgdsc -n 1":                                           "-n is 1, want at least 2",
		"lab audit dpgdsc --worst-start":                                  "--worst-start is for --task metric: scores start at 0",
		"lab audit gradient-perturbation --model mlp --radius 2":          "--model and --radius exclude each other",
		"lab audit gradient-perturbation --hidden 4":                      "--hidden is for --model mlp",
		"lab audit dpgdsc --part 1/2 --report a.html":                     "ask for them with --merge",
		"lab audit dpgdsc --part 1/2 --plot a.svg":                        "ask for them with --merge",
		"lab audit pairs --tuple 4 --loss infonce":                        "--tuple and --loss infonce exclude each other",
		"lab bench --records 1":                                           "--records is 1, want at least 2",
		"lab bench --workers 2 --peers needs_test.go":                     "--peers",
		"lab curve --part 1/2 --report a.html":                            "--part and --report exclude each other",
		"lab curve --format tiff":                                         "--format must be one of",
		"lab curve --dataset a --synthetic ar1":                           "--dataset and --synthetic exclude each other",
		"lab curve --data d.csv":                                          "--data is for --schema: \"dyad data schema FILE\" drafts one",
		"lab curve --schema s.yaml":                                       "--schema is for --data, which is not there",
		"lab curve --holdout 1":                                           "--holdout is 1, want above 0 and below 1",
		"lab losses check hinge -n 1":                                     "-n is 1, want at least 2",
		"cluster -k 2 --schema s.yaml --plan":                             "--plan is for --n",
		"cluster -k 2 --schema s.yaml --plan -n 5 --data d.csv":           "--data and --plan exclude each other",
		"search --candidates c --models a,b --schema s.yaml --data d.csv": "--candidates and --models exclude each other",
		"search --candidates c --data d.csv":                              "missing flags: --schema",
		"search --candidates c --schema s.yaml --plan":                    "--plan is for --n",
		"search --candidates c --schema s.yaml --data d.csv --holdout 1":  "--holdout is 1, want at least 0 and below 1",
		"train --paper-unsound":                                           "--paper-unsound is for --mode paper",
		"plan -n 9 -d 3 --paper-unsound":                                  "--paper-unsound is for --mode paper",
		"plan -n 9 -d 3 --report a.html":                                  "--report is for --schema: it shows the columns",
		"plan -n 9 -d 3 --precision fp32":                                 "--precision is for --task metric: no other task has a choice",
		"plan -n 9 -d 3 --gain 2":                                         "--gain is for --model mlp",
		"plan -n 9 -d 3 --task metric --holdout 0.5 --holdout-epsilon 1":  "--holdout-epsilon and --task exclude each other",
		"plan -n 9":             "missing flags: --schema=FILE or -d INT",
		"train --schema s.yaml": "--schema is for --data",
		"train --data d.csv":    "--data is for --schema: \"dyad data schema FILE\" drafts one",
		"train --holdout 1":     "--holdout is 1, want at least 0 and below 1",
		"train --holdout 0.3 --holdout-epsilon 1 --model mlp":                  "--holdout-epsilon and --model exclude each other: it is for linear models",
		"train --checkpoint-every -1s":                                         "--checkpoint-every",
		"train --checkpoint-every=-1s":                                         "--checkpoint-every is -1s, want at least 0",
		"train --team-deadline=-1s":                                            "--team-deadline is -1s, want at least 0",
		"online --schema s --records 9 --state t --follow":                     "--follow is for --data: standard input ends",
		"online --schema s --records 9 --state t --regret --resume":            "--regret and --resume exclude each other",
		"data convert a.csv b.npz --schema s --encoded --out-schema t.yaml":    "--out-schema and --encoded exclude each other",
		"data synth a.csv -n 1":                                                "-n is 1, want at least 2",
		"data synth a.csv -n 5 --visits":                                       "-n and --visits exclude each other: visits take --persons and --visit-rows",
		"export m.json --onnx":                                                 "--onnx is for --out: it is a binary file",
		"ledger init a --epsilon 1 --delta 0":                                  "--delta is 0, want above 0 and below 1",
		"ledger show --delta 1":                                                "--delta is 1, want above 0 and below 1",
		"local plan -n 9 -d 3 --schema s.yaml":                                 "exclude each other",
		"local plan -n 9":                                                      "missing flags: --schema=FILE or -d INT",
		"local plan -n 9 -d 3 --hidden 4":                                      "--hidden is for --model mlp",
		"local client --data d --schema s --user u --memory m --max-epsilon 1": "missing flags: --server=URL or --protocol=FILE",
		"local client --protocol p --data d --schema s --user u --memory m --max-epsilon 1 --follow": "--follow is for --server",
		"local server --dir d -n 9 -d 3 --cert c":                                                    "--cert is for --key",
		"local server --dir d -n 9 -d 3 --key c":                                                     "--key is for --cert",
		"local simulate --l2-grid 1,2 --shuffle-delta 1e-6":                                          "--shuffle-delta and --l2-grid exclude each other",
		"local simulate --holdout 1":                                                                 "--holdout is 1, want at least 0 and below 1",
		"pairs plan -n 9 --pairs 4":                                                                  "missing flags: --schema=FILE or -d INT",
		"pairs plan -n 9 -d 3 --tuple 4 --loss bradley-terry":                                        "--tuple and --loss bradley-terry exclude each other",
		"pairs plan -n 9 -d 3 --pairs 4 --activation tanh":                                           "--activation is for --model mlp",
		"pairs plan -n 9 -d 3 --pairs 4 --init-seed 3":                                               "--init-seed is for --model mlp or --model FILE or --loss infonce or --loss ntxent",
		"pairs train --data d --schema s --pairs p --label-values a":                                 "--label-values has 1 values, want 2",
		"pairs train --data d --schema s --pairs p --pair-columns a,b":                               "--pair-columns has 2 values, want 3",
		"predict m.json --data d --probabilities --threshold 0":                                      "--probabilities and --threshold exclude each other",
		"threshold m.json --data d":                                                                  "--data is for --epsilon",
		"threshold m.json --figures f --delta 0":                                                     "--figures and --delta exclude each other: the figures are released",
		"threshold m.json":                                                                           "missing flags: --data=FILE or --figures=FILE",
		"verify m.json --signature s":                                                                "--signature is for --key: it is checked",
		"evaluate m.json --epsilon 1":                                                                "missing flags: --data=FILE or --plan",
		"evaluate m.json --data d --epsilon 1 --holdout 1":                                           "--holdout is 1, want above 0 and below 1",
		"threshold m.json --data d --epsilon 1 --holdout 1":                                          "--holdout is 1, want above 0 and below 1",
		"evaluate m.json --data d --out f.json":                                                      "--out is for --epsilon",
		"evaluate m.json --data d --delta 0":                                                         "--delta is for --epsilon",
		"evaluate exact m.json --public-data":                                                        "missing flags: --data",
		"evaluate compare m.json --with n.json --data d --exact-figures --resume ABC":                "--resume and --seed need a private difference",
		// What is empty, as an unset variable of a script is, or false was not given.
		"evaluate m.json --data= --epsilon 1":                                  "--data is empty",
		"evaluate exact m.json --data= --public-data":                          "--data is empty",
		"evaluate compare m.json --with n.json --plan=false --epsilon 1":       "--plan is false",
		"search --candidates c --schema s.yaml --plan=false --epsilon 1":       "--plan is false",
		"search --candidates c --schema= --data d.csv --epsilon 1":             "--schema is empty",
		"search --models= --schema s.yaml --data d.csv --epsilon 1":            "--models is empty",
		"cluster --schema s.yaml --k 2 --plan=false":                           "--plan is false",
		"threshold m.json --figures=":                                          "--figures is empty",
		"train --data= --schema s.yaml":                                        "--data is empty",
		"train --data d.csv --schema=":                                         "--data is for --schema",
		"train --data=":                                                        "--data is empty", // not synthetic data
		"train --data d --data= --schema s":                                    "--data is empty",
		"train --set data=":                                                    "--set data is empty",
		"train --config=":                                                      "--config is empty",
		"baseline --data=":                                                     "--data is empty",
		"lab curve --epsilon 1,NaN":                                            "--epsilon is [1 NaN], want above 0",
		"lab curve --set epsilon=Inf":                                          "--set epsilon is [+Inf], want above 0",
		"lab curve --data=":                                                    "--data is empty",
		"train --data d --schema s --resume=":                                  "--resume is empty", // not a second charge
		"train --data d --schema s --approved=":                                "--approved is empty",
		"train --data d --schema s --approved p --seed 3":                      "--approved and --seed exclude each other",
		"train --data d --schema s --approved p --public-data":                 "--approved and --public-data exclude each other",
		"train --data d --schema s --approved p --holdout 0.2 --exact-figures": "--approved and --exact-figures exclude each other",
		"train --data d --schema s --ledger=":                                  "--ledger is empty",
		"verify m.json --ledger=":                                              "--ledger is empty",
		"pairs train --data d --schema s --pairs p --label-values=":            "--label-values is empty",
		"pairs train --data d --schema s --pairs p --temperature 2":            "--temperature is for --loss npair",
		"pairs plan -n 300 -d 3 --pairs 9 --method input --noise knorm":        "--noise and --method input exclude",
		"pairs plan -n 300 -d 3 --pairs 9 --loss infonce --margin 2":           "--margin is for --loss contrastive",
	} {
		ends(t, dir, exitInput, want, strings.Fields(args)...)
	}
	parser := must.Get(newParser(&cli{}, io.Discard, io.Discard))(t)
	needs, all := 0, map[string]bool{}
	for _, leaf := range parser.Model.Leaves(false) {
		for _, f := range leaf.Flags {
			all[f.Name] = true
		}
	}
	for _, leaf := range parser.Model.Leaves(false) {
		for _, f := range leaf.Flags {
			for _, other := range strings.Split(f.Tag.Get("needs"), "|") {
				name, value, _ := strings.Cut(other, "=")
				if i := slices.IndexFunc(leaf.Flags, func(o *kong.Flag) bool { return o.Name == name }); other != "" && (i < 0 || leaf.Flags[i].Enum != "" && !slices.Contains(leaf.Flags[i].EnumSlice(), value)) {
					t.Errorf("%s --%s needs --%s, which is not there", leaf.FullPath(), f.Name, other)
				} else if other != "" {
					needs++
				}
			}
			for _, other := range words(f.Tag.Get("not")) { // of one of the commands that share a flag
				if name, _, _ := strings.Cut(other, "="); !all[name] {
					t.Errorf("%s --%s excludes --%s, which is nowhere", leaf.FullPath(), f.Name, other)
				}
			}
			if in := f.Tag.Get("within"); in != "" {
				if low, high := input.Ends(in); !(low < high) || f.HasDefault && !input.Within(in, float64Of(f.Default)) {
					t.Errorf("%s --%s is within %s", leaf.FullPath(), f.Name, in)
				}
			}
		}
	}
	if needs < 60 {
		t.Errorf("%d flags need another one", needs)
	}
}

// float64Of is the number of a default, 0 for a duration.
func float64Of(text string) float64 {
	v, _ := strconv.ParseFloat(text, 64)
	return v
}
