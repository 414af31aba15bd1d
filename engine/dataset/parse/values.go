// Package parse parses the texts of fields: numbers in every notation, dates, units, and sets of public values.
package parse

import (
	"math"
	"slices"
	"strconv"
)

// Set holds a list of public values and finds the value that a field holds. Values match by their text. Plain
// decimal numbers also match by value, so that "2" matches "2.0". If two values of the list are the same number
// ("07" and "7"), all values of the list match by text only.
type Set struct {
	Text    map[string]int
	Numbers []float64 // NaN for a value that is not a plain decimal number; nil if values match by text only
	// Numeric is true if FindNumber finds every short number (see ShortNumber) that Find finds.
	Numeric bool
}

// NewSet returns the set of the given values.
func NewSet(values []string) *Set {
	s := &Set{Text: make(map[string]int, len(values)), Numbers: make([]float64, len(values))}
	seen := map[float64]bool{}
	ambiguous := false
	for i, v := range values {
		s.Text[v] = i
		s.Numbers[i] = math.NaN()
		if IsPlainDecimal(v) {
			f, _ := strconv.ParseFloat(v, 64)
			ambiguous = ambiguous || seen[f]
			seen[f] = true
			s.Numbers[i] = f
		}
	}
	if ambiguous || len(seen) == 0 {
		s.Numbers = nil
	}
	s.Numeric = true
	for i, v := range values {
		_, short := ShortNumber([]byte(v))
		s.Numeric = s.Numeric && (!short || s.Numbers != nil && !math.IsNaN(s.Numbers[i]))
	}
	return s
}

// Find returns the index of the value in the field b, or -1.
func (s *Set) Find(b []byte) int {
	if i, ok := s.Text[string(b)]; ok {
		return i
	}
	if s.Numbers == nil || !IsPlainDecimal(b) {
		return -1
	}
	f, err := strconv.ParseFloat(string(b), 64)
	if err != nil {
		return -1
	}
	return s.FindNumber(f)
}

// FindNumber returns the index of the value that equals f, or -1.
func (s *Set) FindNumber(f float64) int { return slices.Index(s.Numbers, f) }

// IsPlainDecimal reports whether b consists of an optional sign, digits and at most one point, with at least
// one digit. Exponents are not accepted, because codes such as "1E2" would be taken for numbers.
func IsPlainDecimal[T string | []byte](b T) bool {
	digits, points := 0, 0
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case c >= '0' && c <= '9':
			digits++
		case c == '.' && points == 0:
			points++
		case (c == '+' || c == '-') && i == 0:
		default:
			return false
		}
	}
	return digits > 0
}

// Number parses a finite number. rule is the rule that the text breaks, or "" on success.
func Number(b []byte) (f float64, rule string) {
	if f, ok := ShortNumber(b); ok {
		return f, ""
	}
	f, err := strconv.ParseFloat(string(b), 64)
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return 0, RuleNotFinite
	}
	if err != nil {
		return 0, RuleNotNumber
	}
	return f, ""
}

// PowersOfTen holds powers of ten. They are exact, since 5^22 < 2^53.
var PowersOfTen = [...]float64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
	1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22}

// ShortNumber parses decimal numbers that need only one rounding: m 10^e with a whole number m < 2^53 and |e|
// <= 22. Both m and 10^|e| are float64 numbers. So their product or quotient is the correctly rounded number
// (IEEE 754, section 4.3; Clinger, "How to read floating point numbers accurately", PLDI 1990), which
// strconv.ParseFloat returns as well. ok is false for all other texts, whether they are numbers or not.
func ShortNumber(b []byte) (f float64, ok bool) {
	var m uint64
	i, exponent, digits := 0, 0, 0
	negative := len(b) > 0 && b[0] == '-'
	if negative || len(b) > 0 && b[0] == '+' {
		i = 1
	}
	if len(b)-i > 19 { // m, computed below, stays under 10^19 < 2^64
		return 0, false
	}
	for ; i < len(b) && b[i]-'0' < 10; i++ {
		m = 10*m + uint64(b[i]-'0')
		digits++
	}
	if i < len(b) && b[i] == '.' {
		for i++; i < len(b) && b[i]-'0' < 10; i++ {
			m = 10*m + uint64(b[i]-'0')
			digits++
			exponent--
		}
	}
	if digits == 0 || m >= 1<<53 {
		return 0, false
	}
	if i < len(b) && (b[i] == 'e' || b[i] == 'E') {
		sign, e, first := 1, 0, i+1
		if first < len(b) && (b[first] == '-' || b[first] == '+') {
			if b[first] == '-' {
				sign = -1
			}
			first++
		}
		for i = first; i < len(b) && b[i]-'0' < 10; i++ {
			e = 10*e + int(b[i]-'0')
		}
		if i == first || e > 1000 {
			return 0, false
		}
		exponent += sign * e
	}
	if i < len(b) || exponent < -22 || exponent > 22 {
		return 0, false
	}
	if f = float64(m); exponent < 0 {
		f /= PowersOfTen[-exponent]
	} else {
		f *= PowersOfTen[exponent]
	}
	if negative {
		f = -f
	}
	return f, true
}

// AllNumbers reports whether all values are plain decimal numbers that match by number, not only by text.
func (s *Set) AllNumbers() bool {
	return len(s.Numbers) > 0 && !slices.ContainsFunc(s.Numbers, math.IsNaN)
}

// The rules of a number.
const (
	RuleNotNumber = "the value is not a number; correct the value, or list it under missing.values"
	RuleNotFinite = "the value is not a finite number; correct the value, or list it under missing.values"
)
