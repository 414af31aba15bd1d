package parse

import (
	"bytes"
	"slices"
	"strconv"
	"time"
)

// ThousandsSpace stands for any blank as the separator of thousands.
const ThousandsSpace = "space" // any blank: thin or not, breaking or not

// DateLayouts lists the date formats with their layouts for package time, in the order of messages.
var DateLayouts = [...]struct{ Format, Layout string }{
	{"YYYY-MM-DD", "2006-1-2"}, {"YYYY/MM/DD", "2006/1/2"}, {"DD.MM.YYYY", "2.1.2006"},
	{"DD/MM/YYYY", "2/1/2006"}, {"DD-MM-YYYY", "2-1-2006"}, {"MM/DD/YYYY", "1/2/2006"},
}

// DateLayout returns the layout for package time of a date format, or "" if the format is unknown.
func DateLayout(format string) string {
	for _, l := range DateLayouts {
		if l.Format == format {
			return l.Layout
		}
	}
	return ""
}

// Date parses a date and returns the number of days since January 1, 1970.
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

// Notation describes how the numbers or dates of a column are written, if strconv cannot read them.
type Notation struct {
	Decimal   byte
	Thousands string // separator of thousands, "" for none
	Prefix    []byte
	Suffix    []byte
	Layout    string // layout of dates, "" for numbers
	From      int    // first day of a date's range
}

// Plain appends the number in a field to dst, in a form that strconv accepts. If the field breaks a rule,
// Plain returns this rule, and otherwise "". A separator where the notation does not allow a separator breaks
// a rule, so that a number is never read as a different number.
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
		if len(groups) > 1 && (i > 0 && len(g) != 3 || i == 0 && (len(g) == 0 || len(g) > 3 || g[0] == '0')) ||
			!AllDigits(g) {
			return dst, ruleNotation
		}
		dst = append(dst, g...)
	}
	if len(rest) > 0 && rest[0] == n.Decimal {
		dst, rest = append(dst, '.'), rest[1:]
	}
	if bytes.ContainsAny(rest, ".,_xXpP") { // characters that strconv would interpret differently
		return dst, ruleNotation
	}
	return append(dst, rest...), ""
}

// Blanks are the blank characters that can occur within numbers and before units.
const Blanks = " \u00a0\u202f\u2009"

// groups splits the integer part of a number at the separators of thousands.
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

// AllDigits reports whether a text consists of digits only.
func AllDigits(b []byte) bool {
	return !slices.ContainsFunc(b, func(c byte) bool { return c < '0' || c > '9' })
}

// DayText formats a day, given in days since January 1, 1970, as YYYY-MM-DD.
func DayText(day int) string { return time.Unix(int64(day)*24*3600, 0).UTC().Format(time.DateOnly) }

// Format writes a number so that parsing the text gives the same bits.
func Format(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// The rules of a number in some notation.
const (
	ruleComma = `the number has a decimal comma, but the schema has decimal points; set decimal: "," and, if ` +
		`needed, thousands: "."`
	ruleThousands = "the number has a sign between its thousands; set the key thousands to this sign, or to the " +
		"word space"
	ruleTwoReadings = `the number has a comma, which begins a fraction or separates thousands; set decimal: "," or ` +
		`thousands: ","`
	ruleUnit = "the number has a unit or a currency; set suffix or prefix of this column to it (for a decimal " +
		"comma, also set decimal)"
	ruleNotation = "the value is not a number in the notation of the schema (csv.decimal, csv.thousands, suffix); " +
		"correct the value or the schema, or list the value under missing.values"
	ruleDate = "the value is not a date in the format of the schema; correct the value or date.format, or list the " +
		"value under missing.values"
)
