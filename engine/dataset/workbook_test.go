package dataset

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xuri/excelize/v2"
)

// TestWorkbooksOfOtherWriters: files that openpyxl and XlsxWriter made are drafted and read. Their parts come in different
// orders. Texts such as 6.987 have two readings, the numbers beside them one.
func TestWorkbooksOfOtherWriters(t *testing.T) {
	for _, name := range []string{"openpyxl.xlsx", "xlsxwriter.xlsx"} {
		path := filepath.Join("testdata", name)
		draft, err := Draft(path, DraftOptions{Answers: map[string]Answer{"Leukozyten": {Decimal: ",", Range: []float64{0, 20000}}}})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, want := range []string{"format: xlsx", `{name: "Fall", role: id}`, "format: \"YYYY-MM-DD\", from: 2020-01-01", `range: [0, 20000], decimal: ",", thousands: "."`, `{name: "Kreatinin", range: [0.5, 5.375]`, `positive: "Ja", negative: "nein"`} {
			if !strings.Contains(string(draft.Schema), want) {
				t.Errorf("%s: the draft lacks %q:\n%s", name, want, draft.Schema)
			}
		}
		s := mustSchema(t, string(draft.Schema))
		d, err := Load(path, s, Options{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		x := make([]float64, 3)
		columns := d.Encoder.columns
		_ = columns[0].encodeNumber(7*3, x[:1]) // days
		_ = columns[1].encodeNumber(5959, x[1:2])
		_ = columns[2].encodeNumber(.5+7*.125, x[2:])
		for j, want := range x {
			if got := d.Records.Dense()[7*3+j]; math.Abs(got-want) > 1e-12 || d.Records.Len() != 40 {
				t.Errorf("%s: %d records, feature %d of record 8 is %v, want %v", name, d.Records.Len(), j, got, want)
			}
		}
	}
	draft, err := Draft(filepath.Join("testdata", "openpyxl.xlsx"), DraftOptions{})
	if err != nil || !strings.Contains(string(draft.Schema), `{name: "Leukozyten", role: ignore} # 1.234 can be`) {
		t.Errorf("%v\n%s", err, draft.Schema)
	}
}

// TestWorkbookErrors: sheets that cannot be told apart, damage and other spreadsheets are named.
func TestWorkbookErrors(t *testing.T) {
	dir := t.TempDir()
	book := excelize.NewFile()
	if _, err := book.NewSheet("Zwei"); err != nil {
		t.Fatal(err)
	}
	for i := range 30 {
		for _, sheet := range []string{"Sheet1", "Zwei"} {
			_ = book.SetSheetRow(sheet, fmt.Sprintf("A%d", i+2), &[]any{float64(i) + .25, i % 2})
		}
	}
	_ = book.SetSheetRow("Sheet1", "A1", &[]any{"a", "y"})
	_ = book.SetSheetRow("Zwei", "A1", &[]any{"b", "y"})
	two := filepath.Join(dir, "two.xlsx")
	if err := book.SaveAs(two); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ path, sheet, want string }{
		"two sheets": {two, "", "several sheets with cells; name one"},
		"no sheet":   {two, "Drei", "no such sheet"},
		"old":        {writeFile(t, "a.xls", "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"+strings.Repeat("x", 600)), "", "workbook of Excel before 2007"},
		"ods":        {writeFile(t, "a.ods", "PK\x03\x04"+strings.Repeat("\x00", 26)+"mimetypeapplication/vnd.oasis.opendocument.spreadsheet"), "", "OpenDocument spreadsheet; save it as .xlsx"},
		"damaged":    {writeFile(t, "a.xlsx", "PK\x03\x04"+strings.Repeat("\x00", 22)+"\x13\x00\x00\x00[Content_Types].xml"+strings.Repeat("x", 600)), "", "workbook is damaged"},
	} {
		if _, err := Draft(c.path, DraftOptions{Sheet: c.sheet}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	draft, err := Draft(two, DraftOptions{Sheet: "Zwei"})
	if err != nil || !strings.Contains(string(draft.Schema), `sheet: "Zwei"`) {
		t.Fatalf("%v\n%s", err, draft.Schema)
	}
	if d, err := Load(two, mustSchema(t, string(draft.Schema)), Options{}); err != nil || d.Records.Len() != 30 || d.Encoder.Columns()[0] != "b" {
		t.Errorf("%v", err)
	}
}
