package drafts

import (
	"slices"
	"strings"
)

// codeNames are lower-case words that occur in the names of identifiers. The last word of such a name is one of
// these words or has one of codeEndings, or its first word is "id" or "nr".
var codeNames = [...]string{"id", "index", "nr", "code", "number", "nummer", "numéro", "numero", "zip", "plz", "mrn",
	"patient", "subject", "ipp", "nip", "fallnr", "patnr"}

// codeEndings are endings of words that name identifiers.
var codeEndings = [...]string{"nummer", "nr", "kennung", "_id", "schlüssel"}

func hasCodeName(name string) bool {
	name = strings.ToLower(name)
	words := strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune("_ -.°", r) })
	if len(words) == 0 {
		return false
	}
	last := words[len(words)-1]
	return slices.Contains(codeNames[:], last) || words[0] == "id" || words[0] == "nr" ||
		words[0] == "n" && strings.Contains(name, "n°") ||
		slices.ContainsFunc(codeEndings[:], func(e string) bool { return strings.HasSuffix(last, e) && len(last) > len(e)+2 })
}

// mayNamePersons returns a hint if the name of the column suggests an identifier and some values repeat.
func (s *columnStats) mayNamePersons(name string) string {
	if s.repeats > 0 && (hasCodeName(name) || s.hasOneLength()) {
		return "; some values repeat; if each value is a person, set role: person to protect all rows of a person"
	}
	return ""
}

// A column counts as identifiers only if it has more than codeValues distinct whole numbers.
const codeValues = 20

// codeDigits is the smallest number of digits from which whole numbers may be identifiers regardless of the
// column's name.
const codeDigits = 5

// hasOneLength reports whether all values are whole numbers with the same number of digits and many are distinct.
func (s *columnStats) hasOneLength() bool {
	return s.digits >= codeDigits && s.texted == 0 && len(s.texts) > codeValues
}

// isCode reports whether whole numbers are likely identifiers. The evidence is the column's name, a common
// number of digits, or a different value in nearly every row.
func (s *columnStats) isCode(name string) bool {
	if s.measured || s.values == 0 || s.numbers != s.values || s.integers != s.values || len(s.texts) <= codeValues {
		return false
	}
	return hasCodeName(name) || s.hasOneLength() ||
		len(s.texts) > draftCategories && s.repeats*10 < s.values && s.hi-s.lo > 10*float64(s.values)
}

// isID reports whether every one of the n rows has a different text or whole number, and there are more
// distinct values than a measurement would have.
func (s *columnStats) isID(name string, first bool, n int) bool {
	if s.repeats > 0 || s.values < n || s.numbers != s.integers {
		return false
	}
	return hasCodeName(name) || n > codeValues && (first || s.numbers == 0)
}
