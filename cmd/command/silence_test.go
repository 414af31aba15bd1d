package command

import (
	"cmp"
	"flag"
	"fmt"
	"hash/crc32"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"dyad/algorithms"
	"dyad/algorithms/local"
	"dyad/internal/must"
	"dyad/internal/sizes"
)

var allWorlds = flag.Bool("worlds", false, "try every command of the search for silence on every file")

// silentInputs are the files of silentFolder: no output.
var silentInputs = regexp.MustCompile(`^(r\..*|p\.csv|visits\.csv|.*\.yaml)$`)

// told is everything that an adversary may see of a run but what it releases with noise: the
// exit code, both outputs, the names of all files, the contents of those that are not kept
// private (the state of a stream, the ledger) and the charge. Released numbers, run ids and
// times are masked.
func told(t *testing.T, dir string, args ...string) (code int, text string) {
	t.Helper()
	code, text = seen(t, dir, "d", args...)
	return code, masked(masked(text, masks), silentMasks)
}

// seen is told without masks, with the charge of a data id.
func seen(t *testing.T, dir, id string, args ...string) (code int, text string) {
	t.Helper()
	code, out, errs := dyad(t, dir, args...)
	var b strings.Builder
	fmt.Fprintf(&b, "exit %d\n%s\n--- errors\n%s", code, out, errs)
	must.Do(t, filepath.WalkDir(dir, func(path string, f os.DirEntry, err error) error {
		if err != nil || f.IsDir() || silentInputs.MatchString(f.Name()) {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		fmt.Fprintf(&b, "\n--- file %s\n", name)
		if name == "s" || strings.HasPrefix(name, "state") {
			return nil
		}
		content, err := os.ReadFile(path)
		b.Write(content)
		return err
	}))
	charged, spent, problem := dyad(t, dir, "ledger", "show", id, "--json")
	fmt.Fprintf(&b, "\n--- ledger, exit %d\n%s%s", charged, spent, problem)
	return code, strings.ReplaceAll(b.String(), dir, "DIR")
}

var silentMasks = []mask{
	{regexp.MustCompile(`(?s)"cross_validated_accuracies": ?\[[^\]]*\]`), "CHOSEN"}, // by randomised answers,
	{regexp.MustCompile(`lambda = (0\.1|1),`), "lambda = CHOSEN,"},                  // and so is this
	{regexp.MustCompile(`"l2": (0\.1|1)\b`), `"l2": CHOSEN`},
	{regexp.MustCompile(`"(time|charged)": ?"[^"]*"`), `"$1": CLOCK`},
	{regexp.MustCompile(`(?m)^winner .*$|"winner": ?"[^"]*"`), "winner CHOSEN"},
	{regexp.MustCompile(`their sizes are about [0-9, ]+ records; each size has noise of standard deviation [0-9.e+]+`), "the clusters have RELEASED records"},
	{regexp.MustCompile(`"counts": ?\[[^\]]*\]|(?s)"centres": ?\[.*?\]\s*\]|"count_noise": ?[0-9.e+-]+`),
		`"clusters": RELEASED`},
	{regexp.MustCompile(`(?s)<svg.*?</svg>`), "FIGURE OF RELEASED"},
	{regexp.MustCompile(`"(auc|low|high|auc_low|auc_high)": ?[0-9.e+-]+`), `"$1": RELEASED`},
	{regexp.MustCompile(`(?m)(,[01]\.[0-9]{6}){3}$`), ",RELEASED"}, // of a table of a curve
	{regexp.MustCompile(`(?m)^ +noisy AUC [0-9.]+ on the training records|"released_auc": ?[0-9.e-]+`), "AUC RELEASED"},
}

// silentRuns are commands that train privately: every algorithm, task, loss and unit.
func silentRuns() map[string][]string {
	runs := map[string][]string{}
	train := func(name, schema string, more ...string) {
		data := map[string]string{"svm.yaml": "r.svm", "json.yaml": "r.jsonl"}[schema]
		data = cmp.Or(data, "r.csv")
		runs["train "+name] = append([]string{"train", "--data", data, "--schema", schema, "--out", "m.json"}, more...)
	}
	for _, a := range algorithms.Catalog() {
		i := a.Info()
		if i.Modes[0] != algorithms.Certified {
			continue
		}
		more := []string{"--algorithm", i.Name}
		if i.NeedsL2 {
			more = append(more, "--l2", "0.1")
		}
		if i.MetricsOnly { // of two classes, dense or sparse
			more = append(more, "--task", "metric")
			train(i.Name, "class.yaml", more...)
			train(i.Name+" sparse", "svm.yaml", append(more, "--json", "--clip-radius", "1.9")...)
			continue
		}
		train(i.Name, "class.yaml", more...)
		if !i.ScoresOnly {
			train(i.Name+" metric", "class.yaml", append(more, "--task", "metric")...)
		}
		train(i.Name+" graded", "grade.yaml", more...)
		train(i.Name+" sparse", "svm.yaml", append(more, "--json")...)
		if slices.Contains([]string{"dpgdsc", "dpgdc", "gradient-perturbation"}, i.Name) {
			train(i.Name+" queries", "query.yaml", more...)
			train(i.Name+" groups", "group.yaml", more...)
		}
	}
	for _, second := range []string{"none", "diagonal", "full"} {
		train("moments "+second, "class.yaml", "--algorithm", "moments", "--second-moments", second, "--centre-share", "0.2",
			"--epsilon", "8")
	}
	for data, second := range map[string]string{"class.yaml": "full", "grade.yaml": "diagonal", "svm.yaml": "full"} {
		train("moments with steps, "+data, data, "--algorithm", "moments", "--second-moments", second, "--steps", "3",
			"--epsilon", "8")
		train("moments-descent, "+data, data, "--algorithm", "moments-descent", "--loss", "hinge", "--second-moments", second,
			"--epsilon", "8")
	}
	train("moments pure", "grade.yaml", "--algorithm", "moments", "--second-moments", "full", "--delta", "0", "--json")
	train("moments around the origin", "svm.yaml", "--algorithm", "moments", "--public-centre", "0", "--class-balance",
		"0.3", "--second-moments", "full")
	for _, name := range []string{"dpgdsc", "dpgdc", "dpegd"} {
		train(name+" of a paper", "class.yaml", "--algorithm", name, "--mode", "paper")
	}
	train("float32", "class.yaml", "--algorithm", "dpgdsc", "--store", "float32")
	train("float32 moments of groups", "group.yaml", "--store", "float32", "--json")
	network := []string{"--model", "mlp", "--hidden", "3", "--steps", "3"}
	for _, data := range []string{"class.yaml", "grade.yaml", "query.yaml", "group.yaml", "svm.yaml"} {
		train("network, "+data, data, network...)
	}
	for _, how := range []string{"cosine", "distance", "contrastive"} {
		train("network "+how, "class.yaml", append(network, "--task", "metric", "--similarity", how, "--step-size", "1e300",
			"--update", "plain", "--json")...)
	}
	train("network in batches", "class.yaml", append(network, "--algorithm", "subsampled-descent", "--batch-records", "4",
		"--decay", "step")...)
	train("objects", "json.yaml")
	train("pure", "class.yaml", "--delta", "0")
	train("hinge", "class.yaml", "--algorithm", "gradient-perturbation", "--loss", "hinge")
	train("formula", "grade.yaml", "--algorithm", "gradient-perturbation", "--loss", "max(0, 1 - log1p(exp(u)))")
	train("huge steps", "class.yaml", "--algorithm", "gradient-perturbation", "--loss", "hinge", "--steps", "3",
		"--step-size", "1e300")
	train("huge steps metric", "class.yaml", "--algorithm", "gradient-perturbation", "--loss", "hinge", "--task", "metric",
		"--steps", "3", "--step-size", "1e300")
	train("fp32", "class.yaml", "--task", "metric", "--algorithm", "dpgdsc", "--precision", "fp32")

	online := []string{"online", "--data", "r.csv", "--schema", "class.yaml", "--records", strconv.Itoa(silenceRecords),
		"--every", "4", "--burn-in", "4", "--state", "s", "--out", "m.json"}
	for _, a := range algorithms.StreamCatalog() {
		i := a.Info()
		if i.Modes[0] != algorithms.Certified {
			continue
		}
		more := append(online[:len(online):len(online)], "--algorithm", i.Name)
		if i.NeedsL2 {
			more = append(more, "--l2", "0.1")
		}
		more = more[:len(more):len(more)]
		runs["online "+i.Name] = more
		runs["online metric "+i.Name] = append(more, "--task", "metric", "--buffer", "6")
		runs["online per class "+i.Name] = append(more, "--per-class", "--buffer", "6", "--average")
		runs["online reservoir "+i.Name] = append(more, "--reservoir", "--buffer", "6")
	}

	pairs := func(name string, more ...string) {
		run := append([]string{"pairs", "train", "--data", "r.csv", "--schema", "class.yaml", "--out", "m.json"}, more...)
		if !slices.Contains(more, "moments") { // one release, no epochs
			run = append(run, "--epochs", "2")
		}
		runs["pairs "+name] = run
	}
	drawn, file := []string{"--density", "1", "--degree-cap", "4"}, []string{"--pairs", "p.csv", "--label-values", "1,0"}
	pairs("drawn", drawn...)
	pairs("drawn poisson", append(drawn[:4:4], "--sampling", "poisson", "--batch", "8")...)
	pairs("drawn input", append(drawn[:4:4], "--method", "input")...)
	pairs("drawn group pure", append(drawn[:4:4], "--unit", "group", "--noise", "laplace", "--json")...)
	pairs("of a file", append(file[:4:4], "--kappa", "2")...)
	pairs("of a file, capped", append(file[:4:4], "--degree-cap", "1")...)
	pairs("of a file, huge steps", append(file[:4:4], "--kappa", "2", "--step-size", "1e30", "--margin", "1e30")...)
	pairs("of a file, too few allowed", append(file[:4:4], "--kappa", "1")...) // refused: who is paired is public
	pairs("preferences", append(file[:4:4], "--kappa", "2", "--loss", "bradley-terry")...)
	pairs("one pair", append(file[:4:4], "--unit", "pair")...)
	pairs("labels", append(file[:4:4], "--unit", "pair", "--method", "labels")...)
	pairs("moments", append(file[:4:4], "--kappa", "2", "--method", "moments", "--json")...)
	pairs("drawn moments, pure", append(drawn[:4:4], "--method", "moments", "--delta", "0", "--clip", "1.5",
		"--rows", "1")...)
	pairs("input", append(file[:4:4], "--kappa", "2", "--method", "input")...)
	for _, loss := range []string{"contrastive", lossTriplet, lossNPair} {
		pairs("tuples "+loss, "--tuple", "4", "--loss", loss)
		pairs("pure tuples "+loss, "--tuple", "5", "--loss", loss, "--noise", "laplace", "--step-size", "1e30",
			pick(loss == lossNPair, "--temperature=1e-30", "--margin=1e30"))
	}
	for _, loss := range []string{"contrastive", lossTriplet, lossNPair} {
		pairs("network tuples "+loss, "--tuple", "4", "--loss", loss, "--model", "mlp", "--hidden", "3", "--rows", "2",
			"--epochs", "3")
	}
	pairs("network tuples, huge steps", "--tuple", "5", "--loss", lossNPair, "--model", "mlp", "--hidden", "3,2",
		"--similarity", "distance", "--noise", "laplace", "--step-size", "1e30", "--temperature", "1e-30", "--epochs", "3")
	pairs("all pairs", "--all-pairs")

	searched := func(name, schema string, more ...string) {
		data := map[string]string{"svm.yaml": "r.svm"}[schema]
		runs["search "+name] = append([]string{"search", "--candidates", "settings.yaml", "--data", cmp.Or(data, "r.csv"),
			"--schema", schema, "--out", "m.json"}, more...)
	}
	searched("compose", "class.yaml", "--road", "compose")
	searched("random stopping", "class.yaml", "--road", "random-stopping", "--runs", "4")
	searched("random stopping sparse", "svm.yaml", "--road", "random-stopping", "--epsilon", "0.2", "--json")
	searched("pure", "class.yaml", "--delta", "0", "--json")

	clustered := func(name, schema string, more ...string) {
		data := map[string]string{"svm.yaml": "r.svm"}[schema]
		runs["cluster "+name] = append([]string{"cluster", "-k", "3", "--data", cmp.Or(data, "r.csv"), "--schema", schema,
			"--out", "m.json"}, more...)
	}
	clustered("records", "class.yaml")
	clustered("sparse", "svm.yaml", "--epsilon", "0.1", "--json")
	clustered("pure, clipped", "class.yaml", "--delta", "0", "--clip", "1e-9")

	runs["curve"] = []string{"lab", "curve", "--epsilon", "1,2", "--splits", "1", "--algorithm", "moments",
		"--holdout-epsilon", "1", "--yes", "--data", "r.csv", "--schema", "class.yaml", "--out", "m", "--format",
		"svg", "--json"}

	for _, m := range local.Methods() {
		name := "local " + m.String()
		runs[name] = []string{"local", "simulate", "--data", "r.csv", "--schema", "class.yaml", "--method", m.String(),
			"--epochs", "2", "--out", "m.json"}
		runs[name+" chosen"] = append(runs[name], "--l2-grid", "0.1,1", "--folds", "3", "--json")
	}
	for _, m := range []local.Method{local.DJW, local.Prestige, local.PrestigeParticipation} {
		runs["local network "+m.String()] = []string{"local", "simulate", "--data", "r.csv", "--schema", "class.yaml",
			"--model", "mlp", "--hidden", "1", "--method", m.String(), "--epsilon", "9", "--epochs", "2", "--out", "m.json"}
	}
	return runs
}

// Joint properties of well-formed records never end a private run, nor show in any other
// way: on all files of the search a command ends with the same exit code, prints the same,
// leaves the same files and charges the same, but for what it releases with noise.
func TestNothingButTheReleaseTellsOfTheRecords(t *testing.T) {
	sizes.NotShort(t, "slow")
	worlds := maps.Clone(silentWorlds)
	for seed := range uint64(8) {
		worlds[fmt.Sprint("random ", seed)] = randomWorld(seed)
	}
	refused := []string{"pairs of a file, too few allowed"}
	for name, args := range silentRuns() {
		t.Run(name, func(t *testing.T) {
			before := silentFolder(t, silentWorlds["mixed"], args...)
			code, want := told(t, before, args...)
			switch protects := !strings.Contains(want, "does not protect whole records"); {
			case slices.Contains(refused, name) || !protects:
				if code != exitInput {
					t.Fatalf("want a refusal: %s", want)
				}
			case code != exitOK || !strings.Contains(want, "RELEASED"):
				t.Fatalf("no result was released: %s", want)
			}
			for _, world := range worldsFor(name, worlds) {
				if _, got := told(t, silentFolder(t, worlds[world], args...), args...); got != want {
					t.Errorf("%s: a joint property of the records shows:\n%s", world, firstDifference(want, got))
				}
			}
			samePinned(t, name, args, "d", before, slices.Sorted(maps.Keys(silentWorlds)), func(world string) string {
				return silentFolder(t, silentWorlds[world], args...)
			})
		})
	}
}

// worldsFor are the files that a command is tried on: one class and another one, which differs between commands; at full
// power always those that a program stumbles over first, and of the others two; or all with -worlds.
func worldsFor(name string, worlds map[string]func(int) silentRecord) []string {
	always := []string{"one class", "equal rows", "one grade in each group"}
	if testing.Short() {
		return always[:1]
	}
	var others []string
	for world := range worlds {
		if world != "mixed" && !slices.Contains(always, world) {
			others = append(others, world)
		}
	}
	slices.Sort(others)
	if *allWorlds {
		return append(always, others...)
	}
	at := int(crc32.ChecksumIEEE([]byte(name)))
	if !sizes.Full() {
		return []string{always[0], append(always[1:], others...)[at%(len(always)-1+len(others))]}
	}
	at %= len(others)
	return append(always, others[at], others[(at+1)%len(others)])
}

// firstDifference are the first lines in which two texts differ.
func firstDifference(a, b string) string {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return fmt.Sprintf("line %d\n- %s\n+ %s", i+1, x[i], y[i])
		}
	}
	return fmt.Sprintf("%d lines and %d", len(x), len(y))
}

// On public data, and where figures are computed without a guarantee anyway, the error stays:
// somebody who mistyped the positive class wants to hear of it.
func TestLabelsWithoutPairsAreAnErrorOnPublicData(t *testing.T) {
	sizes.NotShort(t, "slow")
	model := func(dir string) {
		t.Helper()
		for task, file := range map[string]string{taskAUC: "m.json", taskMetric: "metric.json"} {
			mustRun(t, dir, "train", "--data", "r.csv", "--schema", "class.yaml", "--task", task, "--out", file)
		}
	}
	with := func(schema string, args ...string) []string {
		return append(args, "--data", "r.csv", "--schema", schema, "--public-data")
	}
	for _, c := range []struct {
		world, says string
		args        []string
	}{
		{"one class", "no row has the positive class", with("class.yaml", "train")},
		{"the other class", "every row has the positive class", with("group.yaml", "train")},
		{"one class", "every row has the same label", with("grade.yaml", "train", "--task", "metric")},
		{"one grade in each group", "no query group has two rows with different labels", with("query.yaml", "train")},
		{"one grade in each group", "no query group has two rows with different labels",
			with("group.yaml", "train", "--mode", "nonprivate", "--yes")},
		{"one class", "no row has the positive class",
			with("class.yaml", "pairs", "train", "--density", "1", "--degree-cap", "4")},
		{"one class", "no row has the positive class",
			with("class.yaml", "pairs", "train", "--tuple", "4", "--loss", "triplet")},
		{"one class", "no row has the positive class", with("class.yaml", "pairs", "train", "--all-pairs")},
		{"one class", "no row has the positive class",
			with("class.yaml", "pairs", "inspect", "--density", "1", "--degree-cap", "4")},
		{"one class", "no row has the positive class", with("class.yaml", "local", "simulate")},
		{"one class", "no row has the positive class", []string{"evaluate", "m.json", "--data", "r.csv", "--exact-figures"}},
		{"one class", "no row has the positive class",
			[]string{"evaluate", "metric.json", "--data", "r.csv", "--neighbours", "r.csv", "--exact-figures"}},
		{"one class", "no row has the positive class", []string{"data", "inspect", "r.csv", "--schema", "class.yaml"}},
		{"one grade in each group", "no query group",
			[]string{"data", "inspect", "r.csv", "--schema", "query.yaml", "--json"}},
	} {
		dir := silentFolder(t, silentWorlds[c.world])
		model(dir)
		ledger := must.Get(os.ReadFile(filepath.Join(dir, "state", "dyad", "ledger.jsonl")))(t)
		out, _ := ends(t, dir, exitInput, c.says, c.args...)
		if c.args[0] == "data" && !strings.Contains(out, "24") {
			t.Errorf("%v: no figures: %s", c.args, out)
		}
		after, err := os.ReadFile(filepath.Join(dir, "state", "dyad", "ledger.jsonl"))
		if err != nil || string(after) != string(ledger) {
			t.Errorf("%v was charged (%v)", c.args, err)
		}
	}
}

// Who is paired with whom is public, so a pair that is there twice is refused; whether its two
// labels agree is not.
func TestRepeatedPairsDoNotTellTheirLabels(t *testing.T) {
	for _, loss := range []string{"contrastive", lossBradleyTerry} {
		var want string
		for _, again := range []string{"p00,p01,1", "p00,p01,0", "p01,p00,1", "p01,p00,0"} {
			dir := silentFolder(t, silentWorlds["mixed"])
			write(t, dir, "p.csv", "first,second,label\np00,p01,1\n"+again+"\n")
			code, got := told(t, dir, "pairs", "train", "--data", "r.csv", "--schema", "class.yaml", "--pairs", "p.csv",
				"--label-values", "1,0", "--kappa", "2", "--loss", loss)
			if want == "" {
				want = got
			}
			if code != exitInput || got != want {
				t.Errorf("%s, %s again: exit %d, %s", loss, again, code, firstDifference(want, got))
			}
		}
	}
}
