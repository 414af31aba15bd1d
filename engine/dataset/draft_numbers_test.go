package dataset

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"dyad/engine/dataset/schema"
	"dyad/internal/must"
)

// rows are n rows of the values, which come again and again, and a label.
func spreadsheet(header string, n int, rows ...string) string {
	var b strings.Builder
	b.WriteString(header + "\n")
	for i := range n {
		fmt.Fprintf(&b, rows[i%len(rows)]+"\n", i%2)
	}
	return b.String()
}

// TestDraftReadsSpreadsheets: numbers, dates and codes of spreadsheets are drafted as what they
// are, or left out with the reason. What can be two things is never guessed.
func TestDraftReadsSpreadsheets(t *testing.T) {
	var ids strings.Builder
	ids.WriteString("mrn,case,visits,y\n")
	for i := range 300 {
		fmt.Fprintf(&ids, "%d,%d,%d,%d\n", 7000000+i/2*31, 90000+i*17, i%3+i/298*400, i%2)
	}
	for _, c := range []struct {
		name, content string
		o             DraftOptions
		want          []string
		columns       int // features, -1 if the draft does not load
	}{
		{"German", spreadsheet("Alter;Wert;Betrag;Anteil;Datum;y", 9, "50;24,5;950;45%%;03.02.2024;%d",
			"61;7,25;1.234;7,5%%;28.02.2024;%d", "47;0,5;12.500;100%%;1.3.2024;%d"), DraftOptions{},
			[]string{`decimal: ","`, `thousands: "."`, `{name: "Wert", range: [0.5, 24.5]`,
				`{name: "Betrag", range: [950, 12500]`, `{name: "Anteil", range: [7.5, 100], suffix: "%"`,
				`{name: "Datum", date: {format: "DD.MM.YYYY", from: 2024-02-03, to: 2024-03-01}`}, 5},
		{"US", spreadsheet("age,pay,share,day,y", 9, `50,"12,345",45%%,3/14/2024,%d`, `61,950.5,7%%,12/31/2023,%d`,
			`44,"1,234.75",3%%,1/2/2024,%d`), DraftOptions{},
			[]string{`thousands: ","`, `{name: "pay", range: [950.5, 12345]`,
				`{name: "day", date: {format: "MM/DD/YYYY", from: 2023-12-31, to: 2024-03-14}`}, 4},
		{"can be either", spreadsheet("a;b;y", 9, "950;3;%d", "1.234;4;%d", "12.500;5;%d"), DraftOptions{},
			[]string{`{name: "a", role: ignore} # 1.234 can be a little more than one, or a thousand`}, 1},
		{"the user says comma", spreadsheet("a;b;y", 9, "950;3;%d", "1.234;4;%d", "12.500;5;%d"), DraftOptions{Decimal: ","},
			[]string{`{name: "a", range: [950, 12500]`, `thousands: "."`}, 2},
		{"the user says point", spreadsheet("a;b;y", 9, "950;3;%d", "1.234;4;%d", "12.500;5;%d"), DraftOptions{Decimal: "."},
			[]string{`{name: "a", range: [1.234, 950]`}, 2},
		{"another column says point", spreadsheet("a;b;y", 9, "1.500;3.25;%d", "1.234;4;%d", "2.500;5;%d"), DraftOptions{},
			[]string{`{name: "a", range: [1.234, 2.5]`}, 2},
		{"both", spreadsheet("a;b;y", 9, "1,5;3.25;%d", "2,25;4;%d", "7;5;%d"), DraftOptions{},
			[]string{`{name: "a", range: [1.5, 7], decimal: ","`, `{name: "b", range: [3.25, 5], from_data`}, 2},
		{"day or month", spreadsheet("a;b;y", 9, "1/2/2024;3.25;%d", "2/3/2024;4;%d", "3/4/2024;5;%d"), DraftOptions{},
			[]string{`{name: "a", role: ignore} # dates that can be DD/MM/YYYY or MM/DD/YYYY`}, 1},
		{"percent of some", spreadsheet("a;b;y", 9, "1%%;3;%d", "2;4;%d", "3%%;5;%d"), DraftOptions{},
			[]string{`{name: "a", role: ignore} # the numbers have different units, or only some have a unit`}, 1},
		{"identifiers", ids.String(), DraftOptions{},
			[]string{`{name: "mrn", role: ignore} # looks like an identifier; some values repeat; if each value is a person`,
				`{name: "case", role: ignore} # looks like an identifier`, `{name: "visits", range: [0, 402], transform: log1p`},
			1},
		{"no label among many", spreadsheet("drug,died,age,y", 8, "a,no,50,%d", "b,yes,61,%d", "a,yes,70,%d", "b,no,30,%d"),
			DraftOptions{},
			[]string{`{name: "drug", categories: ["a", "b"], unknown: other, from_data: true} # FROM THE DATA; two values: it can be the label (role: label)`}, -1},
		{"answers", spreadsheet("sex,weight,nr,y", 8, "f,61,1,%d", "m,75,2,%d", "f,82,3,%d"), DraftOptions{Label: "y", Positive: "0", Answers: map[string]Answer{
			"sex":    {Categories: []string{"f", "m", "x"}, Unknown: UnknownOther},
			"weight": {Range: []float64{2, 400}, Transform: schema.TransformLog1p}, "nr": {Role: RoleIgnore}}},
			[]string{`{name: "sex", categories: ["f", "m", "x"], unknown: other}`,
				`{name: "weight", range: [2, 400], transform: log1p}`, `{name: "nr", role: ignore}`,
				`positive: "0", negative: "1"`}, 2},
	} {
		path := writeFile(t, "x.csv", c.content)
		draft := must.Get(Draft(path, c.o))(t, c.name)
		must.Contain(t, string(draft.Schema), c.want...)
		s, err := ParseSchema(draft.Schema)
		if c.columns < 0 {
			if err == nil || draft.Label != "" || len(draft.Candidates) != 3 {
				t.Errorf("%s: label %q, candidates %q, %v", c.name, draft.Label, draft.Candidates, err)
			}
			continue
		}
		must.Do(t, err, c.name)
		d := must.Get(Load(path, s, Options{}))(t, c.name, string(draft.Schema))
		must.Equal(t, len(d.Encoder.Columns()), c.columns, "%s: feature columns", c.name)
		must.Equal(t, s.RangesFromData(), c.name != "answers", "%s: marked as from the data", c.name)
	}
}

// TestDraftAnswerErrors: answers that fit nothing, and labels that are nearly one, are named.
func TestDraftAnswerErrors(t *testing.T) {
	content := "a,b,y\n1,5,Yes\n2,6,no\n3,7,yes\n"
	for _, c := range []struct {
		content string
		o       DraftOptions
		want    string
	}{
		{"a,y\n1,0\n2,\n3,1\n", DraftOptions{},
			`column "y" has two values, but also gaps, the first in row 3; fill the gaps`},
		{content, DraftOptions{Label: "a"}, `the column "a" cannot be the label, because a label has exactly two values`},
		{content, DraftOptions{Answers: map[string]Answer{"c": {}}},
			`the answers name the column "c", but the file has no such column`},
		{"a,y\n1,0\n2,1\n", DraftOptions{Label: "y", Positive: "2"}, `the label "y" has no value "2"`},
	} {
		must.Fail(Draft(writeFile(t, "x.csv", c.content), c.o))(t, c.want, c.o)
	}
	for text, want := range map[string]string{"a: {range: 5}": "answers", "- a": "answers", "a: {label: 1}": "answers",
		"a: {rang: [0, 1]}": "did you mean range?"} {
		must.Fail(ParseAnswers([]byte(text)))(t, want, text)
	}
	answers, err := ParseAnswers([]byte("age: {range: [18, 110]}\nsex: {categories: [f, no], unknown: other}\n"))
	if err != nil || answers["age"].Range[1] != 110 || answers["sex"].Categories[1] != "no" {
		t.Errorf("%+v, %v", answers, err)
	}
}

// TestDraftStops: Progress is told the rows and stops the draft, for each kind of file with names.
func TestDraftStops(t *testing.T) {
	stop := errors.New("stop")
	for name, row := range map[string]string{"a.csv": "1,0\n", "a.jsonl": `{"x": 1, "y": 0}` + "\n"} {
		path := writeFile(t, name, strings.Repeat(row, 3*1<<12))
		seen := 0
		_, err := Draft(path, DraftOptions{Progress: func(rows int) error { seen = rows; return stop }})
		if !errors.Is(err, stop) || seen != 1<<12 {
			t.Errorf("%s: %d rows, %v", name, seen, err)
		}
	}
}

// TestDraftSkipsNoRecords: what a draft names as a title, a row of units or a total begins no other line of the file, however far
// down that is. Such a file is refused with its row.
func TestDraftSkipsNoRecords(t *testing.T) {
	rows := func(hospital string, n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "%s;%d,5;%d\n", hospital, i%37, i%2)
		}
		return b.String()
	}
	for name, c := range map[string]struct{ content, want string }{
		"a title that is a value": {"Spital Ost\nSpital;Wert;y\n" + rows("Nord", 150) + rows("Spital Ost", 20),
			`row 153: the row begins like row 1`},
		"a total that begins a value": {"Spital;Wert;y\n" + rows("Nord", 150) + rows("Summerau", 20) + "Summe;9999,5;\n",
			`row 152: the row begins like row 172`},
		"a title that is no value":       {"Spital West\nSpital;Wert;y\n" + rows("Nord", 150) + rows("Ost", 20), ""},
		"a title and a total, both once": {"Spital West\nSpital;Wert;y\n" + rows("Nord", 150) + "Summe;9999,5;\n", ""},
	} {
		path := writeFile(t, "x.csv", c.content)
		d, err := Draft(path, DraftOptions{Label: "y"})
		if c.want != "" {
			must.FailDo(t, err, c.want, name)
			continue
		}
		must.Do(t, err, name)
		must.Get(Load(path, mustSchema(t, string(d.Schema)), Options{}))(t, name, string(d.Schema))
	}
}
