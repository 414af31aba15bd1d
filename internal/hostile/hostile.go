// Package hostile changes files in JSON as an attacker would, who computes their checksums again. It is for tests.
package hostile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Texts are strings that some language, terminal, page, path or data base could take for more than a text.
var Texts = []string{
	"", "x", `"""; print("PWNED"); """`, `'''; import os; '''`, "\"); os.Exit(1) //", "*/ x /*", "`", "\\", `\"`, "line\nbreak()\n", "a\r\nb", "--\nDROP TABLE r;", "'; DROP TABLE r; --",
	"$$", "{{.}}", "%s%n", "\x00", "\x1b[2J", "\u202eabc", "\u2028", "\u0085", "<script>alert(1)</script>", `"onmouseover="x`, "</style><img onerror=x>", "../../etc/passwd",
	"# -*- coding: utf-7 -*-", "//go:build ignore", "+AC0-", "NaN", "Infinity", "1e999", "0x1p-2000", "-0", "null", "\xff\xfe", "é", "е", "𝟏", strings.Repeat("a", 200), strings.Repeat("é", 1<<15),
}

// values are what a leaf is replaced by, besides Texts: raw JSON.
var values = []string{
	"null", "true", "false", "0", "-0.0", "1", "-1", "0.5", "2", "1e-300", "5e-324", "1e300", "1.7976931348623157e308", "-1e300", "9007199254740993", "9223372036854775807", "18446744073709551616", "1e9",
	"[]", "{}", `[[[[]]]]`, `[null]`, `[1,"a",{}]`, `{"":0}`,
}

// place is a value in a document, and what replaces it. Values of objects can be taken away.
type place struct {
	value any
	set   func(any)
	drop  func()
}

// places are all values of a document in a fixed order.
func places(v any, set func(any), drop func()) (all []place) {
	all = append(all, place{v, set, drop})
	switch v := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			all = append(all, places(v[k], func(x any) { v[k] = x }, func() { delete(v, k) })...)
		}
	case []any:
		for i := range v {
			all = append(all, places(v[i], func(x any) { v[i] = x }, nil)...)
		}
	}
	return all
}

// Choices is how many values Change knows for a place.
var Choices = len(Texts) + len(values) + 12

// Change replaces one place of a JSON document, by their numbers modulo how many there are, and returns how many places it has.
func Change(document *any, at, with int) int {
	all := places(*document, func(x any) { *document = x }, nil)
	p := all[at%len(all)]
	switch with %= Choices; {
	case with < len(Texts):
		p.set(Texts[with])
	case with < len(Texts)+len(values):
		p.set(json.Number(values[with-len(Texts)]))
		if raw := values[with-len(Texts)]; strings.ContainsAny(raw[:1], "[{tfn") {
			p.set(json.RawMessage(raw))
		}
	default:
		p.turn(with-len(Texts)-len(values), all)
	}
	return len(all)
}

// turn makes a value of the one that is there.
func (p place) turn(how int, all []place) {
	x := math.NaN()
	if n, ok := p.value.(json.Number); ok {
		x, _ = strconv.ParseFloat(string(n), 64)
	}
	list, _ := p.value.([]any)
	number := func(v float64) {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			p.set(v)
		}
	}
	switch how {
	case 0:
		if p.drop != nil {
			p.drop()
		}
	case 1:
		number(-x)
	case 2:
		number(x + 1)
	case 3:
		number(x * 1.01)
	case 4:
		number(x * 0.99)
	case 5:
		number(x * 1e12)
	case 6:
		number(x / 1e12)
	case 7:
		number(math.Nextafter(x, math.Inf(1)))
	case 8: // twice
		p.set(append(slices.Clone(list), list...))
	case 9: // shorter
		p.set(list[:len(list)/2])
	case 10:
		p.set([]any{p.value})
	case 11: // that of another place
		p.set(all[len(all)/2].value)
	}
}

// Mutate changes a JSON file at places and by values that changes says: three bytes each. What it writes is indented as
// the files of this module are.
func Mutate(text, changes []byte) ([]byte, error) {
	var document any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&document); err != nil {
		return nil, fmt.Errorf("hostile: %w", err)
	}
	for ; len(changes) >= 3; changes = changes[3:] {
		Change(&document, int(changes[0])<<8|int(changes[1]), int(changes[2]))
		// What was replaced by a document is one.
		if raw, err := json.Marshal(document); err == nil {
			d := json.NewDecoder(bytes.NewReader(raw))
			d.UseNumber()
			if err := d.Decode(&document); err != nil {
				return nil, fmt.Errorf("hostile: %w", err)
			}
		}
	}
	return json.MarshalIndent(document, "", "  ")
}
