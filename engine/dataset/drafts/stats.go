package drafts

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"dyad/engine/dataset/parse"
	"dyad/engine/dataset/schema"
)

// Limits of what a draft looks at.
const (
	draftCategories = 50      // largest number of texts in a categorical column
	draftUnique     = 1 << 20 // number of values compared to detect a column of ids
	draftWords      = 5       // largest number of different texts among numbers
	draftSamples    = 3       // number of values shown to a person, besides the longest
	draftNumbers    = 10      // smallest number of distinct numbers for which a column with texts is numeric
)

// missingWords are texts that a draft treats as missing values.
var missingWords = [...]string{"?", "NA", "N/A", "na", "n/a", "NaN", "nan", "null", "NULL", "None"}

// columnStats collects statistics of one column. It is computed from the data, so a schema made from it is not
// private.
type columnStats struct {
	values   int            // number of values that are not missing
	missing  []string       // texts that were read as missing, "" for an empty field
	nominal  []string       // nominal values in the header of an ARFF file
	texts    map[string]int // up to draftCategories+1 different values and their counts
	words    map[string]int // up to draftWords+1 texts that are neither a number nor a date, and their counts
	first    []string       // up to draftSamples different values in the order of the file
	longest  string         // longest of the values in texts
	texted   int            // number of values that are not numbers
	seed     maphash.Seed
	unique   map[uint64]struct{} // hashes of the first draftUnique values
	repeats  int                 // number of values that occurred before
	persons  map[string]struct{} // IDKeys of a column with the name of an identifier, else nil
	row, gap int                 // number of the current row, and of the first row with a missing value

	forms     [2]numberForm
	ambiguous int // number of values that are different numbers with the two decimal separators
	units     units
	digits    int // number of digits if all values are unsigned whole numbers of the same length; otherwise -1
	dates     [len(parse.DateLayouts)]dateForm

	// Results of settle for a column of numbers: the notation and the statistics of the numbers.
	form, style int // -1 if undecided
	numbers     int // number of finite numbers
	integers    int // number of whole numbers
	lo, hi, sum float64

	decimal, thousands string             // set if they differ from the separators of the file
	date               *schema.DateFormat // format of a column of dates
	asks               bool               // the decimal separator is open, and only an answer can decide it
	why                string             // reason why a column of numbers or dates cannot be read
	measured           bool               // the user answered that the column has numbers
	refused            bool               // a column of this type cannot be a feature
}

// dateForm counts the values that are dates in one format, and holds the first and the last day.
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

// addDate updates the counts of each date format and reports whether the value is a date.
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

// worded returns the number of values that are words. The number is too small if there are more than
// draftWords+1 different words.
func (s *columnStats) worded() (n int) {
	for _, k := range s.words {
		n += k
	}
	return n
}

// settleDate makes the column a column of dates if its values are dates except for a few words.
func (s *columnStats) settleDate() {
	var formats []string
	for i, d := range s.dates {
		if d.count > 0 && len(s.words) <= draftWords && d.count+s.worded() == s.values {
			formats = append(formats, parse.DateLayouts[i].Format)
			s.date = &schema.DateFormat{Format: parse.DateLayouts[i].Format, From: parse.DayText(d.from),
				To: parse.DayText(max(d.to, d.from+1))}
		}
	}
	if len(formats) > 1 {
		s.date, s.why = nil, "dates that can be "+strings.Join(formats, " or ")+": give the column its date format"
	}
}

// isNumeric reports whether the values are numbers in a known notation, except for a few words.
func (s *columnStats) isNumeric() bool { return s.numbers > 0 }

func (s *columnStats) isCategorical() bool { return len(s.texts) <= draftCategories }

// categories returns the texts in a fixed order.
func (s *columnStats) categories() []string { return slices.Sorted(maps.Keys(s.texts)) }

// positiveWords are lower-case label values that suggest the positive class.
var positiveWords = [...]string{"1", "+1", "1.0", "yes", "ja", "oui", "sí", "si", "true", "wahr", "vrai", "positive",
	"positiv", "pos", "y", "j", "o", "t", "case", "m", "malignant", ">50k", ">50k."}

// guessPositive returns the likely positive class of two label texts: a usual word for it, otherwise the larger
// number, otherwise the rarer value.
func (s *columnStats) guessPositive(texts []string) string {
	for _, w := range positiveWords {
		for _, t := range texts {
			if strings.ToLower(t) == w && !(w == "1" && s.lo == 1) { // if the values are 1 and 2, then 2 likely means "yes"
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

// count returns how often a label text occurs, in any spelling.
func (s *columnStats) count(text string) (n int) {
	for t, k := range s.texts {
		if bytes.Equal(schema.Fold(t), schema.Fold(text)) {
			n += k
		}
	}
	return n
}

// classes returns the two values of a label, each in its most frequent spelling, or nil if there are not two.
// fold is true if only ignoring case and surrounding blanks leaves two values.
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

// guessClasses returns the likely positive class and the likely negative class.
func (s *columnStats) guessClasses() (positive, negative string, fold bool) {
	c, fold := s.classes()
	if positive = s.guessPositive(c); c[0] == positive {
		return positive, c[1], fold
	}
	return positive, c[0], fold
}

func validTexts(texts map[string]int) bool {
	for t := range texts {
		if !utf8.ValidString(t) {
			return false
		}
	}
	return true
}

// numberForm counts the values of a column that are numbers if one decimal separator is assumed.
type numberForm struct {
	count, only, integers int    // numbers with this separator; numbers with this separator only; whole numbers
	styles                [3]int // values with groups of three digits, for each style in parse.ThousandsStyles
	first                 int    // row of the first value that is a number with this separator only
	lo, hi, sum           float64
}

// units records the texts before and after numbers.
type units struct {
	prefix, suffix string // texts before and after the first number
	others         bool   // another number has different texts
	any            bool
}

func (u *units) add(prefix, suffix string) {
	if !u.any {
		*u = units{prefix: prefix, suffix: suffix, any: true}
	}
	u.others = u.others || u.prefix != prefix || u.suffix != suffix
}

// addNumber updates the counts by a value and reports whether the value is a number.
func (s *columnStats) addNumber(field []byte) bool {
	core, prefix, suffix := field, "", ""
	isNumber := func(text []byte) bool {
		_, _, point := parse.Reading(parse.PointForm, text)
		_, _, comma := parse.Reading(parse.CommaForm, text)
		return point || comma
	}
	if !isNumber(core) {
		if core, prefix, suffix = parse.CutUnits(field); prefix+suffix == "" || !isNumber(core) {
			return false
		}
	}
	s.units.add(prefix, suffix)
	s.plainDigits(core)
	var values [2]float64
	var reads [2]bool
	for i := range s.forms {
		f := &s.forms[i]
		v, style, ok := parse.Reading(i, core)
		if values[i], reads[i] = v, ok; !ok {
			continue
		}
		f.count++
		f.lo, f.hi, f.sum = min(f.lo, v), max(f.hi, v), f.sum+v
		if style >= 0 {
			f.styles[style]++
		}
		if v == math.Trunc(v) {
			f.integers++
		}
	}
	for i := range s.forms {
		if f := &s.forms[i]; reads[i] && !reads[1-i] {
			if f.only++; f.only == 1 {
				f.first = s.row
			}
		}
	}
	if reads[0] && reads[1] && values[0] != values[1] {
		s.ambiguous++
	}
	return true
}

// plainDigits records the number of digits of whole numbers without a sign, because identifiers often have a
// common length.
func (s *columnStats) plainDigits(core []byte) {
	length := len(core)
	if !parse.AllDigits(core) {
		length = -1
	}
	if s.digits == 0 {
		s.digits = length
	} else if s.digits != length {
		s.digits = -1
	}
}
