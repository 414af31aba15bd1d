package dataset

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/xuri/excelize/v2"
	"golang.org/x/text/encoding/charmap"

	"dyad/internal/must"
)

// The corpus: spreadsheets as people export them, with what every cell is. A file is never read as
// another one: each column that a draft makes a feature has the values that the generator wrote, each row that is no record is
// refused or skipped, and what the draft asks can be answered so that the column is then right.

// sheetColumn is a column of a spreadsheet and its truth.
type sheetColumn struct {
	name string
	kind string    // number, integer, text, date, time, id, person, label
	v    []float64 // of numbers (NaN: missing) and of dates, in days since 1970
	text []string  // of texts and labels, and as written in the file
	// How it is written.
	decimal, thousands, unit, missing string
}

// corpusFile is a spreadsheet with known truth.
type corpusFile struct {
	seed             uint64
	columns          []*sheetColumn
	rows             int
	title            []string
	unitRow, total   bool
	blankRows        int
	writer           string // csv, bom, windows, crlf, and native or text: workbook, jsonl
	delimiter        string
	dateLayout, time string
}

var corpusLocales = []struct {
	decimal   string
	thousands []string
	missing   []string
	date      string
	yes, no   string
	names     map[string]string
	title     string
	total     string
}{
	{",", []string{"", ".", "\u00a0"}, []string{"", "k.A.", "-", "#NV", "<0,5"}, "02.01.2006", "Ja", "Nein",
		map[string]string{"number": "Kreatinin", "integer": "Leukozyten", "text": "Abteilung", "date": "Aufnahme", "id": "Fallnummer", "person": "Patientennummer", "label": "Wiederaufnahme"}, "Klinikum Nord, Export vom 12.03.2024", "Summe"},
	{",", []string{"", "\u202f", "\u00a0", " "}, []string{"", "NC", "n.d.", "-"}, "02/01/2006", "Oui", "Non",
		map[string]string{"number": "Créatinine", "integer": "Leucocytes", "text": "Service", "date": "Entrée", "id": "Numéro", "person": "N° patient", "label": "Réadmission"}, "Hôpital Sud, export du 12/03/2024", "Total"},
	{".", []string{"", ","}, []string{"", "NA", "n/a", "unknown", "#N/A"}, "01/02/2006", "Yes", "No",
		map[string]string{"number": "creatinine", "integer": "leukocytes", "text": "ward", "date": "admission", "id": "case_id", "person": "patient_id", "label": "readmitted"}, "General Hospital export 2024-03-12", "Total"},
	{".", []string{"", "'", "\u2019"}, []string{"", "k.A.", "--"}, "2006-01-02", "1", "0",
		map[string]string{"number": "Kreatinin", "integer": "Thrombozyten", "text": "Station", "date": "Eintritt", "id": "Nr", "person": "Patient", "label": "Ereignis"}, "Spital Ost", "Gesamt"},
}

func newCorpusFile(seed uint64) *corpusFile {
	r := rand.New(rand.NewPCG(seed, 26))
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	l := corpusLocales[r.IntN(len(corpusLocales))]
	f := &corpusFile{seed: seed, rows: 60 + r.IntN(120), writer: pick("csv", "csv", "bom", "windows", "crlf", "workbook", "text workbook", "jsonl", "text jsonl"), dateLayout: l.date}
	f.delimiter = ";"
	if l.decimal == "." {
		f.delimiter = pick(",", ";", "\t")
	}
	thousands := pick(l.thousands...)
	add := func(kind, suffix string) *sheetColumn {
		c := &sheetColumn{name: l.names[kind] + suffix, kind: kind, decimal: l.decimal, thousands: thousands, missing: pick(l.missing...)}
		f.columns = append(f.columns, c)
		return c
	}
	fill := func(c *sheetColumn, draw func() float64, gaps bool) {
		for range f.rows {
			v := draw()
			if gaps && r.IntN(12) == 0 {
				v = math.NaN()
			}
			c.v = append(c.v, v)
		}
	}
	round := func(v float64, digits int) float64 {
		v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'f', digits, 64), 64)
		return v
	}
	if r.IntN(2) == 0 {
		c := add("id", "")
		for i := range f.rows {
			c.text = append(c.text, pick("F", "F")+strconv.Itoa(1000+i*7))
		}
		if r.IntN(2) == 0 {
			for i := range c.text {
				c.text[i] = c.text[i][1:]
			}
		}
	}
	if r.IntN(2) == 0 {
		c := add("person", "")
		for range f.rows {
			c.text = append(c.text, strconv.Itoa(100000+r.IntN(f.rows)))
		}
	}
	for i := range 1 + r.IntN(3) {
		c := add("number", []string{"", " A", " B"}[i])
		c.unit = pick("", "", "", "%", "mg/l", "€", "kg")
		scale, digits := []float64{2, 30, 400, 20000}[r.IntN(4)], 1+r.IntN(3)
		fill(c, func() float64 { return round(scale*(.05+r.ExpFloat64()), digits) }, true)
	}
	for i := range 1 + r.IntN(2) {
		c := add("integer", []string{"", " B"}[i])
		scale := []float64{40, 7000, 250000, 3e6}[r.IntN(4)]
		fill(c, func() float64 { return math.Round(scale * (.02 + r.Float64())) }, true)
	}
	if r.IntN(2) == 0 {
		c := add("text", "")
		for range f.rows {
			c.text = append(c.text, pick("Innere", "Chirurgie", "Neuro; West", "Süd", `"Haus" 3`))
		}
	}
	if r.IntN(2) == 0 {
		c := add("date", "")
		f.time = pick("", "", " 15:04")
		fill(c, func() float64 { return float64(18000 + r.IntN(1500)) }, false)
	}
	c := add("label", "")
	spelled := r.IntN(3) == 0 && l.yes != "1"
	for i := range f.rows {
		t := l.yes
		if i%2 == 0 || i > 4 && r.IntN(3) == 0 {
			t = l.no
		}
		if spelled && r.IntN(4) == 0 {
			t = []string{strings.ToLower(t), strings.ToUpper(t)}[r.IntN(2)]
		}
		c.text = append(c.text, t)
	}
	if r.IntN(4) == 0 {
		f.title = append(f.title, l.title)
		if r.IntN(2) == 0 {
			f.title = append(f.title, "Stand: geprüft")
		}
	}
	f.unitRow = r.IntN(5) == 0
	f.total = r.IntN(6) == 0
	if r.IntN(5) == 0 {
		f.blankRows = 1 + r.IntN(5)
	}
	_ = l.total
	return f
}

// written is a cell as text.
func (c *sheetColumn) written(f *corpusFile, i int) string {
	switch {
	case c.text != nil:
		return c.text[i]
	case math.IsNaN(c.v[i]):
		return c.missing
	case c.kind == "date":
		at := time.Unix(int64(c.v[i])*86400+int64(i%24)*3600, 0).UTC()
		return at.Format(f.dateLayout + f.time)
	}
	text := strconv.FormatFloat(c.v[i], 'f', -1, 64)
	whole, fraction, ok := strings.Cut(text, ".")
	if c.thousands != "" {
		for k := len(whole) - 3; k > 0; k -= 3 {
			whole = whole[:k] + c.thousands + whole[k:]
		}
	}
	if ok {
		whole += c.decimal + fraction
	}
	if c.unit != "" {
		whole += []string{" ", "\u00a0"}[int(f.seed)%2] + c.unit
	}
	return whole
}

// cells is the whole sheet.
func (f *corpusFile) cells() (rows [][]string) {
	pad := func(first string) []string { return append([]string{first}, make([]string, len(f.columns)-1)...) }
	for _, t := range f.title {
		rows = append(rows, pad(t))
	}
	var header, units []string
	for _, c := range f.columns {
		header = append(header, c.name)
		units = append(units, map[string]string{"number": "mg/dl", "integer": "10^3/µl", "date": "Datum"}[c.kind])
	}
	rows = append(rows, header)
	if f.unitRow {
		rows = append(rows, units)
	}
	for i := range f.rows {
		var row []string
		for _, c := range f.columns {
			row = append(row, c.written(f, i))
		}
		rows = append(rows, row)
	}
	if f.total {
		row := pad("Summe")
		for k, c := range f.columns {
			if c.kind == "integer" && k > 0 {
				row[k] = "12345"
			}
		}
		rows = append(rows, row)
	}
	for range f.blankRows {
		rows = append(rows, pad(""))
	}
	return rows
}

func (f *corpusFile) write(t *testing.T, dir string) string {
	t.Helper()
	rows := f.cells()
	if strings.HasSuffix(f.writer, "workbook") {
		book := excelize.NewFile()
		style := must.Get(book.NewStyle(&excelize.Style{NumFmt: 14}))(t)
		skip := len(f.title) + 1
		if f.unitRow {
			skip++
		}
		for y, row := range rows {
			for x, text := range row {
				name, _ := excelize.CoordinatesToCellName(x+1, y+1)
				c, i := f.columns[x], y-skip
				var err error
				switch native := f.writer == "workbook" && i >= 0 && i < f.rows && c.v != nil && !math.IsNaN(c.v[i]); {
				case text == "":
				case native && c.kind == "date":
					err = book.SetCellValue("Sheet1", name, c.v[i]+25569)
					_ = book.SetCellStyle("Sheet1", name, name, style)
				case native:
					err = book.SetCellFloat("Sheet1", name, c.v[i], -1, 64)
				default:
					err = book.SetCellStr("Sheet1", name, text)
				}
				must.Do(t, err)
			}
		}
		path := filepath.Join(dir, fmt.Sprintf("%d.xlsx", f.seed))
		must.Do(t, book.SaveAs(path))
		return path
	}
	if strings.HasSuffix(f.writer, "jsonl") {
		return f.writeJSON(t, dir)
	}
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	w.Comma, w.UseCRLF = rune(f.delimiter[0]), f.writer == "crlf"
	must.Do(t, w.WriteAll(rows))
	text := b.Bytes()
	switch f.writer {
	case "bom":
		text = append([]byte("\xef\xbb\xbf"), text...)
	case "windows":
		if coded, err := charmap.Windows1252.NewEncoder().Bytes(text); err == nil { // U+202F has no place in it
			text = coded
		}
	}
	return put(t, filepath.Join(dir, fmt.Sprintf("%d.csv", f.seed)), text)
}

// writeJSON writes an object a row, with numbers as numbers or as the text that they are in other files. Half of these files are Parquet,
// with numbers of "jsonl" as doubles.
func (f *corpusFile) writeJSON(t *testing.T, dir string) string {
	native := func(c *sheetColumn) bool { return f.writer == "jsonl" && c.v != nil && c.kind != "date" }
	columns := parquet.Group{}
	for _, c := range f.columns {
		columns[c.name] = parquet.Optional(parquet.String())
		if native(c) {
			columns[c.name] = parquet.Optional(parquet.Leaf(parquet.DoubleType))
		}
	}
	var lines, b bytes.Buffer
	w := parquet.NewGenericWriter[any](&b, parquet.NewSchema("corpus", columns))
	for i := range f.rows {
		row, object := map[string]any{}, map[string]any{}
		for _, c := range f.columns {
			object[c.name] = c.written(f, i)
			if native(c) && !math.IsNaN(c.v[i]) {
				object[c.name] = c.v[i]
			}
			if !native(c) || !math.IsNaN(c.v[i]) {
				row[c.name] = object[c.name]
			}
		}
		must.Get(w.Write([]any{row}))(t)
		lines.Write(append(must.Get(json.Marshal(object))(t), '\n'))
	}
	must.Do(t, w.Close())
	if f.seed%2 == 0 {
		return put(t, filepath.Join(dir, fmt.Sprintf("%d.parquet", f.seed)), b.Bytes())
	}
	return put(t, filepath.Join(dir, fmt.Sprintf("%d.jsonl", f.seed)), lines.Bytes())
}
