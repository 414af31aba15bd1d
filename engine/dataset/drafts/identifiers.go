package drafts

import (
	"slices"
	"strings"

	"dyad/engine/dataset/schema"
)

// codeNames are words of names that identifiers have, lower case: a name ends in one of them, or
// begins with one of codeBeginnings.
var codeNames = [...]string{"id", "index", "nr", "code", "number", "nummer", "numéro", "numero", "zip", "plz", "mrn", "patient", "subject", "ipp", "nip", "fallnr", "patnr"}

// codeEndings end words that name identifiers.
var codeEndings = [...]string{"nummer", "nr", "kennung", "_id", "schlüssel"}

func hasCodeName(name string) bool {
	name = strings.ToLower(name)
	words := strings.FieldsFunc(name, func(r rune) bool { return r == '_' || r == ' ' || r == '-' || r == '.' || r == '°' })
	if len(words) == 0 {
		return false
	}
	last := words[len(words)-1]
	return slices.Contains(codeNames[:], last) || words[0] == "id" || words[0] == "nr" || words[0] == "n" && strings.Contains(name, "n°") ||
		slices.ContainsFunc(codeEndings[:], func(e string) bool { return strings.HasSuffix(last, e) && len(last) > len(e)+2 })
}

// mayNamePersons returns a hint if the name of the column suggests an identifier and values repeat.
func (s *columnStats) mayNamePersons(name string) string {
	if s.repeats > 0 && (hasCodeName(name) || s.hasOneLength()) {
		return "; its values come again: if it names persons, give it role: person, so that persons are protected, not rows"
	}
	return ""
}

// MayNamePersons are the columns of the file with the name of an identifier whose values come again: rows
// of one person, perhaps. Which they are is private like the records. Formats without names of columns have none.
// progress may be nil; see DraftOptions.
func MayNamePersons(path string, progress func(rows int) error) (names []string, err error) {
	p := &profile{path: path, o: Options{Progress: progress}}
	if err := p.read(p.sniff); err != nil {
		return nil, err
	}
	if schema.IsNumbered(p.format) {
		return nil, nil
	}
	if err := p.read(p.readColumns); err != nil {
		return nil, err
	}
	for i, s := range p.stats {
		if s.repeats > 0 && hasCodeName(p.names[i]) {
			names = append(names, p.names[i])
		}
	}
	return names, nil
}

// codeValues is how many different whole numbers make identifiers, at least.
const codeValues = 20

// codeDigits is the least length of whole numbers that may be identifiers whatever their column is called.
const codeDigits = 5

// hasOneLength reports whether all values are whole numbers of one length, and many different ones.
func (s *columnStats) hasOneLength() bool {
	return s.digits >= codeDigits && s.texted == 0 && len(s.texts) > codeValues
}

// isCode reports whether whole numbers are likely identifiers: by the name, by their common length, or since
// nearly every row has another one.
func (s *columnStats) isCode(name string) bool {
	if s.measured || s.values == 0 || s.numbers != s.values || s.integers != s.values || len(s.texts) <= codeValues {
		return false
	}
	return hasCodeName(name) || s.hasOneLength() || len(s.texts) > draftCategories && s.repeats*10 < s.values && s.hi-s.lo > 10*float64(s.values)
}

// isID reports whether the column of n rows has a different text or whole number in
// every row, and more of them than a measurement would have.
func (s *columnStats) isID(name string, first bool, n int) bool {
	if s.repeats > 0 || s.values < n || s.numbers != s.integers {
		return false
	}
	return hasCodeName(name) || n > codeValues && (first || s.numbers == 0)
}
