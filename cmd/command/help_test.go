package command

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"

	"dyad/internal/must"
	"dyad/internal/sizes"
)

// shellWords splits a command line as a shell does, for words in single quotes.
func shellWords(line string) []string {
	var words []string
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			words = append(words, part)
		} else {
			words = append(words, strings.Fields(part)...)
		}
	}
	return words
}

// examplesFolder is a folder in which the examples of all help texts run.
func examplesFolder(t *testing.T) (dir string) {
	t.Helper()
	dir = clinic(t, 100)
	people(t, dir)
	write(t, dir, "dummy", "")
	public := must.Get(os.ReadFile(filepath.Join(dir, "patients.csv")))(t)
	public = public[:bytes.LastIndexByte(public[:len(public)-1], '\n')+1] // not the records that are charged
	write(t, dir, "public.csv", string(public))
	write(t, dir, "test.csv", string(public))
	write(t, dir, "settings.yaml", searchSettings)
	write(t, dir, "known.yaml", "age: {range: [18, 95]}\n")
	must.Do(t, os.MkdirAll(filepath.Join(dir, "bench", "schemas"), 0o700))
	pima := must.Get(os.ReadFile(filepath.Join("..", "..", "bench", "schemas", "pima.yaml")))(t)
	write(t, filepath.Join(dir, "bench", "schemas"), "pima.yaml", string(pima))
	return dir
}

var (
	manyRuns = regexp.MustCompile(`--runs [1-9]\d{2,}`)
	longTime = regexp.MustCompile(`--time \d+s`)
)

// ordinarily is a documented command with fewer runs, or less time, of an audit but at full power, and with smaller measurements, which take minutes.
func ordinarily(command string) string {
	if strings.HasPrefix(command, "lab bench") {
		return command + " --records 64 --runs 1"
	}
	if sizes.Full() {
		return command
	}
	return manyRuns.ReplaceAllString(longTime.ReplaceAllString(command, "--time 200ms"), "--runs 100")
}

// helpExamples are the examples of the help texts of all commands, those of train first: others use the model and the
// ledger.
func helpExamples(t *testing.T) (examples [][]string) {
	t.Helper()
	paths := must.Get(commandPaths())(t)
	a := &app{ctx: context.Background()}
	for _, words := range paths {
		help := must.Get(helpOf(a, words))(t)
		count := 0
		for _, line := range strings.Split(help, "\n") {
			if example, ok := strings.CutPrefix(strings.TrimSpace(line), "dyad "); ok {
				example, _, _ = strings.Cut(example, " > ")
				examples = append(examples, shellWords(ordinarily(example)))
				count++
			}
		}
		if count == 0 && words[0] != "docs" && !slices.Equal(words, []string{"local", "model"}) { // TestLocalModel has the server
			t.Errorf("dyad %s --help shows no example", strings.Join(words, " "))
		}
	}
	if len(examples) < 20 {
		t.Errorf("only %d examples found", len(examples))
	}
	slices.SortStableFunc(examples, func(a, b []string) int {
		first := map[bool]int{true: -1}
		return first[a[0] == "train"] - first[b[0] == "train"]
	})
	return examples
}

// helpMentions are the examples of the help as mentions, read once.
func helpMentions(t *testing.T) []mention {
	t.Helper()
	if allMentions == nil {
		parser := must.Get(newParser(&cli{}, io.Discard, io.Discard))(t)
		for _, words := range helpExamples(t) {
			if m, ok := mentioned(parser.Model, words); ok {
				allMentions = append(allMentions, m)
			}
		}
		helpModel = parser.Model
	}
	return allMentions
}

var (
	allMentions []mention
	helpModel   *kong.Application
)

// runInHelp says that an example of the help has the words and flags of a command that computes long and that no later one reads
// the output of: each such command runs once, but at full power.
func runInHelp(examples []mention, command string) bool {
	m, ok := mentioned(helpModel, shellWords(command))
	if !ok || sizes.Full() || !slices.Contains([]string{"lab", "account"}, m.words[0]) || slices.Contains([]string{"curve", "reproduce", "algorithms"}, m.words[min(1, len(m.words)-1)]) || slices.Contains(m.flags, "--out") || slices.Contains(m.flags, "--loss") {
		return false
	}
	return slices.ContainsFunc(examples, func(e mention) bool { return e.covers(m) })
}

// exampleRun is how an example ended, and the opens of its process if they were traced.
type exampleRun struct {
	Words   []string
	Code    int
	Errs    string
	Seconds float64
	trace   string
}

// runExample runs a command in the folder of this process.
func runExample(words []string) exampleRun {
	began := time.Now()
	code, _, errs := hooked(context.Background(), hooks{}, words...)
	return exampleRun{Words: words, Code: code, Errs: errs, Seconds: time.Since(began).Seconds()}
}

// traced runs commands in dir, one after another, in a process whose opens are traced; nil if that cannot be. Nil itself but on Linux.
var traced func(t *testing.T, dir string, commands [][]string) []exampleRun

// examplesRun runs every example of every help text, once for all tests that look at the outcome.
func examplesRun(t *testing.T) []exampleRun {
	t.Helper()
	if allExamples != nil {
		return allExamples
	}
	examples, dir := helpExamples(t), examplesFolder(t)
	if traced != nil {
		allExamples = traced(t, dir, examples)
	}
	if allExamples == nil {
		t.Chdir(dir)
		t.Setenv("XDG_STATE_HOME", filepath.Join(dir, "state"))
		for _, words := range examples {
			allExamples = append(allExamples, runExample(words))
		}
	}
	for _, r := range allExamples {
		t.Logf("%6.2f s  dyad %s", r.Seconds, strings.Join(r.Words, " "))
	}
	return allExamples
}

var allExamples []exampleRun

// Every example of every help text runs.
func TestHelpExamplesRun(t *testing.T) {
	sizes.NotShort(t, "slow")
	for _, r := range examplesRun(t) {
		if r.Code != exitOK {
			t.Errorf("dyad %s: exit %d: %s", strings.Join(r.Words, " "), r.Code, r.Errs)
		}
	}
}

// shownFlag finds the flags of a help text.
var shownFlag = regexp.MustCompile(`(?m)^  (?:    |-\w, )?--([a-zA-Z0-9-]+)\b`)

// namedFlag finds the names of keys, which the help of a command lists without their text.
var namedFlag = regexp.MustCompile(`--([a-zA-Z0-9-]+)`)

// TestFirstViewOfHelp: the help of no command starts with more than mostFlags flags; the rest is one
// command away, in sections with the names of flags that there are, and every flag is explained there or on the page of keys.
func TestFirstViewOfHelp(t *testing.T) {
	whole := must.Get(wholeGrammar())(t)
	flags := func(words []string, end ...string) (names, keys []string, text string) {
		var out bytes.Buffer
		if code := run(context.Background(), append(slices.Clone(words), end...), strings.NewReader(""), &out, &out); code != exitOK {
			t.Fatalf("%v: exit %d", words, code)
		}
		text, list, _ := strings.Cut(out.String(), "\nAlso, explained by ")
		for _, m := range shownFlag.FindAllStringSubmatch(text, -1) {
			names = append(names, m[1])
		}
		for _, l := range strings.SplitAfter(list, "\n")[min(1, strings.Count(list, "\n")):] {
			if strings.HasPrefix(l, "  ") {
				for _, m := range namedFlag.FindAllStringSubmatch(strings.Replace(l, "--model:", "", 1), -1) {
					keys = append(keys, m[1])
				}
			}
		}
		return names, keys, out.String()
	}
	listed := func(text string) []string { // the keys of a help
		_, list, _ := strings.Cut(text, "\nKeys, for ")
		return words(strings.ReplaceAll(list, "\n", " "))
	}
	page := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^  ([a-zA-Z0-9-]+)\b.*\n      `).FindAllStringSubmatch(keysTopic(allFlags), -1) {
		page[" "+m[1]] = true
	}
	for _, m := range shownFlag.FindAllStringSubmatch(keysTopic(allFlags), -1) {
		page[m[1]] = true
	}
	known, sectioned, long := map[string]bool{}, map[string]bool{}, 0
	for _, leaf := range whole.Model.Leaves(true) {
		words := strings.Fields(leaf.FullPath())[1:]
		first, _, text := flags(words, "--help")
		all, keys, whole := flags(words, "--help", "all")
		count := 0
		for _, f := range leaf.Flags {
			if f.Hidden {
				continue
			}
			known[f.Name] = true
			if isKey(strings.Join(words, " "), f.Name) {
				if !slices.Contains(listed(whole), f.Name) || slices.Contains(all, f.Name) || !page[" "+f.Name] {
					t.Errorf("%v: %s is not among the keys of the command, or is not on the page of keys", words, f.Name)
				}
				continue
			}
			count++
			if here, there := slices.Contains(all, f.Name), slices.Contains(keys, f.Name); here == there || there && !page[f.Name] {
				t.Errorf("%v: --%s is explained in the help of the command: %v, on the page of keys: %v", words, f.Name, here, there)
			}
		}
		for _, f := range leaf.Flags {
			sectioned[f.Name] = sectioned[f.Name] || count > mostFlags
		}
		_, _, again := flags(words, "--help-all")
		told := fmt.Sprintf("These are %d of %d flags; \"dyad %s --help all\" shows all.", len(first), count, strings.Join(words, " "))
		switch {
		case len(first) > mostFlags || whole != again || regexp.MustCompile(`--help all" (shows|lists)`).MatchString(whole):
			t.Errorf("%v: %d flags at first, %d in all", words, len(first), count)
		case len(first) < len(all) && !strings.Contains(text, told):
			t.Errorf("%v: %d of %d flags at first, want all or the line %s", words, len(first), count, told)
		case count > mostFlags:
			long++
			last := -1
			for _, s := range sections {
				if at := strings.Index(whole, "\n"+s.title+"\n"); at >= 0 && at < last {
					t.Errorf("%v: section %q is out of its place", words, s.title)
				} else if at >= 0 {
					last = at
				}
			}
		}
	}
	// Without a limit the first view of train would be too long: what the test is for.
	if all, keys, _ := flags([]string{"train"}, "--help", "all"); len(all)+len(keys) <= mostFlags {
		t.Errorf("train has %d flags", len(all)+len(keys))
	}
	if long < 4 {
		t.Errorf("only %d commands with more than %d flags", long, mostFlags)
	}
	named := map[string]bool{}
	for _, s := range sections {
		for _, f := range words(s.flags + " " + s.keys) {
			if named[f] || !known[f] {
				t.Errorf("section %q has --%s, which is in two sections, or is a flag of no command", s.title, f)
			}
			named[f] = true
		}
	}
	for f := range known {
		if !named[f] && sectioned[f] {
			t.Errorf("--%s is in no section, so it is shown among the output files", f)
		}
	}
	// What a command cannot do without is in its first view.
	for command, needed := range map[string]string{"search": "candidates models", "lab curve": "epsilon algorithm splits", "train": "task algorithm"} {
		first, _, _ := flags(words(command), "--help")
		for _, f := range words(needed) {
			if !slices.Contains(first, f) {
				t.Errorf("dyad %s --help does not show --%s at first", command, f)
			}
		}
	}
	for _, f := range firstFlags {
		if !known[f] {
			t.Errorf("--%s of the first view is a flag of no command", f)
		}
	}
}
