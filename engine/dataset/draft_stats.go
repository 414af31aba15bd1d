package dataset

import (
	"hash/maphash"
	"math"
	"slices"
	"strings"
)

// Limits of what a draft looks at.
const (
	draftCategories = 50      // a column with more texts is not categorical
	draftUnique     = 1 << 20 // values compared to find a column of ids
	draftWords      = 5       // texts that may stand among numbers, at most
	draftNumbers    = 10      // different numbers that make a column with such texts one of numbers, at least
)

// missingWords are texts that a draft takes for missing.
var missingWords = [...]string{"?", "NA", "N/A", "na", "n/a", "NaN", "nan", "null", "NULL", "None"}

// columnStats is what a draft learns about one column. It knows the data: a
// schema made from it is not private.
type columnStats struct {
	values   int     // not missing
	numbers  int     // of these, finite numbers
	integers int     // of these, whole
	lo, hi   float64 // of the numbers
	sum      float64
	missing  []string       // words that stood for missing, "" for an empty field
	nominal  []string       // of the header of an ARFF file
	texts    map[string]int // up to draftCategories+1 different values and their counts
	words    map[string]int // up to draftWords+1 of those that no notation reads as a number, and their counts
	seed     maphash.Seed
	unique   map[uint64]struct{} // of the first draftUnique values
	repeats  int                 // values that came before

	forms   [2]numberForm
	dates   [len(dateLayouts)]dateForm
	percent int         // values that end in %
	date    *DateFormat // of a column of dates
	why     string      // a column of numbers or dates cannot be read
	refused bool        // its type cannot be a feature
}

func newColumnStats() *columnStats {
	empty := numberForm{lo: math.Inf(1), hi: math.Inf(-1)}
	return &columnStats{
		lo: math.Inf(1), hi: math.Inf(-1), forms: [2]numberForm{empty, empty},
		texts: map[string]int{}, words: map[string]int{}, seed: maphash.MakeSeed(), unique: map[uint64]struct{}{},
	}
}

// refuse makes the draft ignore the column.
func (s *columnStats) refuse() {
	*s = *newColumnStats()
	s.refused = true
}

func (s *columnStats) add(field []byte) {
	if s.refused {
		return
	}
	if len(field) == 0 || slices.Contains(missingWords[:], string(field)) {
		if !slices.Contains(s.missing, string(field)) {
			s.missing = append(s.missing, string(field))
		}
		return
	}
	s.values++
	s.addForms(field)
	if v, rule := parseNumber(field); rule == "" {
		s.numbers++
		s.lo, s.hi, s.sum = min(s.lo, v), max(s.hi, v), s.sum+v
		if v == math.Trunc(v) {
			s.integers++
		}
	}
	if _, ok := s.texts[string(field)]; ok || len(s.texts) <= draftCategories {
		s.texts[string(field)]++
	}
	if len(s.unique) < draftUnique {
		h := maphash.Bytes(s.seed, field)
		if _, ok := s.unique[h]; ok {
			s.repeats++
		}
		s.unique[h] = struct{}{}
	}
}

func (s *columnStats) isNumeric() bool { return s.values > 0 && s.numbers == s.values }

func (s *columnStats) isCategorical() bool { return len(s.texts) <= draftCategories }

// categories are the texts in a fixed order.
func (s *columnStats) categories() []string {
	out := make([]string, 0, len(s.texts))
	for t := range s.texts {
		out = append(out, t)
	}
	slices.Sort(out)
	return out
}

// isID says that the column of n rows has a different text or whole number in
// every row, and more of them than a measurement would have.
func (s *columnStats) isID(name string, first bool, n int) bool {
	if s.repeats > 0 || s.values < n || s.numbers != s.integers {
		return false
	}
	return hasCodeName(name) || n > draftCategories && (first || s.numbers == 0)
}

// positiveWords are label values that suggest the positive class, lower case.
var positiveWords = [...]string{"1", "+1", "1.0", "yes", "true", "positive", "pos", "y", "t", "case", "m", "malignant", ">50k", ">50k."}

// guessPositive returns which of the texts of a label is likely the positive
// class: a usual word, else the larger number, else the rarer value.
func (s *columnStats) guessPositive() string {
	texts := s.categories()
	for _, w := range positiveWords {
		for _, t := range texts {
			if strings.ToLower(t) == w && !(w == "1" && s.lo == 1) { // of 1 and 2, 2 is likely "yes"
				return t
			}
		}
	}
	best := texts[0]
	for _, t := range texts[1:] {
		a, okA := parseNumber([]byte(best))
		b, okB := parseNumber([]byte(t))
		switch {
		case okA == "" && okB == "":
			if b > a {
				best = t
			}
		case s.texts[t] < s.texts[best]:
			best = t
		}
	}
	return best
}

// guessClasses is the likely positive class of two, and the other one.
func (s *columnStats) guessClasses() (positive, negative string) {
	positive = s.guessPositive()
	c := s.categories()
	if c[0] == positive {
		return positive, c[1]
	}
	return positive, c[0]
}
