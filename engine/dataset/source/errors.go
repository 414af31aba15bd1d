package source

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ErrChanged means that the file was modified while it was read.
var ErrChanged = errors.New("dataset: the file changed while it was read")

// ParseError reports that the content of a file breaks a rule. Its text contains names from the schema and
// positions, and never a value of the file.
type ParseError struct {
	File     string // file name as given to Load or LoadReader
	Row      int    // line of the file on which the row begins, from 1; 0 for the whole file
	Column   string // name in the schema; "" if the error concerns the whole row
	Position int    // number of the field in the row, or LIBSVM index, from 1; 0 if not applicable
	Rule     string // what is wrong and how to correct it
	Header   bool   // the error concerns the header of a CSV file and does not depend on any row
}

// Error returns "dataset: FILE: row R, column "NAME" (number P): RULE". Parts that do not apply are left out.
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

// RuleEmpty is the rule broken by a file without rows.
const RuleEmpty = "the file has no rows; give a file with at least 2"
