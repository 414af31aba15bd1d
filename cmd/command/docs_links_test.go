package command

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"dyad/internal/must"
)

var (
	pageLink    = regexp.MustCompile(`(?:\]\(|(?:href|src)=")([^)"\s]+)[)"]`)
	pageAnchor  = regexp.MustCompile(`<a id="([^"]+)"></a>`)
	pageHeading = regexp.MustCompile(`(?m)^#+ (.+)$`)
	notInAnchor = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// anchors are the targets within a Markdown page: ids, and headings as they are shown by the
// usual hosts (small letters, blanks are hyphens).
func anchors(text string) (names []string) {
	for _, m := range pageAnchor.FindAllStringSubmatch(text, -1) {
		names = append(names, m[1])
	}
	for _, m := range pageHeading.FindAllStringSubmatch(text, -1) {
		heading := pageLink.ReplaceAllString(m[1], "")
		names = append(names, strings.ReplaceAll(notInAnchor.ReplaceAllString(strings.ToLower(heading), ""), " ", "-"))
	}
	return names
}

// linkDefects lists the links of a page, in a folder, whose file, anchor or test is not there;
// tests are the names of all tests, and pages that are no Markdown have no anchors.
func linkDefects(dir, text string, tests []string) (defects []string) {
	for _, m := range pageLink.FindAllStringSubmatch(text, -1) {
		file, anchor, _ := strings.Cut(m[1], "#")
		if strings.Contains(m[1], "://") || strings.HasPrefix(m[1], "mailto:") {
			continue
		}
		target := text
		if file != "" {
			path := filepath.Join(dir, file)
			if _, err := os.Stat(path); err != nil {
				defects = append(defects, m[1]+": no such file")
				continue
			}
			if filepath.Ext(path) == ".md" {
				content, err := os.ReadFile(path)
				if err != nil {
					defects = append(defects, fmt.Sprintf("%s: %v", m[1], err))
				}
				target = string(content)
			}
		}
		if anchor != "" && !slices.Contains(anchors(target), anchor) {
			defects = append(defects, m[1]+": no such heading or id")
		}
	}
	for _, name := range theoryTest.FindAllString(text, -1) {
		if !slices.Contains(tests, name) {
			defects = append(defects, "the test "+name+" is not there")
		}
	}
	return defects
}

// TestLinksResolve: the links of README.md and of the pages in docs lead to files, headings and
// tests that are there.
func TestLinksResolve(t *testing.T) {
	root := filepath.Join("..", "..")
	var tests []string
	for _, text := range repositoryTexts(t) {
		for _, m := range testFunction.FindAllStringSubmatch(text, -1) {
			tests = append(tests, m[1])
		}
	}
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil || len(pages) < 20 {
		t.Fatalf("%d pages: %v", len(pages), err)
	}
	for _, page := range append(pages, filepath.Join(root, "README.md"), filepath.Join(root, "CONTRIBUTING.md")) {
		text := must.Get(os.ReadFile(page))(t)
		for _, d := range linkDefects(filepath.Dir(page), string(text), tests) {
			t.Errorf("%s: %s", page, d)
		}
	}
}

// The control: links to a file, a heading and a test that are not there are found.
func TestLinksResolveCatchesRot(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "other.md", "# Two words: `code`\n\n<a id=\"here\"></a>\n")
	const good = "# Own heading\n[a](other.md) [b](other.md#two-words-code) [c](other.md#here) <img src=\"other.md\"> [d](#own-heading) [e](https://example.org/x#y) `TestSound`\n"
	tests := []string{"TestSound"}
	if d := linkDefects(dir, good, tests); d != nil {
		t.Errorf("defects of a good page: %q", d)
	}
	for _, c := range [][2]string{{"(other.md)", "(another.md)"}, {"src=\"other", "src=\"another"}, {"two-words", "three-words"}, {"#here", "#there"}, {"#own-heading", "#heading"}, {"TestSound", "TestSilence"}} {
		if d := linkDefects(dir, strings.Replace(good, c[0], c[1], 1), tests); len(d) != 1 {
			t.Errorf("with %s: %q", c[1], d)
		}
	}
}
