package tree

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"

	"dyad/internal/must"
)

// creating are the names that make a file: internal/create has a function in the place of each.
var creating = []string{"os.Create", "os.CreateTemp", "os.WriteFile", "os.O_CREATE", "syscall.O_CREAT", "unix.O_CREAT", "flock.New", "ioutil.WriteFile", "ioutil.TempFile", "parquet.WriteFile"}

// creations are the places of a file that make a file.
func creations(files *token.FileSet, f *ast.File) (found []string) {
	ast.Inspect(f, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok && slices.Contains(creating, x.Name+"."+s.Sel.Name) {
				found = append(found, files.Position(n.Pos()).String()+": "+x.Name+"."+s.Sel.Name)
			}
		}
		return true
	})
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
	must.Do(t, goSources(".", func(name string, files *token.FileSet, f *ast.File) error {
		room := "."
		if at := strings.LastIndexByte(name, '/'); at >= 0 {
			room = name[:at]
		}
		if !rooms[room] {
			return nil
		}
		seen++
		for _, found := range creations(files, f) {
			if room != "internal/create" {
				t.Errorf("%s: use internal/create or privacy/durable", found)
			}
		}
		return nil
	}))
	if len(rooms) < 40 || seen < 300 {
		t.Errorf("only %d packages with %d files: the test does not see the program", len(rooms), seen)
	}
	// The guard sees each of the names.
	files := token.NewFileSet()
	f := must.Get(parser.ParseFile(files, "x.go", "package x\n\nvar _ = []any{"+strings.Join(creating, ", ")+", os.Open, os.O_RDWR}\n", parser.SkipObjectResolution))(t)
	if found := creations(files, f); len(found) != len(creating) {
		t.Errorf("found %q", found)
	}
}
