package dataset

import (
	"bytes"
	"compress/gzip"
	"strings"
	"testing"

	"dyad/engine/dataset/csv"
	"dyad/engine/dataset/parse"
	"dyad/engine/dataset/schema"
	"dyad/engine/dataset/source"
	"dyad/engine/dataset/sparse"
	"dyad/internal/must"
)

const headerSchema = `
data_id: t
csv: {header: true}
columns:
  - {name: age, range: [0, 100]}
  - {name: sex, categories: [f, m]}
  - {name: out, role: label, positive: yes, negative: no}
`

const plainSchema = `
data_id: t
columns:
  - {name: age, range: [0, 100]}
  - {name: weight, range: [0, 200]}
  - {name: out, role: label, positive: 1, negative: 0}
`

const sparseSchema = `
data_id: t
features: 5
nonzeros: 2
range: [-1, 1]
columns:
  - {name: out, role: label, positive: 1, negative: -1}
  - {name: third, position: 3, range: [0, 10]}
`

const denseSchema = `
data_id: t
features: 2
dense: true
range: [0, 1]
columns:
  - {name: out, role: label, positive: 1}
  - {name: second, position: 2, range: [0, 10], missing: {values: [0]}}
`

// Every rule with a file that breaks it: where, which rule, and never the value.
func TestParseErrors(t *testing.T) {
	good := "age,sex,out\n30,f,yes\n40,m,no\n"
	zipped := gzipped(t, good)
	damaged := bytes.Clone(zipped)
	damaged[len(damaged)-5] ^= 1 // checksum
	for _, c := range []struct {
		name, schema, content string
		row                   int
		column                string
		position              int
		rule                  string // part of it
	}{
		{"empty", headerSchema, "", 0, "", 0, source.RuleEmpty},
		{"blank lines", headerSchema, "\n\n \n", 0, "", 0, source.RuleEmpty},
		{"header only", headerSchema, "age,sex,out\n", 0, "", 0, source.RuleEmpty},
		{"one row", headerSchema, "age,sex,out\n30,f,yes\n", 0, "", 0, ruleTooFew},
		{"too many fields", headerSchema, good + "50,f,yes,7391\n", 4, "", 0, "row has 4 fields, want 3"},
		{"too few fields", headerSchema, good + "7391,f\n", 4, "", 0, "row has 2 fields, want 3"},
		{"wrong delimiter", plainSchema, "1;7391;0\n", 1, "", 0, "check csv.delimiter"},
		{"text in number", headerSchema, good + "x7391,f,yes\n", 4, "age", 1, parse.RuleNotNumber},
		{"NaN", headerSchema, good + "\nNaN,f,yes\n", 5, "age", 1, schema.RuleMissing},
		{"Inf", headerSchema, good + "-inf,f,yes\n", 4, "age", 1, parse.RuleNotFinite},
		{"overflow", headerSchema, good + "1e7391,f,yes\n", 4, "age", 1, parse.RuleNotFinite},
		{"missing number", headerSchema, good + " ,f,yes\n", 4, "age", 1, schema.RuleMissing},
		{"missing category", headerSchema, good + "33,\"\",yes\n", 4, "sex", 2, schema.RuleMissing},
		{"unknown category", headerSchema, good + "33,7391,yes\n", 4, "sex", 2, schema.RuleCategory},
		{"unknown label", headerSchema, good + "33,f,7391\n", 4, "out", 3, schema.RuleLabel},
		{"missing label", headerSchema, good + "33,f,\n", 4, "out", 3, schema.RuleNoLabel},
		{"open quote", headerSchema, good + "\"7391,f,yes\n", 4, "", 0, csv.RuleOpenQuote},
		{"row after a row of two lines", headerSchema, "age,sex,out\n30,\"f\",yes\n\"40\n\",f,yes\n", 3, "age", 1, parse.RuleNotNumber},
		{"text after quote", headerSchema, good + "\"33\"7391,f,yes\n", 4, "", 1, csv.RuleAfterQuote},
		{"header missing", headerSchema, "7391,f,yes\n40,m,no\n", 1, "", 0, ruleNotHeader},
		{"header of another delimiter", headerSchema, "age;sex;out\n7391;f;yes\n", 1, "", 0, `separated by ";" and not by ","`},
		{"header with tabs", headerSchema, "age\tsex\tout\n7391\tf\tyes\n", 1, "", 0, `separated by "tab" and not by ","`},
		{"delimiter that Excel names", headerSchema, "\ufeffsep=;\r\nage;sex;out\r\n", 1, "", 0, `separated by ";"`},
		{"delimiter named below the header", headerSchema, good + "sep=,\n", 4, "", 0, "row has 2 fields"},
		{"line ends of CR", headerSchema, "age,sex,out\r7391,f,yes\r", 0, "", 0, "end in CR alone"},
		{"libsvm line ends of CR", sparseSchema, "1 1:7391\r-1 1:1", 0, "", 0, "end in CR alone"},
		{"quoted CR", headerSchema, "age,sex,\"o\rut\"\r", 1, "out", 0, "lacks the label"},
		{"header lacks feature", headerSchema, "age7391,sex,out\n", 1, "age", 0, "lacks this column"},
		{"header lacks features", headerSchema, "age7391,sx,out\n", 1, "age", 0, "lacks this column and \"sex\"; correct"},
		{"header lacks label", headerSchema, "age,sex,out7391\n", 1, "out", 0, "lacks the label"},
		{"header has more", headerSchema, "age,sex,x7391,out\n", 1, "", 3, "a name that the schema lacks"},
		{"header twice", headerSchema, "age,sex,out,sex\n", 1, "sex", 4, "twice"},
		{"header not expected", plainSchema, "a,b,c\n1,2,0\n", 1, "", 0, ruleIsHeader},
		{"header not expected, all names", "csv: {header: false}\ndata_id: t\ncolumns:\n  - {name: f, categories: [f, m]}\n  - {name: yes, role: label, positive: yes}\n", "f,yes\nm,no\n", 1, "", 0, ruleIsHeader},
		{"header not expected, names", plainSchema, "age,7391,c\n1,2,0\n", 1, "", 0, ruleIsHeader},
		{"truncated gzip", headerSchema, string(zipped[:len(zipped)-12]), 4, "", 0, source.RuleTruncated},
		{"gzip without trailer", headerSchema, string(zipped[:len(zipped)-6]), 4, "", 0, source.RuleTruncated},
		{"gzip header only", headerSchema, string(zipped[:5]), 1, "", 0, source.RuleTruncated},
		{"damaged gzip", headerSchema, string(damaged), 4, "", 0, source.RuleBadPacked},

		{"libsvm empty", sparseSchema, "# nothing\n", 0, "", 0, source.RuleEmpty},
		{"libsvm one row", sparseSchema, "1 1:1\n", 0, "", 0, ruleTooFew},
		{"libsvm duplicate", sparseSchema, "1 1:1\n-1 2:1 2:7391\n", 2, "f2", 2, sparse.RuleIndexOrder},
		{"libsvm decreasing", sparseSchema, "1 1:1\n-1 3:1 1:7391\n", 2, "f1", 1, sparse.RuleIndexOrder},
		{"libsvm index", sparseSchema, "1 1:1\n-1 6:7391\n", 2, "", 6, "larger than features"},
		{"libsvm zero index", sparseSchema, "1 0:7391\n", 1, "", 0, sparse.RuleIndex},
		{"libsvm text index", sparseSchema, "1 x7391:1\n", 1, "", 0, sparse.RuleIndex},
		{"libsvm value", sparseSchema, "1 3:x7391\n", 1, "third", 3, parse.RuleNotNumber},
		{"libsvm NaN", sparseSchema, "1 3:nan\n", 1, "third", 3, parse.RuleNotFinite},
		{"libsvm no pair", sparseSchema, "1 7391\n", 1, "", 0, sparse.RuleNoPair},
		{"libsvm csv", sparseSchema, "7391,2,3\n", 1, "out", 0, sparse.RuleNoPair},
		{"libsvm qid", sparseSchema, "1 qid:7391 1:1\n", 1, "", 0, ruleQID},
		{"libsvm text label", sparseSchema, "x7391 1:1\n", 1, "out", 0, schema.RuleLabelNumber},
		{"libsvm label", sparseSchema, "7391 1:1\n", 1, "out", 0, schema.RuleLabel},
		{"libsvm no label", sparseSchema, "1:7391\n", 1, "out", 0, schema.RuleNoLabel},
		{"libsvm nonzeros", sparseSchema, "1 1:1 2:1 3:7391\n", 1, "", 0, "more than 2 features"},
		{"libsvm missing", denseSchema, "1 1:1 2:0\n", 1, "second", 2, schema.RuleMissing},
		{"libsvm left out", denseSchema, "1 1:7391\n", 1, "second", 2, schema.RuleMissing},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := load(mustSchema(t, c.schema), c.content, Options{})
			wantRule(t, err, source.ParseError{File: "file", Row: c.row, Column: c.column, Position: c.position, Rule: c.rule})
			if strings.Contains(err.Error(), "7391") || !strings.HasPrefix(err.Error(), "dataset: file: ") {
				t.Errorf("message %q shows the value, or lacks the prefix", err)
			}
		})
	}
}

func TestPredictErrors(t *testing.T) {
	s := mustSchema(t, sparseSchema)
	_, err := load(s, "1:1\n1 2:1\n", Options{Labels: LabelsOptional})
	wantRule(t, err, source.ParseError{Row: 2, Column: "out", Rule: ruleMixedLabels})
	_, err = load(mustSchema(t, plainSchema), "1\n", Options{Labels: LabelsOptional})
	wantRule(t, err, source.ParseError{Row: 1, Rule: "row has 1 fields, want 3"})
}

func TestTooLongRow(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	s := mustSchema(t, plainSchema)
	for name, r := range map[string]*repeat{
		"one line":            {text: bytes.Repeat([]byte("1,"), 1000), n: source.MaxRowBytes / 1000},
		"lines inside quotes": {text: bytes.Repeat([]byte("1\n"), 1000), n: source.MaxRowBytes / 1000},
	} {
		_, err := LoadReader("file", readAfter("\"", r), s, Options{})
		wantRule(t, err, source.ParseError{Row: 1, Rule: source.RuleTooLong}, name)
		if r.n <= 0 {
			t.Errorf("%s: the whole input was read", name)
		}
	}
}

func TestParseErrorText(t *testing.T) {
	for want, e := range map[string]source.ParseError{
		`dataset: a.csv: row 3, column "x" (number 2): bad`: {File: "a.csv", Row: 3, Column: "x", Position: 2, Rule: "bad"},
		`dataset: a.csv: row 3, column 2: bad`:              {File: "a.csv", Row: 3, Position: 2, Rule: "bad"},
		`dataset: a.csv: row 3: bad`:                        {File: "a.csv", Row: 3, Rule: "bad"},
		`dataset: a.csv: bad`:                               {File: "a.csv", Rule: "bad"},
		`dataset: column "x": bad`:                          {Column: "x", Rule: "bad"},
	} {
		must.Equal(t, e.Error(), want, "text")
	}
}

func gzipped(t testing.TB, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	must.Get(w.Write([]byte(text)))(t)
	must.Do(t, w.Close())
	return b.Bytes()
}
