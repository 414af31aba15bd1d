package main

import (
	"cmp"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Mutant is a seeded defect: a patch of one or more files, and the test that must fail with the patch. A file of the
// folder "patches" has the lines
//
//	Defect: what is wrong.
//	Test: ./package TestName
//
// and then hunks of unified diffs. Their line numbers are not read. Instead, the lines that a hunk removes and keeps
// must occur in the file exactly once. So a mutant still applies if code moves within its file, and it fails if the
// code changes.
type Mutant struct {
	Name, Defect  string
	Package, Test string
	hunks         []hunk
}

type hunk struct{ file, before, after string }

var heading = regexp.MustCompile(`(?s)^Defect: (.+?)\nTest: (\.|\./\S+) (Test\w+)\n\n?(--- .*)$`)

// readMutants reads the mutants of a folder, in the order of their names.
func readMutants(folder string) (all []Mutant, err error) {
	names, err := filepath.Glob(filepath.Join(folder, "*.patch"))
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		m, err := parseMutant(strings.TrimSuffix(filepath.Base(name), ".patch"), string(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, m)
	}
	return all, nil
}

func parseMutant(name, text string) (Mutant, error) {
	parts := heading.FindStringSubmatch(text)
	if parts == nil {
		return Mutant{}, fmt.Errorf("want \"Defect: ...\", \"Test: ./package TestName\" and a unified diff")
	}
	m := Mutant{Name: name, Defect: parts[1], Package: parts[2], Test: parts[3]}
	file := ""
	for line := range strings.Lines(parts[4]) {
		mark, rest := line[:1], line[1:]
		last := len(m.hunks) - 1
		switch {
		case strings.HasPrefix(line, "--- "):
			file = strings.TrimPrefix(strings.TrimSpace(line[4:]), "a/")
		case strings.HasPrefix(line, "+++ "):
		case strings.HasPrefix(line, "@@"):
			m.hunks = append(m.hunks, hunk{file: file})
		case last < 0:
			return m, fmt.Errorf("there is a line before the first hunk: %q", line)
		case mark == " " || line == "\n":
			rest = cmp.Or(rest, "\n")
			m.hunks[last].before += rest
			m.hunks[last].after += rest
		case mark == "-":
			m.hunks[last].before += rest
		case mark == "+":
			m.hunks[last].after += rest
		default:
			return m, fmt.Errorf("this line does not belong to a diff: %q", line)
		}
	}
	if len(m.hunks) == 0 {
		return m, fmt.Errorf("it changes nothing")
	}
	return m, nil
}

// Files returns the files that the mutant changes.
func (m Mutant) Files() (all []string) {
	for _, h := range m.hunks {
		if !slices.Contains(all, h.file) {
			all = append(all, h.file)
		}
	}
	return all
}

// Apply puts the defect into the texts of Files and returns these texts. root is the root of the module.
func (m Mutant) Apply(root string) (map[string]string, error) {
	changed := map[string]string{}
	for _, h := range m.hunks {
		text, ok := changed[h.file]
		if !ok {
			raw, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(h.file)))
			if err != nil {
				return nil, err
			}
			text = string(raw)
		}
		if n := strings.Count(text, h.before); n != 1 || h.before == h.after {
			return nil, fmt.Errorf("%s no longer applies: the lines of a hunk occur %d times in %s, not once; "+
				"update the patch, but keep its defect", m.Name, n, h.file)
		}
		changed[h.file] = strings.Replace(text, h.before, h.after, 1)
	}
	return changed, nil
}

// touched reports whether a change of files can affect whether the mutant is found, because it changes the code, the
// test or the mutant.
func (m Mutant) touched(files []string) bool {
	return slices.ContainsFunc(files, func(f string) bool {
		return slices.Contains(m.Files(), f) || path.Dir(f) == path.Clean(m.Package) ||
			f == "internal/mutants/patches/"+m.Name+".patch"
	})
}
