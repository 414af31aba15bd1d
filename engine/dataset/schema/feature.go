package schema

import (
	"bytes"
	"math"
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
	// an additional output follows the cosines; at the lower end of the range it is set and the cosines are 0
	Spike  bool
	Shrink float64 // scales the mean square norm of K cosines to 1, or to 2 with a spike
}

// Encode writes the outputs of a field without surrounding blanks to dst, which must be zero. The rule is empty
// on success.
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

// Inverse returns 1/half. exact is true if half is a power of two, as for the ranges [-1, 1] and [0, 1].
// Multiplying by the inverse then gives the same bits as dividing by half, because both operations round the
// same number, and takes a quarter of the time.
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
	RuleMissing  = "value is missing; fill it in, or give the column a missing policy other than error"
	RuleCategory = "category is not in the schema; correct the value, add it to categories (which are public), or say " +
		"`unknown: other`"
	RuleNotUTF8 = "the file is not UTF-8; set csv.encoding: windows-1252 if it is Latin-1, or save it as UTF-8"
)
