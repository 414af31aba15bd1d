package dataset

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dyad/engine"
	"dyad/internal/must"
)

const personSchema = `data_id: visits
csv: {header: true}
%s
columns:
  - {name: patient, role: person}
  - {name: age, range: [0, 100]}
  - {name: ill, role: label, positive: 1, negative: 0}
`

func loadPersons(t *testing.T, options, text string, o Options) (*Dataset, error) {
	t.Helper()
	s := mustSchema(t, fmt.Sprintf(personSchema, options))
	path := writeFile(t, "visits.csv", text)
	return Load(path, s, o)
}

// ages are the ages of the rows of each person.
func ages(r *engine.Records) (out [][]float64) {
	row := make([]float64, r.Dim())
	for k := range r.Units() {
		from, to := r.UnitRows(k)
		var all []float64
		for i := from; i < to; i++ {
			r.Row(i, row)
			all = append(all, math.Round(50+50*row[0]/math.Sqrt(3)))
		}
		out = append(out, all)
	}
	return out
}

func TestPersonsAreMergedAndOrdered(t *testing.T) {
	// b, B with a zero width space, full-width b; a; c with spaces.
	text := "patient,age,ill\nb,30,1\nc,70,0\nB\u200b,50,0\na,40,1\n\uff42,60,1\n c ,70,1\n"
	keep := Options{Persons: KeepPersons}
	for _, c := range []struct {
		options string
		want    [][]float64
	}{
		{"ids: public", [][]float64{{40}, {30, 50, 60}, {70, 70}}},
		{"persons: 3", [][]float64{{30, 50, 60}, {70, 70}, {40}}},
		{"persons: 3\nmax_rows_per_person: 2", [][]float64{{30, 50}, {70, 70}, {40}}},
		{"public: true", [][]float64{{40}, {30, 50, 60}, {70, 70}}},
	} {
		d := must.Get(loadPersons(t, c.options, text, keep))(t)
		if got := ages(d.Records); !slices.EqualFunc(got, c.want, slices.Equal) {
			t.Errorf("%s: %v, want %v", c.options, got, c.want)
		}
		if d.Positives != 0 || d.Negatives != 0 || d.IDs != nil {
			t.Errorf("%s: counts of rows are told", c.options)
		}
	}
	for options, rule := range map[string]string{"persons: 4": ruleOtherPersons, "persons: 2": ruleOtherPersons} {
		must.Fail(loadPersons(t, options, text, keep))(t, rule, options)
		m := must.Get(Summarize(writeFile(t, "file.csv", text), mustSchema(t, fmt.Sprintf(personSchema, options)), Options{}))(t)
		if m.Problem == nil || !strings.Contains(m.Problem.Error(), rule) {
			t.Errorf("%s: Summarize does not tell what refuses a run: %v", options, m.Problem)
		}
	}
	if _, err := loadPersons(t, "ids: public", "patient,age,ill\n\u200b,1,1\nb,1,0\n", keep); err == nil ||
		!strings.Contains(err.Error(), ruleNoPerson) || !strings.Contains(err.Error(), "row 2") {
		t.Errorf("an invisible id: %v", err)
	}
	for _, missing := range []string{"NA", " na", "nan", "?"} {
		_, err := loadPersons(t, "ids: public\nmissing: {values: [NA, \"?\"], policy: middle}",
			"patient,age,ill\na,1,1\nb,1,0\n"+missing+",1,0\n", keep)
		if err == nil || !strings.Contains(err.Error(), ruleNoPerson) || !strings.Contains(err.Error(), "row 4") {
			t.Errorf("a missing id %q: %v", missing, err)
		}
	}
	must.Check(loadPersons(t, "ids: public", "patient,age,ill\nNA,1,1\nb,1,0\n", keep))(t,
		"an id that is not declared missing")
	must.Fail(loadPersons(t, "ids: public", "patient,age,ill\nb,1,1\nB,1,0\n", keep))(t, ruleOnePerson, "one person")
	// Whoever does not ask for persons must not get rows.
	for _, labels := range []LabelMode{LabelsRequired, LabelsOptional, LabelsIgnored} {
		must.Fail(loadPersons(t, "persons: 3", text, Options{Labels: labels}))(t, "role: person", "labels ", labels)
	}
	s := mustSchema(t, fmt.Sprintf(personSchema, "persons: 3"))
	must.FailDo(t, ScanReader("stream", strings.NewReader(text), s, Options{}, func(*Row) error { return nil }),
		"role: person", "rows of a stream")
	for text, persons := range map[string]bool{text: true, text + "NA,1,1\n": true, text + ",1,1\n": false,
		"age,ill\n30,1\n40,0\n": false} { // exact figures of other files: any number of persons, all rows
		d := must.Get(loadPersons(t, "persons: 9\nmax_rows_per_person: 2", text, Options{Persons: KeepPersons, AnyPersons: true}))(t)
		must.Equal(t, d.Records.ByPerson(), persons, "persons of %q", text)
		must.Equal(t, d.Records.Len(), strings.Count(text, "\n")-1, "rows of %q", text)
	}
	d, err := loadPersons(t, "persons: 3", text, Options{Persons: IgnorePersons})
	if err != nil || d.Records.ByPerson() || d.Records.Len() != 6 {
		t.Errorf("rows: %v", err)
	}
}

// TestPersonRowsElsewhere attacks the order of persons: where in the file the rows of one
// person are, and how many, changes nothing of the others, if ids are public; and of private ids
// as long as the first row of the person stays in the order of first rows.
func TestPersonRowsElsewhere(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for trial := range 40 {
		public := trial%2 == 0
		options := "persons: 6"
		if public {
			options = "ids: public"
		}
		var lines []string
		for p := range 6 {
			for r := range 1 + rng.IntN(4) {
				lines = append(lines, fmt.Sprintf("p%d,%d,%d", p, 25+5*p+r, rng.IntN(2)))
			}
		}
		first := lines
		if public {
			rng.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
		}
		other := slices.DeleteFunc(slices.Clone(first), func(l string) bool { return strings.HasPrefix(l, "p3") })
		at := slices.IndexFunc(other, func(l string) bool { return strings.HasPrefix(l, "p4") })
		for range 1 + rng.IntN(5) {
			if public {
				at = rng.IntN(len(other) + 1)
			}
			other = slices.Insert(other, at, fmt.Sprintf("p3,%d,%d", 25+rng.IntN(50), rng.IntN(2)))
			if !public {
				at += 1 + rng.IntN(len(other)-at) // behind the first one, anywhere
			}
		}
		var got [2][][]float64
		for i, l := range [][]string{first, other} {
			d := must.Get(loadPersons(t, options, "patient,age,ill\n"+strings.Join(l, "\n")+"\n",
				Options{Persons: KeepPersons}))(t)
			got[i] = ages(d.Records)
		}
		for p := range 6 {
			if p != 3 && !slices.Equal(got[0][p], got[1][p]) {
				t.Fatalf("%s: person %d changed with the rows of another: %v, %v", options, p, got[0][p], got[1][p])
			}
		}
	}
}

func TestPersonSchema(t *testing.T) {
	for options, want := range map[string]string{
		"":                                    "persons: N",
		"persons: 1":                          "at least 2",
		"persons: -3":                         "at least 1",
		"ids: private":                        "must be public",
		"ids: public\npersons: 7":             "cannot have both persons",
		"ids: public\nrows_per_person: 7":     "set max_rows_per_person, not rows_per_person",
		"persons: 2.5":                        "whole number",
		"persons: 7\nmax_rows_per_person: -1": "at least 1",
	} {
		must.Fail(ParseSchema(fmt.Appendf(nil, personSchema, options)))(t, want, options)
	}
	for _, text := range []string{
		"data_id: a\npersons: 3\ncolumns: [{name: x, range: [0, 1]}, {name: y, role: label, positive: 1}]\n",
		"data_id: a\nids: public\ncolumns: [{name: x, range: [0, 1]}, {name: p, role: person}, {name: q, role: person}, " +
			"{name: y, role: label, positive: 1}]\n",
		"data_id: a\nids: public\ncolumns: [{name: x, range: [0, 1]}, {name: p, role: person}, {name: y, role: label, " +
			"positive: 1, negative: 0, others: drop}]\n",
		"data_id: a\nids: public\nfeatures: 3\nrange: [0, 1]\ncolumns: [{name: p, role: person}, {name: y, role: label, " +
			"positive: 1}]\n",
	} {
		must.Err(ParseSchema([]byte(text)))(t, "accepted:\n%s", text)
	}
	must.Check(ParseSchema([]byte("data_id: a\nrows_per_person: 4\ncolumns: [{name: x, range: [0, 1]}, {name: y, role: " +
		"label, positive: 1}]\n")))(t)
}

// Which group a person is in is public, and where its rows are is not: groups are numbered by the order of persons, and a person in two
// is refused, also where the second row is beyond the cap. A pack has the same records and groups.
func TestPersonsWithinGroups(t *testing.T) {
	for _, ids := range []string{"ids: public", "persons: 5"} {
		s := must.Get(ParseSchema(fmt.Appendf(nil, strings.Replace(personSchema, "columns:",
			"columns:\n  - {name: query, role: group}", 1), ids+"\nmax_rows_per_person: 2")))(t)
		load := func(o Options, lines ...string) (*Dataset, string, error) {
			path := filepath.Join(t.TempDir(), "visits.csv")
			must.Do(t, os.WriteFile(path, []byte("query,patient,age,ill\n"+strings.Join(lines, "\n")+"\n"), 0o600))
			d, err := Load(path, s, o)
			return d, path, err
		}
		lines := []string{"r,a,10,1", "q,b,20,0", "r,c,30,1", "q,d,40,0", "s,e,50,1"}
		keep := Options{Persons: KeepPersons}
		want, path, err := load(keep, lines...)
		if err != nil || !slices.Equal(want.Groups, []int32{0, 1, 0, 1, 2}) || want.GroupCount != 3 {
			t.Fatalf("%s: groups %v, %v", ids, want, err)
		}
		more := append([]string{"r,a,10,1"}, lines...) // rows of a elsewhere
		more = append(more, "r,a,90,0", "s,e,55,1")
		if ids == "ids: public" {
			more = append([]string{"q,d,45,0", "s,e,50,1"}, more...)
		}
		got, _, err := load(keep, more...)
		if err != nil || !slices.Equal(got.Groups, want.Groups) {
			t.Errorf("%s: rows in other places give the groups %v, %v", ids, got, err)
		}
		if got, _, err := load(Options{Persons: IgnorePersons}, more...); err != nil || len(got.Groups) != got.Records.Len() {
			t.Errorf("%s: groups of rows: %v, %v", ids, got, err)
		}
		if _, _, err := load(keep, append(slices.Clone(lines), "r,a,1,1", "q,a,1,1")...); err == nil ||
			!strings.Contains(err.Error(), ruleTwoGroups) || strings.Contains(err.Error(), "row 7") {
			t.Errorf("%s: a person in two groups: %v", ids, err)
		}
		name, made := packFile(t, path, s)
		packed, err := Load(name, s, keep)
		if err != nil || made.Persons != 5 || made.Groups != 3 || !slices.Equal(packed.Groups, []int32{0, 0, 1, 1, 2}) {
			t.Fatalf("%s: a pack: %+v, %+v, %v", ids, made, packed, err)
		}
		sameRecords(t, packed.Records, want.Records.UnitSubset([]int{0, 2, 1, 3, 4}))
		must.Same(t, must.Get(Load(name, s, Options{Persons: IgnorePersons}))(t, ids).Groups, []int32{0, 0, 1, 1, 2},
			"%s: groups of a pack by rows", ids)
	}
}
