package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	theoryReference = regexp.MustCompile(`theory\.md#([A-Za-z0-9-]+)`)
	theoryAnchor    = regexp.MustCompile(`<a id="([a-z0-9-]+)"></a>`)
	theoryUse       = regexp.MustCompile("`([a-z/_]+\\.go)`")
)

// Every reference to a section of docs/theory.md resolves, every section is referred to by
// code, and the files that a section names exist.
func TestReferencesToTheoryResolve(t *testing.T) {
	root := filepath.Join("..", "..")
	text, err := os.ReadFile(filepath.Join(root, "docs", "theory.md"))
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for _, m := range theoryAnchor.FindAllStringSubmatch(string(text), -1) {
		used[m[1]] = false
	}
	for _, m := range theoryUse.FindAllStringSubmatch(string(text), -1) {
		if _, err := os.Stat(filepath.Join(root, m[1])); err != nil {
			t.Errorf("docs/theory.md names a file that is not there: %v", err)
		}
	}
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, ".md") {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, m := range theoryReference.FindAllStringSubmatch(string(content), -1) {
			if _, ok := used[m[1]]; !ok {
				t.Errorf("%s refers to docs/theory.md#%s, which is not there", path, m[1])
			}
			used[m[1]] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for anchor, ok := range used {
		if !ok {
			t.Errorf("docs/theory.md#%s is referred to by nothing", anchor)
		}
	}
	if len(used) < 6 {
		t.Errorf("found %d sections", len(used))
	}
}
