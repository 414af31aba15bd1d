package command

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"dyad/internal/must"
)

// runElsewhere has the commands of pages that need more than a folder and the program, and the tests, or
// the stages of CI, that run them, flags shared among them.
var runElsewhere = map[string]string{
	"docs/verify.md: verify --key": "TestForgeriesAreRefusedByKey",
	"docs/networks.md: train --data --epsilon --model conv.yaml --out --schema --steps":                          "TestNetworksOfFiles",
	"docs/networks.md: plan --epsilon --model conv.yaml -d -n":                                                   "TestNetworksOfFiles",
	"README.md: train --model FILE.yaml":                                                                         "TestNetworksOfFiles",
	"docs/guide-users.md: local server --dir --epochs --epsilon --listen --schema --tokens -n":                   "TestLocalServerTokens",
	"docs/guide-users.md: local plan --epochs --epsilon --out --schema -n":                                       "TestLocalServerTokens",
	"docs/guide-users.md: local client --data --follow --max-epsilon --memory --schema --server --token --user":  "TestLocalServerTokens TestLocalCrash",
	"docs/guide-users.md: local model --out --schema --server":                                                   "TestLocalModel",
	"docs/ledger.md: train --resume":                                                                             "TestCheckpointCrashMatrix",
	"docs/tutorial-engineer.md: train --config --resume":                                                         "TestResumeWithConfig",
	"docs/local-networks.md: local server --batch --dir --epochs --epsilon --method djw --model mlp --schema -n": "TestLocalNetworkCommands",
	"docs/local-networks.md: local client --data --max-epsilon --memory --schema --server --user":                "TestLocalNetworkCommands",
	"docs/local-networks.md: local model --out --schema --server":                                                "TestLocalNetworkCommands",
	"docs/reproduce.md: lab reproduce --pages-only":                                                              "TestReproduceQuick",
	"docs/reproduce.md: lab reproduce --dir":                                                                     "TestReproduceQuick",
	"docs/several-machines.md: train --team mpi":                                                                 "TestMPIBytes",
	"docs/several-machines.md: train --data --device --out --schema --team mpi":                                  "TestTeamOfOneKind",
	"docs/several-machines.md: train --data --epsilon --out --schema --team mpi":                                 "TestMPIBytes",
	"docs/several-machines.md: train --data --ledger --out --team mpi --workers":                                 "TestMPIBytes",
	"docs/several-machines.md: train --data --ledger --out --schema --team mpi --workers":                        "TestMPIBytes",
	"docs/softmax.md: train --team ":                                                                             "TestTeamRefusals",
}

// mention is a command that a page names: the words of the command, and its flags with the values of
// those that choose among methods.
type mention struct {
	page, text string
	words      []string
	flags      []string
}

// choosing are the flags that say what runs: another value is another command.
var choosing = []string{"--method", "--model", "--loss", "--mode", "--team", "--task", "--sql", "--sampling", "--store"}

// mentions finds the commands of a page: lines of blocks, and code within lines.
func mentions(page, text string, app *kong.Application) (all []mention) {
	inline := regexp.MustCompile("`([^`]+)`")
	line := regexp.MustCompile(`^\s*(?:\$ )?(?:exec |mpirun .*?|srun .*?|go run )?(?:\./)?(?:cmd/)?dyad (.*)$`)
	fenced := false
	for l := range strings.Lines(text) {
		l = strings.TrimRight(l, "\n")
		if strings.HasPrefix(strings.TrimSpace(l), "```") {
			fenced = !fenced
			continue
		}
		var found []string
		if m := line.FindStringSubmatch(l); m != nil && (fenced || strings.HasPrefix(l, "    ")) {
			found = append(found, m[1])
		} else if !fenced {
			for _, code := range inline.FindAllStringSubmatch(l, -1) {
				if m := line.FindStringSubmatch(code[1]); m != nil {
					found = append(found, m[1])
				}
			}
		}
		for _, f := range found {
			f, _, _ = strings.Cut(f, " #")
			if m, ok := mentioned(app, shellWords(f)); ok {
				m.page, m.text = page, f
				all = append(all, m)
			}
		}
	}
	return all
}

// mentioned reads the words of a command line; ok is false if it names no command.
func mentioned(app *kong.Application, args []string) (m mention, ok bool) {
	node := app.Node
	for i := 0; i < len(args); i++ {
		a := args[i]
		if next := slices.IndexFunc(node.Children, func(c *kong.Node) bool { return c.Type == kong.CommandNode && c.Name == a }); next >= 0 && len(m.flags) == 0 {
			node = node.Children[next]
			m.words = append(m.words, a)
			continue
		}
		if a == "--set" && i+1 < len(args) {
			i++
			a = "--" + args[i]
		}
		name, value, has := strings.Cut(a, "=")
		if !strings.HasPrefix(name, "-") || name == "-" || name == "--help" { // TestFirstViewOfHelp asks for all of them
			continue
		}
		if !has && i+1 < len(args) {
			value = args[i+1]
		}
		if slices.Contains(choosing, name) {
			name += " " + value
		}
		m.flags = append(m.flags, name)
	}
	slices.Sort(m.flags)
	return m, len(m.words) > 0
}

// key is what runElsewhere has.
func (m mention) key() string {
	return m.page + ": " + strings.Join(append(slices.Clone(m.words), m.flags...), " ")
}

// covers says that running m runs what o names.
func (m mention) covers(o mention) bool {
	if len(m.words) < len(o.words) || !slices.Equal(m.words[:len(o.words)], o.words) {
		return false
	}
	return !slices.ContainsFunc(o.flags, func(f string) bool { return !slices.Contains(m.flags, f) })
}

// notRun are the commands that pages name and that nothing runs.
func notRun(named, run []mention) (missing []string) {
	for _, m := range named {
		if runElsewhere[m.key()] == "" && !slices.ContainsFunc(run, func(r mention) bool { return r.covers(m) }) {
			missing = append(missing, m.key()+"    ("+m.text+")")
		}
	}
	return missing
}

// TestEveryDocumentedCommandRuns: what a page names, in a block or within a line, is run by TestDocsRun,
// TestDocsRunOnRealData, TestReadmeRoad, TestHelpExamplesRun or TestVerdictsHaveEvidence with the same flags, or by a test named in
// runElsewhere.
func TestEveryDocumentedCommandRuns(t *testing.T) {
	parser := must.Get(newParser(&cli{}, io.Discard, io.Discard))(t)
	pages := must.Get(filepath.Glob("../../docs/*.md"))(t)
	pages = append(pages, "../../README.md", "../../CONTRIBUTING.md", "../../bench/gpu/README.md", "../../clients/python/README.md")
	var named, run []mention
	add := func(page, command string) {
		if m, ok := mentioned(parser.Model, shellWords(command)); ok {
			m.page, m.text = page, command
			run = append(run, m)
		}
	}
	for _, file := range pages {
		text := must.Get(os.ReadFile(file))(t)
		page := strings.TrimPrefix(file, "../../")
		if page != "docs/commands.md" { // the help texts, whose examples are run
			named = append(named, mentions(page, string(text), parser.Model)...)
		}
		if page == "docs/verdicts.md" { // TestVerdictsHaveEvidence runs them
			for _, e := range evidenceOn(string(text)) {
				add(page, strings.TrimPrefix(e.command, "dyad "))
			}
		}
		for _, c := range readPage(strings.ReplaceAll(string(text), "```console real", "```console runnable")).commands {
			add(page, c)
		}
		if page == "README.md" || page == "docs/persons.md" { // TestReadmeRoad runs them
			for l := range strings.Lines(string(text)) {
				if c, ok := strings.CutPrefix(l, "$ ./dyad "); ok {
					c, _, _ = strings.Cut(c, " #")
					add(page, c)
				}
			}
		}
	}
	paths := must.Get(commandPaths())(t)
	for _, words := range paths {
		help := must.Get(helpOf(&app{ctx: context.Background()}, words))(t)
		for l := range strings.Lines(help) {
			if c, ok := strings.CutPrefix(strings.TrimSpace(l), "dyad "); ok {
				add("help", c)
			}
		}
	}
	if len(named) < 150 || len(run) < 200 {
		t.Errorf("%d commands are named and %d run: the test no longer finds them", len(named), len(run))
	}
	for _, m := range notRun(named, run) {
		t.Errorf("nothing runs this: %s", m)
	}
	// The control: a page that names a flag that nothing runs, a method that nothing runs, or a command
	// that is run with other flags only.
	const rot = "`dyad train --steps 3 --seed-of-nothing 4`, `dyad local plan --method none`\n\n```sh\ndyad ledger verify --deep\n```\n\n    dyad train --data x.csv\n"
	if missing := notRun(mentions("rot.md", rot, parser.Model), run); len(missing) != 3 {
		t.Errorf("want three, found %q", missing)
	}
	tests := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	files := must.Get(filepath.Glob("../*/*_test.go"))(t) // of the command and of the program
	known := map[string]bool{}
	for _, file := range files {
		text := must.Get(os.ReadFile(file))(t)
		for _, m := range tests.FindAllStringSubmatch(string(text), -1) {
			known[m[1]] = true
		}
	}
	for command, tests := range runElsewhere {
		for _, test := range strings.Fields(tests) {
			if !known[test] {
				t.Errorf("%s: there is no test %s", command, test)
			}
		}
		if !slices.ContainsFunc(named, func(m mention) bool { return m.key() == command }) {
			t.Errorf("%s: the page no longer names it", command)
		}
	}
}
