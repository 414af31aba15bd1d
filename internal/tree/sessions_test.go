package tree

import (
	"go/ast"
	"strings"
	"testing"
)

// uncharged are the places of a file that open a session by a charge of their own. They
// call privacy.NewSession, or take it as a value, under whatever name privacy, a package of
// the module at path, is imported.
func uncharged(module string, f *ast.File) (places []string) {
	for name, room := range roomsOf(f, module) {
		if room != "privacy" {
			continue
		}
		called := strings.TrimPrefix(name+".NewSession", "..")
		for n := range nodes[ast.Expr](f) {
			if dotted(n) == called {
				places = append(places, positions.Position(n.Pos()).String())
			}
		}
	}
	return places
}

// privacy.NewSession takes the caller's word that the plan was charged. Only package
// ledger, which charges it, may give that word.
func TestOnlyTheLedgerOpensChargedSessions(t *testing.T) {
	t.Chdir("../..")
	_, path := module(t)
	opened := 0
	for s := range sources(t) {
		places := uncharged(path, s.file)
		if strings.HasPrefix(s.name, "privacy/ledger/") {
			opened += len(places)
			continue
		}
		for _, at := range places {
			t.Errorf("%s: privacy.NewSession without a charge: open sessions with package ledger, or NewPublicSession for public data", at)
		}
	}
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
		if got := len(uncharged("made", made(t, "made.go", "package made; "+source).file)); got != want {
			t.Errorf("%s: %d places, want %d", source, got, want)
		}
	}
}
