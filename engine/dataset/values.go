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
	f, err := strconv.ParseFloat(string(b), 64)
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return 0, ruleNotFinite
	}
	if err != nil {
		return 0, ruleNotNumber
	}
	return f, ""
}
