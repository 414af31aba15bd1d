package tree

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"dyad/internal/must"
)

// source is a parsed file: the room of its package, and whether it is a test.
type source struct {
	room string
	test bool
	file *ast.File
}

// parsedSources are all Go files of the folder and below, those of other modules too: the example
// is a user of this one.
func parsedSources(root string) (files []source, err error) {
	set := token.NewFileSet()
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || d.IsDir() && (d.Name() == "testdata" || path != root && strings.ContainsAny(d.Name()[:1], "._")):
			if err == nil {
				err = filepath.SkipDir
			}
			return err
		case d.IsDir() || filepath.Ext(path) != ".go":
			return nil
		}
		f, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		room, _ := filepath.Rel(root, filepath.Dir(path))
		files = append(files, source{filepath.ToSlash(room), strings.HasSuffix(path, "_test.go"), f})
		return err
	})
	return files, err
}

// receiver is the name of the type that a method belongs to, "" for a function.
func receiver(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return ""
	}
	t := f.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}

// roomsOf are the rooms of a module that a file imports, by the names that it has for them.
func roomsOf(f *ast.File, module string) map[string]string {
	imports := map[string]string{}
	for _, i := range f.Imports {
		path, _ := strconv.Unquote(i.Path.Value)
		name := path[strings.LastIndexByte(path, '/')+1:]
		if i.Name != nil {
			name = i.Name.Name
		}
		if path == module || strings.HasPrefix(path, module+"/") {
			imports[name] = roomOf(path, module)
		}
	}
	return imports
}

// ownExports lists the exported functions, types, variables and constants, as "room.Name", that no file of
// another room names, tests included. Types of what others are given are among them.
func ownExports(files []source, module string) (own []string) {
	elsewhere := map[string]bool{}
	for _, s := range files {
		imports := roomsOf(s.file, module)
		ast.Inspect(s.file, func(n ast.Node) bool {
			if n, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := n.X.(*ast.Ident); ok && imports[x.Name] != s.room {
					elsewhere[imports[x.Name]+"."+n.Sel.Name] = true
				}
			}
			return true
		})
	}
	for _, s := range files {
		if s.test || s.room == "." || s.file.Name.Name == "main" || slices.Contains(testRooms, s.room) {
			continue
		}
		for _, d := range s.file.Decls {
			var names []*ast.Ident
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil {
					names = append(names, d.Name)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					switch spec := spec.(type) {
					case *ast.TypeSpec:
						names = append(names, spec.Name)
					case *ast.ValueSpec:
						names = append(names, spec.Names...)
					}
				}
			}
			for _, n := range names {
				if n.IsExported() && !elsewhere[s.room+"."+n.Name] {
					own = append(own, s.room+"."+n.Name)
				}
			}
		}
	}
	slices.Sort(own)
	return own
}

// mostOwnExports is a ratchet: it may fall.
const mostOwnExports = 217

// TestFewExportsAreForTheirOwnRoom: a name that its own package alone uses is unexported, unless it is the type of something
// that others are given, an error to compare with, or one of several values.
func TestFewExportsAreForTheirOwnRoom(t *testing.T) {
	t.Chdir("../..")
	_, module := module(t)
	files := must.Get(parsedSources("."))(t)
	if own := ownExports(files, module); len(own) > mostOwnExports {
		t.Errorf("%d exported names are used by their own packages alone, want at most %d: %s", len(own), mostOwnExports, strings.Join(own, " "))
	} else if len(own) < mostOwnExports {
		t.Errorf("%d exported names are used by their own packages alone: lower mostOwnExports", len(own))
	}
	// The control: of two names that are exported, another package uses one.
	dir := t.TempDir()
	for name, text := range map[string]string{"a/a.go": "package a\n\nfunc Own() {}\n\nfunc Used() { Own() }\n", "b/b.go": "package b\n\nimport \"" + module + "/a\"\n\nfunc f() { a.Used() }\n"} {
		must.Do(t, errors.Join(os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o700), os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600)))
	}
	toy, err := parsedSources(dir)
	if own := ownExports(toy, module); err != nil || !slices.Equal(own, []string{"a.Own"}) {
		t.Errorf("of a.Own and a.Used: %v, %v", own, err)
	}
}

// unusedExports lists the exported functions, types, variables, constants and methods that only
// tests use, as "room.Name" or "room.Type.Method". What is written room.Name in a file that is no
// test uses it, in its own package Name alone. A method is used where anything calls a method of its
// name, or an interface has it: without types no more can be known, so this finds too little and
// never too much. A constant is used with any of its group: values of an enumeration belong
// together.
func unusedExports(files []source, module string) (unused []string, isDeclared map[string]bool) {
	used := map[string]bool{}    // room.Name
	methods := map[string]bool{} // names of methods that are called, or that interfaces ask for
	declared := map[string][]string{}
	add := func(room string, names ...string) {
		for _, n := range names {
			declared[room+"."+n] = append(declared[room+"."+n], names...)
		}
	}
	for _, s := range files {
		if s.test {
			continue
		}
		imports := roomsOf(s.file, module)
		own := map[*ast.Ident]bool{} // where a name is declared
		for _, d := range s.file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				own[d.Name] = true
				if t := receiver(d); d.Name.IsExported() && (t == "" || ast.IsExported(t)) {
					add(s.room, strings.TrimPrefix(t+"."+d.Name.Name, "."))
				}
			case *ast.GenDecl:
				var group []string
				for _, spec := range d.Specs {
					switch spec := spec.(type) {
					case *ast.TypeSpec:
						own[spec.Name] = true
						if spec.Name.IsExported() {
							add(s.room, spec.Name.Name)
						}
					case *ast.ValueSpec:
						for _, n := range spec.Names {
							if own[n] = true; n.IsExported() {
								group = append(group, n.Name)
							}
						}
					}
				}
				add(s.room, group...)
			}
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl: // a method's own receiver does not use its type
				if n.Recv != nil {
					ast.Inspect(n.Recv, func(n ast.Node) bool {
						if id, ok := n.(*ast.Ident); ok {
							own[id] = true
						}
						return true
					})
				}
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok && imports[x.Name] != "" {
					used[imports[x.Name]+"."+n.Sel.Name] = true
				}
				methods[n.Sel.Name] = true
				own[n.Sel] = true
			case *ast.InterfaceType:
				for _, m := range n.Methods.List {
					for _, name := range m.Names {
						methods[name.Name] = true
					}
				}
			case *ast.Ident:
				if !own[n] {
					used[s.room+"."+n.Name] = true
				}
			}
			return true
		})
	}
	isDeclared = map[string]bool{}
	for name, group := range declared {
		isDeclared[name] = true
		room, rest := splitRoom(name)
		typ, method, isMethod := strings.Cut(rest, ".")
		switch {
		case isMethod && (methods[method] || protocol[method]):
		case isMethod && !used[room+"."+typ]: // gone with its type
		case !isMethod && slices.ContainsFunc(group, func(n string) bool { return used[room+"."+n] }):
		default:
			unused = append(unused, name)
		}
	}
	slices.Sort(unused)
	return unused, isDeclared
}

// protocol are methods that the standard library calls by name.
var protocol = map[string]bool{"Error": true, "String": true, "Unwrap": true, "MarshalJSON": true, "UnmarshalJSON": true}

// splitRoom splits room.Name; a room has no dot but "." itself.
func splitRoom(name string) (room, rest string) {
	if rest, ok := strings.CutPrefix(name, ".."); ok {
		return ".", rest
	}
	room, rest, _ = strings.Cut(name, ".")
	return room, rest
}

// testRooms help tests: that only tests use them is what they are for.
var testRooms = []string{"algorithms/attack", "algorithms/attack/kinds", "bench", "cmd/command/kindtest", "engine/cuda/ptxtest", "engine/enginetest", "internal/crash", "internal/hostile", "internal/must", "internal/sizes", "privacy/privtest"}

// forUsers are exports that programs with Dyad as a library need and Dyad itself does not.
var forUsers = []string{
	"..OpenLedger", "..OpenPairs", // the face
	"autodiff.Atan", "autodiff.Erf", "autodiff.Hazard", "autodiff.LogNormCDF", "autodiff.NormCDF", "autodiff.Where", // losses without text
	"autodiff.Function.DDPhi", "autodiff.Properties.CurvatureGap",
	"autodiff/gorgonia.FromGraph", "engine/tensors.FromRecords", "engine/tensors.ToRecords", // the way from and to Gorgonia
	"algorithms/local/serve.ErrInput", "algorithms/audit.Charged",
	"privacy/account.RDP.Divergence", "privacy/account.ZCDP.Rho", // to compare with other accountants
	"engine/cuda/driver.DynamicShared", "engine/cuda/driver.LocalBytes", "engine/cuda/driver.MaxThreads", "engine/cuda/driver.Registers", "engine/cuda/driver.SharedBytes", // of CUDA
	// Tests of another package compare with them.
	"engine.Records.InFile", "kernels.ExponentError", "kernels.ReciprocalError", "privacy/internal/sampler.BitsFrom", "algorithms/audit.RatioLower",
}

// TestNoExportIsForTestsAlone: what nobody but tests uses is deleted, or lives in a test.
func TestNoExportIsForTestsAlone(t *testing.T) {
	t.Chdir("../..")
	_, module := module(t)
	files := must.Get(parsedSources("."))(t)
	unused, declared := unusedExports(files, module)
	for _, n := range unused {
		if room, _ := splitRoom(n); !slices.Contains(testRooms, room) && !slices.Contains(forUsers, n) {
			t.Errorf("%s: only tests use it; delete it, or move it into a test", n)
		}
	}
	for _, n := range forUsers {
		if declared[n] && !slices.Contains(unused, n) {
			t.Errorf("%s is used: take it off the list", n)
		}
	}
	if len(declared) < 500 {
		t.Errorf("only %d exports were found", len(declared))
	}
}

// Every kind of export that nobody uses is found, and those with a user are not.
func TestUnusedExportsAreFound(t *testing.T) {
	t.Chdir("../..")
	files := []source{}
	for name, text := range map[string]string{
		"a/a.go": `package a
type Used struct{}
type Idle struct{}
type Inner int
const ( One Inner = iota; Two )
const Alone = 3
func (Used) Called() Inner { return One }
func (Used) Idle() { }
func (Used) String() string { return "" }
func (Idle) Nothing() { }
func Help() { private(Mine) }
func Recursive() { }
var Mine, Sole int
func private(int) { }
`,
		"a/a_test.go": "package a\nfunc TestAlone() { _ = Alone; Recursive(); Used{}.Idle(); _ = Sole }\n",
		"b/b.go":      "package b\nimport other \"m/a\"\nfunc use() { other.Used{}.Called(); other.Help() }\n",
	} {
		f := must.Get(parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution))(t)
		files = append(files, source{name[:1], strings.HasSuffix(name, "_test.go"), f})
	}
	unused, _ := unusedExports(files, "m")
	if got, want := strings.Join(unused, " "), "a.Alone a.Idle a.Recursive a.Used.Idle"; got != want {
		t.Errorf("unused: %s, want %s", got, want)
	}
	if got, want := strings.Join(ownExports(files, "m"), " "), "a.Alone a.Idle a.Inner a.Mine a.One a.Recursive a.Sole a.Two"; got != want {
		t.Errorf("used by their own room alone: %s, want %s", got, want)
	}
}
