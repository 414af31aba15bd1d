package drafts

import (
	"fmt"
	"slices"
	"strings"

	"dyad/engine/dataset/parse"
	"dyad/engine/dataset/schema"
)

// shown returns the description of a column for a person.
func (p *profile) shown(c *draftColumn, s *columnStats, label bool) DraftedColumn {
	out := DraftedColumn{Column: c.Column, Why: c.comment, Asks: s.asks}
	if out.MayNamePersons = s.repeats > 0 && s.values > 0 &&
		(hasCodeName(c.Name) || s.isCode(c.Name) || s.hasOneLength()); out.MayNamePersons {
		out.Persons = len(s.persons)
	}
	if label {
		positive, negative, _ := s.guessClasses()
		out.Classes = []string{positive, negative}
	}
	raws := s.first
	if s.longest != "" && !slices.Contains(raws, s.longest) {
		raws = append(slices.Clone(raws), s.longest)
	}
	for _, raw := range raws {
		out.Samples = append(out.Samples, Sample{raw, p.reads(c, s, raw)})
	}
	if c.RoleOf() == schema.RoleFeature || s.isCode(c.Name) {
		if _, answered := p.o.Answers[c.Name]; !answered {
			out.Suggested = suggest(c, s)
		}
	}
	return out
}

// reads returns the value that a schema with the column reads from a text.
func (p *profile) reads(c *draftColumn, s *columnStats, raw string) string {
	switch {
	case s.asks:
		both := make([]string, 2)
		core, _, _ := parse.CutUnits([]byte(raw))
		for form := range both {
			if v, _, ok := parse.Reading(form, core); ok {
				both[form] = parse.Format(v)
			}
		}
		if both[parse.PointForm] == both[parse.CommaForm] || slices.Contains(both, "") {
			return strings.Join(slices.DeleteFunc(slices.Compact(both), func(t string) bool { return t == "" }), "")
		}
		return both[parse.PointForm] + " or " + both[parse.CommaForm]
	case c.RoleOf() == schema.RoleIgnore:
		return "(left out)"
	case c.RoleOf() != schema.RoleFeature || c.Categories != nil:
		return raw
	case c.Missing != nil && slices.Contains(c.Missing.Values, raw):
		return "(missing)"
	}
	if c.Date != nil {
		days, ok := parse.Date(parse.DateLayout(c.Date.Format), []byte(raw))
		if !ok {
			return "(no date)"
		}
		return parse.DayText(days)
	}
	plain := []byte(raw)
	schema := schema.Schema{CSV: p.csv}
	if n := schema.NotationOf(&c.Column); n != nil {
		var rule string
		if plain, rule = n.Plain(nil, []byte(raw)); rule != "" {
			return "(no number)"
		}
	}
	v, rule := parse.Number(plain)
	if rule != "" {
		return "(no number)"
	}
	return parse.Format(v)
}

// Text returns the suggestion in words.
func (s *Suggestion) Text() string {
	if s.Answer.Categories != nil {
		return strings.Join(s.Answer.Categories, ", ")
	}
	text := fmt.Sprintf("%s to %s", parse.Format(s.Answer.Range[0]), parse.Format(s.Answer.Range[1]))
	if s.Unit != "" {
		text += " " + s.Unit
	}
	if s.Answer.Transform != "" {
		text += ", " + s.Answer.Transform
	}
	return text
}
