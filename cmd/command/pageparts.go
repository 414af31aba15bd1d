package command

import (
	"fmt"
	"regexp"
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
	c := s.ColumnOf(dataset.RoleLabel)
	switch {
	case c == nil || s.Unlabelled():
		return ""
	case s.IsGraded():
		return "a high score means a high " + c.Name
	}
	return fmt.Sprintf("a high score means %s = %s", c.Name, c.Positive)
}

var plainArgument = regexp.MustCompile(`^[\w./=,:@%+-]+$`)

// pick returns the first text if the condition holds, otherwise the second text.
func pick(condition bool, text, otherwise string) string {
	if condition {
		return text
	}
	return otherwise
}

// line writes a line of a report.
func line(b *strings.Builder, label, format string, args ...any) {
	fmt.Fprintf(b, "%-11s %s\n", label, fmt.Sprintf(format, args...))
}

// some writes a line unless its text is empty.
func some(b *strings.Builder, label, text string) {
	if text != "" {
		line(b, label, "%s", text)
	}
}
