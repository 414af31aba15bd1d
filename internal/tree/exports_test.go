package tree

import (
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// ownExports lists the exported functions, types, variables and constants, as "room.Name", that no file of
// another room names, tests included. Types of what others are given are among them.
func ownExports(files []source, module string) (own []string) {
	elsewhere := map[string]bool{}
	for _, s := range files {
		imports := roomsOf(s.file, module)
		for n := range nodes[*ast.SelectorExpr](s.file) {
			if x, ok := n.X.(*ast.Ident); ok && imports[x.Name] != s.room {
				elsewhere[imports[x.Name]+"."+n.Sel.Name] = true
			}
		}
	}
	for _, s := range files {
		if s.test || s.room == "." || s.file.Name.Name == "main" || slices.Contains(testRooms, s.room) {
			continue
		}
		for _, n := range exported(s.file) {
			if !elsewhere[s.room+"."+n] {
				own = append(own, s.room+"."+n)
			}
		}
	}
	slices.Sort(own)
	return own
}

// mostOwnExports is a ratchet: it may fall.
const mostOwnExports = 196

// TestFewExportsAreForTheirOwnRoom: a name that its own package alone uses is unexported, unless it is the type of something
// that others are given, an error to compare with, or one of several values.
func TestFewExportsAreForTheirOwnRoom(t *testing.T) {
	t.Chdir("../..")
	_, module := module(t)
	if own := ownExports(everything(t), module); len(own) > mostOwnExports {
		t.Errorf("%d exported names are used by their own packages alone, want at most %d: %s", len(own), mostOwnExports, strings.Join(own, " "))
	} else if len(own) < mostOwnExports {
		t.Errorf("%d exported names are used by their own packages alone: lower mostOwnExports", len(own))
	}
}

// unusedExports lists the exported functions, types, variables, constants and methods that only
// tests use, as "room.Name" or "room.Type.Method". What is written room.Name in a file that is no
// test uses it, in its own package Name alone. A method is used where anything calls a method of its
// name, or an interface has it: without types no more can be known, so this finds too little and
// never too much. A constant is used with any of its group: values of an enumeration belong
// together.
func unusedExports(files []source, module string) (unused []string, isDeclared map[string]bool) {
	used := map[string]bool{}       // room.Name
	methods := map[string]bool{}    // names of methods that are called, or that interfaces ask for
	groups := map[string][]string{} // the names that are declared together
	for _, s := range files {
		if s.test {
			continue
		}
		imports := roomsOf(s.file, module)
		own := map[*ast.Ident]bool{} // where a name is declared
		declared(s.file, func(receiver string, all ...*ast.Ident) {
			var names []string
			for _, id := range all {
				if own[id] = true; id.IsExported() && (receiver == "" || ast.IsExported(receiver)) {
					names = append(names, strings.TrimPrefix(receiver+"."+id.Name, "."))
				}
			}
			for _, n := range names {
				groups[s.room+"."+n] = append(groups[s.room+"."+n], names...)
			}
		})
		for n := range ast.Preorder(s.file) {
			switch n := n.(type) {
			case *ast.FuncDecl: // a method's own receiver does not use its type
				if n.Recv != nil {
					for id := range nodes[*ast.Ident](n.Recv) {
						own[id] = true
					}
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
		}
	}
	isDeclared = map[string]bool{}
	for name, group := range groups {
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
	"algorithms/local/serve.ErrInput",
	"privacy/account.RDP.Divergence", "privacy/account.ZCDP.Rho", // to compare with other accountants
	"engine/cuda/driver.DynamicShared", "engine/cuda/driver.LocalBytes", "engine/cuda/driver.MaxThreads", "engine/cuda/driver.Registers", "engine/cuda/driver.SharedBytes", // of CUDA
	// Tests of another package compare with them.
	"engine.Records.InFile", "kernels.ExponentError", "kernels.ReciprocalError", "privacy/internal/sampler.BitsFrom",
}

// TestNoExportIsForTestsAlone: what nobody but tests uses is deleted, or lives in a test.
func TestNoExportIsForTestsAlone(t *testing.T) {
	t.Chdir("../..")
	_, module := module(t)
	unused, declared := unusedExports(everything(t), module)
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
		files = append(files, made(t, name, text))
	}
	unused, _ := unusedExports(files, "m")
	if got, want := strings.Join(unused, " "), "a.Alone a.Idle a.Recursive a.Used.Idle"; got != want {
		t.Errorf("unused: %s, want %s", got, want)
	}
	if got, want := strings.Join(ownExports(files, "m"), " "), "a.Alone a.Idle a.Inner a.Mine a.One a.Recursive a.Sole a.Two"; got != want {
		t.Errorf("used by their own room alone: %s, want %s", got, want)
	}
}
