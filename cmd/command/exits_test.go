package command

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"dyad/internal/must"
)

var (
	exitNamed = regexp.MustCompile(`(?i)\b(?:exit\s+codes?(?:\s+is)?|exits?|exits\s+with)\s+(\d+)\b`)
	exitRow   = regexp.MustCompile(`(?m)^\| (\d+) \|`)
	exitTable = regexp.MustCompile(`(?m)^\| (?:exit )?code \|.*\n\|[-|]+\n((?:\|.*\n)+)`)
	exitPair  = regexp.MustCompile(`(?m)^    ([A-Z]+) = (\d+)$`)
)

// wrongExits are the codes of a text that no command ends with, and code 2 in a line that is not about a program that died.
func wrongExits(text string) (wrong []string) {
	var found [][]int
	for _, m := range exitNamed.FindAllStringSubmatchIndex(text, -1) {
		found = append(found, m[2:4])
	}
	for _, table := range exitTable.FindAllStringSubmatchIndex(text, -1) {
		for _, m := range exitRow.FindAllStringSubmatchIndex(text[table[2]:table[3]], -1) {
			found = append(found, []int{table[2] + m[2], table[2] + m[3]})
		}
	}
	for _, at := range found {
		begin, end := strings.LastIndex(text[:at[0]], "\n")+1, len(text)
		if k := strings.Index(text[at[1]:], "\n"); k >= 0 {
			end = at[1] + k
		}
		line := text[begin:end]
		code, _ := strconv.Atoi(text[at[0]:at[1]])
		known := code == 137 || slices.ContainsFunc(exits(), func(e exit) bool { return e.code == code }) // 137 is the shell's word for SIGKILL
		if !known || code == exitDied && !strings.Contains(line, "died") && !strings.Contains(line, "at once") && !strings.Contains(line, "Go's runtime") {
			wrong = append(wrong, line)
		}
	}
	return wrong
}

// TestExitCodes: help, manual pages, documents and the Python client know the codes of the table and no others. Code 2, by which Go's
// runtime ends a program that may have charged, has no other use.
func TestExitCodes(t *testing.T) {
	for i, e := range exits() {
		if e.code == exitDied && e.name != "DIED" || i > 0 && e.code <= exits()[i-1].code {
			t.Errorf("row %d of the table: %+v", i, e)
		}
	}
	for _, known := range []string{"the schema is refused (exit code 2)", "$ dyad plan # exit 2\n", "exits with 5", "| code | meaning |\n|---|---|\n| 0 | fine |\n| 2 | bad input |\n"} {
		if len(wrongExits(known)) != 1 {
			t.Errorf("found %q in %q, which has one wrong code", wrongExits(known), known)
		}
	}
	root := filepath.Join(source(t), "..", "..")
	code, man, errs := hooked(t.Context(), hooks{}, "man", "train")
	if code != exitOK {
		t.Fatal(man + errs)
	}
	_, topic, _ := dyad(t, t.TempDir(), "help", "exits")
	commands := must.Get(os.ReadFile(root + "/docs/commands.md"))(t)
	for _, e := range exits() {
		for where, want := range map[string][2]string{
			"dyad help exits":  {topic, fmt.Sprintf("%d\t%s\n", e.code, e.meaning)},
			"dyad man train":   {man, fmt.Sprintf(".TP\n%d\n%s\n", e.code, roff(e.meaning))},
			"docs/commands.md": {string(commands), fmt.Sprintf("| %d | %s |\n", e.code, e.meaning)},
		} {
			if !strings.Contains(want[0], want[1]) {
				t.Errorf("%s lacks %q", where, want[1])
			}
		}
	}
	python := must.Get(os.ReadFile(root + "/clients/python/dyad_dp/_program.py"))(t)
	_, class, _ := strings.Cut(string(python), "class Exit(")
	class, _, _ = strings.Cut(class, "\n\n\n")
	var theirs, ours []string
	for _, m := range exitPair.FindAllStringSubmatch(class, -1) {
		theirs = append(theirs, m[1]+" "+m[2])
	}
	for _, e := range exits() {
		ours = append(ours, e.name+" "+strconv.Itoa(e.code))
	}
	if !slices.Equal(theirs, ours) {
		t.Errorf("the Python client has the codes %v, want %v", theirs, ours)
	}
	must.Do(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		name := filepath.Base(path)
		switch {
		case err != nil:
			return err
		case d.IsDir() && (name == ".git" || name == "bench" || name == "shared"): // programs of bench have codes of their own
			return filepath.SkipDir
		case d.IsDir() || name == "CHANGELOG.md" || name == "exits_test.go" || !slices.Contains([]string{".md", ".go", ".py", ".ipynb", ".txt", ".golden"}, filepath.Ext(path)):
			return nil
		}
		text, err := os.ReadFile(path)
		for _, line := range wrongExits(string(text)) {
			t.Errorf("%s: %s", path, line)
		}
		return err
	}))
}
