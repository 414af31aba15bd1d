package dataset

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"
	"time"
)

// Thousands separators that are not one character.
const thousandsSpace = "space" // a blank, thin or not, that breaks or does not

// Encodings of a text file that is not UTF-8.
const (
	EncodingUTF16       = "utf-16"       // with or without a byte order mark; without one, little-endian
	EncodingWindows1252 = "windows-1252" // also reads latin-1 (ISO 8859-1)
)

// UnknownOther encodes a category that the schema does not list as none of them: every
// output of the column is 0.
const UnknownOther = "other"

// DateFormat says how a column writes dates, which become days from From.
type DateFormat struct {
	// Format is one of YYYY-MM-DD, YYYY/MM/DD, DD.MM.YYYY, DD/MM/YYYY, DD-MM-YYYY and
	// MM/DD/YYYY. Leading zeros may be left out; a time of day after the date is dropped.
	Format string `yaml:"format" json:"format"`
	// From and To are the public range, as YYYY-MM-DD; dates outside are clamped.
	From string `yaml:"from" json:"from"`
	To   string `yaml:"to" json:"to"`
}

// dateLayouts are the layouts of package time for each format, in the order of messages.
var dateLayouts = [...]struct{ format, layout string }{
	{"YYYY-MM-DD", "2006-1-2"}, {"YYYY/MM/DD", "2006/1/2"}, {"DD.MM.YYYY", "2.1.2006"},
	{"DD/MM/YYYY", "2/1/2006"}, {"DD-MM-YYYY", "2-1-2006"}, {"MM/DD/YYYY", "1/2/2006"},
}

func dateLayout(format string) string {
	for _, l := range dateLayouts {
		if l.format == format {
			return l.layout
		}
	}
	return ""
}

// parse returns the days from January 1, 1970.
func parseDate(layout string, field []byte) (days int, ok bool) {
	if k := bytes.IndexAny(field, " T"); k > 0 && isTimeOfDay(field[k+1:]) {
		field = field[:k]
	}
	t, err := time.Parse(layout, string(field))
	return int(t.Unix() / (24 * 3600)), err == nil && t.Year() >= 1
}

// isTimeOfDay says that a text begins with hours and minutes, such as 07:00 or 7:00:05.250Z.
func isTimeOfDay(text []byte) bool {
	hours, rest, ok := bytes.Cut(text, []byte(":"))
	return ok && len(hours) >= 1 && len(hours) <= 2 && allDigits(hours) && len(rest) >= 2 && allDigits(rest[:2])
}

// bounds are the first and the last day; ok is false unless both are dates and in order.
func (d *DateFormat) bounds() (from, to int, ok bool) {
	from, a := parseDate("2006-1-2", []byte(d.From))
	to, b := parseDate("2006-1-2", []byte(d.To))
	return from, to, a && b && from < to
}

// Valid says that From and To are days in order.
func (d *DateFormat) Valid() bool {
	_, _, ok := d.bounds()
	return ok
}

// notation is how a file writes the numbers of a column if not as strconv does.
type notation struct {
	decimal   byte
	thousands string // "" for none
	prefix    []byte
	suffix    []byte
	layout    string // of dates, "" for numbers
	from      int    // first day
}

// notation of a numeric column, nil for plain numbers.
func (s *Schema) notation(c *Column) *notation {
	n := notation{decimal: cmp.Or(c.Decimal, s.CSV.Decimal, ".")[0], thousands: c.Thousands, prefix: []byte(c.Prefix), suffix: []byte(c.Suffix)}
	if c.Thousands == "" && (c.Decimal == "" || c.Decimal == s.CSV.Decimal) {
		n.thousands = s.CSV.Thousands
	}
	if c.Date != nil {
		n.layout = dateLayout(c.Date.Format)
		n.from, _, _ = c.Date.bounds()
	}
	if n.decimal == '.' && n.thousands == "" && len(n.suffix)+len(n.prefix) == 0 && n.layout == "" {
		return nil
	}
	return &n
}

// plain appends the number of a field, as strconv reads it, to dst. The rule is empty on
// success. A separator that is not where the notation has it breaks a rule: a number is never
// read as another one.
func (n *notation) plain(dst, field []byte) (out []byte, rule string) {
	if n.layout != "" {
		days, ok := parseDate(n.layout, field)
		if !ok {
			return dst, ruleDate
		}
		return strconv.AppendInt(dst, int64(days-n.from), 10), ""
	}
	if len(n.suffix) > 0 {
		field = bytes.TrimRight(bytes.TrimSuffix(field, n.suffix), allBlanks)
	}
	if len(n.prefix) > 0 {
		field = bytes.TrimLeft(bytes.TrimPrefix(field, n.prefix), allBlanks)
	}
	whole, rest := field, []byte(nil)
	if k := bytes.IndexAny(field, string(n.decimal)+"eE"); k >= 0 {
		whole, rest = field[:k], field[k:]
	}
	if len(whole) > 0 && (whole[0] == '-' || whole[0] == '+') {
		dst, whole = append(dst, whole[0]), whole[1:]
	}
	groups := n.groups(whole)
	for i, g := range groups {
		if len(groups) > 1 && (i > 0 && len(g) != 3 || i == 0 && (len(g) == 0 || len(g) > 3 || g[0] == '0')) || !allDigits(g) {
			return dst, ruleNotation
		}
		dst = append(dst, g...)
	}
	if len(rest) > 0 && rest[0] == n.decimal {
		dst, rest = append(dst, '.'), rest[1:]
	}
	if bytes.ContainsAny(rest, ".,_xXpP") { // what strconv would read otherwise
		return dst, ruleNotation
	}
	return append(dst, rest...), ""
}

// otherNotation is the rule that a text breaks where the schema has plain numbers: if the text is a number in another
// notation, it names the keys that read it, since to list a number as missing loses it.
func otherNotation(field []byte) string {
	v, style, point := reading(pointForm, field)
	w, _, comma := reading(commaForm, field)
	switch {
	case point && comma && v != w:
		return ruleTwoReadings
	case comma && !point:
		return ruleComma
	case point && style >= 0:
		return ruleThousands
	}
	if core, prefix, suffix := cutUnits(field); prefix+suffix != "" {
		_, _, point = reading(pointForm, core)
		_, _, comma = reading(commaForm, core)
		if point || comma {
			return ruleUnit
		}
	}
	return ruleNotNumber
}

// allBlanks are the blanks that stand within numbers and before units.
const allBlanks = " \u00a0\u202f\u2009"

// groups cuts the whole part of a number at the thousands separators.
func (n *notation) groups(whole []byte) [][]byte {
	switch n.thousands {
	case "":
		return [][]byte{whole}
	case thousandsSpace:
		for _, space := range []string{"\u00a0", "\u202f", "\u2009"} {
			whole = bytes.ReplaceAll(whole, []byte(space), []byte(" "))
		}
		return bytes.Split(whole, []byte(" "))
	case "'":
		whole = bytes.ReplaceAll(whole, []byte("\u2019"), []byte("'"))
	}
	return bytes.Split(whole, []byte(n.thousands))
}

func allDigits(b []byte) bool {
	return !slices.ContainsFunc(b, func(c byte) bool { return c < '0' || c > '9' })
}

// writes says that a field is a number in the column's notation. One that is missing is found
// by its text: 9.999 may stand for 9999.
func (f *featureEncoder) writes(field []byte) bool {
	if f.notation == nil || len(field) == 0 {
		return false
	}
	_, missing := f.missing.text[string(field)]
	return !missing
}

// plainFields replaces the numbers of a row that are written in a notation of their own. The
// texts are valid until the next row.
func (t *table) plainFields(l *layout, row [][]byte, number int) error {
	if !t.e.notations {
		return nil
	}
	t.text = t.text[:0]
	for i, f := range l.fields {
		var n *notation
		switch {
		case len(row[i]) == 0:
		case f.role == RoleFeature:
			if c := &t.e.columns[f.feature]; c.writes(row[i]) {
				n = c.notation
			}
		case f.role == RoleLabel && t.readsLabels():
			n = t.e.grades
		}
		if n == nil {
			continue
		}
		begin := len(t.text)
		var rule string
		if t.text, rule = n.plain(t.text, row[i]); rule != "" {
			return t.errorf(number, f.name, i+1, rule)
		}
		row[i] = t.text[begin:len(t.text):len(t.text)]
	}
	return nil
}
