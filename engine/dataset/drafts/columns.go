package drafts

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"dyad/engine/dataset/parse"
	"dyad/engine/dataset/schema"
)

// columns decides on the kind of every column that has a name.
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
		c := draftColumn{Column: schema.Column{Name: p.names[i]}}
		switch {
		case c.Name == "":
			continue
		case c.Name == label:
			c.Role, c.comment = schema.RoleLabel, "check which class should score high"
			c.Positive, c.Negative, c.Fold = s.guessClasses()
			if positive != "" && bytes.Equal(schema.Fold(positive), schema.Fold(c.Negative)) {
				c.Positive, c.Negative = c.Negative, c.Positive
			}
			if c.Fold {
				c.comment += "; fold is set because some values differ only in capitals or blanks"
			}
		default:
			if answer, ok := p.o.Answers[c.Name]; ok {
				p.answer(&c, s, answer)
				hasID = hasID || c.Role == schema.RoleID
				break
			}
			p.decide(&c, s, i == 0, &hasID)
			if label == "" && slices.Contains(candidates, i) {
				c.comment = strings.TrimPrefix(c.comment+"; two values: it can be the label (role: label)", "; ")
			}
		}
		out = append(out, c)
		p.draft.Columns = append(p.draft.Columns, p.shown(&c, s, slices.Contains(candidates, i)))
	}
	for _, c := range out {
		switch c.Role {
		case schema.RoleLabel:
			p.draft.Label = c.Name
		case schema.RoleIgnore:
			if c.comment != "" { // otherwise an answer ignores it
				p.draft.Ignored = append(p.draft.Ignored, c.Name)
			}
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

// decide chooses the kind of a column other than the label.
func (p *profile) decide(c *draftColumn, s *columnStats, first bool, hasID *bool) {
	ignore := func(why string, args ...any) { c.Role, c.comment = schema.RoleIgnore, fmt.Sprintf(why, args...) }
	switch {
	case s.refused:
		ignore("of a type that cannot be a feature")
	case len(s.nominal) >= 2 && !s.isNumeric() && !slices.Contains(s.nominal, ""):
		c.Categories, c.comment = s.nominal, "the nominal set of the header"
	case s.values == 0:
		ignore("empty")
	case len(s.texts) == 1:
		ignore("constant")
	case s.date != nil:
		c.Date = s.date
		c.from("in days")
		c.comment += c.words(s)
	case !*hasID && s.isID(c.Name, first, p.rows):
		*hasID = true
		c.Role, c.comment = schema.RoleID, "a different value in every row"
	case s.isCode(c.Name):
		ignore("looks like an identifier%s; if it is a measurement, give it its range", s.mayNamePersons(c.Name))
	case s.why != "":
		ignore("%s", s.why)
	case s.isNumeric() && len(s.nominal) > 0 && s.texted > 0:
		ignore("the header lists texts for this column, but some values are numbers")
	case s.isNumeric() && s.lo < s.hi && !math.IsInf(s.hi-s.lo, 0) && s.hi/2-s.lo/2 > 0:
		c.Range = []float64{s.lo, s.hi}
		c.from("")
		c.writes(s)
		if s.isCount() {
			c.Transform = schema.TransformLog1p
			c.comment += "; log1p: most values are far below the largest"
		}
		c.comment += c.words(s)
	case s.isNumeric():
		ignore("the numbers are too large or too close together to scale")
	case !s.isCategorical():
		if n := s.values - s.texted; n > 0 {
			ignore("only %d of %d values are numbers: correct the others, or list them under missing", n, s.values)
		} else {
			ignore("text with more than %d different values%s", draftCategories, s.mayNamePersons(c.Name))
		}
	case !validTexts(s.texts):
		ignore("not UTF-8; set csv.encoding and draft again")
	case namesParts(s.categories()):
		ignore("the values look like names of a split; train on a file with only the training rows")
	default:
		c.Categories = s.categories()
		c.from("")
		c.Unknown = schema.UnknownOther
	}
	if c.RoleOf() == schema.RoleFeature {
		c.missing(s)
	}
}

// namesParts reports whether categories are names of the parts into which somebody has split the rows.
func namesParts(categories []string) bool {
	return len(categories) > 1 && !slices.ContainsFunc(categories, func(name string) bool {
		parts := []string{"train", "training", "test", "testing", "valid", "validation", "val", "dev", "holdout"}
		return !slices.Contains(parts, strings.ToLower(name))
	})
}

// writes adds the notation of a column's numbers to the draft if the file alone does not determine it.
func (c *draftColumn) writes(s *columnStats) {
	c.Prefix, c.Suffix, c.Decimal, c.Thousands = s.units.prefix, s.units.suffix, s.decimal, s.thousands
}

// words treats the texts among numbers or dates as missing values and returns a note about them.
func (c *draftColumn) words(s *columnStats) string {
	if len(s.words) == 0 {
		return ""
	}
	for _, w := range slices.Sorted(maps.Keys(s.words)) {
		if !slices.Contains(s.missing, w) {
			s.missing = append(s.missing, w)
		}
	}
	return "; texts among the values count as missing; check that no text is a value, such as a detection limit"
}

// answer combines an answer with the findings of the draft. The answer takes precedence.
func (p *profile) answer(c *draftColumn, s *columnStats, known schema.Answer) {
	name := c.Name
	if known.Decimal != "" {
		s.read(known.Decimal)
	}
	s.measured = known.WritesNumbers()
	hasID := true
	p.decide(c, s, false, &hasID)
	found := *c
	c.Column, c.comment = known.Column(name), ""
	switch {
	case c.RoleOf() != schema.RoleFeature:
		return
	case c.Range != nil && s.isNumbers():
		found.writes(s)
		c.words(s)
	case c.Date != nil:
		if c.Date.Format == "" && found.Date != nil {
			d := *c.Date
			c.Date, d.Format = &d, found.Date.Format
		}
		c.words(s)
	case c.Range == nil && c.Categories == nil:
		c.Role, c.Range, c.Date, c.Categories, c.FromData, c.comment = found.Role, found.Range, found.Date, found.Categories,
			found.FromData, found.comment
		c.Unknown, c.Transform = cmp.Or(c.Unknown, found.Unknown), cmp.Or(c.Transform, found.Transform)
	}
	if c.Range != nil {
		c.Prefix, c.Suffix = cmp.Or(c.Prefix, found.Prefix), cmp.Or(c.Suffix, found.Suffix)
		c.Decimal, c.Thousands = cmp.Or(c.Decimal, found.Decimal), cmp.Or(c.Thousands, found.Thousands)
	}
	c.missing(s)
}

// from marks a column whose range or categories were taken from the data.
func (c *draftColumn) from(note string) {
	c.FromData = true
	c.comment = "FROM THE DATA"
	if note != "" {
		c.comment = note + ", FROM THE DATA"
	}
}

// missing sets a policy for the missing values of a feature.
func (c *draftColumn) missing(s *columnStats) {
	if c.RoleOf() == schema.RoleFeature && len(s.missing) > 0 && c.Missing == nil {
		c.Missing = &schema.Missing{Policy: schema.MissingMiddle,
			Values: slices.DeleteFunc(slices.Clone(s.missing), func(w string) bool { return w == "" })}
	}
}

// labelCandidates returns the columns that have exactly two values, ignoring case, and no missing values.
func (p *profile) labelCandidates() (out []int) {
	for i, s := range p.stats {
		if classes, _ := s.classes(); p.names[i] != "" && s.values == p.rows && classes != nil && validTexts(s.texts) {
			out = append(out, i)
		}
	}
	return out
}

// nearLabel returns the name of a column that has missing values and would otherwise be a label candidate.
func (p *profile) nearLabel() string {
	for i, s := range p.stats {
		if classes, _ := s.classes(); p.names[i] != "" && classes != nil && s.values < p.rows {
			return fmt.Sprintf("; column %q has two values, but also gaps, the first in row %d; fill the gaps",
				p.names[i], s.gap)
		}
	}
	return ""
}

// lines is a text of YAML.
type lines []byte

func (l *lines) addIf(holds bool, format string, args ...any) {
	if holds {
		*l = fmt.Appendf(*l, format, args...)
	}
}

// line returns the column as a line of YAML.
func (c *draftColumn) line() []byte {
	var text lines
	text.addIf(true, "  - {name: %s", schema.QuoteYAML(c.Name))
	text.addIf(c.Role != "", ", role: %s", c.Role)
	text.addIf(c.Positive != "", ", positive: %s, negative: %s",
		schema.QuoteYAML(c.Positive), schema.QuoteYAML(c.Negative))
	text.addIf(c.Fold, ", fold: true")
	if c.Range != nil {
		text.addIf(true, ", range: [%s, %s]", parse.Format(c.Range[0]), parse.Format(c.Range[1]))
	}
	text.addIf(c.Transform != "", ", transform: %s", c.Transform)
	for _, key := range [][2]string{{"suffix", c.Suffix}, {"prefix", c.Prefix}, {"decimal", c.Decimal},
		{"thousands", c.Thousands}} {
		text.addIf(key[1] != "", ", %s: %s", key[0], schema.QuoteYAML(key[1]))
	}
	if d := c.Date; d != nil {
		text.addIf(true, ", date: {format: %s, from: %s, to: %s}", schema.QuoteYAML(d.Format), d.From, d.To)
	}
	text.addIf(c.Categories != nil, ", categories: %s", schema.QuoteList(c.Categories))
	text.addIf(c.Unknown != "", ", unknown: %s", c.Unknown)
	if m := c.Missing; m != nil && len(m.Values) > 0 {
		text.addIf(true, ", missing: {values: %s, policy: %s}", schema.QuoteList(m.Values), m.PolicyOf())
	} else {
		text.addIf(m != nil, ", missing: {policy: %s}", m.PolicyOf())
	}
	text.addIf(c.FromData, ", from_data: true")
	text.addIf(true, "}")
	text.addIf(c.comment != "", " # %s", c.comment)
	return append(text, '\n')
}
