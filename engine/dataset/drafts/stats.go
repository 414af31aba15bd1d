package drafts

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"maps"
	"math"
	"slices"
	"strings"

	"dyad/engine/dataset/parse"
	"dyad/engine/dataset/schema"
)

// Limits of what a draft looks at.
const (
	draftCategories = 50      // a column with more texts is not categorical
	draftUnique     = 1 << 20 // values compared to find a column of ids
	draftWords      = 5       // texts that may stand among numbers, at most
	draftSamples    = 3       // values shown to a person, besides the longest
	draftNumbers    = 10      // different numbers that make a column with such texts one of numbers, at least
)

// missingWords are texts that a draft takes for missing.
var missingWords = [...]string{"?", "NA", "N/A", "na", "n/a", "NaN", "nan", "null", "NULL", "None"}

// columnStats is what a draft learns about one column. It knows the data: a
// schema made from it is not private.
type columnStats struct {
	values   int            // not missing
	missing  []string       // words that stood for missing, "" for an empty field
	nominal  []string       // of the header of an ARFF file
	texts    map[string]int // up to draftCategories+1 different values and their counts
	words    map[string]int // up to draftWords+1 of those that are neither a number nor a date, and their counts
	first    []string       // different values in the order of the file, up to draftSamples
	longest  string         // of the values that texts counts
	texted   int            // values that are not numbers
	seed     maphash.Seed
	unique   map[uint64]struct{} // of the first draftUnique values
	repeats  int                 // values that came before
	persons  map[string]struct{} // IDKeys of a column with the name of an identifier, else nil
	row, gap int                 // of the value that is added, and of the first that is missing

	forms     [2]numberForm
	ambiguous int // values that both signs of fractions read, as different numbers
	units     units
	digits    int // of every value, if all are whole numbers without a sign and as long; otherwise -1
	dates     [len(parse.DateLayouts)]dateForm

	// What settle decides on a column of numbers: their notation and what they are in it.
	form, style int // -1 for none
	numbers     int // finite numbers
	integers    int // of these, whole
	lo, hi, sum float64

	decimal, thousands string             // where they differ from the file's
	date               *schema.DateFormat // of a column of dates
	asks               bool               // why: only an answer can say where fractions begin
	why                string             // a column of numbers or dates cannot be read
	measured           bool               // the user answered that it has numbers
	refused            bool               // its type cannot be a feature
}

// dateForm is what the values are in one format of dates.
type dateForm struct{ count, from, to int }

func newColumnStats() *columnStats {
	empty := numberForm{lo: math.Inf(1), hi: math.Inf(-1)}
	return &columnStats{
		form: -1, style: -1, forms: [2]numberForm{empty, empty},
		texts: map[string]int{}, words: map[string]int{}, seed: maphash.MakeSeed(), unique: map[uint64]struct{}{},
	}
}

// refuse makes the draft ignore the column.
func (s *columnStats) refuse() {
	*s = *newColumnStats()
	s.refused = true
}

// refuseNumbers makes the draft ignore a column of numbers.
func (s *columnStats) refuseNumbers(why string, args ...any) {
	s.numbers, s.style, s.why = 0, -1, fmt.Sprintf(why, args...)
}

func (s *columnStats) add(field []byte) {
	if s.refused {
		return
	}
	if len(field) == 0 || slices.Contains(missingWords[:], string(field)) {
		if !slices.Contains(s.missing, string(field)) {
			s.missing = append(s.missing, string(field))
		}
		if s.gap == 0 {
			s.gap = s.row
		}
		return
	}
	s.values++
	if !s.addNumber(field) {
		s.texted++
		if s.digits = -1; !s.addDate(field) && len(s.words) <= draftWords {
			s.words[string(field)]++
		}
	}
	if n, ok := s.texts[string(field)]; ok || len(s.texts) <= draftCategories {
		if s.texts[string(field)] = n + 1; !ok && len(s.first) < draftSamples {
			s.first = append(s.first, string(field))
		}
		if len(field) > len(s.longest) {
			s.longest = string(field)
		}
	}
	if s.persons != nil {
		s.persons[schema.IDKey(string(field))] = struct{}{}
	}
	if len(s.unique) < draftUnique {
		h := maphash.Bytes(s.seed, field)
		if _, ok := s.unique[h]; ok {
			s.repeats++
		}
		s.unique[h] = struct{}{}
	}
}

// addDate notes which date a value can be, and says whether it is one.
func (s *columnStats) addDate(field []byte) (ok bool) {
	if len(field) > 32 {
		return false
	}
	for i, l := range parse.DateLayouts {
		if day, isDate := parse.Date(l.Layout, field); isDate {
			d := &s.dates[i]
			if d.count == 0 {
				d.from, d.to = day, day
			}
			d.count, d.from, d.to = d.count+1, min(d.from, day), max(d.to, day)
			ok = true
		}
	}
	return ok
}

// worded counts the values that are words: all of them, unless there are too many different ones.
func (s *columnStats) worded() (n int) {
	for _, k := range s.words {
		n += k
	}
	return n
}

// settleDate makes the column one of dates if its values are, but for a few words.
func (s *columnStats) settleDate() {
	var formats []string
	for i, d := range s.dates {
		if d.count > 0 && len(s.words) <= draftWords && d.count+s.worded() == s.values {
			formats = append(formats, parse.DateLayouts[i].Format)
			s.date = &schema.DateFormat{Format: parse.DateLayouts[i].Format, From: parse.DayText(d.from), To: parse.DayText(max(d.to, d.from+1))}
		}
	}
	if len(formats) > 1 {
		s.date, s.why = nil, "dates that can be "+strings.Join(formats, " or ")+": give the column its date format"
	}
}

// isNumeric reports whether the column is one of numbers whose notation is known, but for a few words.
func (s *columnStats) isNumeric() bool { return s.numbers > 0 }

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

// positiveWords are label values that suggest the positive class, lower case.
var positiveWords = [...]string{"1", "+1", "1.0", "yes", "ja", "oui", "sí", "si", "true", "wahr", "vrai", "positive", "positiv", "pos", "y", "j", "o", "t", "case", "m", "malignant", ">50k", ">50k."}

// guessPositive returns which of two texts of a label is likely the positive
// class: a usual word, else the larger number, else the rarer value.
func (s *columnStats) guessPositive(texts []string) string {
	for _, w := range positiveWords {
		for _, t := range texts {
			if strings.ToLower(t) == w && !(w == "1" && s.lo == 1) { // of 1 and 2, 2 is likely "yes"
				return t
			}
		}
	}
	a, okA := parse.Number([]byte(texts[0]))
	b, okB := parse.Number([]byte(texts[1]))
	switch {
	case okA == "" && okB == "" && b > a, (okA != "" || okB != "") && s.count(texts[1]) < s.count(texts[0]):
		return texts[1]
	}
	return texts[0]
}

// count is how often a text of a label stands, in any spelling.
func (s *columnStats) count(text string) (n int) {
	for t, k := range s.texts {
		if bytes.Equal(schema.Fold(t), schema.Fold(text)) {
			n += k
		}
	}
	return n
}

// classes are the two values of a label, by their most frequent spelling; nil if there are not two. fold
// is true if there are two only without capitals and surrounding blanks.
func (s *columnStats) classes() (texts []string, fold bool) {
	if len(s.texts) > draftCategories {
		return nil, false
	}
	best := map[string]string{}
	for _, t := range s.categories() {
		f := string(schema.Fold(t))
		if old, ok := best[f]; !ok || s.texts[t] > s.texts[old] {
			best[f] = t
		}
	}
	if len(best) != 2 {
		return nil, false
	}
	return slices.Sorted(maps.Values(best)), len(s.texts) > 2
}

// guessClasses is the likely positive class of two, and the other one.
func (s *columnStats) guessClasses() (positive, negative string, fold bool) {
	c, fold := s.classes()
	if positive = s.guessPositive(c); c[0] == positive {
		return positive, c[1], fold
	}
	return positive, c[0], fold
}
