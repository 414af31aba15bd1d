package strictyaml_test

import (
	"runtime"
	"strings"
	"testing"

	"dyad/engine/dataset/strictyaml"
	"dyad/internal/must"
)

func TestParseDecodes(t *testing.T) {
	body := must.Get(strictyaml.Parse([]byte("# a comment\nname: \"!x\"\nlist:\n  - {a: 1}\n  - a: 2\n")))(t)
	var v struct {
		Name string
		List []struct{ A int }
	}
	must.Do(t, strictyaml.Decode(body, &v))
	if v.Name != "!x" || len(v.List) != 2 || v.List[1].A != 2 {
		t.Fatalf("%+v", v)
	}
	var other struct{ Name string }
	if err := strictyaml.Decode(body, &other); err == nil || !strings.Contains(strictyaml.Describe(err), "list") {
		t.Errorf("an unknown key: %v", err)
	}
	must.Fail(strictyaml.Parse([]byte("# nothing\n")))(t, strictyaml.ErrEmpty, "empty text")
}

// A value of the wrong kind is named by its place, its key and what is wanted, and not shown.
func TestWrongKindsAreNamed(t *testing.T) {
	type item struct {
		Size    int
		Columns []int
		Name    string
		On      bool
		Weight  float32
	}
	for text, want := range map[string]string{
		"items: 5":                             "line 1, position 8: items: want a list, not a whole number",
		"items: {a: 1}":                        "line 1, position 8: items: want a list, not keys with values",
		"items:\n  - {size: [1], name: x}\n":   "line 2, position 12: size: want a whole number, not a list",
		"items:\n- columns: [1, 2]\n- 5\n":     "line 3, position 3: items: want keys with values, not a whole number",
		"items:\n- columns: [1, two]\n":        "line 2, position 16: columns: want a whole number, not a text",
		"items:\n- name: x\n  on: maybe\n":     "line 3, position 7: on: want true or false, not a text",
		"items:\n- name: x\n  weight: heavy\n": "line 3, position 11: weight: want a number, not a text",
		"items:\n- size: 2.5":                  "line 2, position 9: size: want a whole number",
		"items:\n- columns: [1, 15e-1]\n":      "line 2, position 16: columns: want a whole number",
		"items:\n- size: 99999999999999999999": "line 2, position 9: size: the number does not fit a whole number",
		"items: []\nitems: []":                 "line 2, position 1: key \"items\" is in line 1 already",
		"items: [":                             "line 1, position 8: sequence end token ']' not found",
	} {
		var v struct{ Items []item }
		body, err := strictyaml.Parse([]byte(text))
		if err == nil {
			err = strictyaml.Decode(body, &v)
		}
		if err == nil || strictyaml.Describe(err) != want {
			t.Errorf("%q: %s, want %s", text, strictyaml.Describe(err), want)
		}
	}
}

// The first two made the parser dereference nil; 200,000 brackets made it allocate 23 GB.
func TestParseRefuses(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"tag":           {"columns:\n  ! 00000000000000000000000000000000000000000000000000000000", "line 2, position 3: tags"},
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
		must.Check(strictyaml.Parse([]byte(text)))(t, text)
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
