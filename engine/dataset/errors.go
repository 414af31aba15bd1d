package dataset

import (
	"fmt"
	"strconv"
	"strings"
)

// ParseError is a rule that the content of a file breaks. Its text contains
// names from the schema and positions, never a value of the file.
type ParseError struct {
	File     string // as given to Load; the name given to LoadReader
	Row      int    // line of the file where the row begins, from 1; 0: the whole file
	Column   string // name in the schema, "" if the row as a whole is meant
	Position int    // field of the row or LIBSVM index, from 1; 0 if not applicable
	Rule     string // what is wrong and what to do about it
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

// The rules that more than one reader or test names.
const (
	ruleNotNumber   = "not a number; correct the value, or list it under missing.values"
	ruleNotFinite   = "not a finite number; correct the value, or list it under missing.values"
	ruleMissing     = "value is missing; fill it in, or give the column a missing policy other than error"
	ruleCategory    = "category is not in the schema; add it to categories, or correct the value"
	ruleLabel       = "label is neither the positive nor the negative class of the schema; correct the value, or the schema"
	ruleNoLabel     = "label is missing; training and evaluation need a label in every row"
	ruleEmpty       = "file has no rows; give a file with at least 2"
	ruleTooFew      = "file has 1 row; a pairwise loss needs at least 2"
	ruleNoPositive  = "no row has the positive class; compare `positive` in the schema with the label column"
	ruleNoNegative  = "every row has the positive class; a pairwise loss needs both classes"
	ruleTruncated   = "the compressed file ends early; it is truncated, fetch it again"
	ruleBadGzip     = "the compressed file is damaged; fetch it again"
	ruleUTF16       = "file is UTF-16; convert it to UTF-8"
	ruleTooLong     = "row is longer than 64 MiB; look for a quote that is never closed"
	ruleOpenQuote   = "a quoted field begins in this row and is never closed; close it, or double a quote that belongs to the text"
	ruleAfterQuote  = "text follows a closing quote; put a delimiter between, or double a quote that belongs to the text"
	ruleIsHeader    = "the first row looks like a header; set csv.header: true"
	ruleNotHeader   = "the first row holds none of the schema's column names; set csv.header: false if the file has no header, or correct the names"
	ruleNoPair      = "want INDEX:VALUE pairs after the label (if this is a CSV file, set format: csv)"
	ruleIndex       = "index is not a whole number of at least 1; LIBSVM indices count from 1"
	ruleIndexOrder  = "indices must increase within a row; sort the row and remove duplicates"
	ruleQID         = "query ids (qid:) are not supported; remove them"
	ruleLabelNumber = "label is not a finite number; correct the value"
	ruleMixedLabels = "some rows have a label and others have none; label all rows or none"
)
