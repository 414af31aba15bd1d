package command

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dyad/internal/must"
	"dyad/internal/sizes"
)

// docPage is what a Markdown page offers to run.
type docPage struct {
	files    map[string]string
	commands []string
	exits    []int      // of each command
	shown    [][]string // lines of output that the page shows below each command
}

// readPage finds the blocks that begin with "```LANGUAGE file=NAME" and the lines
// "$ dyad ..." of blocks that begin with "```console runnable". A remark "# exit 3" states the
// exit code; other lines of such a block are output.
func readPage(text string) docPage {
	p := docPage{files: map[string]string{}}
	inside, file, runnable := false, "", false
	for _, line := range strings.Split(text, "\n") {
		if info, fence := strings.CutPrefix(line, "```"); fence {
			file, runnable = "", false
			if inside = !inside; inside {
				for _, word := range strings.Fields(info) {
					if name, ok := strings.CutPrefix(word, "file="); ok {
						file = name
					}
				}
				runnable = strings.HasPrefix(info, "console runnable")
			}
			continue
		}
		if command, ok := strings.CutPrefix(line, "$ dyad "); ok && runnable {
			command, remark, _ := strings.Cut(command, " # ")
			exit := exitOK
			_, _ = fmt.Sscanf(remark, "exit %d", &exit)
			p.commands, p.exits, p.shown = append(p.commands, command), append(p.exits, exit), append(p.shown, nil)
		} else if last := len(p.shown) - 1; runnable && last >= 0 && strings.TrimSpace(line) != "" {
			p.shown[last] = append(p.shown[last], line)
		}
		if file != "" {
			p.files[file] += line + "\n"
		}
	}
	return p
}

// runPage runs a page in an empty folder and returns what went wrong.
func runPage(t *testing.T, p docPage) (failures []string) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", filepath.Join(dir, "cache"))
	for name, content := range p.files {
		write(t, dir, name, content)
	}
	examples := helpMentions(t)
	for i, c := range p.commands {
		if len(p.shown[i]) == 0 && p.exits[i] == exitOK {
			if runInHelp(examples, c) {
				t.Logf("an example of the help is this one: dyad %s", c)
				continue
			}
			c = ordinarily(c)
		}
		code, out, errs := dyad(t, dir, shellWords(c)...)
		if code != p.exits[i] {
			failures = append(failures, fmt.Sprintf("dyad %s: exit code %d, want %d: %s", c, code, p.exits[i], errs))
			continue
		}
		for _, line := range p.shown[i] {
			if !showsLine(out+errs, line) {
				failures = append(failures, fmt.Sprintf("dyad %s: the page shows\n%s\nbut the output is\n%s%s", c, line, out, errs))
			}
		}
	}
	return failures
}

// showsLine: some line of the output is the line of a page, where "..." is any text.
func showsLine(output, line string) bool {
	parts := strings.Split(strings.TrimSpace(line), "...")
	for l := range strings.Lines(output) {
		rest, ok := strings.CutPrefix(strings.TrimSpace(l), parts[0])
		for _, part := range parts[1:] {
			if ok {
				_, rest, ok = strings.Cut(rest, part)
			}
		}
		if ok && (rest == "" || strings.HasSuffix(line, "...")) {
			return true
		}
	}
	return false
}

// Every command of every page in docs that is marked runnable runs.
func TestDocsRun(t *testing.T) {
	sizes.NotShort(t, "slow")
	files := must.Get(filepath.Glob("../../docs/*.md"))(t)
	pages := map[string]docPage{}
	for _, f := range files {
		text := must.Get(os.ReadFile(f))(t)
		pages[filepath.Base(f)] = readPage(string(text))
	}
	if p := pages["data.md"]; len(p.commands) < 15 || len(p.files) < 8 {
		t.Errorf("data.md has %d commands and %d files, want at least 15 and 8", len(p.commands), len(p.files))
	}
	for name, p := range pages {
		t.Run(name, func(t *testing.T) {
			for _, f := range runPage(t, p) {
				t.Error(f)
			}
		})
	}
}

// The control: a page that has rotted is caught, in its commands and its files.
func TestDocsRunCatchesRot(t *testing.T) {
	const good = "```csv file=a.csv\n1,2,0\n3,4,1\n```\n```yaml file=a.yaml\ndata_id: a\ncolumns:\n  - {name: x, range: [0, 9]}\n  - {name: z, range: [0, 9]}\n  - {name: y, role: label, positive: 1}\n```\n```console runnable\n$ dyad data inspect a.csv --schema a.yaml # a remark\n```\n```console\n$ dyad nonsense\n```\n"
	if f := runPage(t, readPage(good)); len(f) != 0 {
		t.Errorf("the good page fails: %q", f)
	}
	if f := runPage(t, readPage(strings.NewReplacer("data inspect", "data inspekt", "# a remark\n", "# exit 64\ndyad: ...inspekt...\n").Replace(good))); len(f) != 0 {
		t.Errorf("the page with a refusal fails: %q", f)
	}
	for _, rot := range []string{
		strings.Replace(good, "data inspect", "data inspekt", 1),
		strings.Replace(good, "--schema", "--scheme", 1),
		strings.Replace(good, "range", "rang", 1),
		strings.Replace(good, "3,4,1", "3,4", 1),
		strings.Replace(good, "console\n", "console runnable\n", 1),
		strings.Replace(good, "# a remark", "# exit 64", 1),
		strings.Replace(good, "# a remark\n", "# a remark\nschema of nothing\n", 1),
		strings.Replace(good, "# a remark\n", "# a remark\n... nothing of this ...\n", 1),
	} {
		if f := runPage(t, readPage(rot)); len(f) != 1 {
			t.Errorf("want one failure, got %q for\n%s", f, rot)
		}
	}
}
