package schema

import (
	"bytes"
	"math"
	"unicode/utf8"

	"dyad/engine/dataset/parse"
)

// Feature encodes one column.
type Feature struct {
	Name      string
	Offset    int // first output
	Width     int // outputs: 1, m for m > 2 categories, K for K cosines, K + 1 with a spike
	Factor    float64
	Numeric   bool
	Transform string
	Lo, Hi    float64 // range, before the transform
	Center    float64 // of the transformed range; 0 if sparse
	Half      float64 // half its length; the largest magnitude if sparse
	Cosines   int     // K of its basis, 0 for none
	line      bool    // the first of them is the line
	Spike     bool    // an output of its own follows them, of the lower end of the range, where they are 0
	shrink    float64 // makes the mean square norm of K cosines 1, or 2 with a spike
	Cats      *parse.Set
	CatNames  []string
	Missing   *parse.Set
	Policy    string
	value     float64 // for MissingValue
	Notation  *parse.Notation
	unknown   bool // other categories become all 0
}

// Encode writes the outputs of a trimmed field to dst, which must be zero. The
// rule is empty on success.
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
		return RuleNotUTF8 // also with unknown: other, which would drop every letter of another encoding
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

// EncodeNumber is encode for a number v of a numeric column.
func (f *Feature) EncodeNumber(v float64, dst []float64) (rule string) {
	if f.Missing.FindNumber(v) >= 0 {
		return f.EncodeMissing(dst)
	}
	f.encodeScaled(v, dst)
	return ""
}

// EncodeMissing is Encode for a missing value.
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

// Scale maps v, which is finite, to [-factor, factor].
func (f *Feature) Scale(v float64) float64 {
	if f.Transform == "" && v > f.Lo && v < f.Hi { // most values: nothing below clamps them
		if u := (v - f.Center) / f.Half; u > -1 && u < 1 {
			return u * f.Factor
		}
	}
	return f.place(v) * f.Factor
}

// place maps v, which is finite, to [-1, 1].
func (f *Feature) place(v float64) float64 {
	u := (Transform(min(max(v, f.Lo), f.Hi), f.Transform) - f.Center) / f.Half
	return min(max(u, -1), 1)
}

// Inverse is 1/half where half is a power of two, as for ranges of [-1, 1] and [0, 1]: a product with it
// is then the quotient by half to the bit, as both round the same number, and takes a fourth of the time.
func (f *Feature) Inverse() (inverse float64, exact bool) {
	mantissa, exponent := math.Frexp(f.Half)
	return 1 / f.Half, mantissa == 0.5 && -1000 < exponent && exponent < 1000
}

// Transform is v after a transform of a schema.
func Transform(v float64, transform string) float64 {
	if transform == TransformLog1p {
		return math.Log1p(v)
	}
	return v
}

// The rules of a field.
const (
	RuleMissing  = "value is missing; fill it in, or give the column a missing policy other than error"
	RuleCategory = "category is not in the schema; correct the value, add it to categories (which are public), or say `unknown: other`"
	RuleNotUTF8  = "the file is not UTF-8; set csv.encoding: windows-1252 if it is Latin-1, or save it as UTF-8"
)
