package page

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"dyad/docs"
)

//go:embed approval.html
var approvalText string

//go:embed approval.css
var approvalStyle string

//go:embed texts.json
var approvalTexts []byte

// languages are those of an approval page.
func languages() []string { return []string{"en", "de", "fr"} }

// Texts are the texts of one language by their keys; those of another one if it has none.
type Texts struct {
	language string
	texts    map[string]map[string]string
}

// TextsOf are the texts of a language, one of Languages.
func TextsOf(language string) (t Texts, err error) {
	if !slices.Contains(languages(), language) {
		return t, fmt.Errorf("page: the language is %q, want one of %s", language, strings.Join(languages(), ", "))
	}
	t.language = language
	if err := json.Unmarshal(approvalTexts, &t.texts); err != nil {
		return t, fmt.Errorf("page: texts.json: %w", err)
	}
	return t, nil
}

// Of is the text of a key, with values in the place of each {}.
func (t Texts) Of(key string, values ...string) string {
	text := t.texts[key][t.language]
	for _, v := range values {
		text = strings.Replace(text, "{}", v, 1)
	}
	return text
}

// Release is the name of a release, and the language that it is in: that of the texts, or English.
func (t Texts) Release(name string) (text, language string) {
	base := strings.TrimRight(name, " 0123456789")
	if text = t.Of("release " + base); text != "" {
		return text + name[len(base):], t.language
	}
	return name, "en"
}

// Number writes a number with three digits or more, and no exponent, in the notation of the language.
func (t Texts) Number(x float64) string {
	digits := 2 - int(math.Floor(math.Log10(math.Abs(x))))
	if x == 0 || digits < 0 {
		digits = 0
	}
	text := strconv.FormatFloat(x, 'f', digits, 64)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	if t.language != "en" {
		text = strings.Replace(text, ".", ",", 1)
	}
	return text
}

// Approval is a page that is agreed to before any data are read: plain facts of a plan in the words of one language.
type Approval struct {
	Texts       Texts
	Facts       [][2]string // names and values; "" is left for the pen
	Class       string      // of the verdict: enough, short or ""
	Verdict     string
	Broken      []string // why the guarantee does not hold
	Risk, Terms string
	Warnings    []string
	Columns     Table
	Releases    Table // the class of a cell is the language of its text
	Expected    Table
	ExpectedWhy string
	NotCovered  []string
	Derivations []template.HTML // made by Cited
	Assumptions []string
	Theorems    []Theorem
	// Plan and Schema are digests of what was planned, by which a run is compared with the page.
	// Figures is that of the plan of an evaluation, "" without one.
	Plan, Schema, Figures string
	Version               string
}

// Theorem is one of the appendix.
type Theorem struct{ Anchor, Title, Text string }

// Language is that of the page.
func (a Approval) Language() string { return a.Texts.language }

// T is the text of a key.
func (a Approval) T(key string) string { return a.Texts.Of(key) }

// Style is the style sheet of the page.
func (Approval) Style() template.CSS { return template.CSS(style + reportStyle + approvalStyle) } //nolint:gosec // our own

// Bytes is the page.
func (a Approval) Bytes() ([]byte, error) {
	t, err := template.New("approval").Parse(approvalText)
	if err != nil {
		return nil, fmt.Errorf("page: %w", err)
	}
	var b bytes.Buffer
	if err := t.Execute(&b, a); err != nil {
		return nil, fmt.Errorf("page: %w", err)
	}
	// A template drops comments; these mark the part that Filled replaces.
	open := "<p>" + template.HTMLEscapeString(a.T("after_open")) + "</p>"
	return bytes.Replace(b.Bytes(), []byte(open), []byte(afterBegins+open+afterEnds), 1), nil
}

const (
	afterBegins = "<div id=\"after-the-run\">"
	afterEnds   = "</div><!-- /after-the-run -->"
)

// citation is a reference to a theorem in a derivation.
var citation = regexp.MustCompile(`docs/theory\.md#([A-Za-z0-9-]+)`)

// Cited is a derivation whose references lead to the theorems of the same page, and the theorems that it names.
func Cited(text string) (linked template.HTML, anchors []string) {
	for _, m := range citation.FindAllStringSubmatch(text, -1) {
		anchors = append(anchors, m[1])
	}
	escaped := template.HTMLEscapeString(text)
	return template.HTML(citation.ReplaceAllString(escaped, `<a href="#$1">theorem $1</a>`)), anchors //nolint:gosec // escaped
}

// TheoremOf is the section of docs/theory.md that begins with an anchor.
func TheoremOf(anchor string) (t Theorem, ok bool) {
	_, rest, ok := strings.Cut(docs.Theory, `<a id="`+anchor+`"></a>`)
	if !ok {
		return t, false
	}
	text, _, _ := strings.Cut(rest, "\n<a id=")
	lines := strings.SplitN(strings.TrimSpace(text), "\n", 2)
	t = Theorem{Anchor: anchor, Title: strings.TrimLeft(lines[0], "# ")}
	if len(lines) > 1 {
		t.Text = strings.TrimSpace(lines[1])
	}
	return t, true
}

// Approved is what a file says that was written by Approval.Bytes.
type Approved struct {
	Language, Plan, Schema, Figures string
	text                            []byte
}

// mostApproved bounds the size of the file of an approved page.
const mostApproved = 4 << 20

var approvedMarks = regexp.MustCompile(`(?s)\A<!doctype html>\n<html lang="([a-z]{2})">\n.*?<meta name="dyad-plan" content="([0-9a-f]{64})">\n<meta name="dyad-schema" content="([0-9a-f]{64})">\n<meta name="dyad-figures" content="([0-9a-f]{64}|)">`)

// ReadApproved reads an approved page.
func ReadApproved(text []byte) (*Approved, error) {
	m := approvedMarks.FindSubmatch(text[:min(len(text), 4096)])
	if m == nil || len(text) > mostApproved || bytes.Count(text, []byte(afterBegins)) != 1 || bytes.Count(text, []byte(afterEnds)) != 1 {
		return nil, errors.New("page: this is not a page that \"dyad plan --report\" wrote, or it is changed")
	}
	a := &Approved{Language: string(m[1]), Plan: string(m[2]), Schema: string(m[3]), Figures: string(m[4]), text: text}
	if _, err := TextsOf(a.Language); err != nil {
		return nil, err
	}
	return a, nil
}

// Filled is the page with what there is to say after the run, each a name and a value. Nothing else of it is changed.
func (a *Approved) Filled(rows [][2]string) []byte {
	var b bytes.Buffer
	b.WriteString(afterBegins + `<dl class="facts">`)
	for _, r := range rows {
		fmt.Fprintf(&b, "<div><dt>%s</dt><dd>%s</dd></div>\n", template.HTMLEscapeString(r[0]), template.HTMLEscapeString(r[1]))
	}
	b.WriteString("</dl>" + afterEnds)
	before, rest, _ := bytes.Cut(a.text, []byte(afterBegins))
	_, after, _ := bytes.Cut(rest, []byte(afterEnds))
	return slices.Concat(before, b.Bytes(), after)
}
