// Package tree holds tests of the tree of the repository: imports, exports, files, comments, lists. Every test changes to the folder of the
// module itself: go test would not see a change of folder before the tests, and would take its cached answer for files that have changed.
package tree

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"dyad/internal/must"
)

// TestEveryTestChangesItsFolder: go test keeps answers by the files that tests read, in the folder that it knows.
func TestEveryTestChangesItsFolder(t *testing.T) {
	t.Chdir("../..")
	for _, s := range everything(t) {
		tests, changes := strings.Count(s.text, "\nfunc Test"), strings.Count(s.text, "(t *testing.T) {\n\tt.Chdir(\"../..\")\n")
		if s.room == "internal/tree" && tests != changes {
			t.Errorf("%s: %d of %d tests begin with t.Chdir", s.name, changes, tests)
		}
	}
}

// listed is a package as go list names it.
type listed struct {
	ImportPath string
	Imports    []string
	Standard   bool
	GoFiles    []string
	Module     *struct {
		Path string
		Main bool
	}
}

// ours reports whether the package belongs to this module.
func (p listed) ours() bool { return p.Module != nil && p.Module.Main }

// room is the path below the module's, "." for that of the module itself.
func (p listed) room() string { return roomOf(p.ImportPath, p.Module.Path) }

func roomOf(importPath, module string) string {
	if importPath == module {
		return "."
	}
	return strings.TrimPrefix(importPath, module+"/")
}

// packages are all packages of this module, without tests, and all that they depend on.
var packages = sync.OnceValues(func() (map[string]listed, error) {
	out, err := exec.Command("go", "list", "-deps", "-json=ImportPath,Imports,Standard,GoFiles,Module", "./...").Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	all := make(map[string]listed)
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		switch err := dec.Decode(&p); {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, err
		}
		if !p.ours() || len(p.GoFiles) > 0 { // not a folder of tests only
			all[p.ImportPath] = p
		}
	}
})

// module returns the packages and the path of this module.
func module(t *testing.T) (all map[string]listed, path string) {
	t.Helper()
	all = must.Get(packages())(t)
	for _, p := range all {
		if p.ours() {
			return all, p.Module.Path
		}
	}
	t.Fatal("go list names no package of this module")
	return nil, ""
}

// importRules reads the table of rooms in docs/design.md: which packages of ours each
// room may import. A room "x/..." is every package below x that has no row of its own.
func importRules(design string) (map[string][]string, error) {
	_, table, ok := strings.Cut(design, "\n| room | holds | imports of ours |\n")
	if !ok {
		return nil, errors.New("no table of rooms")
	}
	rules := make(map[string][]string)
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.TrimSpace(line), " | ")
		switch {
		case strings.HasPrefix(line, "|---"):
			continue
		case !strings.HasPrefix(line, "|"):
			return rules, nil
		case len(cells) != 3:
			return nil, fmt.Errorf("a row of %d cells: %s", len(cells), line)
		}
		imports := strings.TrimSuffix(cells[2], " |")
		allowed := names(imports)
		switch {
		case imports == "anything":
			allowed = []string{"*"}
		case imports != "nothing" && len(allowed) == 0:
			return nil, fmt.Errorf("imports that are not package names: %s", line)
		}
		for _, room := range names(strings.TrimPrefix(cells[0], "| ")) {
			if _, twice := rules[room]; twice {
				return nil, fmt.Errorf("%s has two rows", room)
			}
			rules[room] = allowed
		}
	}
	return rules, nil
}

// names splits a list such as "`engine`, `privacy`"; nil if it is anything else.
func names(list string) []string {
	var all []string
	for part := range strings.SplitSeq(list, ", ") {
		name := strings.Trim(part, "`")
		if len(name) != len(part)-2 || strings.ContainsAny(name, " `") {
			return nil
		}
		all = append(all, name)
	}
	return all
}

// rule is the row for a room.
func rule(rules map[string][]string, room string) (row string, ok bool) {
	if _, ok := rules[room]; ok {
		return room, true
	}
	for at := strings.LastIndex(room, "/"); at > 0; at = strings.LastIndex(room[:at], "/") {
		if row = room[:at] + "/..."; rules[row] != nil {
			return row, true
		}
	}
	return "", false
}

// differences are the ways in which the imports of a module differ from its rules: what
// is imported and not allowed, and what is allowed and imported by nobody.
func differences(all map[string]listed, path string, rules map[string][]string) []string {
	var bad []string
	used := make(map[[2]string]bool)
	rows := make(map[string]bool)
	for _, p := range all {
		if !p.ours() {
			continue
		}
		row, ok := rule(rules, p.room())
		if !ok {
			bad = append(bad, p.room()+" has no row")
			continue
		}
		rows[row] = true
		for _, i := range p.Imports {
			target := roomOf(i, path)
			used[[2]string{row, target}] = true
			if ours := target != i || i == path; ours && !slices.Contains(rules[row], target) && !slices.Contains(rules[row], "*") {
				bad = append(bad, p.room()+" imports "+target)
			}
		}
	}
	for row, allowed := range rules {
		if !rows[row] {
			bad = append(bad, row+" does not exist")
			continue
		}
		for _, target := range allowed {
			if target != "*" && !used[[2]string{row, target}] {
				bad = append(bad, row+" does not import "+target)
			}
		}
	}
	slices.Sort(bad)
	return bad
}

// TestImportRules: the table in docs/design.md is a statement of policy, and exact. Do
// not change it to fix a build.
func TestImportRules(t *testing.T) {
	t.Chdir("../..")
	design := must.Get(os.ReadFile("docs/design.md"))(t)
	rules := must.Get(importRules(string(design)))(t, "docs/design.md")
	all, path := module(t)
	if len(rules) < 20 || len(all) < 100 {
		t.Fatalf("%d rows and %d packages: the test does not see the whole module", len(rules), len(all))
	}
	for _, line := range differences(all, path, rules) {
		t.Errorf("%s, unlike the table in docs/design.md", line)
	}
	for room, never := range map[string][]string{ // what the two halves rest on, whatever the table says
		"engine":     {"privacy", "algorithms"},
		"privacy":    {"engine", "algorithms", "autodiff", "kernels"},
		"algorithms": {"autodiff", "kernels"},
	} {
		for row, allowed := range rules {
			for _, target := range allowed {
				for _, other := range never {
					if (row == room || strings.HasPrefix(row, room+"/")) && (target == "*" || target == other || strings.HasPrefix(target, other+"/")) {
						t.Errorf("docs/design.md lets %s import %s", row, target)
					}
				}
			}
		}
	}
}

// The guard catches what it is for.
func TestImportRulesCatchDifferences(t *testing.T) {
	t.Chdir("../..")
	const head = "x\n| room | holds | imports of ours |\n|---|---|---|\n"
	rules := must.Get(importRules(head + "| `privacy` | noise | nothing |\n| `engine` | records | nothing |\n| `algorithms` | both | `engine`, `privacy` |\n| `cmd/...`, `bench` | programs | anything |\n\nend\n"))(t)
	check := func(want string, change func(imports map[string][]string)) {
		t.Helper()
		imports := map[string][]string{"privacy": {"fmt"}, "engine": nil, "algorithms": {"m/engine", "m/privacy", "gonum.org/v1/gonum/mat"}, "cmd/a/b": {"m/bench"}, "bench": nil}
		change(imports)
		all := make(map[string]listed)
		for room, list := range imports {
			p := listed{ImportPath: "m/" + room, Imports: list}
			if room == "." {
				p.ImportPath = "m"
			}
			p.Module = &struct {
				Path string
				Main bool
			}{"m", true}
			all[p.ImportPath] = p
		}
		if got := strings.Join(differences(all, "m", rules), "; "); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	check("", func(map[string][]string) {})
	check("privacy imports engine", func(m map[string][]string) { m["privacy"] = []string{"m/engine"} })
	check("engine imports engine/sub; engine/sub has no row", func(m map[string][]string) { m["engine"], m["engine/sub"] = []string{"m/engine/sub"}, nil })
	check("algorithms does not import engine", func(m map[string][]string) { m["algorithms"] = []string{"m/privacy"} })
	check(". has no row; algorithms imports .", func(m map[string][]string) { m["."], m["algorithms"] = nil, append(m["algorithms"], "m") })
	check("bench does not exist", func(m map[string][]string) { delete(m, "bench") })
	for _, bad := range []string{"no table", head + "| `a` | two cells |\n\n", head + "| `a` | x | `b`, whose sums it computes |\n\n", head + "| `a` | x | nothing |\n| `a` | x | nothing |\n\n"} {
		if rules, err := importRules(bad); err == nil {
			t.Errorf("read %v from %q", rules, bad)
		}
	}
}

// ofLaboratory are the imports of the laboratory in files of other modules, tests included.
func ofLaboratory(files []source, module string) (found []string) {
	for _, s := range files {
		if s.room == "bench" || strings.HasPrefix(s.room, "bench/") {
			continue
		}
		for _, i := range s.file.Imports {
			if path := strings.Trim(i.Path.Value, `"`); path == module+"/bench" || strings.HasPrefix(path, module+"/bench/") {
				found = append(found, s.room+" imports "+path)
			}
		}
	}
	return found
}

// TestLaboratoryIsApart: bench is a module that this one neither requires nor imports.
func TestLaboratoryIsApart(t *testing.T) {
	t.Chdir("../..")
	all, path := module(t)
	for _, p := range all {
		if p.ImportPath == path+"/bench" || strings.HasPrefix(p.ImportPath, path+"/bench/") {
			t.Errorf("%s is a package of this module", p.ImportPath)
		}
	}
	for name, want := range map[string]string{"go.mod": "module " + path + "\n", "bench/go.mod": "module " + path + "/bench\n"} {
		text := must.Get(os.ReadFile(name))(t)
		rest, ok := strings.CutPrefix(string(text), want)
		if !ok || strings.Contains(rest, path+"/bench") {
			t.Errorf("%s does not begin with %q, or it requires the laboratory", name, want)
		}
	}
	for _, line := range ofLaboratory(everything(t), path) {
		t.Error(line)
	}
	var toy []source // the guard catches what it is for
	for _, c := range [][2]string{{"engine/cpu", "m/bench"}, {"cmd/dyad", "m/bench/machine"}, {"bench/attacks", "m/bench"}, {"engine", "m/benchmark"}} {
		toy = append(toy, made(t, c[0]+"/x.go", "package x; import \""+c[1]+"\""))
	}
	got := ofLaboratory(toy, "m")
	if want := []string{"engine/cpu imports m/bench", "cmd/dyad imports m/bench/machine"}; !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
}

// foreign are the packages of other modules that a program contains which imports root.
func foreign(all map[string]listed, root string) []string {
	var found []string
	seen := make(map[string]bool)
	var visit func(path string)
	visit = func(path string) {
		p, ok := all[path]
		if !ok || seen[path] {
			return
		}
		seen[path] = true
		if !p.Standard && !p.ours() {
			found = append(found, path)
		}
		for _, i := range p.Imports {
			visit(i)
		}
	}
	visit(root)
	slices.Sort(found)
	return found
}

// TestFewDependencies: a program that imports the library does not build Gorgonia, nor does the body of the program; cmd/dyad has it for networks
// of files.
func TestFewDependencies(t *testing.T) {
	t.Chdir("../..")
	const most = 24
	all, path := module(t)
	for _, room := range []string{"algorithms", "algorithms/pairs", "algorithms/local", "engine/cpu", "engine/metrics", "privacy", "autodiff"} {
		if got := foreign(all, path+"/"+room); len(got) > most {
			t.Errorf("%s needs %d packages of other modules, want at most %d:\n%s", room, len(got), most, strings.Join(got, "\n"))
		}
	}
	// The face reads all data formats; most of this is for Parquet.
	if got := foreign(all, path); len(got) > 170 {
		t.Errorf("package %s needs %d packages of other modules, want at most 170", path, len(got))
	}
	for room, has := range map[string]bool{"": false, "/cmd/command": false, "/cmd/dyad": true} {
		got := foreign(all, path+room)
		for _, of := range []string{"gorgonia.org/gorgonia", "gorgonia.org/tensor"} {
			if slices.Contains(got, of) != has {
				t.Errorf("%s%s needs %s: %v, want %v", path, room, of, !has, has)
			}
		}
	}
	for _, room := range []string{"autodiff/gorgonia", "engine/tensors"} { // the guard catches what it is for
		if got := foreign(all, path+"/"+room); len(got) <= most {
			t.Errorf("%s imports Gorgonia or its tensors, but only %d packages were counted", room, len(got))
		}
	}
}

// TestForeignRoots: each module that Dyad is built on is imported by the rooms that are
// meant to use it, and by no other.
func TestForeignRoots(t *testing.T) {
	t.Chdir("../..")
	all, _ := module(t)
	for prefix, want := range map[string][]string{
		"gorgonia.org/gorgonia": {"autodiff/gorgonia"},
		"gorgonia.org/tensor":   {"autodiff/gorgonia", "engine/tensors"},
	} {
		var got []string
		for _, p := range all {
			if p.ours() && slices.ContainsFunc(p.Imports, func(i string) bool { return i == prefix || strings.HasPrefix(i, prefix+"/") }) {
				got = append(got, p.room())
			}
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("%s is imported by %q, want %q", prefix, got, want)
		}
	}
}
