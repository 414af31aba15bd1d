package tree

import (
	"bufio"
	"go/ast"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"dyad/internal/must"
)

// size is how large the face is, and how much of the rest the command needs besides.
type size struct{ names, lines, imports, uses int }

// largest may only get smaller (docs/decisions/program.md).
var largest = size{names: 60, lines: 3783, imports: 36, uses: 458} // uses: ranges and needs of options are declared below the program

// sizeOf counts the exported names at package level and the lines of the folder root without tests, and the different packages of this
// module that files of the folder command import, and the names of these, apart from the root's, that it uses.
func sizeOf(root, command string) (s size, err error) {
	sources, err := parsedSources(root)
	if err != nil {
		return s, err
	}
	var imported, used []string
	for _, f := range sources {
		switch {
		case f.test:
		case f.room == ".":
			s.names += len(exportedNames(f.file))
		case f.room == command:
			for _, i := range f.file.Imports {
				path, err := strconv.Unquote(i.Path.Value)
				if err != nil || path != "dyad" && !strings.HasPrefix(path, "dyad/") {
					continue
				}
				imported = append(imported, path)
				if name := filepath.Base(path); path != "dyad" && i.Name == nil {
					used = append(used, selected(f.file, name, path)...)
				}
			}
		}
	}
	slices.Sort(imported)
	slices.Sort(used)
	s.imports, s.uses = len(slices.Compact(imported)), len(slices.Compact(used))
	names, err := filepath.Glob(filepath.Join(root, "*.go"))
	for _, name := range names {
		if err != nil || strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, problem := os.Open(name)
		if problem != nil {
			return s, problem
		}
		for lines := bufio.NewScanner(f); lines.Scan(); s.lines++ {
		}
		f.Close()
	}
	return s, err
}

// selected are the exported names of a package that a file uses, after its path.
func selected(f *ast.File, name, path string) (names []string) {
	ast.Inspect(f, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok && s.Sel.IsExported() {
			if x, ok := s.X.(*ast.Ident); ok && x.Name == name {
				names = append(names, path+"."+s.Sel.Name)
			}
		}
		return true
	})
	return names
}

// exportedNames are those of a file at package level; methods are their types' matter.
func exportedNames(f *ast.File) (names []string) {
	add := func(id *ast.Ident) {
		if id.IsExported() {
			names = append(names, id.Name)
		}
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				add(d.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					add(spec.Name)
				case *ast.ValueSpec:
					for _, id := range spec.Names {
						add(id)
					}
				}
			}
		}
	}
	return names
}

// TestFaceIsSmall prints the size of the face, which may not grow.
func TestFaceIsSmall(t *testing.T) {
	t.Chdir("../..")
	s := must.Get(sizeOf(".", "cmd/command"))(t)
	t.Logf("package dyad has %d exported names and %d lines; the command imports %d packages of this module, and uses %d names of all but the root", s.names, s.lines, s.imports, s.uses)
	if s.names > largest.names || s.lines > largest.lines || s.imports > largest.imports || s.uses > largest.uses {
		t.Errorf("%+v, and the most is %+v: unexport, merge, or move to the package that it belongs to", s, largest)
	}
	dir := t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(dir, "a.go"), []byte("package dyad\n\nconst A, b = 1, 2\n\ntype C struct{ D int }\n\nfunc (C) E() {}\n\nfunc F() {}\n"), 0o600))
	must.Do(t, os.MkdirAll(filepath.Join(dir, "cmd/command"), 0o700))
	text := "package command\n\nimport (\n\tlib \"dyad\"\n\t\"dyad/engine\"\n)\n\nvar a, b, c = lib.A, engine.F, engine.F\n"
	must.Do(t, os.WriteFile(filepath.Join(dir, "cmd/command/b.go"), []byte(text), 0o600))
	if s, err := sizeOf(dir, "cmd/command"); err != nil || s != (size{names: 3, lines: 9, imports: 2, uses: 1}) {
		t.Errorf("a package of three names and nine lines, and a command with two imports that uses one name: %+v, %v", s, err)
	}
}
