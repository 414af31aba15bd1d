package export

import (
	"bytes"
	_ "embed"
	"fmt"
	"go/format"
	"math"
	"strconv"
	"strings"
	"text/template"

	"dyad/engine/dataset"
)

// maxSnippet is the largest number of features of a model as source text.
const maxSnippet = 10_000

//go:embed templates/score.py.tmpl
var pythonTemplate string

//go:embed templates/score.go.tmpl
var goTemplate string

// snippet is what the templates are filled with.
type snippet struct {
	About      []Fact
	Numbered   bool
	Narrow     bool
	NonZeros   int
	Factor     float64
	Slack      float64
	Numbers    []snippetColumn
	Categories []snippetColumn
}

// snippetColumn is an input with its weights.
type snippetColumn struct {
	dataset.Input
	Weights []float64
}

// snippet collects the columns of a linear score.
func (f *Function) snippet() (*snippet, error) {
	w, err := f.linear()
	if err != nil {
		return nil, err
	}
	if len(w) > maxSnippet {
		return nil, fmt.Errorf("export: a snippet would have %d features, and at most %d are written as source text; export the model as ONNX", len(w), maxSnippet)
	}
	s := &snippet{About: oneLine(f.About), Numbered: f.numbered(), Narrow: f.narrow(), NonZeros: f.nonZeros(), Factor: f.Encoder.Factor(), Slack: f.slack()}
	for _, in := range f.Encoder.Inputs() {
		c := snippetColumn{in, w[in.Offset:][:in.Width]}
		if in.Numeric {
			s.Numbers = append(s.Numbers, c)
		} else {
			s.Categories = append(s.Categories, c)
		}
	}
	return s, nil
}

// oneLine keeps facts within a comment.
func oneLine(facts []Fact) []Fact {
	out := make([]Fact, len(facts))
	for i, f := range facts {
		out[i] = Fact{f.Name, strings.Join(strings.Fields(f.Text), " ")}
	}
	return out
}

// Python writes a function of NumPy columns.
func (f *Function) Python() ([]byte, error) {
	return f.fill(pythonTemplate, template.FuncMap{
		"number": func(v float64) string {
			if math.IsNaN(v) {
				return "np.nan"
			}
			return number(v)
		},
		"text": pythonText,
		"bool": func(b bool) string {
			if b {
				return "True"
			}
			return "False"
		},
	})
}

// pythonText is a string literal of ASCII characters.
func pythonText(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r >= ' ' && r < 0x7f:
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
	}
	return b.String() + `"`
}

// Go writes a file of the standard library only.
func (f *Function) Go() ([]byte, error) {
	text, err := f.fill(goTemplate, template.FuncMap{
		"number": func(v float64) string {
			if math.IsNaN(v) {
				return "nan"
			}
			return number(v)
		},
		"text": strconv.Quote,
		"bool": strconv.FormatBool,
	})
	if err != nil {
		return nil, err
	}
	return format.Source(text)
}

func (f *Function) fill(text string, functions template.FuncMap) ([]byte, error) {
	s, err := f.snippet()
	if err != nil {
		return nil, err
	}
	t, err := template.New("").Funcs(functions).Parse(text)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = t.Execute(&out, s)
	return out.Bytes(), err
}
