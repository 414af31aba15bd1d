package strictyaml_test

import (
	"errors"
	"runtime"
	"strings"
	"testing"

	"dyad/engine/dataset/strictyaml"
)

func TestParseDecodes(t *testing.T) {
	body, err := strictyaml.Parse([]byte("# a comment\nname: \"!x\"\nlist:\n  - {a: 1}\n  - a: 2\n"))
	if err != nil {
		t.Fatal(err)
	}
	var v struct {
		Name string
		List []struct{ A int }
	}
	if err := strictyaml.Decode(body, &v); err != nil {
		t.Fatal(strictyaml.Describe(err))
	}
	if v.Name != "!x" || len(v.List) != 2 || v.List[1].A != 2 {
		t.Fatalf("%+v", v)
	}
	var other struct{ Name string }
	if err := strictyaml.Decode(body, &other); err == nil || !strings.Contains(strictyaml.Describe(err), "list") {
		t.Errorf("an unknown key: %v", err)
	}
	if _, err := strictyaml.Parse([]byte("# nothing\n")); !errors.Is(err, strictyaml.ErrEmpty) {
		t.Errorf("empty text: %v", err)
	}
}

// The first two made the parser dereference nil; 200,000 brackets made it allocate 23 GB.
func TestParseRefuses(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"tag":           {"columns:\n  ! 00000000000000000000000000000000000000000000000000000000", "[2:3] tags"},
		"tag of a list": {"range: !![0, 1]", "tags"},
		"anchor":        {"a: &a [*a]\n", "anchors"},
		"merge key":     {"columns: [{<<: x}]\n", "anchors"},
		"directive":     {"%YAML 1.2\n---\na: 1\n", "directives"},
		"documents":     {"a: 1\n---\nb: 2\n", "one YAML document"},
		"brackets":      {"a: " + strings.Repeat("[", 1_000_000), "levels"},
		"braces":        {"a: " + strings.Repeat("{a: ", 200_000), "levels"},
		"dashes":        {strings.Repeat("- ", 200_000), "levels"},
		"questions":     {strings.Repeat("? ", 200_000), "levels"},
		"indentation":   {indented(2000), "levels"},
		"long":          {strings.Repeat("a", strictyaml.MaxBytes+1), "longer than"},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := strictyaml.Parse([]byte(c.text))
		runtime.ReadMemStats(&after)
		if err == nil || !strings.Contains(strictyaml.Describe(err), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if spent := after.TotalAlloc - before.TotalAlloc; spent > 400<<20 {
			t.Errorf("%s: %d MB allocated", name, spent>>20)
		}
	}
}

func TestParseAllowsLevels(t *testing.T) {
	for _, text := range []string{
		"a: " + strings.Repeat("[", strictyaml.MaxLevels-1) + strings.Repeat("]", strictyaml.MaxLevels-1),
		indented(strictyaml.MaxLevels - 1),
		"a:\n  - b: [1, 2]\n    c: {d: e}\nf: 1\ng:\n- h: 1\n- i: 2\n",
	} {
		if _, err := strictyaml.Parse([]byte(text)); err != nil {
			t.Errorf("%.60q: %v", text, err)
		}
	}
}

func indented(levels int) string {
	var b strings.Builder
	for i := range levels {
		b.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	return b.String() + strings.Repeat(" ", levels) + "b\n"
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"a: [1, {b: c}]\n", "- - x\n", "? x\n: y\n", "a: |\n  text\n", "a: !!b c", "\"a\\x\": 'b'"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		body, err := strictyaml.Parse([]byte(text))
		if err != nil {
			strictyaml.Describe(err)
			return
		}
		var v any
		if err := strictyaml.Decode(body, &v); err != nil {
			strictyaml.Describe(err)
		}
	})
}
