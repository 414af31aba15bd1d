package dataset

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xuri/excelize/v2"

	"dyad/engine/dataset/source"
	"dyad/engine/dataset/workbook"
	"dyad/internal/must"
)

// TestWorkbooksOfOtherWriters: files that openpyxl and XlsxWriter made are drafted and read. Their parts come in different
// orders. Texts such as 6.987 have two readings, the numbers beside them one.
func TestWorkbooksOfOtherWriters(t *testing.T) {
	for _, name := range []string{"openpyxl.xlsx", "xlsxwriter.xlsx"} {
		path := filepath.Join("testdata", name)
		draft := must.Get(Draft(path, DraftOptions{Answers: map[string]Answer{"Leukozyten": {Decimal: ",",
			Range: []float64{0, 20000}}}}))(t, name)
		must.Contain(t, string(draft.Schema), "format: xlsx", `{name: "Fall", role: id}`,
			"format: \"YYYY-MM-DD\", from: 2020-01-01", `range: [0, 20000], decimal: ",", thousands: "."`,
			`{name: "Kreatinin", range: [0.5, 5.375]`, `positive: "Ja", negative: "nein"`)
		s := mustSchema(t, string(draft.Schema))
		d := must.Get(Load(path, s, Options{}))(t, name)
		x := make([]float64, 3)
		_ = d.Encoder.Listed(0).EncodeNumber(7*3, x[:1]) // days
		_ = d.Encoder.Listed(1).EncodeNumber(5959, x[1:2])
		_ = d.Encoder.Listed(2).EncodeNumber(.5+7*.125, x[2:])
		for j, want := range x {
			if got := d.Records.Dense()[7*3+j]; math.Abs(got-want) > 1e-12 || d.Records.Len() != 40 {
				t.Errorf("%s: %d records, feature %d of record 8 is %v, want %v", name, d.Records.Len(), j, got, want)
			}
		}
	}
	draft := must.Get(Draft(filepath.Join("testdata", "openpyxl.xlsx"), DraftOptions{}))(t)
	must.Contain(t, string(draft.Schema), `{name: "Leukozyten", role: ignore} # 1.234 can be`)
}

// TestWorkbookErrors: sheets that cannot be told apart, damage and other spreadsheets are named.
func TestWorkbookErrors(t *testing.T) {
	dir := t.TempDir()
	book := excelize.NewFile()
	must.Get(book.NewSheet("Zwei"))(t)
	for i := range 30 {
		for _, sheet := range []string{"Sheet1", "Zwei"} {
			_ = book.SetSheetRow(sheet, fmt.Sprintf("A%d", i+2), &[]any{float64(i) + .25, i % 2})
		}
	}
	_ = book.SetSheetRow("Sheet1", "A1", &[]any{"a", "y"})
	_ = book.SetSheetRow("Zwei", "A1", &[]any{"b", "y"})
	two := filepath.Join(dir, "two.xlsx")
	must.Do(t, book.SaveAs(two))
	for name, c := range map[string]struct{ path, sheet, want string }{
		"two sheets": {two, "", "several sheets with cells; name one"},
		"no sheet":   {two, "Drei", "no sheet of this name"},
		"old": {writeFile(t, "a.xls", "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"+strings.Repeat("x", 600)), "",
			"workbook from before Excel 2007"},
		"ods": {writeFile(t, "a.ods", "PK\x03\x04"+strings.Repeat("\x00", 26)+
			"mimetypeapplication/vnd.oasis.opendocument.spreadsheet"), "", "OpenDocument spreadsheet; save it as .xlsx"},
		"damaged": {writeFile(t, "a.xlsx", "PK\x03\x04"+strings.Repeat("\x00", 22)+"\x13\x00\x00\x00[Content_Types].xml"+
			strings.Repeat("x", 600)), "", "workbook is damaged"},
	} {
		must.Fail(Draft(c.path, DraftOptions{Sheet: c.sheet}))(t, c.want, name)
	}
	draft := must.Get(Draft(two, DraftOptions{Sheet: "Zwei"}))(t)
	must.Contain(t, string(draft.Schema), `sheet: "Zwei"`)
	if d, err := Load(two, mustSchema(t, string(draft.Schema)), Options{}); err != nil || d.Records.Len() != 30 ||
		d.Encoder.Columns()[0] != "b" {
		t.Errorf("%v", err)
	}
}

// TestWorkbooksOfRealWriters: the corpus' contract for workbooks that testdata/workbooks/make.py wrote with openpyxl and
// XlsxWriter. Each file is drafted, the questions of its draft are answered, and every value is compared with the truth.
func TestWorkbooksOfRealWriters(t *testing.T) {
	dir := filepath.Join("testdata", "workbooks")
	text := must.Get(os.ReadFile(filepath.Join(dir, "truth.json")))(t)
	var truth []struct {
		File    string
		Rows    int
		Columns []struct {
			Name, Kind, Decimal string
			Values              []any
		}
	}
	must.Do(t, json.Unmarshal(text, &truth))
	var all outcome
	for _, file := range truth {
		f := &corpusFile{writer: file.File, rows: file.Rows, dateLayout: "02.01.2006"}
		for _, c := range file.Columns {
			column := &sheetColumn{name: c.Name, kind: c.Kind, decimal: c.Decimal}
			for _, v := range c.Values {
				switch v := v.(type) {
				case nil:
					column.v = append(column.v, math.NaN())
				case float64:
					column.v = append(column.v, v)
				case string:
					column.text = append(column.text, v)
				}
			}
			f.columns = append(f.columns, column)
		}
		o := f.check(filepath.Join(dir, file.File), nil)
		for _, w := range o.wrong {
			t.Error(w)
		}
		all.features, all.asked = all.features+o.features, all.asked+o.asked
		if spoiled := f.check(filepath.Join(dir, file.File), func(s *Schema) { // the check sees one wrong column
			c := columnOf(s, "Kosten")
			c.Missing = &Missing{Policy: MissingMiddle, Values: []string{"0"}}
			c.Range = []float64{0, c.Range[1]}
			f.column("Kosten").v[3]++
		}); len(spoiled.wrong) == 0 {
			t.Errorf("%s: another value than the file's is not seen", file.File)
		}
	}
	if len(truth) < 8 || all.features < 5*len(truth) {
		t.Errorf("%d features in %d files, %d questions", all.features, len(truth), all.asked)
	}
}

// TestFormulasWithoutResults: a library stores formulas and computes nothing. Such a cell is refused, by draft and reader, where it
// was an empty cell and so a missing value, or the 0 that XlsxWriter stores.
func TestFormulasWithoutResults(t *testing.T) {
	for _, path := range []string{filepath.Join("testdata", "workbooks", "openpyxl-formulas.xlsx"),
		filepath.Join("testdata", "workbooks", "xlsxwriter-formulas.xlsx")} {
		_, err := Draft(path, DraftOptions{})
		wantRule(t, err, source.ParseError{File: path, Row: 2, Position: 3, Rule: workbook.RuleFormula})
		s := mustSchema(t, "data_id: x\nformat: xlsx\ncsv: {header: true}\ncolumns:\n  - {name: Gewicht, range: [1, 300]}\n "+
			" - {name: Groesse, range: [0.5, 2.5]}\n  - {name: BMI, range: [5, 90], missing: {policy: middle}}\n  - {name: "+
			"Tod, role: label, positive: ja}\n")
		_, err = Load(path, s, Options{})
		wantRule(t, err, source.ParseError{File: path, Row: 2, Position: 3, Rule: workbook.RuleFormula})
	}
	book := excelize.NewFile() // whose results are the results of a spreadsheet program
	for i, row := range [][]any{{"a", "b", "y"}, {1.5, 3.0, "ja"}, {2.5, 5.0, "nein"}, {4.25, 8.5, "ja"},
		{4.25, 9.5, "nein"}} {
		must.Do(t, book.SetSheetRow("Sheet1", fmt.Sprintf("A%d", i+1), &row))
		if i > 0 { // the result stays
			must.Do(t, book.SetCellFormula("Sheet1", fmt.Sprintf("B%d", i+1), fmt.Sprintf("A%d*2", i+1)))
		}
	}
	path := filepath.Join(t.TempDir(), "computed.xlsx")
	must.Do(t, book.SaveAs(path))
	if draft, err := Draft(path, DraftOptions{}); err != nil ||
		!strings.Contains(string(draft.Schema), `{name: "b", range: [3, 9.5]`) {
		t.Errorf("%v\n%s", err, draft.Schema)
	}
}
