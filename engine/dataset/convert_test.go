package dataset

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dyad/engine/dataset/parse"
	"dyad/engine/dataset/schema"
	"dyad/engine/dataset/source"
	"dyad/engine/tensors"
	"dyad/internal/must"
)

// convertFile converts and returns the file written.
func convertFile(t *testing.T, in string, s *Schema, format string,
	o ConvertOptions) (path string, rows int, out *Schema) {
	t.Helper()
	var b bytes.Buffer
	rows, out = must.Get2(Convert(in, s, &b, format, o))(t, format)
	return writeFile(t, "out."+format, b.String()), rows, out
}

var bothFormats = []string{schema.FormatCSV, FormatParquet}

const convertMixed = `
data_id: t
csv: {header: true, ignore_others: true}
columns:
  - {name: who, role: id}
  - {name: age, range: [0, 100], missing: {values: ["?", 0], policy: middle}}
  - {name: area, field: "a, \"b\"", range: [0, 50], transform: log1p}
  - {name: sex, categories: [f, "m <é>"], missing: {policy: middle}}
  - {name: note, role: ignore}
  - {name: out, role: label, positive: yes, negative: no, trim_suffix: ".", others: drop}
  - {name: query, role: group}
`

const convertMixedData = "who,age,\"a, \"\"b\"\"\",sex,note,out,query,more\np1,30,1e1,f,x,yes,q9,1\np2,?,0.1,m " +
	"<é>,y,no.,q2,2\np3,5,5,f,z,perhaps,q2,3\np4,0,+05.50,,w,no,q9,4\n"

// Raw rows in any format load to the same records by the schema that Convert
// returns, also after its YAML.
func TestConvertKeepsRecords(t *testing.T) {
	numeric := strings.Replace(strings.Replace(convertMixed,
		"  - {name: sex, categories: [f, \"m <é>\"], missing: {policy: middle}}\n", "  - {name: sex, role: ignore}\n", 1),
		", missing: {values: [\"?\", 0], policy: middle}", ", missing: {values: [\"?\"], policy: middle}", 1)
	graded := "data_id: t\ncolumns:\n  - {name: a, range: [0, 9]}\n  - {name: y, role: label, kind: numeric, range: [0, " +
		"4]}\n  - {name: q, role: group}\n"
	for _, c := range []struct {
		name, schema, content string
		formats               []string
	}{
		{"mixed", convertMixed, convertMixedData, []string{schema.FormatCSV, FormatParquet}},
		{"numeric", numeric, convertMixedData, bothFormats},
		{"graded", graded, "1,0,x\n2,3,y\n3,4,x\n4,2.5,y\n", bothFormats},
		{"numbered", denseSchema, "1 1:0.5 2:3\n0 2:10\n", bothFormats},
		{"float32", "data_id: t" + namedColumns, parquetFile(t, patient{pointer(float32(30.1)), "f", 1, true, pointer("q1")},
			patient{nil, "m", 2, false, pointer("q1")}), []string{schema.FormatCSV, FormatParquet}},
	} {
		s := mustSchema(t, c.schema)
		in := writeFile(t, "in", c.content)
		want := must.Get(Load(in, s, Options{KeepIDs: true}))(t, c.name)
		for _, format := range c.formats {
			path, rows, out := convertFile(t, in, s, format, ConvertOptions{})
			text := must.Get(out.YAML())(t)
			back := must.Get(ParseSchema(text))(t, c.name, format, string(text))
			must.Same(t, back, out, "%s %s: the schema changed in YAML:\n%s", c.name, format, text)
			d, err := Load(path, back, Options{KeepIDs: true})
			if err != nil {
				content, _ := os.ReadFile(path)
				t.Fatalf("%s %s: %v\n%s\n%s", c.name, format, err, text, content)
			}
			x, _ := tensors.FromRecords(want.Records)
			got, _ := tensors.FromRecords(d.Records)
			if rows != want.Records.Len() || !slices.Equal(got.Float64s(), x.Float64s()) ||
				!slices.Equal(d.Records.Labels(), want.Records.Labels()) || !slices.Equal(d.Groups, want.Groups) {
				t.Errorf("%s %s: records differ: %v %v, want %v %v", c.name, format, got, d.Records.Labels(), x,
					want.Records.Labels())
			}
			must.Same(t, d.IDs, want.IDs, "%s %s: ids", c.name, format)
		}
	}
}

// Encoded rows hold the bits of the records.
func TestConvertEncoded(t *testing.T) {
	s := mustSchema(t, convertMixed)
	in := writeFile(t, "in.csv", convertMixedData)
	want := must.Get(Load(in, s, Options{}))(t)
	for _, format := range bothFormats {
		path, rows, out := convertFile(t, in, s, format, ConvertOptions{Encoded: true})
		if rows != 3 || out != nil {
			t.Errorf("%s: %d rows, schema %v", format, rows, out)
		}
		// Read back without scaling: a range of [-1, 1] multiplies by 1/sqrt(d/3).
		var b strings.Builder
		fmt.Fprintf(&b, "data_id: t\nformat: %s\n", format)
		if format == schema.FormatCSV {
			b.WriteString("csv: {header: true}\n")
		}
		b.WriteString("columns:\n  - {name: who, role: id}\n  - {name: query, role: ignore}\n")
		for _, name := range want.Encoder.FeatureNames() {
			fmt.Fprintf(&b, "  - {name: %s, range: [-1, 1]}\n", schema.QuoteYAML(name))
		}
		b.WriteString("  - {name: out, role: label, positive: 1, negative: -1}\n")
		d := must.Get(Load(path, mustSchema(t, b.String()), Options{}))(t, format, b.String())
		x, _ := tensors.FromRecords(want.Records)
		got, _ := tensors.FromRecords(d.Records)
		g := d.Encoder.Factor()
		for k, v := range x.Float64s() {
			must.Equal(t, v*g, got.Float64s()[k], "%s: value %d", format, k)
		}
		must.Same(t, d.Records.Labels(), want.Records.Labels(), "%s: labels", format)
	}
}

func TestConvertErrors(t *testing.T) {
	s := mustSchema(t, convertMixed)
	in := writeFile(t, "in.csv", convertMixedData)
	missing := mustSchema(t,
		"data_id: t\ncolumns:\n  - {name: a, range: [0, 1], missing: {policy: middle}}\n  - {name: y, role: label, "+
			"positive: 1}\n")
	var p *source.ParseError
	for _, c := range []struct {
		s                *Schema
		in, format, want string
		parse            bool
	}{
		{s, in, "xml", "cannot write format", false},
		{s, in, schema.FormatNPZ, "want csv or parquet", false},
		{s, in, schema.FormatJSONL, "want csv or parquet", false},
		{missing, writeFile(t, "m.csv", "1,1\nx7391,0\n"), schema.FormatCSV, parse.RuleNotNumber, true},
		{missing, filepath.Join(t.TempDir(), "absent"), schema.FormatCSV, "cannot read data", false},
	} {
		_, _, err := Convert(c.in, c.s, new(bytes.Buffer), c.format, ConvertOptions{})
		if err == nil || !strings.Contains(err.Error(), c.want) || errors.As(err, &p) != c.parse {
			t.Errorf("%s: got %v, want %q", c.format, err, c.want)
		}
	}
	full := errors.New("disk full")
	for _, format := range bothFormats {
		_, _, err := Convert(in, s, errWriter{full}, format, ConvertOptions{})
		must.FailDo(t, err, full, format)
	}
}

// Scan allocates a bounded amount, however many rows there are.
func TestScanMemory(t *testing.T) {
	s := mustSchema(t, plainSchema)
	path := writeFile(t, "big.csv", strings.Repeat("0.123456789,55.5,1\n3,4,0\n", 100_000))
	rows := 0
	got := allocated(t, func() error { return Scan(path, s, Options{}, func(*Row) error { rows++; return nil }) })
	if rows != 200_000 || got > 1<<20 {
		t.Errorf("%d rows, %d bytes allocated", rows, got)
	}
}

func TestSummarize(t *testing.T) {
	m := must.Get(Summarize(writeFile(t, "in.csv", convertMixedData), mustSchema(t, convertMixed), Options{}))(t)
	if m.Rows != 3 || m.Positives != 1 || m.Negatives != 2 || m.Groups != 2 || m.LargestGroup != 2 ||
		m.Features != 3 || !m.Labels {
		t.Errorf("got %+v", m)
	}
	age, area, sex := m.Columns[0], m.Columns[1], m.Columns[2]
	if age.Missing != 2 || age.Min != 30 || age.Max != 30 || age.Used != 0 || area.Min != 0.1 || area.Max != 10 ||
		!(area.Used > 0.58 && area.Used < 0.59) {
		t.Errorf("got %+v, %+v", age, area)
	}
	if !slices.Equal(sex.Counts, []int{1, 1}) || sex.Missing != 1 {
		t.Errorf("got %+v", sex)
	}
	m = must.Get(Summarize(writeFile(t, "in", "1 1:-4 3:20\n-1 2:0.5\n1 3:5\n"),
		mustSchema(t, sparseSchema), Options{}))(t)
	first, third := m.Columns[0], m.Columns[2]
	if first.Min != -4 || first.Max != 0 || first.Clamped != 1 || first.Used != 0.5 || third.Clamped != 1 ||
		third.Min != 0 || third.Used != 1 {
		t.Errorf("got %+v, %+v", first, third)
	}
	m = must.Get(Summarize("testdata/numpy_stored.npz",
		mustSchema(t, "data_id: t\nformat: npz\nfeatures: 3\nrange: [0, 10]\nmissing: {policy: middle}\ncolumns: [{name: y, "+
			"role: label, kind: numeric, range: [0, 4]}]\n"), Options{}))(t)
	if m.Grades == nil || m.Grades.Max != 1 || m.Grades.Used != 0.25 || m.Columns[0].Missing != 1 ||
		m.Columns[2].Clamped != 1 || m.Columns[1].Clamped != 1 {
		t.Errorf("got %+v, grades %+v", m, m.Grades)
	}
}
