package dataset

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dyad/engine/dataset/source"
	"dyad/engine/dataset/sparse"
	"dyad/internal/must"
)

// Each draft loads its own file, and has these lines.
func TestDraft(t *testing.T) {
	labels := map[string]string{"header": "target", "tabs": "y", "arff": "class", "all text": "class",
		"unnamed column": "y", "constant column": "y", "ids": "y", "arff with sets": "class", "parquet": "query"}
	for _, c := range []struct {
		name, file, content string
		n, d                int
		want                []string
	}{
		{"header", "My data (1).csv", "id,age,colour,target\na1,3,red,0\na2,5,blue,1\na3,,red,1\n", 3, 2,
			[]string{`data_id: "My-data-1"`, `{name: "id", role: id}`, "header: true",
				`{name: "age", range: [3, 5], missing: {policy: middle}, from_data: true}`,
				`{name: "colour", categories: ["blue", "red"], unknown: other, from_data: true}`,
				`{name: "target", role: label, positive: "1", negative: "0"}`}},
		{"no header, semicolons", "x.csv.gz", "1;2.5;?\n0;1e3;4\n1;-7;NA\n", 3, 1,
			[]string{`data_id: "x"`, "header: false", `delimiter: ";"`,
				`{name: "column1", role: label, positive: "1", negative: "0"}`, "range: [-7, 1000]"}},
		{"tabs", "x.tsv", "a\tb\ty\n1\tx y\tno\n2\tz\tyes\n", 2, 2,
			[]string{`delimiter: "tab"`, `categories: ["x y", "z"]`, `positive: "yes", negative: "no"`}},
		{"arff", "x.arff", "@relation r\n@attribute a numeric\n% c\n@attribute b real\n@ATTRIBUTE class {M, " +
			"B}\n@data\n1,2,M\n3,4,B\n3,5,B\n", 3, 2,
			[]string{"format: arff", `positive: "M", negative: "B"`}},
		{"quotes and YAML words", "x.csv",
			"\"the, \"\"name\"\"\",no,y\n\"~\",1,true\n\"a: b #\",2,false\nnull,3,true\n<&>é,4,true\n", 4, 4,
			[]string{`{name: "the, \"name\"", categories: ["<&>é", "a: b #", "~"], unknown: other, missing: {values: ["null"], policy: middle}, from_data: true}`, `{name: "no", range: [1, 4], from_data: true}`}},
		{"all text", "x.csv", "shape,size,class\nround,big,e\nflat,small,p\nround,small,e\n", 3, 2,
			[]string{"header: true", `positive: "p", negative: "e"`}},
		{"unnamed column", "x.csv", ",a,y\n1,5,0\n2,7,1\n", 2, 1, []string{"ignore_others: true"}},
		{"constant column", "x.csv", "a,b,y\n1,5,0\n1,7,1\n", 2, 1, []string{`{name: "a", role: ignore}`}},
		{"one and two", "x.csv", "5,1\n7,2\n9,2\n", 3, 1, []string{`positive: "2", negative: "1"`}},
		{"ids", "x.csv", "patient_id,a,y\n17,5,0\n4,7,1\n", 2, 1, []string{`{name: "patient_id", role: id}`}},
		{"arff with sets", "x.arff",
			"@relation r\n@attribute a {p,q,r}\n@attribute 'b c' numeric\n@attribute when date\n@attribute class " +
				"{yes,no}\n@data\np,1,2001,yes\n?,3,2002,no\n", 2, 4,
			[]string{"format: arff", `{name: "a", categories: ["p", "q", "r"], missing: {policy: middle}} # the nominal set`,
				`{name: "b c", range: [1, 3], from_data: true}`, `{name: "when", role: ignore}`}},
		{"jsonl", "x.ndjson", "{\"a\": 1, \"y\": true}\n{\"a\": 2.5, \"y\": false, \"b\": \"u\"}\n{\"y\": true, \"b\": " +
			"\"v\", \"c\": [1]}\n", 3, 2,
			[]string{"format: jsonl", `{name: "a", range: [1, 2.5], missing: {policy: middle}, from_data: true}`,
				`{name: "b", categories: ["u", "v"], unknown: other, missing: {policy: middle}, from_data: true}`,
				`{name: "c", role: ignore}`, `positive: "true", negative: "false"`}},
		{"parquet", "x.parquet", parquetFile(t, patients()...), 3, 6,
			[]string{"format: parquet", `{name: "age", range: [30.5, 70], missing: {policy: middle}, from_data: true}`,
				`{name: "sex", categories: ["f", "it's, \"m\"", "m"], unknown: other, from_data: true}`,
				`{name: "stage", range: [1, 2], from_data: true}`,
				`{name: "out", categories: ["false", "true"], unknown: other, from_data: true}`,
				`{name: "query", role: label, positive: "q2", negative: "q1"}`}},
		{"grouped libsvm", "x.svm", "1 qid:3 1:0.5\n0 qid:3 2:3\n", 2, 2, []string{`{name: query, role: group}`}},
		{"libsvm", "x.svm", "+1 1:0.5 4:-2 # c\n-1 2:3\n+1\n", 3, 4,
			[]string{"format: libsvm", "features: 4 ", "nonzeros: 2 ", "range: [-2, 3]", `positive: "+1", negative: "-1"`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			content := c.content
			if strings.HasSuffix(c.file, ".gz") {
				content = string(gzipped(t, content))
			}
			path := writeFile(t, c.file, content)
			draft := must.Get(Draft(path, DraftOptions{Label: labels[c.name]}))(t)
			text := draft.Schema
			must.Contain(t, string(text), append(c.want, "!!!", "from_data")...)
			s := must.Get(ParseSchema(text))(t)
			d := must.Get(Load(path, s, Options{}))(t, string(text))
			if d.Records.Len() != c.n || d.Records.Dim() != c.d || !d.Schema().RangesFromData() {
				t.Errorf("n %d, d %d, want %d, %d\n%s", d.Records.Len(), d.Records.Dim(), c.n, c.d, text)
			}
			checkNorms(t, d.Records)
		})
	}
}

// Drafts of arrays load their files.
func TestDraftArrays(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{
		"a-images-idx3-ubyte": idx(8, []byte{2, 1, 2}, 0, 9, 7, 3), "a-labels-idx1-ubyte": idx(8, []byte{2}, 3, 8),
		"X_a.npy": string(npyHeader("|b1", "(2, 3)")) + "\x00\x01\x00\x01\x01\x00",
		"y_a.npy": string(npyHeader("|i1", "(2,)")) + "\x01\xff",
		"b.npz": npz(t, map[string]string{"labels.npy": string(npyHeader("|u1", "(2,)")) + "\x00\x01",
			"data.npy": string(npyHeader("|i1", "(2, 2)")) + "\xff\x01\x07\x02"}),
	} {
		put(t, filepath.Join(dir, name), content)
	}
	for name, want := range map[string][]string{
		"a-images-idx3-ubyte": {"format: idx", "features: 2", "range: [0, 255] # of the type",
			`positive: "8", negative: "3"`},
		"X_a.npy": {"format: npy", "features: 3", "range: [0, 1]", `positive: "1", negative: "-1"`},
		"b.npz":   {`arrays: {x: "data", y: "labels"}`, "features: 2", "range: [-1, 7] # FROM THE DATA"},
	} {
		path := filepath.Join(dir, name)
		draft := must.Get(Draft(path, DraftOptions{}))(t, name)
		text := draft.Schema
		must.Contain(t, string(text), want...)
		d := must.Get(Load(path, mustSchema(t, string(text)), Options{}))(t, name, string(text))
		checkNorms(t, d.Records)
	}
}

func TestDraftErrors(t *testing.T) {
	var p *source.ParseError
	for name, c := range map[string]struct {
		content, want string
		parse         bool
	}{
		"empty":          {"", source.RuleEmpty, true},
		"only comments":  {"# a\n", source.RuleEmpty, true},
		"no label":       {"a,b\n1,2\n3,4\n5,6\n", "exactly two values, none missing", false},
		"ragged":         {"a,b\n1,2\n3,4,5\n", "row has 3 fields", true},
		"name twice":     {"a,a,y\n1,2,0\n3,4,1\n", "a name twice", true},
		"labels":         {"1 1:1\n2 1:2\n3 1:1\n", "exactly two different labels", true},
		"libsvm zero":    {"1 1:0\n-1 1:0\n", "every feature is 0", true},
		"libsvm order":   {"1 2:1 1:1\n-1 1:0\n", sparse.RuleIndexOrder, true},
		"qid in a part":  {"1 1:1\n-1 qid:2 1:3\n", ruleNoGroup, true},
		"truncated gzip": {string(gzipped(t, "a,b\n1,2\n"))[:20], source.RuleTruncated, true},
	} {
		_, err := Draft(writeFile(t, "x.csv", c.content), DraftOptions{})
		if err == nil || !strings.Contains(err.Error(), c.want) || errors.As(err, &p) != c.parse {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
	must.Fail(Draft(os.DevNull, DraftOptions{}))(t, "store its data", "a file that can be read only once")
	must.Fail(Draft(filepath.Join(t.TempDir(), "absent"), DraftOptions{}))(t, os.ErrNotExist)
}

// A few texts among many numbers are missing values of a column of numbers; among few numbers, or
// if they are many, they are not.
func TestDraftOfWordsAmongNumbers(t *testing.T) {
	column := func(value func(i int) string) string {
		var b strings.Builder
		b.WriteString("x;z;y\n")
		for i := range 60 {
			fmt.Fprintf(&b, "%s;%d;%d\n", value(i), i%5, i%2)
		}
		return b.String()
	}
	for name, c := range map[string]struct {
		value func(i int) string
		want  string
	}{
		"detection limit": {func(i int) string {
			if i%9 == 0 {
				return "<0.5"
			}
			return fmt.Sprintf("%d.%d", i%7, i%10)
		}, `range: [0.1, 6.8], missing: {values: ["<0.5"], policy: middle}, from_data: true} # FROM THE DATA; texts among the values count as missing`},
		"commas": {func(i int) string {
			return []string{"unter 1", "n/a", fmt.Sprintf("%d,5", i)}[min(i, 2)]
		}, `range: [2.5, 59.5], missing: {values: ["n/a", "unter 1"], policy: middle}`},
		"few numbers": {func(i int) string { return []string{"1", "2", "other"}[i%3] }, `categories: ["1", "2", "other"]`},
		"many texts": {func(i int) string { return []string{fmt.Sprint(i % 30), fmt.Sprintf("t%d", i)}[i%2] },
			`"t7", "t9"], unknown: other`},
	} {
		draft := must.Get(Draft(writeFile(t, "x.csv", column(c.value)),
			DraftOptions{Label: "y", Decimal: map[bool]string{true: ","}[name == "commas"]}))(t, name)
		must.Contain(t, string(draft.Schema), c.want)
	}
}
