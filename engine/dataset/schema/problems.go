package schema

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"dyad/engine/dataset/parse"
)

// validator collects the problems of a schema.
type validator struct {
	s        *Schema
	problems []error
}

func (v *validator) addf(format string, args ...any) {
	v.problems = append(v.problems, fmt.Errorf("dataset: schema: "+format, args...))
}

// addIf adds a problem if it holds.
func (v *validator) addIf(holds bool, format string, args ...any) {
	if holds {
		v.addf(format, args...)
	}
}

// maxText is the maximum length of a text in a schema, in bytes.
const maxText = 1 << 14

// texts refuses names, categories and other texts that are too long or contain control characters. Tabs and line ends
// are allowed.
func (v *validator) texts(what string, all ...string) {
	for _, s := range all {
		if len(s) > maxText || !utf8.ValidString(s) ||
			strings.ContainsFunc(s, func(r rune) bool { return unicode.IsControl(r) && !strings.ContainsRune("\t\r\n", r) }) {
			v.addf("%s: a text has more than %d bytes, control characters or invalid UTF-8; change it in the file", what,
				maxText)
			return
		}
	}
}

// ordered checks the two ends of a range.
func (v *validator) ordered(where string, r []float64) {
	if lo, hi := r[0], r[1]; !(lo < hi) || math.IsInf(hi-lo, 0) {
		v.addf("%s: range is [%v, %v], want finite lo < hi", where, lo, hi)
	}
}

func (v *validator) numericRange(where string, r []float64, transform string) {
	if len(r) != 2 {
		v.addf("%s: range has %d numbers, want [lo, hi]", where, len(r))
		return
	}
	v.ordered(where, r)
	lo, hi := r[0], r[1]
	switch {
	case transform != "" && transform != TransformLog1p:
		v.addf("%s: transform is %q, want log1p or none", where, transform)
	case transform == TransformLog1p && lo < 0:
		v.addf("%s: transform log1p needs a range from 0 or above", where)
	}
	if lo < hi && !(lo < 0 && transform != "") {
		if _, half := centerAndHalf(lo, hi, transform, v.s.IsSparse()); !(half > 0) {
			v.addf("%s: the range is too narrow; widen it", where)
		}
	}
	v.addIf(v.s.IsSparse() && (lo > 0 || hi < 0),
		"%s: a sparse range must contain 0, because omitted features are 0; otherwise use dense: true", where)
}

// notation checks the separators of numbers. decimal is the decimal separator in effect.
func (v *validator) notation(where, decimal, ownDecimal, thousands string) {
	if d := ownDecimal; d != "" && d != "." && d != "," {
		v.addf("%sdecimal is %q, want a point or a comma", where, d)
	}
	if !slices.Contains([]string{"", ".", ",", "'", parse.ThousandsSpace}, thousands) {
		v.addf("%sthousands is %q, but it must be a point, a comma, an apostrophe or space", where, thousands)
	} else if thousands != "" && thousands == cmp.Or(decimal, ".") {
		v.addf(`%sthousands and decimal have the same character; for numbers such as 1.234,5 set decimal: ","`, where)
	}
}
