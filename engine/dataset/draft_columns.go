package dataset

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// draftColumn is a column of a draft and why it is what it is.
type draftColumn struct {
	Column
	comment string
}

// columns decides on every column that has a name.
func (p *profile) columns() []draftColumn {
	p.decideNumbers()
	label, positive := p.o.Label, p.o.Positive
	candidates := p.labelCandidates()
	if label == "" && len(candidates) == 1 {
		label = p.names[candidates[0]]
	}
	hasID := false
	var out []draftColumn
	for i, s := range p.stats {
		c := draftColumn{Column: Column{Name: p.names[i]}}
		switch {
		case c.Name == "":
			continue
		case c.Name == label:
			c.Role, c.comment = RoleLabel, "check which class should score high"
			c.Positive, c.Negative = s.guessClasses()
			if positive != "" && positive == c.Negative {
				c.Positive, c.Negative = c.Negative, c.Positive
			}
		default:
			if answer, ok := p.o.Answers[c.Name]; ok {
				c.Column, c.comment = answer.column(c.Name), ""
				c.missing(s)
				hasID = hasID || c.Role == RoleID
				break
			}
			p.decide(&c, s, i == 0, &hasID)
			if label == "" && slices.Contains(candidates, i) {
				c.comment = strings.TrimPrefix(c.comment+"; two values: it can be the label (role: label)", "; ")
			}
		}
		out = append(out, c)
	}
	for _, c := range out {
		switch c.Role {
		case RoleLabel:
			p.draft.Label = c.Name
		case RoleIgnore:
			p.draft.Ignored = append(p.draft.Ignored, c.Name)
		}
		if c.FromData {
			p.draft.FromData = append(p.draft.FromData, c.Name)
		}
	}
	if p.draft.Label == "" {
		for _, i := range candidates {
			p.draft.Candidates = append(p.draft.Candidates, p.names[i])
		}
	}
	return out
}

// decide says what a column is that is not the label.
func (p *profile) decide(c *draftColumn, s *columnStats, first bool, hasID *bool) {
	ignore := func(why string, args ...any) { c.Role, c.comment = RoleIgnore, fmt.Sprintf(why, args...) }
	words, lo, hi := p.wordsAmong(s)
	switch {
	case s.refused:
		ignore("of a type that cannot be a feature")
	case len(s.nominal) >= 2 && !s.isNumeric() && !slices.Contains(s.nominal, ""):
		c.Categories, c.comment = s.nominal, "the nominal set of the header"
	case s.values == 0:
		ignore("empty")
	case len(s.texts) == 1:
		ignore("constant")
	case !*hasID && s.isID(c.Name, first, p.rows):
		*hasID = true
		c.Role, c.comment = RoleID, "a different value in every row"
	case s.isCode(c.Name):
		ignore("looks like an identifier%s", s.mayNamePersons(c.Name))
	case s.why != "":
		ignore("%s", s.why)
	case s.date != nil:
		c.Date = s.date
		c.from("in days")
	case s.isNumeric() && s.lo < s.hi && !math.IsInf(s.hi-s.lo, 0) && s.hi/2-s.lo/2 > 0:
		c.Range = []float64{s.lo, s.hi}
		c.from("")
		if s.percent == s.values {
			c.Suffix = "%"
		}
		if s.isCount() {
			c.Transform = TransformLog1p
			c.comment += "; log1p: most values are far below the largest"
		}
	case s.isNumeric():
		ignore("numbers that are too large, or too close together, to scale")
	case len(words) > 0 && len(s.nominal) == 0:
		c.Range = []float64{lo, hi}
		c.from("the texts among the numbers count as missing, check each (a detection limit can be a value)")
		s.missing = append(s.missing, words...)
	case !s.isCategorical():
		if s.numbers > 0 {
			ignore("%d of %d values are numbers, the others are not: list the others under missing, or correct them", s.numbers, s.values)
		} else {
			ignore("text with more than %d different values%s", draftCategories, s.mayNamePersons(c.Name))
		}
	case !validTexts(s.texts):
		ignore("not UTF-8; set csv.encoding and draft again")
	default:
		c.Categories = s.categories()
		c.from("")
		c.Unknown = UnknownOther
	}
	if c.role() == RoleFeature {
		c.missing(s)
	}
}

// from marks what was taken from the data.
func (c *draftColumn) from(note string) {
	c.FromData = true
	c.comment = "FROM THE DATA"
	if note != "" {
		c.comment = note + ", FROM THE DATA"
	}
}

// missing gives a feature with gaps a policy.
func (c *draftColumn) missing(s *columnStats) {
	if c.role() == RoleFeature && len(s.missing) > 0 && c.Missing == nil {
		c.Missing = &Missing{Policy: MissingMiddle, Values: slices.DeleteFunc(slices.Clone(s.missing), func(w string) bool { return w == "" })}
	}
}

// labelCandidates are the columns with exactly two values and no gaps.
func (p *profile) labelCandidates() (out []int) {
	for i, s := range p.stats {
		if p.names[i] != "" && s.values == p.rows && len(s.texts) == 2 && validTexts(s.texts) {
			out = append(out, i)
		}
	}
	return out
}

// nearLabel names a column that would have two values if its spelling were one.
func (p *profile) nearLabel() string {
	for i, s := range p.stats {
		folded := map[string]bool{}
		for t := range s.texts {
			folded[strings.ToLower(strings.TrimSpace(t))] = true
		}
		switch {
		case p.names[i] == "" || s.values == 0:
		case len(folded) == 2 && len(s.texts) > 2 && len(s.texts) <= draftCategories:
			return fmt.Sprintf("; column %q has two values but for capitals and blanks: spell them alike", p.names[i])
		case len(s.texts) == 2 && s.values < p.rows:
			return fmt.Sprintf("; column %q has two values and gaps: fill them in", p.names[i])
		}
	}
	return ""
}

// line is the column as a line of YAML.
func (c *draftColumn) line() []byte {
	text := fmt.Appendf(nil, "  - {name: %s", quoteYAML(c.Name))
	add := func(format string, args ...any) { text = fmt.Appendf(text, ", "+format, args...) }
	if c.Role != "" {
		add("role: %s", c.Role)
	}
	if c.Positive != "" {
		add("positive: %s, negative: %s", quoteYAML(c.Positive), quoteYAML(c.Negative))
	}
	if c.Range != nil {
		add("range: [%s, %s]", formatNumber(c.Range[0]), formatNumber(c.Range[1]))
	}
	if c.Transform != "" {
		add("transform: %s", c.Transform)
	}
	if c.Suffix != "" {
		add("suffix: %s", quoteYAML(c.Suffix))
	}
	if d := c.Date; d != nil {
		add("date: {format: %s, from: %s, to: %s}", quoteYAML(d.Format), d.From, d.To)
	}
	if c.Categories != nil {
		add("categories: %s", quoteList(c.Categories))
	}
	if c.Unknown != "" {
		add("unknown: %s", c.Unknown)
	}
	if m := c.Missing; m != nil && len(m.Values) > 0 {
		add("missing: {values: %s, policy: %s}", quoteList(m.Values), m.policy())
	} else if m != nil {
		add("missing: {policy: %s}", m.policy())
	}
	if c.FromData {
		add("from_data: true")
	}
	text = append(text, '}')
	if c.comment != "" {
		text = append(text, " # "+c.comment...)
	}
	return append(text, '\n')
}
