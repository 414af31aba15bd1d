package schema

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"

	"dyad/engine/dataset/strictyaml"

	"github.com/goccy/go-yaml/ast"
)

// Answer holds facts about a column that are known without the data. For a feature, it states one of Range,
// Date and Categories. For any other column, it states the Role. With role label, Positive is the class that
// should score high. If Positive is empty, the class is guessed. With role person, Persons, IDs and
// MaxRowsPerPerson have the same meaning as in Schema.
type Answer struct {
	Role       string      `json:"role,omitempty"`
	Range      []float64   `json:"range,omitempty"`
	Transform  string      `json:"transform,omitempty"`
	Suffix     string      `json:"suffix,omitempty"`
	Prefix     string      `json:"prefix,omitempty"`
	Decimal    string      `json:"decimal,omitempty"`
	Thousands  string      `json:"thousands,omitempty"`
	Date       *DateFormat `json:"date,omitempty"`
	Categories []string    `json:"categories,omitempty"`
	Unknown    string      `json:"unknown,omitempty"`
	Positive   string      `json:"positive,omitempty"`
	Missing    *Missing    `json:"missing,omitempty"`

	Persons          int    `json:"persons,omitempty"`
	IDs              string `json:"ids,omitempty"`
	MaxRowsPerPerson int    `json:"max_rows_per_person,omitempty"`
}

// ParseAnswers parses a file of answers, which maps column names to Answer.
func ParseAnswers(text []byte) (map[string]Answer, error) {
	body, err := strictyaml.Parse(text)
	var answers map[string]Answer
	if err == nil {
		ast.Walk(textFixer{}, body)
		err = strictyaml.Decode(body, &answers)
	}
	if err != nil {
		said := strictyaml.Describe(err)
		if key := strictyaml.NearKey(err, Answer{}); key != "" {
			return nil, fmt.Errorf("dataset: answers: %s; %s", said, key)
		}
		if ofPersons.MatchString(said) {
			return nil, fmt.Errorf("dataset: answers: %s; it belongs to a column, as in \"id: {role: person, persons: 900}\"",
				said)
		}
		return nil, fmt.Errorf("dataset: answers: %s; want lines such as \"age: {range: [18, 110]}\"", said)
	}
	for name, a := range answers {
		if err := a.Check(name); err != nil {
			return nil, err
		}
	}
	return answers, nil
}

// ofPersons matches an error about a line of a schema on persons that is the name of a column among answers.
var ofPersons = regexp.MustCompile(`: (persons|ids|max_rows_per_person): want keys with values`)

// Check checks an answer against the rules for a column of a schema.
func (a Answer) Check(name string) error {
	v := &validator{s: &Schema{}}
	c := a.Column(name)
	if c.RoleOf() == RoleFeature && c.Range == nil && c.Date == nil && c.Categories == nil {
		c.Range = []float64{0, 1} // placeholder; the draft uses the range of the data
	}
	if c.Date != nil && c.Date.Format == "" {
		d := *c.Date
		c.Date, d.Format = &d, "YYYY-MM-DD" // placeholder; the draft finds the format
	}
	if c.Role == RoleLabel {
		c.Positive = cmp.Or(c.Positive, "1") // placeholder; the draft guesses the class
	}
	v.column(&c)
	if len(v.problems) == 0 {
		return nil
	}
	hint := ""
	if len(a.Range) > 2 {
		hint = "; write each number with a decimal point, as in [0.5, 110]"
	}
	return fmt.Errorf("dataset: answers: %w%s", errors.Join(v.problems...), hint)
}

// Column returns a column of a schema. The column has the given name and the facts of the answer.
func (a Answer) Column(name string) Column {
	return Column{Name: name, Role: a.Role, Range: a.Range, Transform: a.Transform, Suffix: a.Suffix, Prefix: a.Prefix,
		Decimal: a.Decimal, Thousands: a.Thousands, Date: a.Date, Categories: a.Categories, Unknown: a.Unknown,
		Missing: a.Missing, Positive: a.Positive}
}

// WritesNumbers reports whether the answer states how the column's numbers are written. The column is then numeric.
func (a Answer) WritesNumbers() bool {
	c := a.Column("")
	return c.writesNumbers()
}
