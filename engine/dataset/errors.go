package dataset

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

// inHeader marks an error of a header.
func inHeader(err error) error {
	if p, ok := err.(*ParseError); ok {
		p.Header = true
	}
	return err
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
	ruleNotNumber     = "not a number; correct the value, or list it under missing.values"
	ruleComma         = "a number with a decimal comma, and the schema has decimal points; set decimal: \",\" (of this column, or csv.decimal of all columns of a CSV file), and thousands: \".\" if there are such"
	ruleThousands     = "a number with a sign between thousands; set thousands (of this column, or csv.thousands of all columns of a CSV file) to that sign, or to space"
	ruleTwoReadings   = "a number with a comma, which begins a fraction or separates thousands; set decimal: \",\" or thousands: \",\" (of this column, or csv.decimal and csv.thousands of all columns of a CSV file)"
	ruleUnit          = "a number with a unit or a currency; set suffix or prefix of this column to it, and decimal if the fraction begins at a comma"
	ruleNotFinite     = "not a finite number; correct the value, or list it under missing.values"
	ruleMissing       = "value is missing; fill it in, or give the column a missing policy other than error"
	ruleCategory      = "category is not in the schema; correct the value, add it to categories (which are public), or say `unknown: other`"
	ruleLabel         = "label is neither the positive nor the negative class of the schema; correct the value, or the schema"
	ruleNoLabel       = "label is missing; training and evaluation need a label in every row"
	ruleEmpty         = "file has no rows; give a file with at least 2"
	ruleTooFew        = "file has 1 row; a pairwise loss needs at least 2"
	ruleNoPositive    = "no row has the positive class; compare `positive` in the schema with the label column"
	ruleNoNegative    = "every row has the positive class; a pairwise loss needs both classes"
	ruleTruncated     = "the compressed file ends early; it is truncated, fetch it again"
	ruleBadPacked     = "the compressed file is damaged; fetch it again"
	ruleZstdWindow    = "the zstd window is larger than 128 MiB; compress the file with --long=27 or less"
	rulePackedTwice   = "Parquet and NPZ files are compressed inside; unpack the outer gzip or zstd"
	ruleNotation      = "not a number in the notation of the schema (csv.decimal, csv.thousands, suffix); correct the value, or the schema"
	ruleDate          = "not a date in the format of the schema; correct the value, or date.format"
	ruleExcel         = "the file is a workbook of Excel before 2007, or one with a password; save it as .xlsx without a password, or save the sheet as \"CSV UTF-8\""
	ruleODS           = "the file is an OpenDocument spreadsheet; save it as .xlsx, or the sheet as CSV in UTF-8"
	ruleBadWorkbook   = "the workbook is damaged, too large or not one of Office Open XML; save it as .xlsx again, or save the sheet as \"CSV UTF-8\""
	ruleSheets        = "the workbook has several sheets with cells; name one: sheet in the schema, --sheet for a draft"
	ruleFormula       = "a formula without a computed result; open the workbook in a spreadsheet program, save it there, and read that file"
	ruleNoSheet       = "the workbook has no such sheet with cells; correct sheet (--sheet for a draft)"
	ruleFolder        = "this is a folder; give a file"
	ruleNotUTF8       = "the file is not UTF-8; set csv.encoding: windows-1252 if it is Latin-1, or save it as UTF-8"
	ruleTooLong       = "row is longer than 64 MiB; look for a quote that is never closed"
	ruleOpenQuote     = "a quoted field begins in this row and is never closed; close it, or double a quote that belongs to the text"
	ruleAfterQuote    = "text follows a closing quote; put a delimiter between, double a quote that belongs to the text, or check that this is a file of the schema (csv.delimiter)"
	ruleIsHeader      = "the first row looks like a header; set csv.header: true"
	ruleNotHeader     = "the first row holds none of the schema's column names; if another character than a comma stands between the columns, say csv: {delimiter: \";\"} (or that character) in the schema; otherwise set csv.header: false if the file has no header, or correct the names"
	ruleNoPair        = "want INDEX:VALUE pairs after the label (if this is a CSV file, set format: csv)"
	ruleIndex         = "index is not a whole number of at least 1; LIBSVM indices count from 1"
	ruleIndexOrder    = "indices must increase within a row; sort the row and remove duplicates"
	ruleQID           = "row has a query id (qid:), for which the schema has no column with role: group; add one, or remove the query ids"
	ruleQIDFirst      = "query id (qid:) comes after the features; put it right after the label"
	ruleNoGroup       = "query group is missing; every row needs one"
	ruleNoPerson      = "person id is missing (also by missing.values of the schema), or has no visible character; every row needs one"
	ruleOtherPersons  = "the number of different ids is not `persons` of the schema; ids that differ in case, spaces around them or invisible characters are one; count them on your own machine and correct the schema, or give their number with -n if the schema comes with a model, or declare `ids: public`"
	ruleOnePerson     = "all rows have one person id; a pairwise loss needs at least 2 persons"
	ruleTooManyIDs    = "more than 2147483647 query groups"
	ruleLabelRange    = "label is outside its range; correct the value, or the range in the schema"
	ruleSameLabel     = "every row has the same label; a pairwise loss needs two that differ"
	ruleNoGroupPair   = "no query group has two rows with different labels; ranking compares the rows of a group"
	ruleARFFData      = "the header has no @data line; without it there are no rows"
	ruleARFFLine      = "not a line of an ARFF header; want @relation, @attribute or @data"
	ruleARFFAttribute = "not an attribute; want @attribute NAME TYPE, with the type numeric, real, integer, string, date or {A, B, ...}"
	ruleARFFSparse    = "sparse ARFF rows ({INDEX VALUE, ...}) are not supported; write the file dense, or as LIBSVM"
	ruleARFFType      = "dates, relations and free text cannot be a feature; use role: ignore, or another attribute"
	ruleARFFNumeric   = "the schema has this column as a number, the header as nominal values that are not numbers; give it categories"
	ruleARFFNominal   = "value is not in the nominal set of the header; correct the value or the header"
	ruleARFFNames     = "the header has none of the schema's column names; give columns their attribute names with field"
	ruleJSONLine      = "not one JSON object; want {\"NAME\": VALUE, ...} on each line"
	ruleARFFOpen      = "a quoted field is never closed; close the quote in the same row"
	ruleARFFWeight    = "instance weights ({W} after the row) are not supported; remove them"
	ruleJSONUnknown   = "the object has a key that the schema lacks; add the column (role: ignore drops it), or set ignore_others: true"
	ruleNPYHeader     = "not an NPY header; write the array with numpy.save"
	ruleNPYType       = "element type is not float32, float64, a whole number of 1 to 8 bytes, or bool; convert the array"
	ruleIDXHeader     = "not an IDX header; want two zeros, a type, the number of axes and their lengths"
	ruleMatrix        = "features must be a matrix, rows by features"
	ruleVector        = "labels and groups must be one number a row"
	ruleNotCSR        = "the archive is not a CSR matrix of SciPy: save it by scipy.sparse.save_npz(FILE, scipy.sparse.csr_matrix(X))"
	ruleCSRIndex      = "an index of the matrix is not a whole number from 0 to features - 1; write the matrix again, or correct features"
	ruleArrayShort    = "the array ends early: its header promises more values; the file is truncated, fetch or write it again"
	ruleArrayLong     = "the file goes on after the array that its header describes; write it again"
	ruleArrayRows     = "features and labels (or groups) have different numbers of rows"
	ruleNoLabels      = "the labels file is absent; name it with labels_file in the schema, or with the option for it"
	ruleArrayID       = "the id is not below 2^53 in magnitude, so that two ids may be one number; number persons and groups from 0, or use a format with texts"
	ruleNPZArray      = "the archive has no such array; name its arrays under arrays in the schema"
	ruleBadZip        = "the archive is damaged, or is not an NPZ file; fetch or write it again"
	ruleBadParquet    = "the file is damaged, or no Parquet file; fetch or write it again"
	ruleParquetNames  = "the file has none of the schema's column names; give columns their names in the file with field"
	ruleParquetType   = "column is a date, a decimal, a list or another type that is neither a number, a text nor a boolean; convert it, or use role: ignore"
	ruleJSONNested    = "value is an object or a list; want a number, a text, true, false or null"
	ruleJSONTwice     = "the object has this key twice; remove one"
	ruleJSONNames     = "the object has none of the schema's column names; give columns their keys with field"
	ruleLabelNumber   = "label is not a finite number; correct the value"
	ruleMixedLabels   = "some rows have a label and others have none; label all rows or none"
)
