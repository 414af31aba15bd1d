package schema

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

	"dyad/engine/dataset/parse"
)

// Feature is the encoder of one column.
type Feature struct {
	Name      string
	Offset    int // index of the first output
	Width     int // number of outputs: 1, m for m > 2 categories, K for K cosines, K + 1 with a spike
	Factor    float64
	Numeric   bool
	Transform string
	Scaling
	Cats     *parse.Set
	CatNames []string
	Missing  *parse.Set
	Policy   string
	value    float64 // number used by the policy MissingValue
	Notation *parse.Notation
	unknown  bool // categories that are not listed become all 0
}

// Scaling is the map of a numeric column to its outputs.
type Scaling struct {
	Lo, Hi  float64 // range before the transform
	Center  float64 // centre of the transformed range; 0 if sparse
	Half    float64 // half the length of the transformed range; the largest magnitude if sparse
	Cosines int     // number K of the basis, 0 without a basis
	Line    bool    // the first feature of the basis is the line
	// Spike adds an output after the cosines. At the lower end of the range, it is the only output that is
	// not 0. Elsewhere, it is 0.
	Spike  bool
	Shrink float64 // scales the mean square norm of K cosines to 1, or to 2 with a spike
}

// same reports whether f and g are columns of one name that map every number or category to the same outputs, apart
// from the factor of the encoder. The notation of the values in a file may differ.
func (f Feature) same(g Feature) bool {
	return f.Name == g.Name && f.Offset == g.Offset && f.Width == g.Width &&
		f.Numeric == g.Numeric && f.Transform == g.Transform && f.Scaling == g.Scaling && slices.Equal(f.CatNames, g.CatNames)
}

// Encode encodes a field and writes the outputs to dst. The field must have no blanks at its ends, and dst
// must be zero. rule is the rule that the field breaks, or "" on success.
func (f *Feature) Encode(field []byte, dst []float64) (rule string) {
	if f.Numeric && f.Missing.Numeric {
		if v, ok := parse.ShortNumber(field); ok {
			return f.EncodeNumber(v, dst)
		}
	}
	if len(field) == 0 || f.Missing.Find(field) >= 0 {
		return f.EncodeMissing(dst)
	}
	if f.Numeric {
		v, rule := parse.Number(field)
		switch {
		case rule == "":
			return f.EncodeNumber(v, dst)
		case bytes.EqualFold(field, []byte("nan")):
			return f.EncodeMissing(dst)
		case rule == parse.RuleNotNumber && f.Notation == nil:
			return parse.OtherNotation(field)
		}
		return rule
	}
	k := f.Cats.Find(field)
	if k < 0 && !utf8.Valid(field) {
		return RuleNotUTF8 // also with unknown: other; otherwise every letter of another encoding would be dropped
	}
	if k < 0 && f.unknown {
		return "" // dst is zero
	}
	if k < 0 {
		return RuleCategory
	}
	f.SetCategory(k, dst)
	return ""
}

// EncodeNumber is like Encode for a number v of a numeric column.
func (f *Feature) EncodeNumber(v float64, dst []float64) (rule string) {
	if f.Missing.FindNumber(v) >= 0 {
		return f.EncodeMissing(dst)
	}
	f.encodeScaled(v, dst)
	return ""
}

// EncodeMissing is like Encode for a missing value.
func (f *Feature) EncodeMissing(dst []float64) (rule string) {
	switch f.Policy {
	case MissingMiddle:
		clear(dst)
	case MissingValue:
		f.encodeScaled(f.value, dst)
	case MissingCategory:
		f.SetCategory(len(f.CatNames)-1, dst)
	default:
		return RuleMissing
	}
	return ""
}

// SetCategory writes the outputs of category k.
func (f *Feature) SetCategory(k int, dst []float64) {
	if f.Width == 1 {
		dst[0] = float64(2*k-1) * f.Factor
		return
	}
	dst[k] = f.Factor
}

// Scale maps the finite number v to [-factor, factor].
func (f *Feature) Scale(v float64) float64 {
	if f.Transform == "" && v > f.Lo && v < f.Hi { // fast branch for most values, which need no clamping
		if u := (v - f.Center) / f.Half; u > -1 && u < 1 {
			return u * f.Factor
		}
	}
	return f.place(v) * f.Factor
}

// place maps the finite number v to [-1, 1].
func (f *Feature) place(v float64) float64 {
	u := (Transform(min(max(v, f.Lo), f.Hi), f.Transform) - f.Center) / f.Half
	return min(max(u, -1), 1)
}

// Inverse returns 1/half. exact is true if half is a power of two, as for the ranges [-1, 1] and [0, 1]. In
// that case, multiplying by the inverse gives the same bits as dividing by half, because both operations
// round the same number. The multiplication takes a quarter of the time.
func (f *Feature) Inverse() (inverse float64, exact bool) {
	mantissa, exponent := math.Frexp(f.Half)
	return 1 / f.Half, mantissa == 0.5 && -1000 < exponent && exponent < 1000
}

// Transform applies a transform of a schema to v.
func Transform(v float64, transform string) float64 {
	if transform == TransformLog1p {
		return math.Log1p(v)
	}
	return v
}

// The rules of a field.
const (
	RuleMissing  = "the value is missing; fill it in, or give the column another missing policy"
	RuleCategory = "the category is not in the schema; correct it, add it to the public categories, or set " +
		"`unknown: other`"
	RuleNotUTF8 = "the file is not UTF-8; set csv.encoding: windows-1252 if the file is Latin-1, or save the file " +
		"as UTF-8"
)

// Writes reports whether a field is written in the notation of the column. It returns false for an empty
// field and for a text that the schema lists as missing. The notation could turn a missing text such as
// 9.999 into the number 9999.
func (f *Feature) Writes(field []byte) bool {
	if f.Notation == nil || len(field) == 0 {
		return false
	}
	_, missing := f.Missing.Text[string(field)]
	return !missing
}

// featureEncoder builds the encoder of c without offset and factor. sets caches the set of missing values of
// each policy.
func (s *Schema) featureEncoder(c *Column, sets map[*Missing]*parse.Set) Feature {
	m := s.missingOf(c)
	f := Feature{Name: c.Name, Width: 1, Policy: m.PolicyOf()}
	if f.Missing = sets[m]; f.Missing == nil {
		var values []string
		if m != nil {
			values = m.Values
		}
		f.Missing = parse.NewSet(values)
		sets[m] = f.Missing
	}
	if m != nil && m.Value != nil {
		f.value = *m.Value
	}
	if c.kind() == KindNumeric {
		f.Numeric = true
		f.Transform = c.Transform
		f.Notation = s.NotationOf(c)
		f.Lo, f.Hi = c.Bounds()
		f.Center, f.Half = centerAndHalf(f.Lo, f.Hi, f.Transform, s.IsSparse())
		if kind, k, _ := cosines(cmp.Or(c.Basis, s.Basis)); k > 0 {
			f.setCosines(k, kind)
		}
		return f
	}
	f.unknown = c.Unknown == UnknownOther
	f.Cats = parse.NewSet(c.Categories)
	f.CatNames = append([]string(nil), c.Categories...)
	if f.Policy == MissingCategory {
		f.CatNames = append(f.CatNames, "(missing)")
	}
	if len(f.CatNames) > 2 {
		f.Width = len(f.CatNames)
	}
	return f
}

// centerAndHalf returns the shift and the divisor of a numeric column.
func centerAndHalf(lo, hi float64, transform string, sparse bool) (center, half float64) {
	a, b := Transform(lo, transform), Transform(hi, transform)
	if sparse {
		return 0, max(math.Abs(a), math.Abs(b))
	}
	return a/2 + b/2, b/2 - a/2
}

// setCosines sets the basis of a numeric column. The mean square norm of the block over u in [0, 1] is 1, as large as
// for a category. In the sum, each cos^2(pi k u) has the mean 1/2, and the square of the line has the same mean. With a
// spike, the mean square norm is 2, equal to the square of the spike. The reason is that numbers above 0 are rare, and
// shorter blocks would be lost in the noise.
func (f *Feature) setCosines(k int, kind string) {
	f.Cosines, f.Width, f.Line = k, k, kind == basisCurve
	f.Shrink = math.Sqrt(2 / squares(k))
	if f.Spike = kind == basisSpike && f.Transform == TransformLog1p && f.Lo == 0; f.Spike {
		f.Width, f.Shrink = k+1, math.Sqrt2*f.Shrink
	}
}

// squares returns the sum of 1/j^2 for j = 1 to k.
func squares(k int) (sum float64) {
	for j := k; j >= 1; j-- {
		sum += 1 / float64(j*j)
	}
	return sum
}

// encodeScaled writes the outputs of the finite number v.
func (f *Feature) encodeScaled(v float64, dst []float64) {
	if f.Cosines == 0 {
		dst[0] = f.Scale(v)
		return
	}
	// u = (1 + s)/2, so cos(pi u) = -sin(pi s/2), which is 0 in the middle of the range. The other cosines are
	// Chebyshev polynomials of this number: cos(pi (k+1) u) = 2 cos(pi u) cos(pi k u) - cos(pi (k-1) u).
	s := f.place(v)
	if f.Spike {
		clear(dst[:f.Width])
		if v <= f.Lo {
			dst[f.Cosines] = math.Sqrt2 * f.Factor
			return
		}
	}
	c := -math.Sin(math.Pi / 2 * s)
	before, now := 1.0, c
	for k := range f.Cosines {
		dst[k] = now * (f.Shrink * f.Factor / float64(k+1))
		before, now = now, min(max(2*c*now-before, -1), 1)
	}
	if f.Line {
		dst[0] = s * (math.Sqrt(1.5) * f.Shrink * f.Factor)
	}
}

// names returns the names of the outputs of a numeric column.
func (f *Feature) names(column string) []string {
	if f.Cosines == 0 {
		return []string{column}
	}
	all := make([]string, f.Cosines, f.Width)
	for k := range all {
		all[k] = fmt.Sprintf("%s~%d", column, k+1)
	}
	if f.Spike {
		all = append(all, column+"=0")
	}
	return all
}

// lowFrequencies is the number of features of a number with a basis that an interaction multiplies. They are the
// features with the lowest frequencies.
const lowFrequencies = 3

// low returns the number of outputs of f that an interaction multiplies, and the scale that makes their mean square
// norm equal to factor^2, as in a block. A category has this norm already. A number without a basis has a third of
// it. With K cosines, the first outputs alone have less than all K.
func (f *Feature) low() (width int, scale float64) {
	switch {
	case !f.Numeric:
		return f.Width, 1
	case f.Cosines == 0:
		return 1, math.Sqrt(3)
	}
	width = min(f.Cosines, lowFrequencies)
	some := squares(width)
	if f.Spike {
		some *= 2
	}
	return width, math.Sqrt(squares(f.Cosines) / some)
}

// lowest returns the results of low for the columns of a pair, and the product of the scales.
func lowest(a, b Feature) (wa, wb int, scale float64) {
	wa, sa := a.low()
	wb, sb := b.low()
	return wa, wb, sa * sb
}

// largest returns the largest square norm of the first width outputs of f over all values, in units of the
// squared factor.
func (f *Feature) largest(width int) float64 {
	if !f.Numeric || f.Cosines == 0 {
		return 1
	}
	sum := 1.0
	if f.Line {
		sum = 1.5
	}
	for k := 2; k <= min(width, f.Cosines); k++ { // a spike has the square 2, less than the cosines near it
		sum += 1 / float64(k*k)
	}
	return f.Shrink * f.Shrink * sum
}
