package command

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"dyad/algorithms"
	"dyad/engine/dataset"
	"dyad/internal/experiment"
	"dyad/internal/page"
	"dyad/privacy"
)

// void lists the warnings that mean that a guarantee does not hold.
var void = []string{algorithms.BoundsFromData, privacy.SeededWarning}

// shell returns a command line.
func shell(args ...string) string {
	var quoted []string
	for _, arg := range args {
		if !plainArgument.MatchString(arg) {
			arg = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
		}
		quoted = append(quoted, arg)
	}
	return strings.Join(quoted, " ")
}

// drawn adds a figure to a section. Its numbers must also be in a table or in the description.
func drawn(s *page.Section, f experiment.Figure, description string) error {
	svg, err := page.SVG(&f, strings.ReplaceAll(f.Title, "\n", "; "), description)
	s.Figures = append(s.Figures, svg)
	return err
}

// direction states which records score high according to the label of a schema. It is "" if the schema has no label.
func direction(s *dataset.Schema) string {
	i := slices.IndexFunc(s.Columns, func(c dataset.Column) bool { return c.Role == dataset.RoleLabel })
	switch {
	case i < 0 || s.Unlabelled():
		return ""
	case s.IsGraded():
		return "a high score means a high " + s.Columns[i].Name
	}
	return fmt.Sprintf("a high score means %s = %s", s.Columns[i].Name, s.Columns[i].Positive)
}

var plainArgument = regexp.MustCompile(`^[\w./=,:@%+-]+$`)
