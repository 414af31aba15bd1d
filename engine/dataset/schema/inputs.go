package schema

import (
	"maps"
	"math"
	"slices"

	"dyad/engine/dataset/parse"
)

// Codes of a categorical Input that are not the index of an output.
const (
	CodeZero    = -1 // all outputs are 0
	CodeRefused = -2 // Encode refuses the value
)

// Input describes how Encode maps one feature column, for programs that implement the same map elsewhere. A numeric
// value v becomes s = (min(max(t(v - Shift), t(Lo)), t(Hi)) - Center)/Half times Encoder.Factor. Here t(x) = log(1 + x)
// if Log1p is set, and t(x) = x otherwise. With Cosines > 0, the outputs are not s but the numbers cos(pi k (1 +
// s)/2)/k times Shrink, for k = 1 to Cosines. If Line is set, the first output is instead sqrt(1.5) s times Shrink. If
// Spike is set and v - Shift is at most Lo, these outputs are 0. The last output is then sqrt(2); it is 0 for larger v.
// Coefficients returns the factors of these outputs. A category has a code. With Width 1, code 0 becomes -Factor and
// code 1 becomes Factor. With a larger Width, the output whose index is the code becomes Factor and the others are 0.
type Input struct {
	Name   string // name in the schema
	Field  string // name in the file
	Offset int    // index of the first output
	Width  int    // number of outputs

	Numeric bool
	Date    bool    // v is the number of days from January 1, 1970
	Shift   float64 // for a date, the days from January 1, 1970 to the first day of its range; otherwise 0
	Log1p   bool
	Scaling
	// MissingNumbers lists the numbers v - Shift that count as missing. NaN and empty fields always count as missing.
	MissingNumbers []float64
	// MissingOutputs holds the outputs of a missing number. They are NaN if Encode refuses missing numbers.
	MissingOutputs []float64

	// Categories lists the values that have a code. Each value occurs once.
	Categories []InputCategory
	// ByNumber reports whether every category is a number that matches by value.
	ByNumber    bool
	MissingCode int // code of an empty field
	UnknownCode int // code of a value that is not in Categories
}

// InputCategory is a value of a categorical Input.
type InputCategory struct {
	Text   string
	Number float64 // value of the number, with Input.ByNumber
	Code   int
}

// Inputs returns a description of every feature column, in the order of Columns.
func (e *Encoder) Inputs() []Input {
	all := make([]Input, e.Width())
	for k := range all {
		f, offset := e.Feature(k)
		in := Input{Name: e.FeatureName(k), Offset: offset, Width: f.Width, Numeric: f.Numeric}
		in.Field = in.Name
		if i := slices.IndexFunc(e.schema.Columns, func(c Column) bool { return c.Name == f.Name && f.Name != "" }); i >= 0 &&
			!e.schema.ByIndex() {
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
	in.Scaling, in.Log1p = f.Scaling, f.Transform == TransformLog1p
	if f.Notation != nil && f.Notation.Layout != "" {
		in.Date, in.Shift = true, float64(f.Notation.From)
	}
	for _, v := range f.Missing.Numbers {
		if !math.IsNaN(v) {
			in.MissingNumbers = append(in.MissingNumbers, v)
		}
	}
	in.MissingOutputs = make([]float64, f.Width)
	if f.EncodeMissing(in.MissingOutputs) != "" {
		for k := range in.MissingOutputs {
			in.MissingOutputs[k] = math.NaN()
		}
	}
}

// Coefficients returns a coefficient for each output of a numeric column. Each coefficient contains the argument
// factor, which is the factor of the encoder. Without a basis, the only coefficient is for the scaled number s.
// With a basis, there is a coefficient for each cos(pi k (1 + s)/2), k = 1 to Cosines. If Line is set, the first
// coefficient is for s. If Spike is set, the last coefficient is for the spike.
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

// Features returns the outputs for the value v of column k of Inputs. The column must be numeric, and v finite.
func (e *Encoder) Features(k int, v float64) []float64 {
	f, _ := e.Feature(k)
	out := make([]float64, f.Width)
	f.encodeScaled(v, out)
	return out
}

// Blocks divides the outputs into blocks and returns the number of outputs of each block, in order. The outputs of a
// numeric column, without the spike, form one block. Every other output is a block of its own.
func (e *Encoder) Blocks() (widths []int) {
	for k := range e.Width() {
		f, _ := e.Feature(k)
		first := max(1, f.Cosines) // a category has no cosines
		widths = append(append(widths, first), slices.Repeat([]int{1}, f.Width-first)...)
	}
	for _, p := range e.interactions {
		widths = append(widths, slices.Repeat([]int{1}, p.WidthA*p.WidthB)...)
	}
	return widths
}

// Lines returns a weight for each output. In each block of Blocks, the weighted sum of the outputs is a linear or
// almost linear function of the scaled number. For cosines, the weights are the coefficients of the cosine series
// of a linear function: 1/k for odd k and 0 for even k. If the first output of the basis is the linear function
// (Scaling.Line), only this output has a nonzero weight. Spikes, and outputs without a basis, have the weight 1.
func (e *Encoder) Lines() (all []float64) {
	for k := range e.Width() {
		f, _ := e.Feature(k)
		for j := range f.Width {
			v := 1.0
			switch {
			case f.Cosines > 0 && f.Line && j > 0, f.Cosines > j && j%2 == 1:
				v = 0
			case f.Cosines > j:
				v = 1 / float64(j+1)
			}
			all = append(all, v)
		}
	}
	for _, p := range e.interactions {
		all = append(all, slices.Repeat([]float64{1}, p.WidthA*p.WidthB)...)
	}
	return all
}

// IsCurved reports whether some number has a basis, or some pair of columns interacts or may interact after training.
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
			known := slices.ContainsFunc(in.Categories,
				func(c InputCategory) bool { return c.Text == text || in.ByNumber && c.Number == v.Number })
			if !known && (!in.ByNumber || !math.IsNaN(v.Number)) { // with ByNumber, texts that count as missing are not listed
				in.Categories = append(in.Categories, v)
			}
		}
	}
	add(f.Missing, func(int) int { return in.MissingCode })
	add(f.Cats, func(k int) int { return k })
}
