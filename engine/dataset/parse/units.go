package parse

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Signs of fractions.
const (
	PointForm = iota
	CommaForm
)

// ThousandsStyles are the signs of thousands with each sign of fractions.
var ThousandsStyles = [2][3]string{PointForm: {",", ThousandsSpace, "'"}, CommaForm: {".", ThousandsSpace, "'"}}

// Reading reads a number with a sign of fractions and any one sign of thousands. style is -1 without groups.
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

// currencies may stand before a number.
var currencies = [...]string{"€", "$", "£", "¥", "CHF", "EUR", "USD", "GBP", "Fr."}

// MaxUnit bounds the bytes of a unit.
const MaxUnit = 16

// CutUnits cuts a currency off the beginning and a unit off the end. A single letter is a unit
// only after a blank: 5a is a code.
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

// Native writes a number that is stored as one so that it has one reading, by the point.
func Native[T string | []byte](text T) T {
	point, digits := -1, 0
	for i := range len(text) {
		switch c := text[i]; {
		case c == '.':
			point = i
		case c < '0' || c > '9':
			if i > 0 {
				return text // an exponent
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
