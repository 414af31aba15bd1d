package hostile

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// Texts are strings that some program could interpret as more than text, for example a terminal, a web
// page, a database, or code that opens a path.
var Texts = []string{
	"", "x", `"""; print("PWNED"); """`, `'''; import os; '''`, "\"); os.Exit(1) //", "*/ x /*", "`", "\\", `\"`,
	"line\nbreak()\n", "a\r\nb", "--\nDROP TABLE r;", "'; DROP TABLE r; --",
	"$$", "{{.}}", "%s%n", "\x00", "\x1b[2J", "\u202eabc", "\u2028", "\u0085", "<script>alert(1)</script>",
	`"onmouseover="x`, "</style><img onerror=x>", "../../etc/passwd",
	"# -*- coding: utf-7 -*-", "//go:build ignore", "+AC0-", "NaN", "Infinity", "1e999", "0x1p-2000", "-0", "null",
	"\xff\xfe", "é", "е", "𝟏", strings.Repeat("a", 200), strings.Repeat("é", 1<<15),
}

// raw lists JSON texts that replace a leaf, in addition to Texts.
var raw = []string{
	"null", "true", "false", "0", "-0.0", "1", "-1", "0.5", "2", "1e-300", "5e-324", "1e300", "1.7976931348623157e308",
	"-1e300", "9007199254740993", "9223372036854775807", "-9223372036854775808",
	"18446744073709551616", "1e9", "1e19", "1000000", "2147483648", "[]", "{}", `[[[[]]]]`, `[null]`, `[1,"a",{}]`,
	`{"":0}`, strings.Repeat("[", 100) + strings.Repeat("]", 100),
}

// Plain lists values of YAML that JSON does not have. They are leaves for Change.
var Plain = []string{
	" ", "~", "yes", "off", ".inf", "-.inf", ".nan", "0x1F", "0o17", "017", "1_000", "+1", "1.", ".5", "1e3", "1:30",
	"2026-01-01", "a b", "- x", "? x", "x: y", "{a: 1", "[1", "!!binary aGk=", "!x", "&a x", "*a",
	"<<", "|\n  text", ">-\n  text", "'it''s'", "'", "\"\\x41\"", "\"\\q\"", "a # comment", "#", "%", "@",
	"\t", "---", "...",
}

// values are Texts and raw, as values.
var values = func() (all []*Value) {
	for _, text := range Texts {
		all = append(all, &Value{Leaf: quoted(text)})
	}
	for _, text := range raw {
		v, err := Parse([]byte(text))
		if err != nil {
			panic(err)
		}
		all = append(all, v)
	}
	return all
}()

// place describes a value in a document as an item of another value.
type place struct {
	in *Value
	at int
}

// places returns the places of all values of a document in the order of the file.
func (v *Value) places(all []place) []place {
	for i, item := range v.Items {
		all = item.places(append(all, place{v, i}))
	}
	return all
}

// Leaves returns one text for each value in a document, in the order that Change uses. For a
// list or an object the text is "".
func (v *Value) Leaves() (all []string) {
	for _, p := range List(v).places(nil) {
		all = append(all, p.in.Items[p.at].Leaf)
	}
	return all
}

// Choices returns how many different changes Change can make to one value. The argument is the number of leaves that
// the caller passes to Change.
func Choices(leaves int) int { return len(values) + turns + leaves }

// mostBytes is about the largest size of a changed document in bytes. Larger documents take time but find no
// more defects.
const mostBytes = 1 << 19

// Change returns a changed copy of a document. Change makes one change for every three bytes of `changes`. Two
// bytes, modulo the number of places, select the place. One byte, modulo Choices, selects how the value there is
// changed. For example, it can be replaced by one of the leaves. If the changed copy is too long, Change returns an
// unchanged copy.
func (v *Value) Change(changes []byte, leaves ...string) *Value {
	whole := List(v.clone())
	for ; len(changes) >= 3; changes = changes[3:] {
		all := whole.places(nil)
		p := all[(int(changes[0])<<8|int(changes[1]))%len(all)]
		switch k := int(changes[2]) % Choices(len(leaves)); {
		case k < len(values):
			p.in.Items[p.at] = values[k].clone()
		case k < len(values)+turns:
			p.turn(k-len(values), all)
		default:
			p.in.Items[p.at] = &Value{Leaf: leaves[k-len(values)-turns]}
		}
		if len(whole.Items) != 1 {
			whole.Items = []*Value{{}} // the whole was taken away or doubled
		}
	}
	size := 0
	for _, p := range whole.places(nil) {
		if size += 1 + len(p.in.Items[p.at].Leaf); size > mostBytes {
			return v.clone()
		}
	}
	return whole.Items[0]
}

// turns is the number of ways in which turn can change a value.
const turns = 18

// turn replaces a value by a value that it makes from the present value.
func (p place) turn(how int, all []place) {
	v := p.in.Items[p.at]
	number := func(f func(x float64) float64) {
		if x, err := strconv.ParseFloat(v.Leaf, 64); err == nil {
			if x = f(x); !math.IsNaN(x) && !math.IsInf(x, 0) {
				format := byte('g')
				if x == math.Trunc(x) && math.Abs(x) < 1e18 {
					format = 'f' // for fields of whole numbers
				}
				v.Leaf = strconv.FormatFloat(x, format, -1, 64)
			}
		}
	}
	switch how {
	case 0: // away
		p.in.Items = slices.Delete(p.in.Items, p.at, p.at+1)
		if !p.in.list {
			p.in.Keys = slices.Delete(p.in.Keys, p.at, p.at+1)
		}
	case 1:
		number(func(x float64) float64 { return -x })
	case 2:
		number(func(x float64) float64 { return x + 1 })
	case 3:
		number(func(x float64) float64 { return x - 1 })
	case 4:
		number(func(x float64) float64 { return x * 1.01 })
	case 5:
		number(func(x float64) float64 { return x * 0.99 })
	case 6:
		number(func(x float64) float64 { return x * 1e12 })
	case 7:
		number(func(x float64) float64 { return x / 1e12 })
	case 8:
		number(func(x float64) float64 { return math.Nextafter(x, math.Inf(1)) })
	case 9: // its items twice
		if len(v.Items) < 1000 {
			v.Keys = slices.Concat(v.Keys, v.Keys)
			v.Items = append(v.clone().Items, v.Items...)
		}
	case 10: // its first half
		n := len(v.Items) / 2
		v.Items, v.Keys = v.Items[:n], v.Keys[:min(n, len(v.Keys))]
	case 11: // in a list
		p.in.Items[p.at] = List(v)
	case 12: // another one of the document
		other := all[(p.at*31+len(all)/2)%len(all)]
		p.in.Items[p.at] = other.in.Items[other.at].clone()
	case 13: // once more, with its key
		p.in.Items = slices.Insert(p.in.Items, p.at, v.clone())
		if !p.in.list {
			p.in.Keys = slices.Insert(p.in.Keys, p.at, p.in.Keys[p.at])
		}
	case 14: // under another key
		if !p.in.list {
			p.in.Keys[p.at] += "x"
		}
	case 15: // under a key in other letters, which encoding/json takes for the same
		if !p.in.list {
			p.in.Keys[p.at] = strings.ToUpper(p.in.Keys[p.at])
		}
	case 16: // before the one before
		if q := max(p.at-1, 0); p.in.list {
			p.in.Items[p.at], p.in.Items[q] = p.in.Items[q], v
		} else {
			p.in.Keys[p.at], p.in.Keys[q] = p.in.Keys[q], p.in.Keys[p.at]
		}
	case 17: // a thousand times
		if v.list && len(v.Items) > 0 && len(v.Items) < 100 {
			one := v.Items
			for range 1000 / len(one) {
				for _, item := range one {
					v.Items = append(v.Items, item.clone())
				}
			}
		}
	}
}
