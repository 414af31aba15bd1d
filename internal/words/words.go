// Package words compares words that people type, and has the words for the values of an enumeration.
package words

import (
	"fmt"
	"slices"
)

// Of returns the word for v = 0, 1, ..., or "unknown".
func Of[T ~int](words []string, v T) string {
	if v < 0 || int(v) >= len(words) {
		return "unknown"
	}
	return words[v]
}

// Parse returns the value of a word that Of returns. what names the enumeration in the error.
func Parse[T ~int](what string, words []string, s string) (T, error) {
	i := slices.Index(words, s)
	if i < 0 {
		return 0, fmt.Errorf("%s %q is unknown, want one of %v", what, s, words)
	}
	return T(i), nil
}

// Distance returns the smallest number of bytes that must be inserted, deleted or replaced to turn a into b
// (Levenshtein 1966).
func Distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			d := diagonal
			if a[i] != b[j] {
				d++
			}
			diagonal = row[j+1]
			row[j+1] = min(d, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
