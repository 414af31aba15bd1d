package command

import (
	"hash/crc32"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"dyad/algorithms"
	"dyad/internal/must"
	"dyad/internal/sizes"
)

// pinnedMasks are all that may differ between two files of a run whose release is pinned: the clock, and the hash of a
// file with it. Released numbers are not among them.
var pinnedMasks = []mask{
	{regexp.MustCompile(`"(created|time|charged)": ?"[^"]*"`), `"$1": CLOCK`},
	{regexp.MustCompile(`"checksum": "sha256:[0-9a-f]{64}"`), `"checksum": OF ALL THAT`},
	{regexp.MustCompile(`(runs/\d{18}/|run_u*id: ")[0-9a-f]{32}\b`), "${1}OF ALL THAT"},
	{regexp.MustCompile(`\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:[0-9.]+)?`), "CLOCK"},
	{regexp.MustCompile(`\b1[7-9]\d{11}\b`), "CLOCK"}, // in milliseconds
}

// ofTheLedger are the notes of the ledger, and forTheOwner all lines of standard error that compare the records with the
// records of earlier runs (Run.Note).
var (
	ofTheLedger = regexp.MustCompile(`differ from the data of run|were already charged under id`)
	forTheOwner = regexp.MustCompile(`(?m)^.*(` + ofTheLedger.String() + `|trained the model on|` +
		`trained on records of this file|used another file, so).*\n`)
)

// sparePlaces are the flags of pages and run folders, which every command gets that has them.
var sparePlaces = map[string]string{"report": "page.html", "track": "runs"}

// pinned returns a command with noise so large that its release is the same number on all records, because exact values
// round to 0 on the grid of the noise. Thus whatever else a record moves is not covered by noise. The command also writes
// a page, a run folder and the long report, if it can.
func pinned(t *testing.T, args []string) []string {
	t.Helper()
	parser := must.Get(newParser(&cli{}, io.Discard, io.Discard))(t)
	args = slices.Clone(args)
	has := func(name string) bool {
		path := must.Get(kong.Trace(parser, args))(t)
		return slices.ContainsFunc(path.Flags(), func(f *kong.Flag) bool { return f.Name == name })
	}
	set := func(name, value string) {
		if at := slices.Index(args, "--"+name); at >= 0 {
			args[at+1] = value
		} else if has(name) {
			args = append(args, "--"+name, value)
		}
	}
	is := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(args, w) })
	}
	if set("epsilon", "1e-14"); is("--holdout-epsilon") {
		set("holdout-epsilon", "1e-14")
	}
	if at := slices.Index(args, "--delta"); (at < 0 || args[at+1] != "0") && !is("lab") {
		set("delta", pick(is("laplace"), "0", "1e-30"))
	}
	for name, file := range sparePlaces {
		if !is("--tuple", "--all-pairs") {
			set(name, file)
		}
	}
	if !slices.Contains(args, "--json") {
		args = append(args, "--verbose")
	}
	return args
}

// pinnedText is all that a pinned run leaves, with the random numbers that every such run draws: noise, ids and names.
func pinnedText(t *testing.T, dir, id string, by []mask, args ...string) (text string, owner bool) {
	t.Helper()
	must.SameRandomness(func() { _, text = seen(t, dir, id, args...) })
	before, rest, _ := strings.Cut(masked(text, by), "\n--- errors\n")
	errs, files, _ := strings.Cut(rest, "\n--- ")
	return before + "\n" + forTheOwner.ReplaceAllString(errs+"\n", "") + files, ofTheLedger.MatchString(errs)
}

// releasedFiles are the models that evaluations read, of records that are public.
func releasedFiles(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	make := func(dir, data, schema, name string, more ...string) {
		mustRun(t, dir, append([]string{"train", "--data", data, "--schema", schema, "--public-data", "--out", name, "--seed",
			"1", "--algorithm", "dpgdsc"}, more...)...)
		all[name] = read(t, dir, name)
	}
	dir := silentFolder(t, silentWorlds["clamped"])
	all["settings.yaml"] = silentSettings
	all["others.csv"] = strings.ReplaceAll(read(t, dir, "r.csv"), "\np", "\no")
	make(dir, "r.csv", "class.yaml", "model.json")
	make(dir, "r.csv", "class.yaml", "other.json", "--l2", "0.3")
	make(dir, "r.csv", "class.yaml", "metric.json", "--task", "metric")
	dir, _ = visits(t, func(int) int { return 1 }, mixedVisit)
	make(dir, "visits.csv", "declared.yaml", "person.json")
	return all
}

// notPrivate are flags for figures without noise, and flags of commands that charge nothing or print no notes.
var notPrivate = []string{"public-data", "exact-figures", "help", "version", "quiet", "plan"}

// pinnedRuns are the commands that charge and are not among those of the search for silence: evaluations, which read
// releasedFiles, and runs of persons, whose files are differentVisits.
func pinnedRuns(t *testing.T) map[string][]string {
	runs := map[string][]string{}
	for name, words := range map[string]string{
		"figures":            "evaluate private model.json --epsilon 1 --out f.json",
		"losses, pure":       "evaluate private model.json --epsilon 1 --delta 0 --mean-loss --json",
		"a curve":            "evaluate private model.json --epsilon 1 --roc-thresholds=-0.1,0.1",
		"neighbours":         "evaluate private metric.json --epsilon 1 --reference others.csv --out f.json",
		"two models":         "evaluate compare model.json --with other.json --epsilon 1 --out f.json",
		"a threshold":        "threshold model.json --aim accuracy --epsilon 1 --out f.json",
		"held-out search":    "search --candidates settings.yaml --road random-stopping --schema class.yaml --holdout 0.3 --out m.json",
		"held-out threshold": "threshold model.json --holdout 0.4 --epsilon 1 --out f.json",
		"held-out models":    "evaluate compare model.json --with other.json --holdout 0.4 --epsilon 1 --out f.json --json",
		"mapped clusters":    "cluster -k 2 --schema class.yaml --metric own-metric.json --out m.json",
		"without figures":    "train --schema class.yaml --holdout 0.4 --out m.json",
		"intervals":          "train --schema class.yaml --algorithm moments --second-moments diagonal --intervals --out m.json",
		"a choice":           "search --models own.json,own2.json --epsilon 1 --schema class.yaml --out m.json",
		"of training":        "evaluate private own.json --epsilon 1 --out f.json",
		"of another":         "evaluate private own.json --epsilon 1 --holdout 0.25 --json",
		"local":              "local simulate --schema class.yaml --method djw --epochs 2 --holdout 0.4 --out m.json --json",
		"local --balance":    "local simulate --schema class.yaml --method djw --epochs 2 --balance --out m.json",
		"held out":           "train --schema class.yaml --holdout 0.4 --holdout-epsilon 1 --out m.json",
	} {
		runs["records "+name] = strings.Fields(words + " --data r.csv")
	}
	runs["records of a pack"] = strings.Fields("train --schema class.yaml --out m.json --data r.pack")
	person := func(name, words string) { runs["person "+name] = strings.Fields(words + " --data visits.csv") }
	for name, words := range map[string]string{
		"figures":     "evaluate private person.json --epsilon 1 --out f.json",
		"of another":  "evaluate private own.json --epsilon 1 --holdout 0.25 --out f.json",
		"a threshold": "threshold person.json --epsilon 1 --out f.json",
		"held out":    "train --schema declared.yaml --holdout 0.25 --holdout-epsilon 1 --out m.json",
		"network":     "train --schema declared.yaml --model mlp --hidden 3 --steps 3 --out m.json",
		"metric":      "train --schema declared.yaml --task metric --out m.json --json",
		"search":      "search --candidates settings.yaml --road random-stopping --schema declared.yaml --out m.json",
		"capped":      "train --schema public.yaml --out m.json --json",
	} {
		person(name, words)
	}
	if sizes.Full() {
		parser := must.Get(newParser(&cli{}, io.Discard, io.Discard))(t)
		for name, args := range maps.Clone(runs) {
			for _, f := range must.Get(kong.Trace(parser, args))(t).Flags() {
				if f.IsBool() && !slices.Contains(notPrivate, f.Name) {
					runs[name+" --"+f.Name] = append(slices.Clip(args), "--"+f.Name)
				}
			}
		}
	}
	for _, a := range algorithms.Catalog() { // where persons are refused, the refusal is the same
		person("algorithm "+a.Info().Name, "train --schema declared.yaml --out m.json --algorithm "+a.Info().Name)
	}
	return runs
}

// unpinned are commands whose release depends on the records however large the noise may be, with the reason. They run
// with their own noise, and released numbers are masked.
var unpinned = []struct{ name, why string }{
	{"records local", "a user draws random bits until a message fits"},
	{"local ", "a user draws random bits until a message fits"},
	{"pairs input", "epsilon of an answer is at least 2^-30, and answers are drawn so"},
	{"pairs drawn input", "epsilon of an answer is at least 2^-30, and answers are drawn so"},
	{"pairs labels", "epsilon of an answer is at least 2^-30, and answers are drawn so"},
	{"search compose", "epsilon of a choice is at least 2^-20"},
	{"search pure", "epsilon of a choice is at least 2^-20"},
	{"records a choice", "epsilon of a choice is at least 2^-20"},
}

// samePinned runs a command on the mixed file and on others, with a ledger that an earlier run on the mixed file has
// charged, whose folder is before. With noise far above all records, the command writes the same bytes whatever the
// records are: every file but private ones, both outputs, the exit code and the charge. So no count, text, order, length or number
// in them depends on the records without noise, and they do not reveal whether an earlier run had the same records. Both
// runs are charged to one data id, or to two.
func samePinned(t *testing.T, name string, args []string, id, before string, worlds []string, folder func(string) string) {
	t.Helper()
	at, by := int(crc32.ChecksumIEEE([]byte(name))), pinnedMasks
	if slices.ContainsFunc(unpinned, func(u struct{ name, why string }) bool { return strings.HasPrefix(name, u.name) }) {
		by = slices.Concat(masks, silentMasks)
	} else {
		args = pinned(t, args)
	}
	if at/16%2 == 0 {
		id, args = "e", append(slices.Clip(args), "--data-id", "e")
	}
	if worlds = slices.DeleteFunc(worlds, func(w string) bool { return w == "mixed" }); !sizes.Full() || strings.Contains(name, "--") {
		worlds = []string{worlds[at%len(worlds)]}
	}
	want, charged := "", exists(filepath.Join(before, "state"))
	for _, world := range append([]string{"mixed"}, worlds...) {
		dir := folder(world)
		if charged {
			must.Do(t, os.CopyFS(filepath.Join(dir, "state"), os.DirFS(filepath.Join(before, "state"))))
		}
		got, owner := pinnedText(t, dir, id, by, args...)
		if args[0] != "online" && strings.HasPrefix(got, "exit 0\n") && owner != (charged && (id == "e") == (world == "mixed")) {
			t.Errorf("%q, %s: the owner hears of the records of an earlier run: %v", args, world, owner)
		}
		if want == "" {
			want = got
		} else if got != want {
			t.Errorf("%q, %s: a record shows:\n%s", args, world, firstDifference(want, got))
		}
	}
	if charged && !strings.Contains(name, "--") && !strings.HasPrefix(want, "exit 0\n") {
		t.Errorf("%q: no result to compare: %s", args, want)
	}
}

// Commands of pinnedRuns write the same bytes whatever the records are.
func TestPinnedRunsWriteTheSameBytes(t *testing.T) {
	sizes.NotShort(t, "slow")
	released := releasedFiles(t)
	for name, args := range pinnedRuns(t) {
		t.Run(name, func(t *testing.T) {
			id, data, worlds := "d", "r.csv", slices.Sorted(maps.Keys(silentWorlds))
			if strings.HasPrefix(name, "person") {
				id, data, worlds = "visits", "visits.csv", slices.Sorted(maps.Keys(differentVisits))
			}
			own := map[string]string{}
			folder := func(world string) (dir string) {
				if id == "visits" {
					dir, _ = visits(t, differentVisits[world].rows, differentVisits[world].row)
				} else {
					dir = silentFolder(t, silentWorlds[world])
				}
				for _, files := range []map[string]string{released, own} {
					for file, text := range files {
						write(t, dir, file, text)
					}
				}
				if slices.Contains(args, "r.pack") {
					mustRun(t, dir, "data", "pack", "r.csv", "--out", "r.pack", "--schema", "class.yaml")
				}
				return dir
			}
			before := folder("mixed")
			for _, word := range strings.Split(strings.Join(args, ","), ",") {
				if strings.HasPrefix(word, "own") { // a model of the earlier run
					mustRun(t, before, strings.Fields("train --task "+pick(strings.Contains(word, "metric"), taskMetric, taskAUC)+
						" --holdout 0.25 --out "+word+" --data "+data+" --schema "+
						map[string]string{"d": "class.yaml", "visits": "declared.yaml"}[id])...)
					own[word] = read(t, before, word)
				}
			}
			code, out, errs := dyad(t, before, args...)
			if code != exitOK && !strings.HasPrefix(name, "person algorithm ") && !strings.Contains(name, "--") {
				t.Errorf("%q: exit %d: %s%s", args, code, out, errs)
			}
			samePinned(t, name, args, id, before, worlds, folder)
		})
	}
}
