package parse

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Decimal separators.
const (
	PointForm = iota
	CommaForm
)

// ThousandsStyles lists the possible separators of thousands for each decimal separator.
var ThousandsStyles = [2][3]string{PointForm: {",", ThousandsSpace, "'"}, CommaForm: {".", ThousandsSpace, "'"}}

// Reading parses a number with the given decimal separator and any one separator of thousands. style is the
// index of the separator of thousands in ThousandsStyles, or -1 if the number has no groups.
func Reading(form int, core []byte) (v float64, style int, ok bool) {
	decimal := [2]byte{'.', ','}[form]
	for style, thousands := range ThousandsStyles[form] {
		n := Notation{Decimal: decimal, Thousands: thousands}
		plain, rule := n.Plain(nil, core)
		if rule != "" {
			continue
		}
		if v, rule = Number(plain); rule != "" {
			continue
		}
		whole, _, _ := bytes.Cut(core, []byte{decimal})
		if len(n.groups(whole)) == 1 {
			style = -1
		}
		return v, style, true
	}
	return 0, -1, false
}

// currencies are texts that can stand before a number.
var currencies = [...]string{"€", "$", "£", "¥", "CHF", "EUR", "USD", "GBP", "Fr."}

// MaxUnit is the maximum length of a unit in bytes.
const MaxUnit = 16

// CutUnits cuts a currency off the beginning and a unit off the end of a field. A single letter is a unit only
// after a blank, because a text such as 5a is a code.
func CutUnits(field []byte) (core []byte, prefix, suffix string) {
	core = field
	for _, c := range currencies {
		if rest, ok := bytes.CutPrefix(core, []byte(c)); ok {
			core, prefix = bytes.TrimLeft(rest, Blanks), c
			break
		}
	}
	end := bytes.IndexFunc(core, func(r rune) bool {
		return !(r >= '0' && r <= '9') && !strings.ContainsRune("+-.,'\u2019"+Blanks, r)
	})
	if end < 0 {
		return core, prefix, ""
	}
	unit := core[end:]
	r, size := utf8.DecodeRune(unit)
	number := bytes.TrimRight(core[:end], Blanks)
	blank := len(number) < end
	if rate, ok := bytes.CutPrefix(unit, []byte("/")); ok { // 98/min
		r, _ = utf8.DecodeRune(rate)
		size = 0
	}
	switch {
	case len(unit) > MaxUnit || len(number) == 0 || bytes.ContainsAny(unit, ".,"):
		return field, "", ""
	case !unicode.IsLetter(r) && !strings.ContainsRune("%‰€$£¥°µ", r), unicode.IsLetter(r) && size == len(unit) && !blank:
		return field, "", ""
	}
	return number, prefix, string(unit)
}

// Native rewrites a number that a file stores as a number and not as a text. If three digits follow
// the point, it appends a 0, so that the point cannot be read as a separator of thousands.
func Native[T string | []byte](text T) T {
	point, digits := -1, 0
	for i := range len(text) {
		switch c := text[i]; {
		case c == '.':
			point = i
		case c < '0' || c > '9':
			if i > 0 {
				return text // the number has an exponent
			}
		case point >= 0:
			digits++
		}
	}
	if digits == 3 {
		return T(string(text) + "0")
	}
	return text
}

// OtherNotation returns the rule that explains why a column of plain numbers cannot contain the given text. If the
// text is a number in another notation, the rule names the keys of the schema that declare this notation. Without
// these names, a user might list the number as a missing value and lose it.
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
