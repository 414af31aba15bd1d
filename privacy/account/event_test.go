package account

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strings"
	"testing"

	"dyad/internal/must"
)

// eventTypes are the names of all types of the package that have facts, as its source says.
func eventTypes(t *testing.T) (names []string) {
	t.Helper()
	files := must.Get(os.ReadDir("."))(t)
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".go") || strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		parsed := must.Get(parser.ParseFile(token.NewFileSet(), f.Name(), nil, 0))(t)
		for _, d := range parsed.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Name.Name == "facts" {
				names = append(names, fn.Recv.List[0].Type.(*ast.Ident).Name)
			}
		}
	}
	return names
}

// No event is forgotten: each is recorded under a name of its own and in the golden file, or
// on the list of those that no ledger holds.
func TestEveryEventIsRecorded(t *testing.T) {
	unrecorded := []string{"RandomizedResponseEvent", "RepeatedEvent", "UnknownEvent"}
	names := eventTypes(t)
	if len(names) != len(kinds)+len(unrecorded) || len(kinds) < 12 {
		t.Errorf("events %q, of which %d are recorded", names, len(kinds))
	}
	golden := must.Get(os.ReadFile("testdata/events.jsonl"))(t)
	seen := map[string]bool{}
	for _, k := range kinds {
		if i := slices.Index(names, k.event.Name()); i < 0 || seen[k.name] || seen[k.event.Name()] {
			t.Errorf("kind %q of %v: the name or the event is used twice, or no event", k.name, k.event)
		}
		seen[k.name], seen[k.event.Name()] = true, true
		must.Contain(t, "\n"+string(golden), "\n"+`{"kind":"`+k.name+`"`)
	}
	for _, name := range names {
		if slices.Contains(unrecorded, name) == seen[name] {
			t.Errorf("%s is recorded: %t", name, seen[name])
		}
	}
}

// forgetful says too little of itself, and no accountant takes it for cheap.
type forgetful struct {
	PublicEvent
	said *facts
}

func (e forgetful) facts() facts {
	f := *e.said
	f.event = e
	return f
}

func TestForgottenFactsAreRefused(t *testing.T) {
	none, uncounted := forgetful{said: &facts{count: 1}}, forgetful{said: &facts{mu: 1, pure: &purity{epsilon: 1}}}
	for _, a := range []Accountant{new(GDP), new(PLD), new(RDP), new(ZCDP), new(Total)} {
		for _, e := range []Event{none, Repeat(none, 3), uncounted, Repeat(uncounted, 3), UnknownEvent{Kind: "x"}, &GaussianEvent{Sensitivity: 1, Sigma: 1}, nil} {
			for _, whole := range []Event{e, ComposedEvent{Events: []Event{PublicEvent{}, e}}, ParallelEvent{Parts: []Event{e}}} {
				if err := a.Compose(whole); !errors.Is(err, ErrUnsupported) || a.Epsilon(1e-5) != 0 {
					t.Errorf("%T: %T gives %v, epsilon %v", a, e, err, a.Epsilon(1e-5))
				}
			}
		}
	}
	for _, e := range []Event{none, Repeat(none, 3), uncounted, RandomizedResponseEvent{Buckets: 2, Uniform: 0.5}, UnknownEvent{}, nil} {
		if raw, err := Encode(e); err == nil {
			t.Errorf("%T was recorded as %s", e, raw)
		}
	}
	for _, e := range []Event{RandomizedResponseEvent{Buckets: 2, Uniform: 0.5}, UnknownEvent{}, nil, PoissonEvent{Event: GaussianEvent{Sensitivity: 1, Sigma: 1}, Rate: 0.1, Relation: AddRemove}} {
		must.ErrDo(t, Releases(e, func(Release) error { return nil }), "a session may release %v", e)
	}
	deep := Event(PublicEvent{})
	for range MaxDepth + 1 {
		deep = ComposedEvent{Events: []Event{deep}}
	}
	if _, err := Encode(deep); err == nil || Releases(deep, func(Release) error { return nil }) == nil {
		t.Error("events are nested without end")
	}
}
