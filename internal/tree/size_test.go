package tree

import (
	"go/ast"
	"path"
	"strings"
	"testing"
)

// size is how large the face is, and how much of the rest the command needs besides.
type size struct{ names, lines, imports, uses int }

// largest may only get smaller (docs/decisions/program.md).
var largest = size{names: 60, lines: 3783, imports: 36, uses: 458} // uses: ranges and needs of options are declared below the program

// sizeOf counts the exported names at package level and the lines of the root without tests, and the different packages of this
// module that files of the folder command import, and the names of these, apart from the root's, that it uses.
func sizeOf(files []source, command string) (s size) {
	imported, used := map[string]bool{}, map[string]bool{}
	for _, f := range files {
		switch {
		case f.test:
		case f.room == ".":
			s.names += len(exported(f.file))
			s.lines += strings.Count(f.text, "\n")
		case f.room == command:
			for name, room := range roomsOf(f.file, "dyad") {
				imported[room] = true
				for n := range nodes[*ast.SelectorExpr](f.file) {
					if room != "." && path.Base(room) == name && n.Sel.IsExported() && dotted(n) == name+"."+n.Sel.Name {
						used[room+"."+n.Sel.Name] = true
					}
				}
			}
		}
	}
	s.imports, s.uses = len(imported), len(used)
	return s
}

// TestFaceIsSmall prints the size of the face, which may not grow.
func TestFaceIsSmall(t *testing.T) {
	t.Chdir("../..")
	s := sizeOf(everything(t), "cmd/command")
	t.Logf("package dyad has %d exported names and %d lines; the command imports %d packages of this module, and uses %d names of all but the root", s.names, s.lines, s.imports, s.uses)
	if s.names > largest.names || s.lines > largest.lines || s.imports > largest.imports || s.uses > largest.uses {
		t.Errorf("%+v, and the most is %+v: unexport, merge, or move to the package that it belongs to", s, largest)
	}
	toy := []source{
		made(t, "a.go", "package dyad\n\nconst A, b = 1, 2\n\ntype C struct{ D int }\n\nfunc (C) E() {}\n\nfunc F() {}\n"),
		made(t, "cmd/command/b.go", "package command\n\nimport (\n\tlib \"dyad\"\n\t\"dyad/engine\"\n)\n\nvar a, b, c = lib.A, engine.F, engine.F\n"),
	}
	if s := sizeOf(toy, "cmd/command"); s != (size{names: 3, lines: 9, imports: 2, uses: 1}) {
		t.Errorf("a package of three names and nine lines, and a command with two imports that uses one name: %+v", s)
	}
}
