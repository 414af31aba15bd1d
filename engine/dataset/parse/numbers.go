package parse

import (
	"bytes"
	"slices"
	"strconv"
	"time"
)

// ThousandsSpace is a separator of thousands that is not one character.
const ThousandsSpace = "space" // a blank, thin or not, that breaks or does not

// DateLayouts are the layouts of package time for each format, in the order of messages.
var DateLayouts = [...]struct{ Format, Layout string }{
	{"YYYY-MM-DD", "2006-1-2"}, {"YYYY/MM/DD", "2006/1/2"}, {"DD.MM.YYYY", "2.1.2006"},
	{"DD/MM/YYYY", "2/1/2006"}, {"DD-MM-YYYY", "2-1-2006"}, {"MM/DD/YYYY", "1/2/2006"},
}

// DateLayout is the layout of package time of a format, "" for another text.
func DateLayout(format string) string {
	for _, l := range DateLayouts {
		if l.Format == format {
			return l.Layout
		}
	}
	return ""
}

// Date returns the days from January 1, 1970.
func Date(layout string, field []byte) (days int, ok bool) {
	if k := bytes.IndexAny(field, " T"); k > 0 && isTimeOfDay(field[k+1:]) {
		field = field[:k]
	}
	t, err := time.Parse(layout, string(field))
	return int(t.Unix() / (24 * 3600)), err == nil && t.Year() >= 1
}

// isTimeOfDay reports whether a text begins with hours and minutes, such as 07:00 or 7:00:05.250Z.
func isTimeOfDay(text []byte) bool {
	hours, rest, ok := bytes.Cut(text, []byte(":"))
	return ok && len(hours) >= 1 && len(hours) <= 2 && AllDigits(hours) && len(rest) >= 2 && AllDigits(rest[:2])
}

// Notation describes the numbers of a column in a file, where they differ from strconv's.
type Notation struct {
	Decimal   byte
	Thousands string // "" for none
	Prefix    []byte
	Suffix    []byte
	Layout    string // of dates, "" for numbers
	From      int    // first day
}

// Plain appends the number of a field, as strconv reads it, to dst. The rule is empty on
// success. A separator that is not where the notation has it breaks a rule: a number is never
// read as another one.
func (n *Notation) Plain(dst, field []byte) (out []byte, rule string) {
	if n.Layout != "" {
		days, ok := Date(n.Layout, field)
		if !ok {
			return dst, ruleDate
		}
		return strconv.AppendInt(dst, int64(days-n.From), 10), ""
	}
	if len(n.Suffix) > 0 {
		field = bytes.TrimRight(bytes.TrimSuffix(field, n.Suffix), Blanks)
	}
	if len(n.Prefix) > 0 {
		field = bytes.TrimLeft(bytes.TrimPrefix(field, n.Prefix), Blanks)
	}
	whole, rest := field, []byte(nil)
	if k := bytes.IndexAny(field, string(n.Decimal)+"eE"); k >= 0 {
		whole, rest = field[:k], field[k:]
	}
	if len(whole) > 0 && (whole[0] == '-' || whole[0] == '+') {
		dst, whole = append(dst, whole[0]), whole[1:]
	}
	groups := n.groups(whole)
	for i, g := range groups {
		if len(groups) > 1 && (i > 0 && len(g) != 3 || i == 0 && (len(g) == 0 || len(g) > 3 || g[0] == '0')) || !AllDigits(g) {
			return dst, ruleNotation
		}
		dst = append(dst, g...)
	}
	if len(rest) > 0 && rest[0] == n.Decimal {
		dst, rest = append(dst, '.'), rest[1:]
	}
	if bytes.ContainsAny(rest, ".,_xXpP") { // what strconv would read otherwise
		return dst, ruleNotation
	}
	return append(dst, rest...), ""
}

// OtherNotation is the rule that a text breaks where the schema has plain numbers: if the text is a number in another
// notation, it names the keys that read it, since to list a number as missing loses it.
func OtherNotation(field []byte) string {
	v, style, point := Reading(PointForm, field)
	w, _, comma := Reading(CommaForm, field)
	switch {
	case point && comma && v != w:
		return ruleTwoReadings
	case comma && !point:
		return ruleComma
	case point && style >= 0:
		return ruleThousands
	}
	if core, prefix, suffix := CutUnits(field); prefix+suffix != "" {
		_, _, point = Reading(PointForm, core)
		_, _, comma = Reading(CommaForm, core)
		if point || comma {
			return ruleUnit
		}
	}
	return RuleNotNumber
}

// Blanks are the blanks that stand within numbers and before units.
const Blanks = " \u00a0\u202f\u2009"

// groups cuts the whole part of a number at the thousands separators.
func (n *Notation) groups(whole []byte) [][]byte {
	switch n.Thousands {
	case "":
		return [][]byte{whole}
	case ThousandsSpace:
		for _, space := range []string{"\u00a0", "\u202f", "\u2009"} {
			whole = bytes.ReplaceAll(whole, []byte(space), []byte(" "))
		}
		return bytes.Split(whole, []byte(" "))
	case "'":
		whole = bytes.ReplaceAll(whole, []byte("\u2019"), []byte("'"))
	}
	return bytes.Split(whole, []byte(n.Thousands))
}

// AllDigits reports whether a text has digits only.
func AllDigits(b []byte) bool {
	return !slices.ContainsFunc(b, func(c byte) bool { return c < '0' || c > '9' })
}

// DayText is a day, in days since January 1, 1970, as YYYY-MM-DD.
func DayText(day int) string { return time.Unix(int64(day)*24*3600, 0).UTC().Format(time.DateOnly) }

// Format writes a number so that it is read back to the bit.
func Format(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// The rules of a number in some notation.
const (
	ruleComma       = "a number with a decimal comma, and the schema has decimal points; set decimal: \",\" (of this column, or csv.decimal of all columns of a CSV file), and thousands: \".\" if points separate thousands"
	ruleThousands   = "a number with a sign between thousands; set thousands (of this column, or csv.thousands of all columns of a CSV file) to that sign, or to space"
	ruleTwoReadings = "a number with a comma, which begins a fraction or separates thousands; set decimal: \",\" or thousands: \",\" (of this column, or csv.decimal and csv.thousands of all columns of a CSV file)"
	ruleUnit        = "a number with a unit or a currency; set suffix or prefix of this column to the unit or currency, and decimal if the fraction begins at a comma"
	ruleNotation    = "not a number in the notation of the schema (csv.decimal, csv.thousands, suffix); correct the value, or the schema"
	ruleDate        = "not a date in the format of the schema; correct the value, or date.format"
)
