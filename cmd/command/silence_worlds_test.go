package command

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
)

// silenceRecords is the number of records of every file of the search.
const silenceRecords = 24

// silentRecord is what may differ between two files of the search. What is public stays: how
// many records there are, their ids, their query groups, and who is paired with whom.
type silentRecord struct{ x, z, c, y, grade, pair string }

func mixedRecord(i int) silentRecord {
	return silentRecord{fmt.Sprintf("%.3f", float64(i%7)/7-0.4), strconv.Itoa(i % 11), []string{"a", "b", "c"}[i%3],
		strconv.Itoa(i % 2), strconv.Itoa(i % 5), strconv.Itoa(i % 2)}
}

// other is the mixed file with another record at a place.
func other(at int, by silentRecord) func(int) silentRecord {
	return func(i int) silentRecord {
		if i == at {
			return by
		}
		return mixedRecord(i)
	}
}

// silentWorlds are files of well-formed records with joint properties that a program could
// stumble over. Any two are joined by a chain of neighbours.
var silentWorlds = map[string]func(i int) silentRecord{
	"mixed": mixedRecord,
	"one class": func(i int) silentRecord {
		return silentRecord{fmt.Sprintf("%.3f", float64(i%7)/7-0.4), strconv.Itoa(i % 11),
			[]string{"a", "b", "c"}[i%3], "0", "2", "0"}
	},
	"the other class": func(i int) silentRecord {
		return silentRecord{fmt.Sprintf("%.3f", float64(i%7)/7-0.4), strconv.Itoa(i % 11), "b", "1", "4", "1"}
	},
	"one of a class": func(i int) silentRecord {
		return silentRecord{"0.5", "7", "c", strconv.Itoa(1 - min(i, 1)), strconv.Itoa(min(i, 1)), strconv.Itoa(min(i, 1))}
	},
	"one grade in each group": func(i int) silentRecord {
		return silentRecord{"-0.5", strconv.Itoa(i % 11), "a", strconv.Itoa(i / 6 % 2), strconv.Itoa(i / 6),
			strconv.Itoa(i / 6 % 2)}
	},
	"equal rows": func(int) silentRecord { return silentRecord{"0.25", "3", "a", "1", "3", "0"} },
	"zeros":      func(i int) silentRecord { return silentRecord{"0", "5", "a", strconv.Itoa(i % 2), "0", "0"} },
	"ends of the range": func(i int) silentRecord {
		return silentRecord{[]string{"-1", "1"}[i%2], []string{"0", "10"}[i/2%2], []string{"a", "c"}[i%2],
			strconv.Itoa(i % 2), []string{"0", "4"}[i%2], strconv.Itoa(i % 2)}
	},
	"clamped": func(i int) silentRecord {
		return silentRecord{[]string{"-1e300", "1.7976931348623157e308"}[i%2], "-5e-324", "b", strconv.Itoa(i % 2), "1e-300",
			strconv.Itoa(i % 2)}
	},
	"another first record": other(0, silentRecord{"1", "10", "c", "1", "4", "1"}),
	"another last record":  other(silenceRecords-1, silentRecord{"-1", "0", "a", "0", "0", "1"}),
	"a record of missing":  other(silenceRecords/2, silentRecord{"", "", "c", "1", "4", "0"}),
	"a record of outliers": other(silenceRecords/2, silentRecord{"1e308", "-1e308", "b", "0", "4", "0"}),
	"a record twice":       other(silenceRecords/2, mixedRecord(silenceRecords/2-1)),
	"missing": func(i int) silentRecord {
		return silentRecord{"", "", "c", strconv.Itoa(i / 12), strconv.Itoa(i / 5), strconv.Itoa(i % 2)}
	},
}

// randomWorld has records from values that are hard to compute with, and few of a class.
func randomWorld(seed uint64) func(i int) silentRecord {
	var records [silenceRecords]silentRecord
	r := rand.New(rand.NewPCG(seed, 0))
	one := func(of ...string) string { return of[r.IntN(len(of))] }
	rare := 0.5 * r.Float64() * r.Float64()
	for i := range records {
		label := func() string { return map[bool]string{true: "1", false: "0"}[r.Float64() < rare] }
		records[i] = silentRecord{
			one("-1", "1", "0", "-0", "", "5e-324", "-1e308", "1e-17", "0.3333333333333333"),
			one("0", "10", "5", "", "1e300", "4.999999999999999"),
			one("a", "b", "c"), label(), one("0", "4", "2", "2.0000000000000004"), label(),
		}
	}
	return func(i int) silentRecord { return records[i] }
}

// silentFolder writes the files of a world and their schemas into a new folder: those that args name, or all without args.
func silentFolder(t *testing.T, record func(i int) silentRecord, args ...string) string {
	t.Helper()
	dir := t.TempDir()
	table, sparse, objects, pairs := "id,x,z,c,q,y,g\n", "", "", "first,second,label\n"
	for i := range silenceRecords {
		r := record(i)
		table += fmt.Sprintf("p%02d,%s,%s,%s,q%d,%s,%s\n", i, r.x, r.z, r.c, i/6, r.y, r.grade)
		sparse += r.y
		for k, v := range []string{r.x, r.z} {
			if v != "" && (i+k)%3 > 0 {
				sparse += fmt.Sprintf(" %d:%s", k+1, v)
			}
		}
		sparse += "\n"
		objects += fmt.Sprintf(`{"id": "p%02d", "x": %s, "c": %q, "y": %s}`+"\n", i, cmp.Or(r.x, "null"), r.c, r.y)
		pairs += fmt.Sprintf("p%02d,p%02d,%s\n", i, (i+1)%silenceRecords, r.pair)
	}
	columns := `csv: {header: true}
missing: {policy: middle}
columns:
  - {name: id, role: id}
  - {name: x, range: [-1, 1]}
  - {name: z, range: [0, 10]}
  - {name: c, categories: [a, b, c]}
`
	for name, text := range map[string]string{
		"settings.yaml": silentSettings,
		"r.csv":         table, "r.svm": sparse, "r.jsonl": objects, "p.csv": pairs,
		"class.yaml": "data_id: d\n" + columns + "  - {name: q, role: ignore}\n  - {name: y, role: label, positive: \"1\", " +
			"negative: \"0\"}\n  - {name: g, role: ignore}\n",
		"group.yaml": "data_id: d\n" + columns + "  - {name: q, role: group}\n  - {name: y, role: label, positive: \"1\", " +
			"negative: \"0\"}\n  - {name: g, role: ignore}\n",
		"grade.yaml": "data_id: d\n" + columns + "  - {name: q, role: ignore}\n  - {name: y, role: ignore}\n  - {name: g, " +
			"role: label, kind: numeric, range: [0, 4]}\n",
		"query.yaml": "data_id: d\n" + columns + "  - {name: q, role: group}\n  - {name: y, role: ignore}\n  - {name: g, " +
			"role: label, kind: numeric, range: [0, 4]}\n",
		"json.yaml": "data_id: d\nformat: jsonl\nmissing: {policy: middle}\ncolumns:\n  - {name: id, role: id}\n  - {name: " +
			"x, range: [-1, 1]}\n  - {name: c, categories: [a, b, c]}\n  - {name: y, role: label, positive: \"1\", " +
			"negative: \"0\"}\n",
		"svm.yaml": "data_id: d\nformat: libsvm\nfeatures: 40\nnonzeros: 2\nrange: [-1, 1]\ncolumns:\n  - {name: y, role: " +
			"label, positive: \"1\", negative: \"0\"}\n",
	} {
		if len(args) == 0 || slices.Contains(args, name) {
			write(t, dir, name, text)
		}
	}
	return dir
}

// silentSettings have models of one length and report.
const silentSettings = "candidates:\n  - {name: one}\n  - {name: two, algorithm: moments, second_moments: diagonal, " +
	"ridge: 4}\n"
