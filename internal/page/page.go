// Package page writes self-contained HTML pages: one file, nothing to load and no script, for light and dark
// screens, phones, keyboards and screen readers. It escapes the texts of callers.
package page

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"dyad/internal/experiment"
)

//go:embed style.css
var style string

//go:embed report.css
var reportStyle string

//go:embed report.html
var reportText string

// Style is the style sheet that all pages share.
func Style() template.CSS { return template.CSS(style) } //nolint:gosec // our own

// Report is a page of sections with a glossary.
type Report struct {
	Title, About string
	Facts        [][2]string // names and values, at the top
	// Verdict is a sentence in a box, "" without one. Class is enough, short or "".
	Verdict, Class string
	Sections       []Section
	Words          []Word
}

// Section is a part of a report, its contents in the order of the fields. ID is a word that no
// other section has.
type Section struct {
	ID, Title string
	Warnings  []string
	Quote     []string // sentences to be quoted
	Text      []string
	List      []string
	Figures   []template.HTML // made by SVG
	Tables    []Table
	Code      []string
}

// Word is an entry of a glossary.
type Word struct{ Name, Means string }

// Table is a table with a caption.
type Table struct {
	Caption string
	Head    []string
	Rows    [][]Cell
}

// Cell is one of a table; Class is won or lost, or "". Head is for the first of a row.
type Cell struct {
	Text, Class string
	Head        bool
	Bar         *Bar // instead of the text
}

// Bar is a value in [-1, 1] with an interval, none if Low = High. It only repeats what other cells say.
type Bar struct{ Value, Low, High float64 }

func (b Bar) at(x float64) string { return fmt.Sprintf("%.4g", 100*max(-1, min(1, x))) }

// X is the left end of the bar in hundredths, as the others are.
func (b Bar) X() string { return b.at(min(0, b.Value)) }

// Width returns the width of the bar.
func (b Bar) Width() string { return b.at(max(b.Value, -b.Value)) }

// Interval reports whether there is one.
func (b Bar) Interval() bool { return b.Low < b.High }

// From is the left end of the interval.
func (b Bar) From() string { return b.at(b.Low) }

// To is the right end of the interval.
func (b Bar) To() string { return b.at(b.High) }

// Write writes the page. References to docs/theory.md lead to the text of the theorem in its appendix.
func (r Report) Write(w io.Writer) error {
	var theorems []Theorem // that the page names, for its appendix
	cite := func(text string) template.HTML {
		linked, anchors := Cited(text)
		for _, anchor := range anchors {
			if t, ok := TheoremOf(anchor); ok && !slices.Contains(theorems, t) {
				theorems = append(theorems, t)
			}
		}
		return linked
	}
	t, err := template.New("report").Funcs(template.FuncMap{"cite": cite, "theorems": func() []Theorem { return theorems }}).Parse(reportText)
	if err != nil {
		return fmt.Errorf("page: %w", err)
	}
	err = t.Execute(w, struct {
		Report
		Style template.CSS
	}{r, template.CSS(style + reportStyle)}) //nolint:gosec // our own
	if err != nil {
		return fmt.Errorf("page: %w", err)
	}
	return nil
}

// SVG is a figure for a page. Readers of screens get the label; description, if it is not "", says more.
func SVG(f *experiment.Figure, label, description string) (template.HTML, error) {
	var b bytes.Buffer
	if err := f.Write(&b, "svg"); err != nil {
		return "", err
	}
	text := b.String()
	if k := strings.Index(text, "<svg"); k >= 0 { // without the declaration of a file
		text = text[k:]
	}
	label = template.HTMLEscapeString(label)
	text = strings.Replace(text, "<svg", `<svg role="img" aria-label="`+label+`"`, 1)
	if description != "" {
		k := strings.Index(text, ">") + 1
		text = text[:k] + "\n<title>" + label + "</title><desc>" + template.HTMLEscapeString(description) + "</desc>" + text[k:]
	}
	return template.HTML(text), nil //nolint:gosec // drawn by us, its texts escaped
}
