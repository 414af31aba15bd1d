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
	"unicode"

	"dyad/engine/dataset"
)

// maxSnippet is the largest number of features of a model that can be exported as source text.
const maxSnippet = 10_000

//go:embed templates/score.py.tmpl
var pythonTemplate string

//go:embed templates/score.go.tmpl
var goTemplate string

// snippet holds the data of the templates. Every text of the model that it contains was converted to the
// target language (see words).
type snippet struct {
	About      []string // lines of the comment at the top
	Numbered   bool
	Narrow     bool
	NonZeros   int
	Factor     float64
	Slack      float64
	Curved     bool // some numeric column has a basis
	Spiked     bool // some numeric column has a spike
	Numbers    []snippetColumn
	Categories []snippetColumn
	Pairs      []snippetPair
	JSON       string // the whole model as JSON, for JavaScript
}

// snippetColumn is an input with its weights. Field and the Text of the categories are source text, and Name is empty.
type snippetColumn struct {
	dataset.Input
	Weights []float64
	Factors []float64 // factors of the outputs of a numeric column
}

// snippetPair is an interaction. A and B are indices among Numbers and Categories, with Numbers first. Weights has
// WidthB entries for each output of A.
type snippetPair struct {
	dataset.Interaction
	Weights []float64
}

// words converts texts to a language: the name of a column, and a literal.
type words struct{ name, text func(string) string }

// snippet collects the columns of a linear score.
func (f *Function) snippet(write words) (*snippet, error) {
	w, err := f.linear()
	if err != nil {
		return nil, err
	}
	if len(w) > maxSnippet {
		return nil, fmt.Errorf("export: a snippet would have %d features, but at most %d are written as source text; export "+
			"the model as ONNX", len(w), maxSnippet)
	}
	s := &snippet{About: comments(f.About), Numbered: f.numbered(), Narrow: f.Encoder.Schema().IsNarrow(),
		NonZeros: f.nonZeros(), Factor: f.Encoder.Factor(), Slack: f.slack()}
	var places []int // indices of the inputs among Numbers and Categories
	inputs := f.Encoder.Inputs()
	for _, in := range inputs {
		in.Name, in.Field = "", write.name(in.Field)
		for k, c := range in.Categories {
			in.Categories[k].Text = write.text(c.Text)
		}
		c := snippetColumn{in, w[in.Offset:][:in.Width], nil}
		if in.Numeric {
			c.Factors, s.Curved, s.Spiked = in.Coefficients(s.Factor), s.Curved || in.Cosines > 0, s.Spiked || in.Spike
			places = append(places, len(s.Numbers))
			s.Numbers = append(s.Numbers, c)
		} else {
			places = append(places, len(s.Categories))
			s.Categories = append(s.Categories, c)
		}
	}
	for _, p := range f.Encoder.Interactions() {
		for _, at := range []*int{&p.A, &p.B} {
			numeric := inputs[*at].Numeric
			if *at = places[*at]; !numeric {
				*at += len(s.Numbers)
			}
		}
		s.Pairs = append(s.Pairs, snippetPair{p, w[p.Offset:][:p.WidthA*p.WidthB]})
	}
	return s, nil
}

// comments returns facts as lines that cannot end a comment: they have printable characters and single blanks only.
func comments(facts []Fact) []string {
	lines := make([]string, len(facts))
	for i, f := range facts {
		lines[i] = strings.Map(func(r rune) rune {
			if unicode.IsPrint(r) {
				return r
			}
			return '?'
		}, strings.Join(strings.Fields(f.Name+": "+f.Text), " "))
	}
	return lines
}

// Python returns the source of a Python function that scores NumPy columns.
func (f *Function) Python() ([]byte, error) {
	return f.fill(pythonTemplate, words{pythonText, pythonText}, template.FuncMap{
		"number": numberOr("np.nan"),
		"bool":   func(b bool) string { return map[bool]string{true: "True", false: "False"}[b] },
	}, "")
}

// numberOr returns a function that writes a number, and the text nan for NaN.
func numberOr(nan string) func(v float64) string {
	return func(v float64) string {
		if math.IsNaN(v) {
			return nan
		}
		return number(v)
	}
}

// pythonText returns a string literal of ASCII characters.
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

// Go returns a source file that imports only the standard library.
func (f *Function) Go() ([]byte, error) {
	text, err := f.fill(goTemplate, words{strconv.Quote, strconv.Quote}, template.FuncMap{
		"number": numberOr("nan"), "bool": strconv.FormatBool,
	}, "")
	if err != nil {
		return nil, err
	}
	return format.Source(text)
}

func (f *Function) fill(text string, write words, functions template.FuncMap, data string) ([]byte, error) {
	s, err := f.snippet(write)
	if err != nil {
		return nil, err
	}
	s.JSON = data
	t, err := template.New("").Funcs(functions).Parse(text)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = t.Execute(&out, s)
	return out.Bytes(), err
}
