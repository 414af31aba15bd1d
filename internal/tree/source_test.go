package tree

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"dyad/internal/must"
)

// source is a parsed Go file: its path from the root, the room of its package, and whether it is a test.
type source struct {
	name, room string
	test       bool
	text       string
	file       *ast.File
}

// positions has the lines of all parsed files.
var positions = token.NewFileSet()

func parse(name, text string) (source, error) {
	f, err := parser.ParseFile(positions, name, text, parser.ParseComments)
	return source{name, path.Dir(name), strings.HasSuffix(name, "_test.go"), text, f}, err
}

// made parses a file that a test of a guard made up.
func made(t *testing.T, name, text string) source {
	t.Helper()
	return must.Get(parse(name, text))(t)
}

// repository are all Go files, those of other modules too: the example is a user of this one. All tests share one parsed tree.
var repository = sync.OnceValues(func() (files []source, err error) {
	err = filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || name != "." && strings.ContainsAny(d.Name()[:1], "._")):
			return filepath.SkipDir
		case d.IsDir() || filepath.Ext(name) != ".go":
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		s, err := parse(filepath.ToSlash(name), string(text))
		files = append(files, s)
		return err
	})
	return files, err
})

func everything(t *testing.T) []source { return must.Get(repository())(t) }

// sources yields the files that are not tests.
func sources(t *testing.T) iter.Seq[source] {
	return func(yield func(source) bool) {
		for _, s := range everything(t) {
			if !s.test && !yield(s) {
				return
			}
		}
	}
}

// nodes yields the nodes of a kind below another one.
func nodes[N ast.Node](of ast.Node) iter.Seq[N] {
	return func(yield func(N) bool) {
		for n := range ast.Preorder(of) {
			if n, ok := n.(N); ok && !yield(n) {
				return
			}
		}
	}
}

func lineOf(n ast.Node) int { return positions.Position(n.Pos()).Line }

// dotted is a name, or x.y for two of them; "" for any other expression.
func dotted(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		if x, ok := e.X.(*ast.Ident); ok {
			return x.Name + "." + e.Sel.Name
		}
	}
	return ""
}

// receiver is the name of the type that a method belongs to, "" for a function.
func receiver(f *ast.FuncDecl) string {
	if f.Recv != nil {
		for id := range nodes[*ast.Ident](f.Recv.List[0].Type) {
			return id.Name
		}
	}
	return ""
}

// declared calls each for the names that a file declares at package level: those of a group of values together, and others alone.
func declared(f *ast.File, each func(receiver string, names ...*ast.Ident)) {
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			each(receiver(d), d.Name)
		case *ast.GenDecl:
			var group []*ast.Ident
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					each("", spec.Name)
				case *ast.ValueSpec:
					group = append(group, spec.Names...)
				}
			}
			each("", group...)
		}
	}
}

// exported are the exported functions, types and values of a file.
func exported(f *ast.File) (names []string) {
	declared(f, func(receiver string, all ...*ast.Ident) {
		for _, id := range all {
			if receiver == "" && id.IsExported() {
				names = append(names, id.Name)
			}
		}
	})
	return names
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
