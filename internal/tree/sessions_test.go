package tree

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"

	"dyad/internal/must"
)

// uncharged are the places of a file that open a session by a charge of their own. They
// call privacy.NewSession, or take it as a value, under whatever name privacy, a package of
// the module at path, is imported.
func uncharged(path string, files *token.FileSet, f *ast.File) (places []string) {
	names := map[string]bool{}
	for _, i := range f.Imports {
		if i.Path.Value == strconv.Quote(path+"/privacy") {
			name := "privacy"
			if i.Name != nil {
				name = i.Name.Name
			}
			names[name] = true
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && names[x.Name] && n.Sel.Name == "NewSession" {
				places = append(places, files.Position(n.Pos()).String())
			}
		case *ast.Ident:
			if names["."] && n.Name == "NewSession" {
				places = append(places, files.Position(n.Pos()).String())
			}
		}
		return true
	})
	return places
}

// privacy.NewSession takes the caller's word that the plan was charged. Only package
// ledger, which charges it, may give that word.
func TestOnlyTheLedgerOpensChargedSessions(t *testing.T) {
	t.Chdir("../..")
	_, path := module(t)
	opened := 0
	must.Do(t, goSources(".", func(name string, files *token.FileSet, f *ast.File) error {
		places := uncharged(path, files, f)
		if strings.HasPrefix(name, "privacy/ledger/") {
			opened += len(places)
			return nil
		}
		for _, at := range places {
			t.Errorf("%s: privacy.NewSession without a charge: open sessions with package ledger, or NewPublicSession for public data", at)
		}
		return nil
	}))
	if opened == 0 {
		t.Error("package ledger opens no session: the search looks for another name")
	}
}

func TestUnchargedSessionsAreFound(t *testing.T) {
	t.Chdir("../..")
	for source, want := range map[string]int{
		`import "made/privacy"; var s, err = privacy.NewSession(src, events, free)`:    1,
		`import p "made/privacy"; var open = p.NewSession`:                             1,
		`import . "made/privacy"; var s, err = NewSession(src, events, free)`:          1,
		`import "made/privacy"; var s, err = privacy.NewPublicSession(src, events)`:    0,
		`import privacy "other/privacy"; var s, err = privacy.NewSession(src, nil, f)`: 0,
	} {
		files := token.NewFileSet()
		f := must.Get(parser.ParseFile(files, "made.go", "package made; "+source, 0))(t)
		if got := len(uncharged("made", files, f)); got != want {
			t.Errorf("%s: %d places, want %d", source, got, want)
		}
	}
}
