package page

import (
	"bytes"
	"encoding/json"
	"html/template"
	"regexp"
	"strings"
	"testing"

	"dyad/internal/must"
)

// Every text is there in every language, with as many places for values, and every text that the page asks for is there.
func TestTextsOfApprovalAreWhole(t *testing.T) {
	var all map[string]map[string]string
	must.Do(t, json.Unmarshal(approvalTexts, &all))
	for key, texts := range all {
		for _, language := range languages() {
			if text := texts[language]; text == "" || strings.Count(text, "{}") != strings.Count(texts["en"], "{}") || strings.Contains(text, "%s") {
				t.Errorf("%s in %s: %q", key, language, text)
			}
		}
		if len(texts) != len(languages()) {
			t.Errorf("%s has %d languages", key, len(texts))
		}
	}
	for _, m := range regexp.MustCompile(`T "(\w+)"`).FindAllStringSubmatch(approvalText, -1) {
		if all[m[1]] == nil {
			t.Errorf("the page asks for %q, which texts.json does not have", m[1])
		}
	}
	must.Err(TextsOf("it"))(t, "a language without texts is taken")
}

func approval(t testing.TB, language string) Approval {
	t.Helper()
	texts := must.Get(TextsOf(language))(t)
	table := Table{Caption: "c", Head: []string{"a"}, Rows: [][]Cell{{{Text: "<b>", Head: true}}}}
	linked, anchors := Cited("why: x (docs/theory.md#class-pairs)")
	theorem, ok := TheoremOf(anchors[0])
	if !ok {
		t.Fatal("no theorem")
	}
	return Approval{Texts: texts, Facts: [][2]string{{"study", "<script>"}}, Verdict: "v", Risk: "r", Columns: table, Releases: table, Expected: table,
		Derivations: []template.HTML{linked}, Theorems: []Theorem{theorem}, Plan: strings.Repeat("a", 64), Record: strings.Repeat("c", 64), Schema: strings.Repeat("b", 64)}
}

// A page that is read gives what it was written with, and filling it in changes the part for that and nothing else.
func TestApprovedPageIsFilledIn(t *testing.T) {
	for _, language := range languages() {
		text := must.Get(approval(t, language).Bytes())(t)
		if bytes.Contains(text, []byte("<script>")) || !bytes.Contains(text, []byte(`<a href="#class-pairs">theorem class-pairs</a>`)) || !bytes.Contains(text, []byte(`<h3 id="class-pairs">13.2 Sums over pairs of classes</h3>`)) {
			t.Errorf("%s", text)
		}
		a, err := ReadApproved(text)
		if err != nil || a.Language != language || a.Plan[0] != 'a' || a.Record[0] != 'c' || a.Schema[0] != 'b' || a.Figures != "" {
			t.Fatalf("%v: %+v", err, a)
		}
		filled := a.Filled([][2]string{{"AUC", "<0.5>"}})
		part := regexp.MustCompile(`(?s)<div id="after-the-run">.*</div><!-- /after-the-run -->`)
		if !bytes.Equal(part.ReplaceAll(filled, nil), part.ReplaceAll(text, nil)) || !bytes.Contains(filled, []byte("&lt;0.5&gt;")) || bytes.Equal(filled, text) {
			t.Errorf("%s", filled)
		}
		for want, changed := range map[string][]byte{
			"was changed after":  bytes.Replace(text, []byte("<p>r</p>"), []byte("<p>R</p>"), 1),
			"changed after":      bytes.Replace(text, []byte("dyad-schema\" content=\"b"), []byte("dyad-schema\" content=\"c"), 1),
			"was changed":        append(bytes.Clone(text), '\n'),
			"already filled in":  filled,
			"was not written by": bytes.Replace(text, []byte(`<meta name="dyad-page"`), []byte(`<meta name="other"`), 1),
		} {
			if _, err := ReadApproved(changed); err == nil || bytes.Equal(changed, text) || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: want %q: %v", language, want, err)
			}
		}
	}
	must.Err(ReadApproved([]byte("<!doctype html>\n<html lang=\"en\">")))(t, "another page is taken")
}

func FuzzApproved(f *testing.F) {
	text := must.Get(approval(f, "en").Bytes())(f)
	f.Add(text)
	f.Add(bytes.Replace(text, []byte("content=\"\""), []byte("content=\"0\""), 1))
	f.Add([]byte("<!doctype html>"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if a, err := ReadApproved(text); err == nil && len(a.Filled(nil)) > len(text)+mostApproved {
			t.Error("a page grows")
		}
	})
}
