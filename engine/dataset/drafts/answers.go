package drafts

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"dyad/engine/dataset/schema"
)

// labelAnswer sets the label of the options from the answers.
func (p *profile) labelAnswer() error {
	for name, a := range p.o.Answers {
		if a.Role != schema.RoleLabel || p.o.Label == name {
			continue
		}
		if p.o.Label != "" {
			return p.errorf(0, fmt.Sprintf("both %q and %q are labels; a file has only one label, so change "+
				"--label or an answer", p.o.Label, name))
		}
		p.o.Label = name
	}
	if a := p.o.Answers[p.o.Label]; a.Role == schema.RoleLabel {
		p.o.Positive = cmp.Or(p.o.Positive, a.Positive)
	}
	return nil
}

// checkAnswers refuses answers about columns that the file lacks, answers about persons if the file has no
// person column, and answers whose label column cannot be a label.
func (p *profile) checkAnswers() error {
	if err := p.labelAnswer(); err != nil {
		return err
	}
	for name, a := range p.o.Answers {
		switch {
		case !slices.Contains(p.names, name) || name == "":
			return p.errorf(0, fmt.Sprintf("the answers name the column %q, but the file has no such column; its columns are %s",
				name, strings.Join(p.names, ", ")))
		case a.Role == schema.RolePerson && a.Persons == 0 && a.IDs == "":
			return p.errorf(0, fmt.Sprintf("the answer %q has role: person; add persons: N (public number of "+
				"persons) or ids: public", name))
		case a.Role != schema.RolePerson && (a.Persons != 0 || a.IDs != "" || a.MaxRowsPerPerson != 0):
			return p.errorf(0, fmt.Sprintf("the answer %q has persons, ids or max_rows_per_person, but these keys "+
				"need role: person", name))
		}
	}
	candidates := p.labelCandidates()
	if name := p.o.Label; name != "" {
		i := slices.Index(p.names, name)
		if i < 0 {
			return p.errorf(0, fmt.Sprintf("there is no column %q for the label; the columns are %s", name,
				strings.Join(p.names, ", ")))
		}
		if !slices.Contains(candidates, i) {
			return p.errorf(0, fmt.Sprintf("the column %q cannot be the label, because a label has exactly two "+
				"values, none missing%s", name, p.nearLabel()))
		}
		if v := p.o.Positive; v != "" && p.stats[i].count(v) == 0 {
			return p.errorf(0, fmt.Sprintf("the label %q has no value %q", name, v))
		}
		return nil
	}
	if len(candidates) == 0 {
		return fmt.Errorf("dataset: %s: no column can be the label, which needs exactly two values, none "+
			"missing%s; correct the file, or write the schema by hand", p.path, p.nearLabel())
	}
	return nil
}
