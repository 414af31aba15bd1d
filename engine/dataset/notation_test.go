package dataset

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"

	"dyad/engine/dataset/parse"
	"dyad/engine/dataset/schema"
	"dyad/engine/dataset/sniff"
	"dyad/engine/dataset/source"
	"dyad/engine/dataset/workbook"
	"dyad/internal/must"
)

const europeanSchema = `
data_id: t
csv: {header: true, delimiter: ";", decimal: ",", thousands: "."}
columns:
  - {name: glucose, range: [0, 20000], missing: {values: ["9.999"], policy: middle}}
  - {name: share, range: [0, 100], suffix: "%"}
  - {name: seen, date: {format: DD.MM.YYYY, from: 2020-01-01, to: 2024-12-31}}
  - {name: out, role: label, kind: numeric, range: [0, 10]}
`

const plainOfEuropean = `
data_id: t
csv: {header: true}
columns:
  - {name: glucose, range: [0, 20000], missing: {values: ["missing"], policy: middle}}
  - {name: share, range: [0, 100]}
  - {name: seen, range: [0, 1826]}
  - {name: out, role: label, kind: numeric, range: [0, 10]}
`

// TestNotations: a file in another notation gives the records of the plain one, bit for bit,
// read, scanned, encoded by itself and converted.
func TestNotations(t *testing.T) {
	european := "glucose;share;seen;out\n1.234,5;45,5 %;01.01.2020;2,5\n950;0%;31.12.2024;0\n12.500;100%;1.2.2021;10\n9.999;7%;01.03.2022;1\n-3;1e1%;01.03.1999;7,25\n"
	plain := "glucose,share,seen,out\n1234.5,45.5,0,2.5\n950,0,1826,0\n12500,100,397,10\nmissing,7,790,1\n-3,10,-9999,7.25\n"
	s, p := mustSchema(t, europeanSchema), mustSchema(t, plainOfEuropean)
	want := must.Get(Load(writeFile(t, "p.csv", plain), p, Options{}))(t)
	path := writeFile(t, "e.csv", european)
	got := must.Get(Load(path, s, Options{}))(t)
	sameRecords(t, got.Records, want.Records, "loaded")
	row := make([]float64, 3)
	for i, line := range strings.Split(strings.TrimSpace(european), "\n")[1:] {
		x, err := got.Encoder.Encode(strings.Split(line, ";")[:3])
		if want.Records.Row(i, row); err != nil || !slices.Equal(x, row) {
			t.Errorf("encoded row %d is %v, want %v (%v)", i, x, row, err)
		}
	}
	checkScan(t, european, s, got)
	for _, format := range []string{schema.FormatCSV, FormatParquet} {
		var b bytes.Buffer
		_, out := must.Get2(Convert(path, s, &b, format, ConvertOptions{}))(t)
		d := must.Get(Load(writeFile(t, "x."+format, b.String()), out, Options{}))(t)
		sameRecords(t, d.Records, want.Records, "converted to ", format)
	}
}

// TestNotationIsStrict: a number that does not fit its notation is refused, never read as
// another one.
func TestNotationIsStrict(t *testing.T) {
	comma, space := parse.Notation{Decimal: ',', Thousands: "."}, parse.Notation{Decimal: '.', Thousands: parse.ThousandsSpace}
	for _, c := range []struct {
		n           parse.Notation
		field, want string // "" for refused
	}{
		{comma, "1.234", "1234"}, {comma, "1.234.567,8", "1234567.8"}, {comma, "24,5", "24.5"}, {comma, "+7", "+7"}, {comma, "-1.000,25", "-1000.25"}, {comma, "1,5e3", "1.5e3"},
		{comma, "1.23", ""}, {comma, "12.34,5", ""}, {comma, "0.123", ""}, {comma, ".5", ""}, {comma, "1234.567", ""}, {comma, "1,2,3", ""}, {comma, "1,234.5", ""}, {comma, "1..234", ""}, {comma, "1.2345", ""}, {comma, "0x1,8p3", ""}, {comma, "1,_5", ""}, {comma, "1.234e3.4", ""}, {comma, "one", ""}, {comma, "--1", ""},
		{parse.Notation{Decimal: ','}, "1.234", ""}, {parse.Notation{Decimal: ','}, "1234,5", "1234.5"},
		{space, "12 345.5", "12345.5"}, {space, "12\u00a0345", "12345"}, {space, "12\u202f345", "12345"}, {space, "12 34", ""}, {space, "1 2345", ""},
		{parse.Notation{Decimal: '.', Thousands: "'"}, "1'000'000", "1000000"},
		{parse.Notation{Decimal: '.', Suffix: []byte("%")}, "45 %", "45"}, {parse.Notation{Decimal: '.', Suffix: []byte("%")}, "45", "45"}, {parse.Notation{Decimal: '.', Suffix: []byte("%")}, "45%%", ""},
		{parse.Notation{Layout: "2.1.2006", From: 10}, "01.02.1970", "21"}, {parse.Notation{Layout: "2.1.2006"}, "31.02.1970", ""}, {parse.Notation{Layout: "2006-1-2"}, "1970-01-03 12:30", "2"}, {parse.Notation{Layout: "2006-1-2"}, "1970-01-03T12:30:00Z", "2"}, {parse.Notation{Layout: "1/2/2006"}, "13/1/2006", ""},
	} {
		got, rule := c.n.Plain(nil, []byte(c.field))
		if rule == "" {
			if _, other := parse.Number(got); other != "" {
				rule = other
			}
		}
		if (rule != "") != (c.want == "") || c.want != "" && string(got) != c.want {
			t.Errorf("%q as %+v: got %q, rule %q, want %q", c.field, c.n, got, rule, c.want)
		}
	}
	// Any number survives being written with groups.
	rng := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		v := (rng.Float64() - 0.5) * 2e9
		text := strconv.FormatFloat(v, 'f', rng.IntN(4), 64)
		whole, fraction, _ := strings.Cut(strings.TrimPrefix(text, "-"), ".")
		grouped := ""
		for i, digit := range whole {
			if i > 0 && (len(whole)-i)%3 == 0 {
				grouped += "."
			}
			grouped += string(digit)
		}
		if fraction != "" {
			grouped += "," + fraction
		}
		if strings.HasPrefix(text, "-") {
			grouped = "-" + grouped
		}
		if got, rule := comma.Plain(nil, []byte(grouped)); rule != "" || string(got) != text {
			t.Fatalf("%s: got %q, rule %q, want %s", grouped, got, rule, text)
		}
	}
}

// TestEncodings: text of other encodings gives the records of UTF-8.
func TestEncodings(t *testing.T) {
	content := "größe,art,out\n1,süß,yes\n2,herb,no\n"
	for name, c := range map[string]struct {
		encoding string
		encode   func() (string, error)
	}{
		"UTF-8":        {"", func() (string, error) { return content, nil }},
		"windows-1252": {"encoding: windows-1252", func() (string, error) { return charmap.Windows1252.NewEncoder().String(content) }},
		"UTF-16 with a mark": {"", func() (string, error) {
			return unicode.UTF16(unicode.BigEndian, unicode.UseBOM).NewEncoder().String(content)
		}},
		"UTF-16 without": {"encoding: utf-16", func() (string, error) {
			return unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM).NewEncoder().String(content)
		}},
		"Latin-1, not declared": {"wrong", func() (string, error) { return charmap.Windows1252.NewEncoder().String(content) }},
	} {
		text := must.Get(c.encode())(t)
		path := writeFile(t, "x.csv", text)
		options := c.encoding
		if options == "wrong" {
			options = ""
		}
		schema := fmt.Sprintf("data_id: t\ncsv: {header: true, %s}\ncolumns:\n  - {name: größe, range: [0, 4]}\n  - {name: art, categories: [herb, süß]}\n  - {name: out, role: label, positive: yes}\n", options)
		d, err := Load(path, mustSchema(t, schema), Options{})
		if c.encoding == "wrong" {
			must.ErrDo(t, err, "%s: accepted", name)
			continue
		}
		if err != nil || d.Records.Len() != 2 || d.Positives != 1 {
			t.Errorf("%s: %v", name, err)
			continue
		}
		draft, err := Draft(path, DraftOptions{Label: "out"})
		if name == "UTF-16 without" { // nothing tells
			continue
		}
		if err != nil || !strings.Contains(string(draft.Schema), `"größe", range: [1, 2]`) {
			t.Errorf("%s: draft %v, %v", name, draft, err)
		}
	}
	category := strings.Replace(headerSchema, "[f, m]", "[f, m, ä]", 1)
	must.Fail(Load(writeFile(t, "x.csv", "age,sex,out\n30,f,yes\n40,\xe4,no\n"), mustSchema(t, category), Options{}))(t, schema.RuleNotUTF8, "a category in Latin-1")
}

// TestNotData: what is no table is named.
func TestNotData(t *testing.T) {
	folder := t.TempDir()
	for name, c := range map[string]struct{ path, want, drafted string }{
		"xlsx":   {writeFile(t, "a.xlsx", "PK\x03\x04\x14\x00\x06\x00\x08\x00\x00\x00!\x00AAAAAAAAAAAA\x13\x00\x00\x00[Content_Types].xml"), workbook.RuleDamaged, workbook.RuleDamaged},
		"xls":    {writeFile(t, "a.xls", "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1 and more"), sniff.RuleExcel, sniff.RuleExcel},
		"folder": {folder, ruleNoFiles, source.RuleFolder},
	} {
		_, err := Load(c.path, mustSchema(t, headerSchema), Options{})
		wantRule(t, err, source.ParseError{File: c.path, Rule: c.want}, name, " loaded")
		_, err = Draft(c.path, DraftOptions{})
		wantRule(t, err, source.ParseError{File: c.path, Rule: c.drafted}, name, " drafted")
	}
	must.Get(os.Stat(filepath.Join(folder)))(t)
}

// TestUnknownCategory: a category that is not listed becomes all 0 if the schema says so, else an error.
func TestUnknownCategory(t *testing.T) {
	content := "age,sex,out\n30,f,yes\n40,x,no\n"
	must.Err(Load(writeFile(t, "x.csv", content), mustSchema(t, headerSchema), Options{}))(t, "an unknown category was accepted")
	s := mustSchema(t, strings.Replace(headerSchema, "[f, m]", "[f, m], unknown: other", 1))
	path := writeFile(t, "y.csv", content)
	d := must.Get(Load(path, s, Options{}))(t)
	x := make([]float64, 2)
	d.Records.Row(1, x)
	must.Equal(t, x[1], 0, "an unknown category")
	must.Equal(t, must.Get(Summarize(path, s, Options{}))(t).Columns[1].Unknown, 1, "unknown categories of the summary")
}
