package source

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ErrChanged means that a file was written to while it was read.
var ErrChanged = errors.New("dataset: the file changed while it was read")

// ParseError is a rule that the content of a file breaks. Its text contains
// names from the schema and positions, never a value of the file.
type ParseError struct {
	File     string // as given to Load; the name given to LoadReader
	Row      int    // line of the file where the row begins, from 1; 0: the whole file
	Column   string // name in the schema, "" if the row as a whole is meant
	Position int    // field of the row or LIBSVM index, from 1; 0 if not applicable
	Rule     string // what is wrong and what to do about it
	Header   bool   // the header of a CSV file is meant, so that no row decides on the error
}

// Error returns "dataset: FILE: row R, column "NAME" (number P): RULE" without
// the parts that do not apply.
func (e *ParseError) Error() string {
	var place []string
	if e.Row > 0 {
		place = append(place, "row "+strconv.Itoa(e.Row))
	}
	switch {
	case e.Column != "" && e.Position > 0:
		place = append(place, fmt.Sprintf("column %q (number %d)", e.Column, e.Position))
	case e.Column != "":
		place = append(place, fmt.Sprintf("column %q", e.Column))
	case e.Position > 0:
		place = append(place, "column "+strconv.Itoa(e.Position))
	}
	parts := []string{"dataset"}
	if e.File != "" {
		parts = append(parts, e.File)
	}
	if place != nil {
		parts = append(parts, strings.Join(place, ", "))
	}
	return strings.Join(append(parts, e.Rule), ": ")
}

// RuleEmpty is a rule of a whole file.
const RuleEmpty = "file has no rows; give a file with at least 2"
