package tree

import (
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// creating are the names that make a file: internal/create has a function in the place of each.
var creating = []string{"os.Create", "os.CreateTemp", "os.WriteFile", "os.O_CREATE", "syscall.O_CREAT", "unix.O_CREAT", "flock.New", "ioutil.WriteFile", "ioutil.TempFile", "parquet.WriteFile"}

// creations are the places of a file that make a file.
func creations(f *ast.File) (found []string) {
	for n := range nodes[*ast.SelectorExpr](f) {
		if name := dotted(n); slices.Contains(creating, name) {
			found = append(found, positions.Position(n.Pos()).String()+": "+name)
		}
	}
	return found
}

// TestOnePlaceMakesFiles: no package of the program makes a file or a lock but internal/create, on any system.
// TestCreatingOpens in cmd/command looks at the system calls.
func TestOnePlaceMakesFiles(t *testing.T) {
	t.Chdir("../..")
	all, path := module(t)
	rooms, seen := map[string]bool{}, 0
	var add func(name string)
	add = func(name string) {
		if p := all[name]; p.ours() && !rooms[p.room()] {
			rooms[p.room()] = true
			for _, i := range p.Imports {
				add(i)
			}
		}
	}
	add(path + "/cmd/command")
	for s := range sources(t) {
		if !rooms[s.room] {
			continue
		}
		seen++
		for _, found := range creations(s.file) {
			if s.room != "internal/create" {
				t.Errorf("%s: use internal/create or privacy/durable", found)
			}
		}
	}
	if len(rooms) < 40 || seen < 300 {
		t.Errorf("only %d packages with %d files: the test does not see the program", len(rooms), seen)
	}
	// The guard sees each of the names.
	toy := made(t, "x.go", "package x\n\nvar _ = []any{"+strings.Join(creating, ", ")+", os.Open, os.O_RDWR}\n")
	if found := creations(toy.file); len(found) != len(creating) {
		t.Errorf("found %q", found)
	}
}
