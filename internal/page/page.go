// Package page writes self-contained HTML pages. A page is one file without scripts that loads no other files.
// It is made for light and dark screens, phones, keyboards and screen readers. The texts of callers are
// escaped.
package page

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"dyad/internal/experiment"
)

//go:embed style.css
var style string

//go:embed report.css
var reportStyle string

//go:embed report.html
var reportText string

// Style returns the style sheet that all pages share.
func Style() template.CSS { return template.CSS(style) } //nolint:gosec // our own

// Report is a page of sections with a glossary.
type Report struct {
	Title, About string
	Facts        [][2]string // names and values, at the top
	// Verdict is a sentence in a box. If it is "", there is no box. Class is the CSS class of the
	// box: "enough", "short" or "".
	Verdict, Class string
	Sections       []Section
	Words          []Word
}

// Section is a part of a report. Its contents are shown in the order of the fields. ID is a word that
// identifies the section in the report.
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

// Add adds a row of texts to the table. The first text is the head of the row.
func (t *Table) Add(texts ...string) {
	var row []Cell
	for k, text := range texts {
		row = append(row, Cell{Text: text, Head: k == 0})
	}
	t.Rows = append(t.Rows, row)
}

// Text returns the table as aligned columns, without its caption.
func (t Table) Text() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, strings.Join(t.Head, "\t"))
	for _, row := range t.Rows {
		var texts []string
		for _, c := range row {
			texts = append(texts, c.Text)
		}
		fmt.Fprintln(w, strings.Join(texts, "\t"))
	}
	_ = w.Flush() // cannot fail: it writes to memory
	return b.String()
}

// Cell is a cell of a table. Class is the CSS class of the cell: "won", "lost" or "". On an Approval,
// Class is the language of the text or "". Head is set for the first cell of a row.
type Cell struct {
	Text, Class string
	Head        bool
	Bar         *Bar // shown instead of the text
}

// Bar is a value in [-1, 1] with an interval. If Low = High, there is no interval. A bar shows no
// information that other cells do not contain.
type Bar struct{ Value, Low, High float64 }

func (b Bar) at(x float64) string { return fmt.Sprintf("%.4g", 100*max(-1, min(1, x))) }

// X returns the left end of the bar, multiplied by 100. The following methods also return values multiplied by 100.
func (b Bar) X() string { return b.at(min(0, b.Value)) }

// Width returns the width of the bar.
func (b Bar) Width() string { return b.at(max(b.Value, -b.Value)) }

// Interval reports whether the bar has an interval.
func (b Bar) Interval() bool { return b.Low < b.High }

// From returns the left end of the interval.
func (b Bar) From() string { return b.at(b.Low) }

// To returns the right end of the interval.
func (b Bar) To() string { return b.at(b.High) }

// Write writes the page. References to docs/theory.md are links to the text of the theorem in the appendix of the page.
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
	return Execute(w, reportText, template.FuncMap{"cite": cite, "theorems": func() []Theorem { return theorems }}, struct {
		Report
		Style template.CSS
	}{r, template.CSS(style + reportStyle)}) //nolint:gosec // our own
}

// Execute writes a page. The page is a template that is executed with functions and data.
func Execute(w io.Writer, text string, functions template.FuncMap, data any) error {
	t, err := template.New("page").Funcs(functions).Parse(text)
	if err == nil {
		err = t.Execute(w, data)
	}
	if err != nil {
		return fmt.Errorf("page: %w", err)
	}
	return nil
}

// SVG returns a figure for a page. Screen readers read the label, and the description unless it is "".
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
		text = text[:k] + "\n<title>" + label + "</title><desc>" + template.HTMLEscapeString(description) +
			"</desc>" + text[k:]
	}
	return template.HTML(text), nil //nolint:gosec // drawn by us, its texts escaped
}
