package algorithms

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"dyad/privacy"
)

// Facts holds the description of a plan in the order of its report. It has named values for programs, and
// lines of text that state these values for people. All of them are public. The zero value is empty.
type Facts struct {
	values []fact
	lines  [][2]string // labels and texts
}

type fact struct {
	key   string
	value any
}

// Add adds a value under a key, and returns the value.
func (f *Facts) Add(key string, value any) any {
	f.values = append(f.values, fact{key, value})
	return value
}

// AddSome is like Add but does not add a zero value.
func (f *Facts) AddSome(key string, value any) any {
	if !reflect.ValueOf(value).IsZero() {
		f.Add(key, value)
	}
	return value
}

// chosen returns the facts with the reason of auto's choice after the name of the algorithm. If reason is "" it
// returns them unchanged.
func (f Facts) chosen(reason string) Facts {
	f = Facts{slices.Clone(f.values), slices.Clone(f.lines)}
	if reason != "" && len(f.values) > 0 && len(f.lines) > 0 {
		var choice Facts
		choice.Line("", "chosen by auto: %s", choice.Add("choice", reason))
		f.values = slices.Insert(f.values, 1, choice.values...)
		f.lines = slices.Insert(f.lines, 1, choice.lines...)
	}
	return f
}

// Line adds a line of text. A line with an empty label continues the line before it.
func (f *Facts) Line(label, format string, args ...any) {
	f.lines = append(f.lines, [2]string{label, fmt.Sprintf(format, args...)})
}

// join adds the values and lines of g.
func (f *Facts) join(g Facts) {
	f.values, f.lines = append(f.values, g.values...), append(f.lines, g.lines...)
}

// NoiseMultiplier adds the noise multiplier to the facts and returns it as text for a line. The noise
// multiplier is the standard deviation of Gaussian noise divided by the sensitivity. For other noise,
// NoiseMultiplier adds nothing and returns "".
func (f *Facts) NoiseMultiplier(m privacy.Mechanism, c privacy.Certificate) string {
	g, ok := m.(privacy.Gaussian)
	if !ok {
		return ""
	}
	return fmt.Sprintf(", noise multiplier %.6g", f.Add("noise_multiplier", g.Sigma/c.Sensitivity()))
}

// Value returns the value of a key, or nil if there is none. In a report that was read from JSON the value is a
// json.RawMessage.
func (f Facts) Value(key string) any {
	for _, v := range f.values {
		if v.key == key {
			return v.value
		}
	}
	return nil
}

// Number returns the value of a key if it is a number, and 0 otherwise.
func (f Facts) Number(key string) (x float64) {
	f.read(key, &x)
	return x
}

// Word returns the value of a key if it is a string, and "" otherwise.
func (f Facts) Word(key string) (s string) {
	f.read(key, &s)
	return s
}

func (f Facts) read(key string, to any) {
	if text, err := json.Marshal(f.Value(key)); err == nil {
		_ = json.Unmarshal(text, to) // a value of another type is left out
	}
}

// Text returns the lines.
func (f Facts) Text() string {
	var b strings.Builder
	for _, l := range f.lines {
		fmt.Fprintf(&b, "%-11s %s\n", l[0], l[1])
	}
	return b.String()
}

// Rows returns the labels and the texts of the lines. A line that continues another one is added to the text of that line.
func (f Facts) Rows() (rows [][2]string) {
	for _, l := range f.lines {
		if text := strings.TrimSpace(l[1]); l[0] != "" || rows == nil {
			rows = append(rows, [2]string{l[0], text})
		} else {
			rows[len(rows)-1][1] += "; " + text
		}
	}
	return rows
}

// Values returns the facts without their lines.
func (f Facts) Values() Facts { return Facts{values: slices.Clone(f.values)} }

// MarshalJSON returns a JSON object with the values in their order.
func (f Facts) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // the calling encoder escapes
	for i, v := range f.values {
		b.WriteByte("{,"[min(i, 1)])
		key := e.Encode(v.key)
		b.WriteByte(':')
		if err := errors.Join(key, e.Encode(v.value)); err != nil {
			return nil, err
		}
	}
	if b.Len() == 0 {
		b.WriteByte('{')
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// Number is a float64 that may be +Inf. In JSON +Inf is null.
type Number float64

// MarshalJSON implements json.Marshaler.
func (n Number) MarshalJSON() ([]byte, error) {
	if math.IsInf(float64(n), 1) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(n))
}
