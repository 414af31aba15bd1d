package drafts

import (
	"slices"

	"dyad/engine/dataset/parse"
	"dyad/engine/dataset/schema"
)

// A draft decides for each column which decimal separator its numbers have. In 24,5 and 1.234,5 it is the
// comma, in 24.5 and 1,234.5 the point; 1.234 can be read with either. The draft first sets aside texts that
// are not numbers with either separator. A value that is a number with only one separator is evidence for that
// separator. If a column has values with two readings, the evidence of the column or of the whole file has to
// decide. Otherwise the draft leaves the column out and asks.

// isNumberText reports whether a text is a number in any notation, with or without a unit.
func isNumberText(text string) bool {
	s := newColumnStats()
	s.add([]byte(text))
	return s.looksNumeric()
}

// looksNumeric reports whether every value is a number.
func (s *columnStats) looksNumeric() bool { return s.values > 0 && s.texted == 0 && !s.units.others }

// isNumbers reports whether the values are numbers except for a few texts. Such texts may mean missing values
// or values below a detection limit.
func (s *columnStats) isNumbers() bool {
	if s.values == 0 || s.texted == s.values {
		return false
	}
	return s.texted == 0 || len(s.words) <= draftWords && len(s.texts)-len(s.words) >= draftNumbers
}

// evidence returns the decimal separator that the values of the column need. ok is false if the values are
// compatible with either separator. mixed is true if some values need the point and others the comma.
func (s *columnStats) evidence() (form int, ok, mixed bool) {
	point, comma := s.forms[parse.PointForm].only > 0, s.forms[parse.CommaForm].only > 0
	if comma && !point {
		form = parse.CommaForm
	}
	return form, point != comma, point && comma
}

// decideNumbers decides on the notation of the file and of each column.
func (p *profile) decideNumbers() {
	var votes [2]int
	for _, s := range p.stats {
		if form, ok, _ := s.evidence(); ok && s.isNumbers() {
			votes[form]++
		}
	}
	file, decided := parse.PointForm, true
	switch {
	case p.o.Decimal == ",":
		file = parse.CommaForm
	case p.o.Decimal == ".":
	default:
		if votes[parse.CommaForm] > votes[parse.PointForm] {
			file = parse.CommaForm
		}
		// In other formats, stored numbers give no evidence for the notation of texts.
		decided = p.format == schema.FormatCSV && (votes[parse.PointForm] > 0) != (votes[parse.CommaForm] > 0)
	}
	if p.format != schema.FormatCSV && p.o.Decimal == "" {
		file = parse.PointForm
	}
	var groups [3]int
	for _, s := range p.stats {
		s.settleDate()
		s.settle(file, decided, p.o.Decimal != "")
		if s.style >= 0 && s.form == file {
			groups[s.style]++
		}
	}
	common := slices.Index(groups[:], slices.Max(groups[:]))
	asCSV := p.format == schema.FormatCSV || p.format == schema.FormatXLSX
	if asCSV {
		if file == parse.CommaForm {
			p.csv.Decimal = ","
		}
		if groups[common] > 0 {
			p.csv.Thousands = parse.ThousandsStyles[file][common]
		}
	}
	for _, s := range p.stats {
		switch {
		case s.form < 0:
			continue
		case !asCSV:
			if s.form == parse.CommaForm && s.forms[parse.CommaForm].only+s.ambiguous > 0 {
				s.decimal = ","
			}
		case s.form != file && s.forms[s.form].only+s.ambiguous > 0:
			s.decimal = [2]string{".", ","}[s.form]
		}
		if s.style >= 0 {
			sign := parse.ThousandsStyles[s.form][s.style]
			if s.decimal != "" || !asCSV || sign != p.csv.Thousands {
				s.thousands = sign
			}
		}
	}
}

// settle fixes the notation of the column and its statistics, or records why the column has no notation.
func (s *columnStats) settle(file int, decided, told bool) {
	s.form, s.style = -1, -1
	if !s.isNumbers() {
		s.numbers = 0
		return
	}
	form, own, mixed := s.evidence()
	switch {
	case mixed:
		s.refuseNumbers("numbers in two notations, such as in row %d and in row %d: use the same notation for all",
			s.forms[parse.PointForm].first, s.forms[parse.CommaForm].first)
		return
	case !own && s.ambiguous > 0 && !decided,
		own && s.ambiguous > 0 && form != file && (decided || told):
		s.asks = true
		s.refuseNumbers("1.234 can be a little more than one, or a thousand: say which by an answer with decimal, {decimal: " +
			"\",\"} or {decimal: \".\"}, or for the file with --decimal point or --decimal comma")
		return
	case !own:
		form = file
	}
	f := s.forms[form]
	for i, n := range f.styles {
		if n > 0 && s.style >= 0 {
			s.refuseNumbers("thousands are separated by different signs: use the same sign for all")
			return
		} else if n > 0 {
			s.style = i
		}
	}
	if s.units.others {
		s.refuseNumbers("the numbers have different units, or only some have a unit: use the same unit for all")
		return
	}
	s.form = form
	s.numbers, s.integers, s.lo, s.hi, s.sum = f.count, f.integers, f.lo, f.hi, f.sum
}

// read makes the column numeric with the decimal separator given by an answer.
func (s *columnStats) read(decimal string) {
	form := parse.PointForm
	if decimal == "," {
		form = parse.CommaForm
	}
	s.why, s.decimal, s.asks = "", decimal, false
	s.settle(form, true, true)
	if s.style >= 0 {
		s.thousands = parse.ThousandsStyles[form][s.style]
	}
}

// isCount reports whether most values are far below the largest value, as for counts.
func (s *columnStats) isCount() bool {
	return s.lo >= 0 && s.hi > 20 && s.hi > 10*s.sum/float64(s.numbers)
}
