package dataset

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"dyad/engine/dataset/schema"
	"dyad/internal/must"
)

// outcome is what became of a file: questions that the draft asked, errors that it gave.
type outcome struct {
	features, asked int
	wrong           []string
}

// check drafts, answers what is asked, loads, and compares every value with the truth. spoil may change the
// schema before the file is loaded.
func (f *corpusFile) check(path string, spoil func(*Schema)) (o outcome) {
	fail := func(format string, args ...any) {
		o.wrong = append(o.wrong, fmt.Sprintf("file %d (%s): "+format, append([]any{f.seed, f.writer}, args...)...))
	}
	options := DraftOptions{Label: f.columns[len(f.columns)-1].name, Answers: map[string]Answer{}}
	draft, err := Draft(path, options)
	if err != nil {
		fail("%v", err)
		return o
	}
	s, err := ParseSchema(draft.Schema)
	if err != nil {
		fail("%v\n%s", err, draft.Schema)
		return o
	}
	for _, c := range s.Columns { // the cures
		if truth := f.column(c.Name); c.Role == RoleIgnore && truth != nil {
			why := f.reason(draft.Schema, c.Name)
			switch {
			case truth.kind == "person":
				options.Answers[c.Name] = Answer{Role: RolePerson, IDs: "public"}
			case strings.Contains(why, "1.234 can be"):
				o.asked++
				options.Answers[c.Name] = Answer{Decimal: truth.decimal}
			case strings.Contains(why, "looks like an identifier") && truth.v != nil:
				o.asked++
				options.Answers[c.Name] = Answer{Range: []float64{0, 1e7}}
			case strings.Contains(why, "dates that can be"):
				o.asked++
				format := map[string]string{"02.01.2006": "DD.MM.YYYY", "02/01/2006": "DD/MM/YYYY", "01/02/2006": "MM/DD/YYYY"}[f.dateLayout]
				options.Answers[c.Name] = Answer{Date: &DateFormat{Format: format, From: "2010-01-01", To: "2030-01-01"}}
			case truth.v != nil:
				fail("column %s (%s) is left out: %s\n%s", c.Name, truth.kind, why, draft.Schema)
			}
		} else if truth == nil {
			fail("a column %q that the file lacks", c.Name)
		} else if truth.kind == "person" && c.RoleOf() == RoleFeature || truth.kind == "id" && c.RoleOf() == RoleFeature {
			fail("an identifier, %s, is a feature", c.Name)
		}
	}
	if len(options.Answers) > 0 {
		if draft, err = Draft(path, options); err == nil {
			s, err = ParseSchema(draft.Schema)
		}
		if err != nil {
			fail("with answers: %v", err)
			return o
		}
	}
	if spoil != nil {
		spoil(s)
	}
	d, err := Load(path, s, Options{Persons: IgnorePersons})
	if err != nil {
		fail("%v\n%s", err, draft.Schema)
		return o
	}
	if d.Records.Len() != f.rows {
		fail("%d records, want %d\n%s", d.Records.Len(), f.rows, draft.Schema)
		return o
	}
	label := f.columns[len(f.columns)-1]
	positive := strings.ToLower(s.ColumnOf(RoleLabel).Positive)
	x := make([]float64, d.Records.Dim())
	for i := range f.rows {
		clear(x)
		for k := range d.Encoder.Width() {
			e := d.Encoder.Listed(k)
			c := f.column(e.Name)
			out := x[e.Offset : e.Offset+e.Width]
			rule := ""
			switch {
			case c.text != nil:
				rule = e.Encode([]byte(c.text[i]), out)
			case math.IsNaN(c.v[i]):
				rule = e.EncodeMissing(out)
			case c.kind == "date":
				rule = e.EncodeNumber(c.v[i]-float64(e.Notation.From), out)
			default:
				rule = e.EncodeNumber(c.v[i], out)
			}
			if rule != "" {
				fail("column %s, record %d: %s", e.Name, i, rule)
				return o
			}
		}
		norm := 0.
		for _, v := range x {
			norm += v * v
		}
		got := d.Records.Dense()[i*len(x):][:len(x)]
		for j := range x {
			if want := x[j] / max(1, math.Sqrt(norm)); math.Abs(got[j]-want) > 1e-12 {
				fail("record %d, feature %s: %v, want %v\n%s", i, d.Encoder.FeatureNames()[j], got[j], want, draft.Schema)
				return o
			}
		}
		if want := map[bool]float64{true: 1, false: -1}[strings.ToLower(label.text[i]) == positive]; d.Records.Label(i) != want {
			fail("record %d: label %v, want %v", i, d.Records.Label(i), want)
			return o
		}
	}
	o.features = d.Encoder.Width()
	return o
}

func (f *corpusFile) column(name string) *sheetColumn {
	if i := slices.IndexFunc(f.columns, func(c *sheetColumn) bool { return c.name == name }); i >= 0 {
		return f.columns[i]
	}
	return nil
}

// reason is the comment of a column of a draft.
func (f *corpusFile) reason(draft []byte, name string) string {
	for line := range strings.Lines(string(draft)) {
		if strings.Contains(line, "{name: "+schema.QuoteYAML(name)+",") {
			_, why, _ := strings.Cut(line, "# ")
			return strings.TrimSpace(why)
		}
	}
	return ""
}

// TestCorpus reads 500 spreadsheets with known truth if DYAD_CORPUS is set, as it is at night, and otherwise every tenth of them.
func TestCorpus(t *testing.T) {
	step := uint64(10)
	if os.Getenv("DYAD_CORPUS") != "" {
		step = 1
	}
	dir := t.TempDir()
	var all outcome
	files := 0
	for seed := uint64(1); seed <= 500; seed += step {
		f := newCorpusFile(seed)
		o := f.check(f.write(t, dir), nil)
		for _, w := range o.wrong {
			t.Error(w)
		}
		files, all.features, all.asked = files+1, all.features+o.features, all.asked+o.asked
	}
	t.Logf("%d files, %d features right, %d questions", files, all.features, all.asked)
	if all.features < 3*files {
		t.Errorf("%d features in %d files", all.features, files)
	}
}

// TestCorpusSeesMisreading: schemas that misread a file in one of the ways that the corpus is there for fail.
func TestCorpusSeesMisreading(t *testing.T) {
	f := newCorpusFile(1)
	for seed := uint64(1); f.writer != "csv" || f.column("Leukozyten") == nil || f.column("Leukozyten").thousands != "."; seed++ {
		f = newCorpusFile(seed)
	}
	path := f.write(t, t.TempDir())
	for name, spoil := range map[string]func(*Schema){
		"nothing": nil,
		"a text is missing": func(s *Schema) {
			columnOf(s, "Leukozyten").Missing = &Missing{Policy: MissingMiddle, Values: []string{f.column("Leukozyten").written(f, 0)}}
		},
		"a row is skipped": func(s *Schema) { s.CSV.Comment = append(s.CSV.Comment, f.columns[0].written(f, 5)) },
		"the point is that of a fraction": func(s *Schema) {
			c := columnOf(s, "Leukozyten")
			c.Decimal, c.Thousands = ".", ""
			s.CSV.Thousands = ""
		},
	} {
		o := f.check(path, spoil)
		must.Equal(t, len(o.wrong) > 0, spoil != nil, "%s: %q", name, o.wrong)
	}
}

func columnOf(s *Schema, name string) *Column {
	i := slices.IndexFunc(s.Columns, func(c Column) bool { return c.Name == name })
	return &s.Columns[i]
}
