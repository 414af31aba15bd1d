package page

import (
	"bytes"
	"crypto/sha256"
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
	"sync"

	"dyad/docs"
)

//go:embed approval.html
var approvalText string

//go:embed approval.css
var approvalStyle string

//go:embed texts.json
var approvalTexts []byte

// languages lists the languages of an approval page.
func languages() []string { return []string{"en", "de", "fr"} }

// Texts maps the keys of texts to the texts in one language.
type Texts struct {
	language string
	texts    map[string]map[string]string
}

// TextsOf returns the texts of a language, one of Languages.
func TextsOf(language string) (t Texts, err error) {
	if !slices.Contains(languages(), language) {
		return t, fmt.Errorf("page: the language is %q, but must be one of %s", language, strings.Join(languages(), ", "))
	}
	t.language = language
	if err := json.Unmarshal(approvalTexts, &t.texts); err != nil {
		return t, fmt.Errorf("page: texts.json: %w", err)
	}
	return t, nil
}

// Of returns the text of a key. The places {} in the text are replaced by the values, in order.
func (t Texts) Of(key string, values ...string) string {
	text := t.texts[key][t.language]
	for _, v := range values {
		text = strings.Replace(text, "{}", v, 1)
	}
	return text
}

// Release returns the text for the given name of a release, and the language of this text. If t has no such
// text, Release returns the given name and the language "en".
func (t Texts) Release(name string) (text, language string) {
	base := strings.TrimRight(name, " 0123456789")
	if text = t.Of("release " + base); text != "" {
		return text + name[len(base):], t.language
	}
	return name, "en"
}

// Number returns a number in the notation of the language, with at least three significant digits and
// without an exponent.
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

// Approval is a page that people approve before any data are read. It states the facts of a plan in one language.
type Approval struct {
	Texts       Texts
	Facts       [][2]string // names and values; a value "" leaves space for handwriting
	Class       string      // the class of the verdict: enough, short or ""
	Verdict     string
	Broken      []string // reasons why the guarantee does not hold
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
	// Plan and Schema are digests of the plan and its schema. They show whether a run has the plan that this page
	// states. Figures is the digest of the plan of an evaluation, or "" if there is no evaluation. Record is the
	// hash of the plan's record, which the model contains.
	Plan, Record, Schema, Figures string
	Version                       string
}

// Theorem is a theorem in the appendix.
type Theorem struct{ Anchor, Title, Text string }

// Language returns the language of the page.
func (a Approval) Language() string { return a.Texts.language }

// T returns the text of a key.
func (a Approval) T(key string) string { return a.Texts.Of(key) }

// Style returns the style sheet of the page.
func (Approval) Style() template.CSS { return template.CSS(style + reportStyle + approvalStyle) } //nolint:gosec // our own

// Bytes returns the page.
func (a Approval) Bytes() ([]byte, error) {
	var b bytes.Buffer
	if err := Execute(&b, approvalText, nil, a); err != nil {
		return nil, err
	}
	// A template drops comments; these comments mark the part that Filled replaces.
	open := a.Texts.afterOpen()
	text := bytes.Replace(b.Bytes(), open, slices.Concat([]byte(afterBegins), open, []byte(afterEnds)), 1)
	head, rest, _ := bytes.Cut(text, []byte("<title>"))
	return slices.Concat(head, fmt.Appendf(nil, sealMeta, sealOf(text)), []byte("<title>"), rest), nil
}

// afterOpen returns the text that opens the part of the page that is filled in after the run.
func (t Texts) afterOpen() []byte {
	return []byte("<p>" + template.HTMLEscapeString(t.Of("after_open")) + "</p>")
}

// sealMeta is the line of the seal of a page.
const sealMeta = "<meta name=\"dyad-page\" content=\"%x\">\n"

// sealOf returns the SHA-256 of a page without its seal, which is not in text, and without the part that is filled in
// after the run.
func sealOf(text []byte) [sha256.Size]byte {
	return sha256.Sum256(withAfter(text, nil))
}

const (
	afterBegins = "<div id=\"after-the-run\">"
	afterEnds   = "</div><!-- /after-the-run -->"
)

var (
	// citation is a reference to a theorem in a derivation.
	citation = regexp.MustCompile(`docs/theory\.md#([A-Za-z0-9-]+)`)
	// cited are references by number, in the form that the checker states them.
	cited  = regexp.MustCompile(`docs/theory\.md (section .*? proves )`)
	number = regexp.MustCompile(`\b\d+(\.\d+)+\b`)
	// section is the head of a section with its anchor.
	section = regexp.MustCompile(`<a id="([A-Za-z0-9-]+)"></a>\n+#+ (\d+(?:\.\d+)+)\s`)
)

// anchorOf are the anchors of the sections of docs/theory.md by their numbers.
var anchorOf = sync.OnceValue(func() map[string]string {
	all := map[string]string{}
	for _, m := range section.FindAllStringSubmatch(docs.Theory, -1) {
		all[m[2]] = m[1]
	}
	return all
})

// Cited replaces the references to docs/theory.md in a derivation by links to theorems on the same page. It also
// returns the anchors of these theorems. References to other texts stay unchanged.
func Cited(text string) (linked template.HTML, anchors []string) {
	link := func(anchor, words string) string {
		if _, ok := TheoremOf(anchor); !ok {
			return words
		}
		anchors = append(anchors, anchor)
		return `<a href="#` + anchor + `">` + words + `</a>`
	}
	escaped := cited.ReplaceAllStringFunc(template.HTMLEscapeString(text), func(part string) string {
		return number.ReplaceAllStringFunc(strings.TrimPrefix(part, "docs/theory.md "), func(n string) string { return link(anchorOf()[n], n) })
	})
	escaped = citation.ReplaceAllStringFunc(escaped, func(ref string) string {
		anchor := strings.TrimPrefix(ref, "docs/theory.md#")
		return link(anchor, "theorem "+anchor)
	})
	return template.HTML(escaped), anchors //nolint:gosec // escaped
}

// TheoremOf returns the section of docs/theory.md that begins with an anchor.
func TheoremOf(anchor string) (t Theorem, ok bool) {
	_, rest, ok := strings.Cut(docs.Theory, `<a id="`+anchor+`"></a>`)
	if !ok || anchor == "" {
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

// Approved is an approved page that was read from a file. Approval.Bytes wrote the content of the file.
type Approved struct {
	Language, Plan, Record, Schema, Figures string
	text                                    []byte
}

// mostApproved is the largest size of the file of an approved page.
const mostApproved = 4 << 20

var approvedMarks = regexp.MustCompile(`(?s)\A<!doctype html>\n<html lang="([a-z]{2})">\n.*?<meta name="dyad-plan" content="([0-9a-f]{64})">\n<meta name="dyad-record" content="([0-9a-f]{64})">\n<meta name="dyad-schema" content="([0-9a-f]{64})">\n<meta name="dyad-figures" content="([0-9a-f]{64}|)">\n(<meta name="dyad-page" content="[0-9a-f]{64}">\n)<title>`)

// ReadApproved reads an approved page. It refuses a page that is filled in, or that does not match its seal because
// a byte was changed. The seal does not protect against forgery: anyone can make a new seal for an edited page. The
// SHA-256 in the ledger and in the model identifies the page that was signed.
func ReadApproved(text []byte) (*Approved, error) {
	m := approvedMarks.FindSubmatchIndex(text[:min(len(text), 4096)])
	if m == nil || len(text) > mostApproved || bytes.Count(text, []byte(afterBegins)) != 1 || bytes.Count(text, []byte(afterEnds)) != 1 {
		return nil, errors.New("page: the page was not written by \"dyad plan --report\" of this version, or was " +
			"changed afterwards")
	}
	of := func(i int) string { return string(text[m[2*i]:m[2*i+1]]) }
	a := &Approved{Language: of(1), Plan: of(2), Record: of(3), Schema: of(4), Figures: of(5), text: text}
	t, err := TextsOf(a.Language)
	if err != nil {
		return nil, err
	}
	if of(6) != fmt.Sprintf(sealMeta, sealOf(slices.Concat(text[:m[12]], text[m[13]:]))) {
		return nil, errors.New("page: the page was changed after it was written; use the approved page, or get a " +
			"new one approved")
	}
	if !bytes.Contains(text, slices.Concat([]byte(afterBegins), t.afterOpen(), []byte(afterEnds))) {
		return nil, errors.New("page: the page is already filled in; use the file that was approved")
	}
	return a, nil
}

// Filled returns the page with rows of names and values that are known only after the run. All other parts of
// the page are unchanged.
func (a *Approved) Filled(rows [][2]string) []byte {
	var b bytes.Buffer
	b.WriteString(`<dl class="facts">`)
	for _, r := range rows {
		fmt.Fprintf(&b, "<div><dt>%s</dt><dd>%s</dd></div>\n", template.HTMLEscapeString(r[0]), template.HTMLEscapeString(r[1]))
	}
	b.WriteString("</dl>")
	return withAfter(a.text, b.Bytes())
}

// withAfter returns a page with new content for the part that is filled in after the run.
func withAfter(text, part []byte) []byte {
	before, rest, _ := bytes.Cut(text, []byte(afterBegins))
	_, after, _ := bytes.Cut(rest, []byte(afterEnds))
	return slices.Concat(before, []byte(afterBegins), part, []byte(afterEnds), after)
}
