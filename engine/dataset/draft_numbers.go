package dataset

import (
	"bytes"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
)

// A draft decides once for a CSV file how numbers are written: in 24,5 and 1.234,5 the
// fraction begins at the comma, in 24.5 and 1,234.5 at the point, and 1.234 can be either. So
// what a value can be is counted, and a column that can be either is left out unless another
// column of the file, or the user, decides.

// numberForm is what the texts of a column are in one notation.
type numberForm struct {
	count, groups, integers int // numbers; of these, with groups of three digits, and whole
	lo, hi, sum             float64
}

// dateForm is what they are in one format of dates.
type dateForm struct{ count, from, to int }

// Notations of the forms: fraction after a point, and after a comma.
const (
	pointForm = iota
	commaForm
)

var formNotations = [2]notation{
	pointForm: {decimal: '.', thousands: ",", suffix: []byte("%")},
	commaForm: {decimal: ',', thousands: ".", suffix: []byte("%")},
}

// addForms notes what a value can be.
func (s *columnStats) addForms(field []byte) {
	if field[len(field)-1] == '%' {
		s.percent++
	}
	number := false
	for i := range formNotations {
		n, f := &formNotations[i], &s.forms[i]
		plain, rule := n.plain(nil, field)
		if rule != "" {
			continue
		}
		v, rule := parseNumber(plain)
		if rule != "" {
			continue
		}
		number = true
		f.count++
		f.lo, f.hi, f.sum = min(f.lo, v), max(f.hi, v), f.sum+v
		if bytes.IndexByte(field, n.thousands[0]) >= 0 {
			f.groups++
		}
		if v == math.Trunc(v) {
			f.integers++
		}
	}
	if !number && len(s.words) <= draftWords {
		s.words[string(field)]++
	}
	if number || len(field) > 32 {
		return
	}
	for i, l := range dateLayouts {
		if day, ok := parseDate(l.layout, field); ok {
			d := &s.dates[i]
			if d.count == 0 {
				d.from, d.to = day, day
			}
			d.count, d.from, d.to = d.count+1, min(d.from, day), max(d.to, day)
		}
	}
}

// wordsAmong are the few texts of a column whose other values are many different numbers in the
// notation of the file: below a detection limit, not measured. Nil for other columns.
func (p *profile) wordsAmong(s *columnStats) (words []string, lo, hi float64) {
	f := s.forms[pointForm]
	if p.csv.Decimal == "," {
		f = s.forms[commaForm]
	}
	count := f.count
	for _, n := range s.words {
		count += n
	}
	if len(s.words) == 0 || len(s.words) > draftWords || count != s.values || len(s.texts)-len(s.words) < draftNumbers ||
		f.groups > 0 && p.csv.Thousands == "" || !(f.lo < f.hi) || math.IsInf(f.hi-f.lo, 0) {
		return nil, 0, 0
	}
	return slices.Sorted(maps.Keys(s.words)), f.lo, f.hi
}

// isNumberText says that a text is a number in any notation.
func isNumberText(text string) bool {
	s := newColumnStats()
	s.add([]byte(text))
	return s.looksNumeric()
}

// looksNumeric says that every value is a number in one notation.
func (s *columnStats) looksNumeric() bool {
	return s.values > 0 && (s.isNumeric() || s.forms[pointForm].count == s.values || s.forms[commaForm].count == s.values)
}

// decideNumbers sets csv.decimal and csv.thousands by what the columns of a CSV file need, and
// what each column is.
func (p *profile) decideNumbers() {
	if p.format != FormatCSV {
		return
	}
	var needs, groups [2]bool
	for _, s := range p.stats {
		for i, f := range s.forms {
			if s.values > 0 && f.count == s.values {
				// Values that only one of the notations reads decide.
				needs[i] = needs[i] || s.forms[1-i].count < s.values
				groups[i] = groups[i] || f.groups > 0
			}
		}
	}
	form, decided := pointForm, true
	switch {
	case p.o.Decimal == ",":
		form = commaForm
	case p.o.Decimal == ".":
	case needs[commaForm] && !needs[pointForm]:
		form = commaForm
	default:
		decided = needs[pointForm]
	}
	if form == commaForm {
		p.csv.Decimal = ","
	}
	if groups[form] && decided {
		p.csv.Thousands = formNotations[form].thousands
	}
	for _, s := range p.stats {
		s.settle(form, decided)
	}
}

// settle makes the statistics those of the notation of the file.
func (s *columnStats) settle(form int, decided bool) {
	f, other := s.forms[form], s.forms[1-form]
	all := s.values > 0 && f.count == s.values
	switch {
	case all && other.count == s.values && f.groups+other.groups > 0 && !decided:
		s.numbers, s.why = 0, "1.234 can be a little more than one, or a thousand: draft again and say which, with --decimal point or --decimal comma"
	case all:
		s.numbers, s.integers, s.lo, s.hi, s.sum = f.count, f.integers, f.lo, f.hi, f.sum
		if s.percent > 0 && s.percent < s.values {
			s.numbers, s.why = 0, "some values end in % and others do not: write them alike"
		}
	case s.values > 0 && other.count == s.values:
		s.numbers, s.why = 0, "numbers whose fraction begins at a comma, in a file where others have a point: write them alike"
		if form == commaForm {
			s.why = "numbers whose fraction begins at a point, in a file where others have a comma: write them alike"
		}
	case s.values > 0:
		var formats []string
		for i, d := range s.dates {
			if d.count == s.values {
				formats = append(formats, dateLayouts[i].format)
				day := func(d int) string { return time.Unix(int64(d)*24*3600, 0).UTC().Format(time.DateOnly) }
				s.date = &DateFormat{Format: dateLayouts[i].format, From: day(d.from), To: day(max(d.to, d.from+1))}
			}
		}
		if len(formats) > 1 {
			s.date, s.why = nil, "dates that can be "+strings.Join(formats, " or ")+": give the column its date format"
		}
	}
}

// isCount says that most values are far below the largest.
func (s *columnStats) isCount() bool {
	return s.lo >= 0 && s.hi > 20 && s.hi > 10*s.sum/float64(s.values)
}

// codeNames are last words of names that identifiers have, lower case.
var codeNames = [...]string{"id", "index", "nr", "code", "number", "zip", "plz", "mrn", "patient", "subject"}

func hasCodeName(name string) bool {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return r == '_' || r == ' ' || r == '-' || r == '.' })
	return len(words) > 0 && slices.Contains(codeNames[:], words[len(words)-1])
}

// mayNamePersons is a hint where the name is that of an identifier and values come again.
func (s *columnStats) mayNamePersons(name string) string {
	if s.repeats > 0 && hasCodeName(name) {
		return "; its values come again: if it names persons, give it role: person, so that persons are protected, not rows"
	}
	return ""
}

// MayNamePersons are the columns of the file with the name of an identifier whose values come again: rows
// of one person, perhaps. Which they are is private like the records. Formats without names of columns have none.
// progress may be nil; see DraftOptions.
func MayNamePersons(path string, progress func(rows int) error) (names []string, err error) {
	p := &profile{path: path, o: DraftOptions{Progress: progress}}
	if err := p.read(p.sniff); err != nil {
		return nil, err
	}
	switch p.format {
	case FormatLIBSVM, FormatNPY, FormatNPZ, FormatIDX:
		return nil, nil
	}
	if err := p.read(p.readColumns); err != nil {
		return nil, err
	}
	for i, s := range p.stats {
		if s.mayNamePersons(p.names[i]) != "" {
			names = append(names, p.names[i])
		}
	}
	return names, nil
}

// isCode says that whole numbers are likely identifiers: by the name, or since nearly every row
// has another one.
func (s *columnStats) isCode(name string) bool {
	if s.numbers != s.values || s.integers != s.values || len(s.texts) <= draftCategories {
		return false
	}
	return hasCodeName(name) || s.repeats*10 < s.values && s.hi-s.lo > 10*float64(s.values)
}
