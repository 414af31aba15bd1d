package dataset

import (
	"math"
	"strconv"
)

// valueSet finds which of some public values a field holds: by its text, or, for
// plain decimal numbers, by value, so that "2" finds "2.0". If two of the values
// are the same number ("07" and "7"), only the text counts.
type valueSet struct {
	text    map[string]int
	numbers []float64 // NaN for a value that is not a plain decimal; nil: text only
	// numeric says that findNumber finds each short number that find finds.
	numeric bool
}

func newValueSet(values []string) *valueSet {
	s := &valueSet{text: make(map[string]int, len(values)), numbers: make([]float64, len(values))}
	seen := map[float64]bool{}
	ambiguous := false
	for i, v := range values {
		s.text[v] = i
		s.numbers[i] = math.NaN()
		if isPlainDecimal(v) {
			f, _ := strconv.ParseFloat(v, 64)
			ambiguous = ambiguous || seen[f]
			seen[f] = true
			s.numbers[i] = f
		}
	}
	if ambiguous || len(seen) == 0 {
		s.numbers = nil
	}
	s.numeric = true
	for i, v := range values {
		_, short := shortNumber([]byte(v))
		s.numeric = s.numeric && (!short || s.numbers != nil && !math.IsNaN(s.numbers[i]))
	}
	return s
}

// find returns the index of the value in the field b, or -1.
func (s *valueSet) find(b []byte) int {
	if i, ok := s.text[string(b)]; ok {
		return i
	}
	if s.numbers == nil || !isPlainDecimal(b) {
		return -1
	}
	f, err := strconv.ParseFloat(string(b), 64)
	if err != nil {
		return -1
	}
	return s.findNumber(f)
}

// findNumber returns the index of the value that equals f, or -1.
func (s *valueSet) findNumber(f float64) int {
	for i, v := range s.numbers {
		if v == f {
			return i
		}
	}
	return -1
}

// isPlainDecimal accepts an optional sign, digits and at most one point, with at
// least one digit; no exponent, which codes such as "1E2" would be mistaken for.
func isPlainDecimal[T string | []byte](b T) bool {
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

// parseNumber reads a finite number. The rule is empty on success.
func parseNumber(b []byte) (f float64, rule string) {
	if f, ok := shortNumber(b); ok {
		return f, ""
	}
	f, err := strconv.ParseFloat(string(b), 64)
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return 0, ruleNotFinite
	}
	if err != nil {
		return 0, ruleNotNumber
	}
	return f, ""
}

// powersOfTen are exact: 5^22 < 2^53.
var powersOfTen = [...]float64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22}

// shortNumber reads the decimal numbers that one rounding makes: m 10^e with a whole number
// m < 2^53 and |e| <= 22. Both m and 10^|e| are float64 numbers, so that their product or
// quotient is the number rounded correctly (IEEE 754, section 4.3; Clinger, "How to read
// floating point numbers accurately", PLDI 1990), which is what strconv.ParseFloat returns.
// ok is false for all others, numbers or not.
func shortNumber(b []byte) (f float64, ok bool) {
	var m uint64
	i, exponent, digits := 0, 0, 0
	negative := len(b) > 0 && b[0] == '-'
	if negative || len(b) > 0 && b[0] == '+' {
		i = 1
	}
	if len(b)-i > 19 { // m below stays under 10^19 < 2^64
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
		f /= powersOfTen[-exponent]
	} else {
		f *= powersOfTen[exponent]
	}
	if negative {
		f = -f
	}
	return f, true
}
