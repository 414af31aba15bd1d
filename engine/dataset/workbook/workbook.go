// Package workbook converts a sheet of an Excel workbook (Office Open XML) to the text of a CSV file.
package workbook

import (
	"bytes"
	"errors"
	"io"
	"strings"

	"github.com/xuri/excelize/v2"

	"dyad/engine/dataset/parse"
	"dyad/engine/dataset/source"
)

// maxWorkbook is the maximum size of an unpacked workbook in bytes. The unpacked workbook is held in memory.
const maxWorkbook = 1 << 30

// Text returns a sheet of a workbook as the text of a CSV file, with one line for each row. So everything that
// holds for CSV files also holds for workbooks. Cells with texts keep their text, except for line ends. Cells
// with numbers are written with a decimal point, and cells with dates are written as YYYY-MM-DD. If the
// fraction of a number has three digits, a 0 is added as the fourth digit. Otherwise the decimal point could
// be mistaken for a separator of thousands.
func Text(in *source.Input, sheet string, delim byte) (text []byte, err error) {
	refuse := func(rule string) ([]byte, error) { return nil, &source.ParseError{File: in.Name, Rule: rule} }
	// With a separate limit for each part, the library would write records to a folder for temporary files.
	book, err := excelize.OpenReader(io.NewSectionReader(in.At, 0, in.Size),
		excelize.Options{UnzipSizeLimit: maxWorkbook, UnzipXMLSizeLimit: maxWorkbook})
	if err != nil {
		return refuse(RuleDamaged)
	}
	defer book.Close()
	w := workbook{File: book, dates: map[int]bool{}}
	if calc, err := book.GetCalcProps(); err == nil {
		w.stale = calc.FullCalcOnLoad != nil && *calc.FullCalcOnLoad
	}
	var rows [][]string
	found := 0
	for _, name := range book.GetSheetList() {
		if sheet != "" && name != sheet {
			continue
		}
		cells, err := w.read(name)
		if rule := (*source.ParseError)(nil); errors.As(err, &rule) {
			rule.File = in.Name
			return nil, rule
		} else if err != nil {
			return refuse(RuleDamaged)
		}
		if len(cells) > 0 {
			rows = cells
			found++
		}
	}
	switch {
	case found == 0 && sheet != "":
		return refuse(ruleNoSheet)
	case found > 1:
		return refuse(ruleSheets)
	}
	width := 0
	for _, r := range rows {
		width = max(width, len(r))
	}
	var b bytes.Buffer
	quoted := string(delim) + "\""
	for _, r := range rows {
		for i := range width {
			if i > 0 {
				b.WriteByte(delim)
			}
			if i >= len(r) {
				continue
			}
			if strings.ContainsAny(r[i], quoted) {
				b.WriteString(`"` + strings.ReplaceAll(r[i], `"`, `""`) + `"`)
			} else {
				b.WriteString(r[i])
			}
		}
		b.WriteByte('\n')
	}
	return b.Bytes(), nil
}

// workbook is an open workbook.
type workbook struct {
	*excelize.File
	dates map[int]bool // styles of dates
	stale bool         // the file was written by a library, and the results of its formulas are not computed yet
}

// read returns the cells of a sheet up to the last cell with text, or nil if there are no such cells.
func (w *workbook) read(sheet string) (cells [][]string, err error) {
	raw, err := w.Rows(sheet)
	if err != nil {
		return nil, err
	}
	defer raw.Close()
	last := 0
	for y := 1; raw.Next(); y++ {
		row, err := raw.Columns(excelize.Options{RawCellValue: true})
		if err != nil {
			return nil, err
		}
		for x, text := range row {
			if row[x], err = w.cell(sheet, x+1, y, text); err != nil {
				return nil, err
			}
			if row[x] != "" {
				last = y
			}
		}
		cells = append(cells, row)
	}
	return cells[:last], raw.Error()
}

// cell returns the text of a cell with the stored value raw.
func (w *workbook) cell(sheet string, x, y int, raw string) (string, error) {
	name, err := excelize.CoordinatesToCellName(x, y)
	if err != nil {
		return "", err
	}
	if raw == "" || w.stale {
		if formula, err := w.GetCellFormula(sheet, name); err != nil {
			return "", err
		} else if kind, err := w.GetCellType(sheet, name); err != nil {
			return "", err
		} else if formula != "" && (w.stale || kind != excelize.CellTypeFormula) { // an empty text is a result
			return "", &source.ParseError{Row: y, Position: x, Rule: RuleFormula}
		}
	}
	v, rule := parse.Number([]byte(raw))
	if rule != "" {
		return strings.Join(strings.FieldsFunc(raw, func(r rune) bool { return r == '\n' || r == '\r' }), " "), nil
	}
	switch kind, err := w.GetCellType(sheet, name); {
	case err != nil:
		return "", err
	case kind != excelize.CellTypeUnset && kind != excelize.CellTypeNumber && kind != excelize.CellTypeDate &&
		kind != excelize.CellTypeFormula:
		return raw, nil
	}
	style, err := w.GetCellStyle(sheet, name)
	if err != nil {
		return "", err
	}
	isDate, ok := w.dates[style]
	if !ok {
		s, err := w.GetStyle(style)
		if err != nil {
			return "", err
		}
		isDate = isDateStyle(s)
		w.dates[style] = isDate
	}
	if !isDate {
		return parse.Native(raw), nil
	}
	props, err := w.GetWorkbookProps()
	if err != nil {
		return "", err
	}
	t, err := excelize.ExcelDateToTime(v, props.Date1904 != nil && *props.Date1904)
	if err != nil {
		return raw, nil
	}
	if v == float64(int(v)) {
		return t.Format("2006-01-02"), nil
	}
	return t.Format("2006-01-02 15:04:05"), nil
}

// isDateStyle reports whether a style displays numbers as days. These styles are the date formats of ECMA-376,
// part 1, section 18.8.30, and formats with a year or a day outside quotes and brackets.
func isDateStyle(s *excelize.Style) bool {
	switch n := s.NumFmt; {
	case n >= 14 && n <= 17, n == 22, n >= 27 && n <= 31, n >= 34 && n <= 36, n >= 50 && n <= 58:
		return true
	case s.CustomNumFmt == nil:
		return false
	}
	format := strings.ToLower(*s.CustomNumFmt)
	for _, pair := range []string{`""`, "[]"} {
		for {
			before, rest, ok := strings.Cut(format, pair[:1])
			_, after, end := strings.Cut(rest, pair[1:])
			if !ok || !end {
				break
			}
			format = before + after
		}
	}
	return strings.ContainsAny(format, "yd")
}

// The rules of a workbook.
const (
	RuleDamaged = `the workbook is damaged, too large or not a .xlsx file; save it again as .xlsx or "CSV UTF-8"`
	ruleSheets  = "the workbook has several sheets with cells; name one with `sheet` in the schema, or with " +
		"--sheet for a draft"
	RuleFormula = "a formula has no computed result; open and save the workbook in a spreadsheet program first"
	ruleNoSheet = "the workbook has no sheet of this name with cells; correct sheet in the schema, or --sheet for " +
		"a draft"
)
