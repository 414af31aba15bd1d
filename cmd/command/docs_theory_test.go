package command

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"dyad/internal/must"
)

// olderBook is what docs/theory.md took the place of; nothing may refer to it.
const olderBook = "privacy" + ".md"

var (
	theoryReference = regexp.MustCompile(`theory\.md#([A-Za-z0-9-]+)`)
	theoryLink      = regexp.MustCompile(`\]\(#([A-Za-z0-9-]+)\)`)
	theoryAnchor    = regexp.MustCompile(`<a id="([a-z0-9-]+)"></a>`)
	theoryHeading   = regexp.MustCompile(`(?m)^(?:(<a id="[a-z0-9-]+"></a>)\n\n)?(##|###) (\S+)`)
	theoryCitation  = regexp.MustCompile(`\s\((\d+\.\d+)\)`)
	theoryUse       = regexp.MustCompile("`((?:[a-z0-9]+/)*[a-z0-9_]+\\.go)`")
	theoryTest      = regexp.MustCompile(`\b(?:Test|Fuzz)[A-Z][A-Za-z0-9]*`)
	theoryWhy       = regexp.MustCompile(`(?m)^ +(?:why: |"derivation": ).*$`)
	testFunction    = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)[A-Z][A-Za-z0-9]*)\(`)
)

// theoryDefects lists what is wrong with docs/theory.md and with the references to it; book is
// its text, and files are all texts of the repository by their slash-separated paths.
//
// Sections and subsections are numbered without gaps and have an anchor each; anchors are
// unique; numbers in brackets, links, files and tests of the book are there; every reference
// has its anchor; a file refers to every subsection that says which files use it; every
// reason for a guarantee in a golden file cites a section; nobody refers to the older book.
func theoryDefects(book string, files map[string]string) (defects []string) {
	defect := func(format string, args ...any) { defects = append(defects, fmt.Sprintf(format, args...)) }
	anchors := map[string]bool{}
	for _, m := range theoryAnchor.FindAllStringSubmatch(book, -1) {
		if anchors[m[1]] {
			defect("two anchors %q", m[1])
		}
		anchors[m[1]] = true
	}
	section, subsection, numbers := 0, 0, map[string]bool{}
	for _, m := range theoryHeading.FindAllStringSubmatch(book, -1) {
		want := fmt.Sprintf("%d.%d", section, subsection+1)
		if subsection++; m[2] == "##" {
			section, subsection = section+1, 0
			want = fmt.Sprint(section)
		}
		if m[3] != want && m[3] != "References" {
			defect("heading %q, want number %s", m[3], want)
		}
		if m[1] == "" {
			defect("heading %s has no anchor", m[3])
		}
		numbers[m[3]] = true
	}
	for _, m := range theoryLink.FindAllStringSubmatch(book, -1) {
		if !anchors[m[1]] {
			defect("a link to #%s, which is not there", m[1])
		}
	}
	for _, m := range theoryCitation.FindAllStringSubmatch(book, -1) {
		if !numbers[m[1]] {
			defect("section (%s) is not there", m[1])
		}
	}
	tests, referred := map[string]bool{}, map[string]bool{}
	for path, text := range files {
		for _, m := range theoryReference.FindAllStringSubmatch(text, -1) {
			if !anchors[m[1]] {
				defect("%s refers to #%s, which is not there", path, m[1])
			}
			referred[m[1]] = referred[m[1]] || strings.HasSuffix(path, ".go")
		}
		for _, m := range testFunction.FindAllStringSubmatch(text, -1) {
			tests[m[1]] = true
		}
		if strings.Contains(text, olderBook) {
			defect("%s refers to %s", path, olderBook)
		}
		for _, why := range theoryWhy.FindAllString(text, -1) {
			if strings.HasSuffix(path, ".golden") && !theoryReference.MatchString(why) {
				defect("%s has a reason that cites no section", path)
			}
		}
	}
	for _, name := range theoryTest.FindAllString(book, -1) {
		if !tests[name] {
			defect("the test %s is not there", name)
		}
	}
	for _, part := range strings.Split(book, "\n<a id=")[1:] {
		anchor, text, _ := strings.Cut(strings.TrimPrefix(part, `"`), `"`)
		uses := theoryUse.FindAllStringSubmatch(text, -1)
		for _, m := range uses {
			if _, ok := files[m[1]]; !ok {
				defect("#%s names the file %s, which is not there", anchor, m[1])
			}
		}
		if strings.Contains(text, "\n### ") && strings.Contains(text, "\nUsed by `") && !referred[anchor] {
			defect("#%s is used by files, and none refers to it", anchor)
		}
	}
	slices.Sort(defects)
	return defects
}

// repositoryTexts are the Go files, documents and golden files.
func repositoryTexts(t *testing.T) map[string]string {
	root := filepath.Join("..", "..")
	files := map[string]string{}
	must.Do(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !slices.Contains([]string{".go", ".md", ".golden"}, filepath.Ext(path)) {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		path, err = filepath.Rel(root, path)
		files[filepath.ToSlash(path)] = string(text)
		return err
	}))
	return files
}

func TestReferencesToTheoryResolve(t *testing.T) {
	files := repositoryTexts(t)
	book := files["docs/theory.md"]
	for _, d := range theoryDefects(book, files) {
		t.Error(d)
	}
	if n := len(theoryHeading.FindAllString(book, -1)); n < 50 {
		t.Errorf("found %d headings", n)
	}
}

// Every rule of theoryDefects finds the defect that it is about, and no other.
func TestTheoryDefectsAreFound(t *testing.T) {
	const book = "# Theory\n\n<a id=\"one\"></a>\n\n## 1 One\n\n<a id=\"first\"></a>\n\n### 1.1 First\n\n" +
		"Used by `privacy/noise.go`; attacked by TestNoise. See (1.1).\n\n#### Cases\n"
	const docs = "docs/theory.md"
	files := map[string]string{
		"privacy/noise.go":      "// Proof: " + docs + "#first.\n",
		"privacy/noise_test.go": "func TestNoise(t *testing.T) {}\n",
	}
	if d := theoryDefects(book, files); d != nil {
		t.Fatalf("defects of a sound book: %q", d)
	}
	for _, c := range []struct {
		old, new   string // in the book
		path, text string // of a file that is added or replaced
		want       string
	}{
		{old: "### 1.1 ", new: "### 1.2 ", want: `heading "1.2", want number 1.1; section (1.1) is not there`},
		{old: "## 1 One", new: "## One", want: `heading "One", want number 1`},
		{old: "<a id=\"one\"></a>\n\n", want: "heading 1 has no anchor"},
		{old: `id="one"`, new: `id="first"`, want: `two anchors "first"`},
		{old: "(1.1)", new: "(1.4)", want: "section (1.4) is not there"},
		{old: "(1.1)", new: "[1.1](#last)", want: "a link to #last, which is not there"},
		{old: "noise.go", new: "sound.go", want: "#first names the file privacy/sound.go, which is not there"},
		{old: "TestNoise", new: "TestSound", want: "the test TestSound is not there"},
		{path: "privacy/noise.go", text: "// No proof.\n", want: "#first is used by files, and none refers to it"},
		{path: "README.md", text: docs + "#second", want: "README.md refers to #second, which is not there"},
		{path: "cmd/plan.golden", text: "proof: " + olderBook + " 1.2", want: "cmd/plan.golden refers to " + olderBook},
		{path: "cmd/plan.golden", text: "guarantee: 1\n  why: it moves by 2\n", want: "cmd/plan.golden has a reason that cites no section"},
		{path: "cmd/plan.golden", text: "{\n  \"derivation\": \"it moves by 2\"\n}\n", want: "cmd/plan.golden has a reason that cites no section"},
	} {
		changed := map[string]string{}
		for path, text := range files {
			changed[path] = text
		}
		if c.path != "" {
			changed[c.path] = c.text
		}
		if got := strings.Join(theoryDefects(strings.Replace(book, c.old, c.new, 1), changed), "; "); got != c.want {
			t.Errorf("%q for %q, file %q: %q, want %q", c.new, c.old, c.path, got, c.want)
		}
	}
}
