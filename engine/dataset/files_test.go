package dataset

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"dyad/engine/dataset/parse"
	"dyad/engine/dataset/schema"
	"dyad/engine/dataset/source"
	"dyad/internal/must"
)

const listColumns = `
columns:
  - {name: person, role: %s}
  - {name: a, range: [-1, 1], missing: {policy: middle}}
  - {name: sex, categories: [f, m, x]}
  - {name: out, role: label, positive: 1, negative: 0}
`

// listRow is a row of visits of 50 persons, who come again in other files.
type listRow struct {
	Person string   `parquet:"person" json:"person"`
	A      *float64 `parquet:"a,optional" json:"a"`
	Sex    string   `parquet:"sex" json:"sex"`
	Out    int32    `parquet:"out" json:"out"`
}

func listRows(n int) []listRow {
	rng := rand.New(rand.NewPCG(3, 4))
	rows := make([]listRow, n)
	for i := range rows {
		rows[i] = listRow{Person: fmt.Sprint("p", rng.IntN(50)), Sex: []string{"f", "m", "x"}[rng.IntN(3)], Out: rng.Int32N(2)}
		if rng.IntN(5) > 0 {
			rows[i].A = pointer(rng.NormFloat64())
		}
	}
	return rows
}

// text are rows in a format of lines.
func (r listRow) text(format string, i int) string {
	a := ""
	if r.A != nil {
		a = fmt.Sprint(*r.A)
	}
	switch format {
	case schema.FormatJSONL:
		if a == "" {
			a = "null"
		}
		return fmt.Sprintf(`{"person": %q, "a": %s, "sex": %q, "out": %d}`+"\n", r.Person, a, r.Sex, r.Out)
	case schema.FormatLIBSVM:
		if a == "" {
			return fmt.Sprintf("%d qid:%d 2:1\n", r.Out, i%7)
		}
		return fmt.Sprintf("%d qid:%d 1:%s 2:%d\n", r.Out, i%7, a, i%3)
	}
	return fmt.Sprintf("%s,%s,%s,%d\n", r.Person, a, r.Sex, r.Out)
}

// listFile writes rows from and below to of all; its ending says how.
func listFile(t testing.TB, path, format string, rows []listRow, from, to int) {
	t.Helper()
	var b bytes.Buffer
	switch format {
	case FormatParquet:
		must.Do(t, parquet.Write(&b, rows[from:to], parquet.MaxRowsPerRowGroup(1000)))
	case schema.FormatCSV:
		b.WriteString("person,a,sex,out\n")
	}
	if format != FormatParquet {
		for i := from; i < to; i++ {
			b.WriteString(rows[i].text(format, i))
		}
	}
	text := b.Bytes()
	switch filepath.Ext(path) {
	case ".gz":
		text = gzipped(t, string(text))
	case ".zst":
		text = zstded(t, string(text))
	}
	put(t, path, text)
}

func listSchema(t testing.TB, format, role string) *Schema {
	head := "data_id: list\nformat: " + format + "\n"
	switch {
	case format == schema.FormatLIBSVM:
		return mustSchema(t, head+"features: 2\nrange: [-4, 4]\ncolumns:\n  - {name: y, role: label, positive: 1, negative: 0}\n  - {name: q, role: group}\n")
	case format == schema.FormatCSV:
		head += "csv: {header: true}\n"
	}
	if role == RolePerson {
		head += "persons: 50\n"
	}
	return mustSchema(t, head+fmt.Sprintf(listColumns, role))
}

// The records of a list are to the bit those of one file with all rows, for every format, every
// number of workers and every cut, also where files are empty or compressed in different
// ways. A person's rows are in several files.
func TestListIsTheConcatenation(t *testing.T) {
	const n = 3000
	rows := listRows(n)
	for _, format := range []string{schema.FormatCSV, schema.FormatJSONL, FormatParquet, schema.FormatLIBSVM} {
		for _, role := range []string{schema.RoleID, RolePerson, RoleGroup} {
			if format == schema.FormatLIBSVM && role != RoleGroup {
				continue
			}
			s, dir := listSchema(t, format, role), t.TempDir()
			o := Options{KeepIDs: true, Persons: KeepPersons}
			whole := filepath.Join(dir, "whole")
			listFile(t, whole, format, rows, 0, n)
			want := must.Get(loadWith(1, whole, s, o))(t)
			cuts := []int{0, 0, 1, 1700, 1700, 2999, n}
			for i := range len(cuts) - 1 {
				ending := []string{"", ".gz", ".zst"}[i%3]
				if format == FormatParquet {
					ending = ""
				}
				listFile(t, filepath.Join(dir, fmt.Sprintf("part-%d.rows%s", i, ending)), format, rows, cuts[i], cuts[i+1])
			}
			for _, workers := range []int{1, 2, 3, 7} {
				got := must.Get(loadWith(workers, filepath.Join(dir, "part-*"), s, o))(t, format, role)
				if !reflect.DeepEqual(got.Records, want.Records) || !reflect.DeepEqual(got.IDs, want.IDs) || !reflect.DeepEqual(got.Groups, want.Groups) {
					t.Errorf("%s, %s, %d workers: other records than those of one file", format, role, workers)
				}
				if got.Positives != want.Positives || len(got.Files) != 6 || got.DataFiles != 6 {
					t.Errorf("%s, %s: %d positives of %d, files %v", format, role, got.Positives, want.Positives, got.Files)
				}
			}
			// The same without the parts' own order is other data: the comparison above can fail.
			swapped, err := Load(filepath.Join(dir, "part-5*"), s, Options{KeepIDs: true, Persons: KeepPersons, Also: []string{filepath.Join(dir, "part-[0-4]*")}})
			if err != nil || reflect.DeepEqual(swapped.Records, want.Records) && role != RolePerson {
				t.Errorf("%s, %s: files in another order: %v", format, role, err)
			}
		}
	}
}

// Room for all files is made at the first: what is allocated is the records and the buffers of readers,
// not a second copy.
func TestListNeedsOneCopy(t *testing.T) {
	var text strings.Builder
	text.WriteString("data_id: wide\ncsv: {header: true}\ncolumns:\n")
	header, row := "", ""
	for k := range 40 {
		fmt.Fprintf(&text, "  - {name: x%d, range: [0, 9]}\n", k)
		header, row = header+fmt.Sprintf("x%d,", k), row+"1,"
	}
	text.WriteString("  - {name: y, role: label, positive: 1, negative: 0}\n")
	s, dir := mustSchema(t, text.String()), t.TempDir()
	const n = 15_000
	for i := range 4 {
		put(t, filepath.Join(dir, fmt.Sprint(i, ".csv")), header+"y\n"+strings.Repeat(row+"1\n", n))
	}
	var d *Dataset
	used := allocated(t, func() (err error) { d, err = Load(dir, s, Options{}); return err })
	records := uint64(8 * 41 * d.Records.Len())
	if used > records+8<<20 || d.Records.Len() != 4*n {
		t.Errorf("%d bytes were allocated for %d of records", used, records)
	}
}

func TestExpand(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for _, name := range []string{"in/part-2.csv", "in/part-10.csv", "in/_SUCCESS", "in/.part-2.csv.crc", "in/odd[1].csv", "delta/a.parquet", "deep/x/a.csv", "twice/a.csv", "twice/a.csv.gz"} {
		must.Do(t, os.MkdirAll(filepath.Dir(name), 0o700))
		put(t, name, name)
	}
	for _, folder := range []string{"delta/_delta_log", "empty"} {
		must.Do(t, os.Mkdir(folder, 0o700))
	}
	must.Do(t, os.Link("in/part-2.csv", "link.csv"))
	for want, names := range map[string][]string{
		"in/odd[1].csv in/part-10.csv in/part-2.csv": {"in"}, // byte by byte
		"in/part-10.csv in/part-2.csv":               {"in/part-*"},
		"in/part-2.csv in/part-10.csv":               {"in/part-2.csv", "in/part-10.csv"},
		"in/odd[1].csv":                              {"in/odd[1].csv"},
		"in/_SUCCESS":                                {"in/_*"},
		"absent.csv":                                 {"absent.csv"},
		"deep/x/a.csv":                               {"deep/*/*.csv"},
	} {
		if got, err := Expand(names...); err != nil || strings.Join(got, " ") != want {
			t.Errorf("%v: %v, %v; want %s", names, got, err, want)
		}
	}
	for rule, names := range map[string][]string{
		ruleNoMatch:                             {"in/part-*.parquet"},
		ruleNoFiles:                             {"empty"},
		ruleSubfolder:                           {"deep"},
		ruleTable:                               {"delta"},
		fmt.Sprintf(ruleTwice, "in/part-2.csv"): {"in/part-*", "link.csv"},
		fmt.Sprintf(ruleTwicePack, "twice/a.csv"): {"twice"},
		fmt.Sprintf(ruleTwice, "in/part-10.csv"):  {"in/part-10.csv", "in"},
	} {
		var p *source.ParseError
		if _, err := Expand(names...); !errors.As(err, &p) || p.Rule != rule || p.File == "" {
			t.Errorf("%v: %v, want %q", names, err, rule)
		}
	}
}

// Errors name the file, and count the rows of this file.
func TestListErrors(t *testing.T) {
	const header = "person,a,sex,out\n"
	const row = "p1,0.5,f,1\n"
	for name, c := range map[string]struct {
		second   string
		o        Options
		row      int
		column   string
		position int
		rule     string
	}{
		"value":       {header + row + row + "p1,7391x,f,1\n", Options{}, 4, "a", 2, parse.RuleNotNumber},
		"no header":   {row, Options{}, 1, "", 0, ruleNotHeader},
		"column":      {"person,a,gender,out\n" + row, Options{}, 1, "sex", 0, "lacks this column"},
		"labels":      {"person,a,sex\np1,1,f\n", Options{Labels: LabelsOptional}, 0, "out", 0, ruleListMixed},
		"empty":       {"", Options{}, 0, "", 0, source.RuleEmpty},
		"labels file": {header + row, Options{LabelsFile: "y.npy"}, 0, "", 0, ruleListLabels},
	} {
		dir := t.TempDir()
		for i, text := range []string{header + strings.Repeat(row, 9), c.second, header + row} {
			put(t, filepath.Join(dir, fmt.Sprint(i, ".csv")), text)
		}
		_, err := Load(dir, listSchema(t, schema.FormatCSV, schema.RoleID), c.o)
		want := source.ParseError{Row: c.row, Column: c.column, Position: c.position, Rule: c.rule}
		if c.rule != ruleListLabels {
			want.File = filepath.Join(dir, "1.csv")
		}
		wantRule(t, err, want, name)
	}
}

// A file that is written to after it was read, while others are, is noticed as one is that is read.
func TestListChanged(t *testing.T) {
	rows, s := listRows(3*progressRows), listSchema(t, schema.FormatCSV, schema.RoleID)
	for changed := range 3 {
		dir := t.TempDir()
		for i := range 3 {
			listFile(t, filepath.Join(dir, fmt.Sprint(i)), schema.FormatCSV, rows, i*progressRows, (i+1)*progressRows)
		}
		o := Options{Progress: func(seen int) error {
			if seen < 2*progressRows { // the third file is next
				return nil
			}
			f, err := os.OpenFile(filepath.Join(dir, fmt.Sprint(changed)), os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			_, err = f.WriteString("p1,0,f,1\n")
			return errors.Join(err, f.Close())
		}}
		if _, err := Load(dir, s, o); !errors.Is(err, source.ErrChanged) && changed < 2 {
			t.Errorf("file %d was written to while the list was read: %v", changed, err)
		}
	}
}

func TestScanOfList(t *testing.T) {
	rows, dir := listRows(100), t.TempDir()
	for i := range 2 {
		listFile(t, filepath.Join(dir, fmt.Sprint(i)), schema.FormatCSV, rows, 50*i, 50*i+50)
	}
	var numbers []int
	err := Scan(dir, listSchema(t, schema.FormatCSV, schema.RoleID), Options{}, func(r *Row) error {
		numbers = append(numbers, r.Number)
		return nil
	})
	if err != nil || len(numbers) != 100 || numbers[50] != 2 || slices.Max(numbers) != 51 {
		t.Errorf("rows %v, %v; want those of each file", numbers, err)
	}
}
