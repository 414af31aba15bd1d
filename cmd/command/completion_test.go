package command

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dyad/internal/must"
)

// script writes the completion script of a shell, and returns its file.
func script(t *testing.T, shell string) string {
	t.Helper()
	if _, err := exec.LookPath(shell); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	name := filepath.Join(dir, "completion")
	write(t, dir, "completion", mustRun(t, dir, "completion", shell))
	if out, err := exec.Command(shell, "-n", name).CombinedOutput(); err != nil || len(out) > 0 {
		t.Fatalf("%s does not read its script: %v\n%s", shell, err, out)
	}
	return name
}

// completed are cases that every shell must agree on: a command line, and what has to be among its completions
// and what not.
var completed = []struct {
	line      []string
	has, not  string
	wholeList bool // has is all there is
}{
	{[]string{""}, "train pairs completion man", "docs inspect --data", false},
	{[]string{"tr"}, "train transform", "pairs", true},
	{[]string{"pairs", ""}, "train plan inspect", "cluster --data", true},
	{[]string{"pairs", "train", "--de"}, "--delta --density --degree-cap --device", "--epsilon", true},
	{[]string{"train", "--task", ""}, "auc metric", "train", true},
	{[]string{"train", "--algorithm", "dpg"}, "dpgdc dpgdc2 dpgdsc", "moments", true},
	{[]string{"train", "--public-data", "--mode", "no"}, "nonprivate", "paper", true},
	{[]string{"completion", ""}, "bash zsh fish", "train", true},
}

func checkCompleted(t *testing.T, shell string, line []string, got, has, not string, whole bool) {
	t.Helper()
	list := strings.Fields(got)
	for _, w := range words(has) {
		if !slices.Contains(list, w) {
			t.Errorf("%s: %q has no %s: %q", shell, line, w, list)
		}
	}
	for _, w := range words(not) {
		if slices.Contains(list, w) {
			t.Errorf("%s: %q has %s: %q", shell, line, w, list)
		}
	}
	if whole && len(list) != len(words(has)) {
		t.Errorf("%s: %q has %q, want %q", shell, line, list, has)
	}
}

func TestBashCompletion(t *testing.T) {
	name := script(t, "bash")
	for _, c := range append(completed, struct {
		line      []string
		has, not  string
		wholeList bool
	}{[]string{"train", "--task", "=", "m"}, "metric", "auc", true}) {
		line := "COMP_WORDS=(dyad"
		for _, w := range c.line {
			line += " '" + w + "'"
		}
		out, err := exec.Command("bash", "-c", `source "$0"; `+line+`); COMP_CWORD=$((${#COMP_WORDS[@]}-1)); _dyad; echo "${COMPREPLY[@]}"`, name).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		checkCompleted(t, "bash", c.line, string(out), c.has, c.not, c.wholeList)
	}
}

func TestFishCompletion(t *testing.T) {
	name := script(t, "fish")
	t.Setenv("HOME", t.TempDir())
	for _, c := range completed {
		out, err := exec.Command("fish", "-c", `source $argv[1]; complete -C $argv[2] | string replace -r "\t.*" ""; true`, name, "dyad "+strings.Join(c.line, " ")).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		checkCompleted(t, "fish", c.line, string(out), c.has, c.not, c.wholeList)
	}
}

// zsh has no call for completions: its functions are replaced by ones that print what they get.
func TestZshCompletion(t *testing.T) {
	name := script(t, "zsh")
	const stubs = `compdef() { :; }; compset() { :; }
_describe() { local name=${@[-1]}; print -l -- ${${(P)name}%%:*}; }
compadd() { shift; print -l "$@"; }; _files() { print FILES; }
source $1; shift; words=(dyad "$@"); CURRENT=$#words; PREFIX=${words[CURRENT]}; _dyad`
	for _, c := range completed {
		out, err := exec.Command("zsh", append([]string{"-f", "-c", stubs, "zsh", name}, c.line...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		var begin []string // the shell itself does this
		for _, w := range strings.Fields(string(out)) {
			if strings.HasPrefix(w, c.line[len(c.line)-1]) {
				begin = append(begin, w)
			}
		}
		checkCompleted(t, "zsh", c.line, strings.Join(begin, " "), c.has, c.not, c.wholeList)
	}
}

// Every command has a page, groff reads all of them without a warning, and a page has all flags.
func TestManPages(t *testing.T) {
	dir := t.TempDir()
	mustRun(t, dir, "man", "--dir", "man1")
	mustRun(t, dir, "man", "--dir", "man1") // again: pages are replaced
	paths := must.Get(commandPaths())(t)
	groff := []string{"-man", "-ww", "-z"}
	for _, w := range append(paths, nil) {
		name := strings.Join(append([]string{"dyad"}, w...), "-") + ".1"
		text, err := os.ReadFile(filepath.Join(dir, "man1", name))
		if err != nil {
			t.Error(err)
			continue
		}
		must.Equal(t, string(text), mustRun(t, dir, append([]string{"man"}, w...)...), "%s is not what dyad man prints", name)
		help := mustRun(t, dir, append(slices.Clone(w), "--help", "all")...)
		for _, m := range shownFlag.FindAllStringSubmatch(help, -1) {
			if !strings.Contains(string(text), roff("--"+m[1])) {
				t.Errorf("%s has no --%s", name, m[1])
			}
		}
		groff = append(groff, filepath.Join(dir, "man1", name))
	}
	if _, err := exec.LookPath("groff"); err == nil {
		if out, err := exec.Command("groff", groff...).CombinedOutput(); err != nil || strings.Contains(string(out), "warning") || strings.Contains(string(out), "error") {
			t.Errorf("%v: %s", err, out)
		}
	}
	ends(t, dir, exitInput, "no command pairs fly", "man", "pairs", "fly")
	ran(t, dir, "man", "train", "--dir", "x").exits(exitInput).without("x")
	if got := roff(".x\n-'\\"); got != "\\&.x\n\\-'\\e" {
		t.Errorf("%q", got)
	}
}
