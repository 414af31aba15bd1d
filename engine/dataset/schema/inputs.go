package schema

import (
	"maps"
	"math"
	"slices"

	"dyad/engine/dataset/parse"
)

// Codes of a categorical Input that are not one of its outputs.
const (
	CodeZero    = -1 // every output is 0
	CodeRefused = -2 // Encode refuses the value
)

// Input describes the map of one feature column by Encode, for programs that do the same elsewhere. A numeric value v
// becomes s = (min(max(t(v - Shift), t(Lo)), t(Hi)) - Center)/Half times Encoder.Factor, with t(x) = log(1 + x) if
// Log1p is set and t(x) = x otherwise; with Cosines > 0 it becomes, in place of s, the numbers Shrink cos(pi k (1 +
// s)/2)/k for k = 1 to Cosines, the first of them Shrink sqrt(1.5) s if Line is set. With Spike a v - Shift
// of at most Lo has zeros in their place, and the last output is sqrt(2) there and 0 elsewhere. Coefficients has what
// these outputs are multiplied by. A category has a code: with Width 1, code 0 becomes -Factor and code 1 becomes Factor;
// otherwise output number code is Factor and the others are 0.
type Input struct {
	Name   string // of the schema
	Field  string // in the file
	Offset int    // first output
	Width  int    // outputs

	Numeric      bool
	Date         bool    // v is the number of days from January 1, 1970
	Shift        float64 // days from then to the first day of a date's range, else 0
	Lo, Hi       float64
	Log1p        bool
	Center, Half float64
	Cosines      int     // 0: no basis
	Line         bool    // with Cosines
	Spike        bool    // with Cosines
	Shrink       float64 // with Cosines
	// MissingNumbers are the numbers v - Shift that count as missing; NaN and empty fields always do.
	MissingNumbers []float64
	// MissingOutputs are the outputs of a missing number, NaN where Encode refuses it.
	MissingOutputs []float64

	// Categories are the values with a code, each once.
	Categories []InputCategory
	// ByNumber reports whether every category is a number, and is found by its value.
	ByNumber    bool
	MissingCode int // of an empty field
	UnknownCode int // of any other value
}

// InputCategory is a value of a categorical Input.
type InputCategory struct {
	Text   string
	Number float64 // with Input.ByNumber
	Code   int
}

// Inputs describes the map of every feature column, in the order of Columns.
func (e *Encoder) Inputs() []Input {
	all := make([]Input, e.Width())
	for k := range all {
		f, offset := e.Feature(k)
		in := Input{Name: e.FeatureName(k), Offset: offset, Width: f.Width, Numeric: f.Numeric}
		in.Field = in.Name
		if i := slices.IndexFunc(e.schema.Columns, func(c Column) bool { return c.Name == f.Name && f.Name != "" }); i >= 0 && !e.schema.ByIndex() {
			in.Field = e.schema.Columns[i].FieldOf()
		}
		if f.Numeric {
			f.describeNumber(&in)
		} else {
			f.describeCategories(&in)
		}
		all[k] = in
	}
	return all
}

func (f *Feature) describeNumber(in *Input) {
	in.Lo, in.Hi, in.Log1p, in.Center, in.Half = f.Lo, f.Hi, f.Transform == TransformLog1p, f.Center, f.Half
	if f.Notation != nil && f.Notation.Layout != "" {
		in.Date, in.Shift = true, float64(f.Notation.From)
	}
	for _, v := range f.Missing.Numbers {
		if !math.IsNaN(v) {
			in.MissingNumbers = append(in.MissingNumbers, v)
		}
	}
	in.Cosines, in.Line, in.Spike, in.Shrink = f.Cosines, f.line, f.Spike, f.shrink
	in.MissingOutputs = make([]float64, f.Width)
	if f.EncodeMissing(in.MissingOutputs) != "" {
		for k := range in.MissingOutputs {
			in.MissingOutputs[k] = math.NaN()
		}
	}
}

// Coefficients are the factors, with that of the encoder, of the outputs of a number: of s without a basis, else of cos(pi k (1 + s)/2)
// for k = 1 to Cosines, the first of them that of s with Line, and then of the spike.
func (in *Input) Coefficients(factor float64) []float64 {
	if in.Cosines == 0 {
		return []float64{factor}
	}
	all := make([]float64, in.Width)
	for k := range all {
		all[k] = in.Shrink * factor / float64(k+1)
	}
	if in.Spike {
		all[in.Cosines] = math.Sqrt2 * factor
	}
	if in.Line {
		all[0] = math.Sqrt(1.5) * in.Shrink * factor
	}
	return all
}

// Features are the outputs of a finite number in column k of Inputs, which is numeric.
func (e *Encoder) Features(k int, v float64) []float64 {
	f, _ := e.Feature(k)
	out := make([]float64, f.Width)
	f.encodeScaled(v, out)
	return out
}

// Blocks are the widths of neighbouring outputs that are read as one: all of a number but a spike, and each of a category or a product.
func (e *Encoder) Blocks() (widths []int) {
	for k := range e.Width() {
		f, _ := e.Feature(k)
		if f.Numeric {
			widths = append(widths, max(1, f.Cosines))
			if f.Spike {
				widths = append(widths, 1)
			}
			continue
		}
		for range f.Width {
			widths = append(widths, 1)
		}
	}
	for _, p := range e.interactions {
		widths = append(widths, slices.Repeat([]int{1}, p.wa*p.wb)...)
	}
	return widths
}

// Lines are, for each of Blocks, the weights of its outputs that make a straight line, or come next to one: of cosines those of the series
// of a line, 1/k for odd k, and 1 of what has no basis and of a spike.
func (e *Encoder) Lines() (all []float64) {
	for k := range e.Width() {
		f, _ := e.Feature(k)
		for j := range f.Width {
			v := 1.0
			switch {
			case f.Cosines > 0 && f.line && j > 0, f.Cosines > j && j%2 == 1:
				v = 0
			case f.Cosines > j:
				v = 1 / float64(j+1)
			}
			all = append(all, v)
		}
	}
	for _, p := range e.interactions {
		all = append(all, slices.Repeat([]float64{1}, p.wa*p.wb)...)
	}
	return all
}

// IsCurved reports whether some number has a basis, or some pair of columns interacts, or may after training.
func (e *Encoder) IsCurved() bool {
	if e.interactions != nil || e.schema.ChooseInteractions > 0 {
		return true
	}
	for k := range e.Width() {
		if f, _ := e.Feature(k); f.Cosines > 0 {
			return true
		}
	}
	return false
}

func (f *Feature) describeCategories(in *Input) {
	switch f.Policy {
	case MissingMiddle:
		in.MissingCode = CodeZero
	case MissingCategory:
		in.MissingCode = len(f.CatNames) - 1
	default:
		in.MissingCode = CodeRefused
	}
	in.UnknownCode = CodeRefused
	if f.unknown {
		in.UnknownCode = CodeZero
	}
	in.ByNumber = f.Cats.AllNumbers()
	add := func(s *parse.Set, code func(k int) int) {
		values := slices.SortedFunc(maps.Keys(s.Text), func(a, b string) int { return s.Text[a] - s.Text[b] })
		for _, text := range values {
			v := InputCategory{Text: text, Number: math.NaN(), Code: code(s.Text[text])}
			if s.Numbers != nil {
				v.Number = s.Numbers[s.Text[text]]
			}
			known := slices.ContainsFunc(in.Categories, func(c InputCategory) bool { return c.Text == text || in.ByNumber && c.Number == v.Number })
			if !known && (!in.ByNumber || !math.IsNaN(v.Number)) { // a text that counts as missing is not among numbers
				in.Categories = append(in.Categories, v)
			}
		}
	}
	add(f.Missing, func(int) int { return in.MissingCode })
	add(f.Cats, func(k int) int { return k })
}
