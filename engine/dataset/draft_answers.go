package dataset

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"dyad/engine/dataset/strictyaml"

	"github.com/goccy/go-yaml/ast"
)

// Answer is what is known about a column without the data: one of Range, Date and
// Categories of a feature, or another Role. With role label, Positive is the class that should score high, or empty
// for a guess. With role person, Persons or IDs and MaxRowsPerPerson are what Schema says of persons.
type Answer struct {
	Role       string      `yaml:"role,omitempty"`
	Range      []float64   `yaml:"range,omitempty"`
	Transform  string      `yaml:"transform,omitempty"`
	Suffix     string      `yaml:"suffix,omitempty"`
	Prefix     string      `yaml:"prefix,omitempty"`
	Decimal    string      `yaml:"decimal,omitempty"`
	Thousands  string      `yaml:"thousands,omitempty"`
	Date       *DateFormat `yaml:"date,omitempty"`
	Categories []string    `yaml:"categories,omitempty"`
	Unknown    string      `yaml:"unknown,omitempty"`
	Positive   string      `yaml:"positive,omitempty"`
	Missing    *Missing    `yaml:"missing,omitempty"`

	Persons          int    `yaml:"persons,omitempty"`
	IDs              string `yaml:"ids,omitempty"`
	MaxRowsPerPerson int    `yaml:"max_rows_per_person,omitempty"`
}

// ParseAnswers reads a file of answers: a mapping from column names to Answer.
func ParseAnswers(text []byte) (map[string]Answer, error) {
	body, err := strictyaml.Parse(text)
	if err == nil {
		fix := &textFixer{}
		ast.Walk(fix, body)
		err = fix.err
	}
	var answers map[string]Answer
	if err == nil {
		err = strictyaml.Decode(body, &answers)
	}
	if err != nil {
		if key := nearKey(err, reflect.TypeFor[Answer]()); key != "" {
			return nil, fmt.Errorf("dataset: answers: %s; %s", strictyaml.Describe(err), key)
		}
		return nil, fmt.Errorf("dataset: answers: %s; want lines such as \"age: {range: [18, 110]}\"", strictyaml.Describe(err))
	}
	for name, a := range answers {
		if err := a.check(name); err != nil {
			return nil, err
		}
	}
	return answers, nil
}

// check holds an answer to the rules of a schema's column.
func (a Answer) check(name string) error {
	v := &validator{s: &Schema{}}
	c := a.column(name)
	if c.role() == RoleFeature && c.Range == nil && c.Date == nil && c.Categories == nil {
		c.Range = []float64{0, 1} // that of the data will do
	}
	if c.Role == RoleLabel {
		c.Positive = cmp.Or(c.Positive, "1") // that of the draft will do
	}
	v.column(&c)
	if len(v.problems) == 0 {
		return nil
	}
	hint := ""
	if len(a.Range) > 2 {
		hint = "; numbers of an answer have a decimal point, as in [0.5, 110]"
	}
	return fmt.Errorf("dataset: answers: %w%s", errors.Join(v.problems...), hint)
}

// column is the column of the schema that an answer gives.
func (a Answer) column(name string) Column {
	return Column{Name: name, Role: a.Role, Range: a.Range, Transform: a.Transform, Suffix: a.Suffix, Prefix: a.Prefix, Decimal: a.Decimal, Thousands: a.Thousands, Date: a.Date, Categories: a.Categories, Unknown: a.Unknown, Missing: a.Missing, Positive: a.Positive}
}

// writesNumbers says that the answer states how the column writes its numbers, so that it has some.
func (a Answer) writesNumbers() bool {
	c := a.column("")
	return c.writesNumbers()
}

// persons are the lines of a draft about the persons of a column.
func (a Answer) persons() (text []byte) {
	if a.Persons != 0 {
		text = fmt.Appendf(text, "persons: %d\n", a.Persons)
	}
	if a.IDs != "" {
		text = fmt.Appendf(text, "ids: %s\n", quoteYAML(a.IDs))
	}
	if a.MaxRowsPerPerson != 0 {
		text = fmt.Appendf(text, "max_rows_per_person: %d\n", a.MaxRowsPerPerson)
	}
	return text
}

// labelAnswer takes the label of the answers for that of the options.
func (p *profile) labelAnswer() error {
	for name, a := range p.o.Answers {
		if a.Role != RoleLabel || p.o.Label == name {
			continue
		}
		if p.o.Label != "" {
			return p.errorf(0, fmt.Sprintf("the label is %q, and the answers give %q role: label; a file has one label", p.o.Label, name))
		}
		p.o.Label = name
	}
	if a := p.o.Answers[p.o.Label]; a.Role == RoleLabel {
		p.o.Positive = cmp.Or(p.o.Positive, a.Positive)
	}
	return nil
}

// checkAnswers refuses answers about columns that are not there, of persons where none are, and
// a label that cannot be one.
func (p *profile) checkAnswers() error {
	if err := p.labelAnswer(); err != nil {
		return err
	}
	for name, a := range p.o.Answers {
		switch {
		case !slices.Contains(p.names, name) || name == "":
			return p.errorf(0, fmt.Sprintf("the answers name the column %q, which the file lacks; its columns are %s", name, strings.Join(p.names, ", ")))
		case a.Role == RolePerson && a.Persons == 0 && a.IDs == "":
			return p.errorf(0, fmt.Sprintf("the answer %q has role: person; add persons: N, the public number of different ids, or ids: public", name))
		case a.Role != RolePerson && len(a.persons()) > 0:
			return p.errorf(0, fmt.Sprintf("the answer %q has persons, ids or max_rows_per_person, which are for role: person", name))
		}
	}
	candidates := p.labelCandidates()
	if name := p.o.Label; name != "" {
		i := slices.Index(p.names, name)
		if i < 0 {
			return p.errorf(0, fmt.Sprintf("there is no column %q for the label; the columns are %s", name, strings.Join(p.names, ", ")))
		}
		if !slices.Contains(candidates, i) {
			return p.errorf(0, fmt.Sprintf("the label %q is not a column with exactly two values and no gaps%s", name, p.nearLabel()))
		}
		if v := p.o.Positive; v != "" && p.stats[i].count(v) == 0 {
			return p.errorf(0, fmt.Sprintf("the label %q has no value %q", name, v))
		}
		return nil
	}
	if len(candidates) == 0 {
		return fmt.Errorf("dataset: %s: no column has exactly two values and no gaps, so none can be the label%s; correct the file, or write the schema by hand", p.path, p.nearLabel())
	}
	return nil
}
