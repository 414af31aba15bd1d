package dataset

import (
	"archive/zip"
	"bytes"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"dyad/engine/dataset/arff"
	"dyad/engine/dataset/array"
	"dyad/engine/dataset/csv"
	"dyad/engine/dataset/jsonl"
	"dyad/engine/dataset/parquet"
	"dyad/engine/dataset/parse"
	"dyad/engine/dataset/schema"
	"dyad/engine/dataset/source"
	"dyad/internal/must"
)

// checkRule loads content and compares the one error with what is expected.
func checkRule(t *testing.T, s *Schema, file, content string, o Options, row int, column string, position int, rule string) {
	t.Helper()
	_, err := Load(writeFile(t, file, content), s, o)
	wantRule(t, err, source.ParseError{Row: row, Column: column, Position: position, Rule: rule}, file)
}

func TestNamedFormatErrors(t *testing.T) {
	const columns = "columns:\n  - {name: age, range: [0, 100]}\n  - {name: sex, categories: [f, m]}\n  - {name: out, role: label, positive: yes, negative: no}\n"
	const arffText = "@relation r\n@attribute age numeric\n@attribute sex {f, m, '7391'}\n@attribute out {yes, no}\n@data\n30,f,yes\n"
	const jsonlText = `{"age": 30, "sex": "f", "out": "yes"}` + "\n"
	type wide struct {
		Age float64 `parquet:"age"`
		Sex string  `parquet:"sex"`
		Out string  `parquet:"out"`
		X   int32   `parquet:"x7391"`
	}
	type list struct {
		Age []float64 `parquet:"age"`
		Sex string    `parquet:"sex"`
		Out string    `parquet:"out"`
	}
	type date struct {
		Age int32  `parquet:"age,date"`
		Sex string `parquet:"sex"`
		Out string `parquet:"out"`
	}
	type row struct {
		Age *float64 `parquet:"age,optional"`
		Sex string   `parquet:"sex"`
		Out string   `parquet:"out"`
	}
	good := row{pointer(30.0), "f", "yes"}
	pq := parquetFile(t, good, row{pointer(7391.0), "m", "no"})
	inf := math.Inf(1)
	for _, c := range []struct {
		name, format, content string
		row                   int
		column                string
		position              int
		rule                  string
	}{
		{"no data line", schema.FormatARFF, "@relation r\n@attribute age numeric\n", 2, "", 0, arff.RuleData},
		{"data before attributes", schema.FormatARFF, "@relation r\n@data\n1\n", 2, "", 0, arff.RuleAttribute},
		{"strange header line", schema.FormatARFF, "@relation r\n7391\n", 2, "", 0, arff.RuleLine},
		{"attribute without type", schema.FormatARFF, "@attribute age\n@data\n", 1, "", 0, arff.RuleAttribute},
		{"attribute of strange type", schema.FormatARFF, "@attribute age 7391\n@data\n", 1, "", 0, arff.RuleAttribute},
		{"attribute with open quote", schema.FormatARFF, "@attribute 'age7391 numeric\n@data\n", 1, "", 0, arff.RuleAttribute},
		{"nominal not closed", schema.FormatARFF, "@attribute age {a, 7391\n@data\n", 1, "", 0, arff.RuleAttribute},
		{"other names", schema.FormatARFF, "@attribute age7391 numeric\n@data\n1\n", 2, "", 0, ruleARFFNames},
		{"name twice", schema.FormatARFF, "@attribute age numeric\n@attribute age numeric\n@data\n", 3, "age", 2, "twice"},
		{"attribute lacking", schema.FormatARFF, "@attribute age numeric\n@attribute sex {f,m}\n@data\n", 3, "out", 0, "lacks the label"},
		{"attribute unknown", schema.FormatARFF, "@attribute age numeric\n@attribute x7391 numeric\n@attribute sex {f,m}\n@attribute out {yes,no}\n@data\n", 5, "", 2, "a name that the schema lacks"},
		{"date", schema.FormatARFF, "@attribute age date yyyy\n@attribute sex {f,m}\n@attribute out {yes,no}\n@data\n", 1, "age", 1, ruleARFFType},
		{"text as number", schema.FormatARFF, "@attribute age string\n@attribute sex {f,m}\n@attribute out {yes,no}\n@data\n", 1, "age", 1, ruleARFFType},
		{"nominal as number", schema.FormatARFF, "@attribute age {old7391,young}\n@attribute sex {f,m}\n@attribute out {yes,no}\n@data\n", 1, "age", 1, ruleARFFNumeric},
		{"sparse", schema.FormatARFF, arffText + "{0 7391, 1 f}\n", 7, "", 0, arff.RuleSparse},
		{"weight", schema.FormatARFF, arffText + "40,m,no,{7391}\n", 7, "", 4, ruleARFFWeight},
		{"few fields", schema.FormatARFF, arffText + "7391,m\n", 7, "", 0, "row has 2 fields, want 3"},
		{"open quote", schema.FormatARFF, arffText + "40,'7391,no\n", 7, "", 2, arff.RuleOpen},
		{"text after quote", schema.FormatARFF, arffText + "40,'m'7391,no\n", 7, "", 2, csv.RuleAfterQuote},
		{"not nominal", schema.FormatARFF, arffText + "40,x7391,no\n", 7, "sex", 2, ruleARFFNominal},
		{"nominal, not in schema", schema.FormatARFF, arffText + "40,7391,no\n", 7, "sex", 2, schema.RuleCategory},
		{"missing", schema.FormatARFF, arffText + "?,m,no\n", 7, "age", 1, schema.RuleMissing},
		{"missing label", schema.FormatARFF, arffText + "7391,m,?\n", 7, "out", 3, schema.RuleNoLabel},
		{"no rows", schema.FormatARFF, strings.TrimSuffix(arffText, "30,f,yes\n"), 0, "", 0, source.RuleEmpty},
		{"one row", schema.FormatARFF, arffText, 0, "", 0, ruleTooFew},

		{"not JSON", schema.FormatJSONL, jsonlText + "{7391\n", 2, "", 0, jsonl.RuleLine},
		{"list", schema.FormatJSONL, "[7391]\n", 1, "", 0, jsonl.RuleLine},
		{"two objects", schema.FormatJSONL, jsonlText + `{"age":7391} {}` + "\n", 2, "", 0, jsonl.RuleLine},
		{"other keys", schema.FormatJSONL, `{}` + "\n", 1, "", 0, ruleJSONNames},
		{"unknown key", schema.FormatJSONL, `{"age": 1, "x7391": 2}` + "\n", 1, "", 0, ruleJSONUnknown},
		{"key twice", schema.FormatJSONL, `{"age": 1, "age": 7391}` + "\n", 1, "age", 0, jsonl.RuleTwice},
		{"nested", schema.FormatJSONL, `{"age": {"a": "}7391"}}` + "\n", 1, "age", 0, ruleJSONNested},
		{"null", schema.FormatJSONL, jsonlText + `{"age": null, "sex": "7391", "out": "yes"}` + "\n", 2, "age", 1, schema.RuleMissing},
		{"absent key", schema.FormatJSONL, jsonlText + `{"sex": "7391", "out": "yes"}` + "\n", 2, "age", 1, schema.RuleMissing},
		{"word as number", schema.FormatJSONL, jsonlText + `{"age": true, "sex": "7391", "out": "yes"}` + "\n", 2, "age", 1, parse.RuleNotNumber},
		{"overflow", schema.FormatJSONL, jsonlText + `{"age": 1e7391, "sex": "f", "out": "yes"}` + "\n", 2, "age", 1, parse.RuleNotFinite},
		{"no label", schema.FormatJSONL, jsonlText + `{"age": 7391, "sex": "f"}` + "\n", 2, "out", 3, schema.RuleNoLabel},
		{"one object", schema.FormatJSONL, jsonlText, 0, "", 0, ruleTooFew},

		{"damaged footer", FormatParquet, pq[:len(pq)-9] + "7391" + pq[len(pq)-5:], 0, "", 0, parquet.RuleDamaged},
		{"truncated", FormatParquet, pq[:len(pq)/2], 0, "", 0, parquet.RuleDamaged},
		{"magic only", FormatParquet, "PAR1", 0, "", 0, parquet.RuleDamaged},
		{"columns unknown", FormatParquet, parquetFile(t, wide{1, "f", "yes", 7391}), 0, "", 4, "a name that the schema lacks"},
		{"repeated", FormatParquet, parquetFile(t, list{[]float64{7391}, "f", "yes"}), 0, "age", 1, ruleParquetType},
		{"date type", FormatParquet, parquetFile(t, date{7391, "f", "yes"}), 0, "age", 1, ruleParquetType},
		{"null value", FormatParquet, parquetFile(t, good, row{nil, "f", "no"}), 2, "age", 1, schema.RuleMissing},
		{"infinite", FormatParquet, parquetFile(t, good, row{&inf, "f", "no"}), 2, "age", 1, parse.RuleNotFinite},
		{"category", FormatParquet, parquetFile(t, good, row{pointer(7391.0), "x7391", "no"}), 2, "sex", 2, schema.RuleCategory},
		{"no other row", FormatParquet, parquetFile(t, good), 0, "", 0, ruleTooFew},
		{"gzip around", FormatParquet, string(gzipped(t, pq)), 0, "", 0, rulePackedTwice},

		{"a Parquet file", schema.FormatCSV, pq, 0, "", 0, "is of format parquet"},
		{"an archive", schema.FormatJSONL, "PK\x03\x047391", 0, "", 0, "is of format npz"},
		{"damaged zstd", schema.FormatCSV, "\x28\xb5\x2f\xfd\xff\xff7391", 1, "", 0, source.RuleBadPacked},
		{"truncated zstd", schema.FormatCSV, string(zstded(t, jsonlText+jsonlText)[:20]), 1, "", 0, source.RuleTruncated},
	} {
		t.Run(c.format+" "+c.name, func(t *testing.T) {
			checkRule(t, mustSchema(t, "data_id: t\nformat: "+c.format+"\n"+columns), "x", c.content, Options{}, c.row, c.column, c.position, c.rule)
		})
	}
}

// A schema without a format does not read what it would encode differently.
func TestOpenFormatErrors(t *testing.T) {
	npy := string(npyHeader("<f8", "(1, 1)")) + "\x00\x00\x00\x00\x00\x00\xf0\x3f"
	for _, c := range []struct{ schema, content, rule string }{
		{sparseSchema, npy, "is of format npy"},
		{plainSchema, npy, "is of format npy"},
		{denseSchema, parquetFile(t, patients()...), "is of format parquet"},
		{headerSchema, parquetFile(t, patients()...), "is of format parquet"},
	} {
		checkRule(t, mustSchema(t, c.schema), "x", c.content, Options{}, 0, "", 0, c.rule)
	}
}

func npz(t *testing.T, members map[string]string) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, content := range members {
		w := must.Get(z.Create(name))(t)
		must.Get(w.Write([]byte(content)))(t)
	}
	must.Do(t, z.Close())
	return b.String()
}

func TestArrayFormatErrors(t *testing.T) {
	npyText := func(descr, shape string, values ...byte) string {
		return string(npyHeader(descr, shape)) + string(values)
	}
	x, y := npyText("|u1", "(2, 1)", 3, 4), npyText("|i1", "(2,)", 1, 0)
	const columns = "columns: [{name: y, role: label, positive: 1, negative: 0}]\n"
	schemaOf := func(format string) *Schema {
		return mustSchema(t, "data_id: t\nformat: "+format+"\nfeatures: 1\nrange: [0, 9]\n"+columns)
	}
	labels := writeFile(t, "y.npy", y)
	for _, c := range []struct {
		name, content string
		row           int
		column, rule  string
	}{
		{"empty", "", 0, "", array.RuleNPYHeader},
		{"short header", npyText("|u1", "(2, 1)")[:40], 0, "", array.RuleNPYHeader},
		{"version", "\x93NUMPY\x09\x00" + x[8:], 0, "", array.RuleNPYHeader},
		{"no shape", strings.Replace(x, "shape", "7391s", 1), 0, "", array.RuleNPYHeader},
		{"objects", npyText("|O", "(2, 1)", 1, 2), 0, "", array.RuleNPYType},
		{"half floats", npyText("<f2", "(1, 1)", 1, 2), 0, "", array.RuleNPYType},
		{"texts", npyText("<U4", "(2, 1)", 1, 2), 0, "", array.RuleNPYType},
		{"structure", strings.Replace(x, "'|u1'", "[7391]", 1), 0, "", array.RuleNPYType},
		{"vector", y, 0, "", array.RuleMatrix},
		{"scalar", npyText("|u1", "()", 1), 0, "", array.RuleMatrix},
		{"three axes", npyText("|u1", "(2, 1, 1)", 1, 2), 0, "", array.RuleMatrix},
		{"too wide", npyText("|u1", "(1, 2)", 1, 2), 0, "", "rows have 2 numbers, but the schema has 1"},
		{"short", x[:len(x)-1], 0, "", array.RuleArrayShort},
		{"huge", npyText("<f8", "(99999999999, 99999999999)"), 0, "", array.RuleArrayShort},
		{"long", x + "7391", 0, "", array.RuleArrayLong},
		{"rows", npyText("|u1", "(3, 1)", 1, 2, 3), 0, "", ruleArrayRows},
		{"NaN", npyText("<f4", "(2, 1)", 0, 0, 0, 0, 0, 0, 0xc0, 0x7f), 2, "f1", schema.RuleMissing},
		{"Inf", npyText(">f4", "(2, 1)", 0, 0, 0, 0, 0x7f, 0x80, 0, 0), 2, "f1", parse.RuleNotFinite},
	} {
		t.Run("npy "+c.name, func(t *testing.T) {
			checkRule(t, schemaOf(schema.FormatNPY), "x.npy", c.content, Options{LabelsFile: labels}, c.row, c.column, len(c.column)/2, c.rule)
		})
	}
	for _, c := range []struct {
		name, content string
		row           int
		column, rule  string
	}{
		{"unknown label", npyText("|i1", "(2,)", 1, 73), 2, "y", schema.RuleLabel},
		{"label NaN", npyText("<f4", "(2,)", 0, 0, 0, 0, 0, 0, 0xc0, 0x7f), 2, "y", schema.RuleNoLabel},
		{"matrix", npyText("|b1", "(1, 2)", 1, 1), 0, "", array.RuleVector},
		{"not an array", "7391", 0, "", array.RuleNPYHeader},
	} {
		t.Run("npy labels "+c.name, func(t *testing.T) {
			checkRule(t, schemaOf(schema.FormatNPY), "x.npy", x, Options{LabelsFile: writeFile(t, "y.npy", c.content)}, c.row, c.column, 0, c.rule)
		})
	}
	checkRule(t, schemaOf(schema.FormatNPY), "x.npy", x, Options{}, 0, "y", 0, ruleNoLabels)
	checkRule(t, schemaOf(schema.FormatNPY), "X.npy", x, Options{}, 0, "y", 0, ruleNoLabels)
	checkRule(t, schemaOf(schema.FormatNPY), "x.npy", x, Options{LabelsFile: "absent", Labels: LabelsOptional}, 0, "y", 0, ruleNoLabels)

	for name, c := range map[string]struct{ content, column, rule string }{
		"not a zip": {"PK\x03\x047391", "", array.RuleBadZip},
		"no X":      {npz(t, map[string]string{"z.npy": x, "y.npy": y}), "", array.RuleNPZArray},
		"no y":      {npz(t, map[string]string{"X.npy": x}), "y", array.RuleNPZArray},
		"no array":  {npz(t, map[string]string{"X.npy": "7391", "y.npy": y}), "", array.RuleNPYHeader},
		"truncated": {npz(t, map[string]string{"X.npy": x, "y.npy": y})[:60], "", array.RuleBadZip},
		"rows":      {npz(t, map[string]string{"X.npy": x, "y.npy": npyText("|b1", "(1,)", 1)}), "", ruleArrayRows},
	} {
		t.Run("npz "+name, func(t *testing.T) {
			checkRule(t, schemaOf(schema.FormatNPZ), "x", c.content, Options{}, 0, c.column, 0, c.rule)
		})
	}
	dir := t.TempDir()
	put(t, filepath.Join(dir, "labels"), idx(8, []byte{2}, 1, 0))
	for name, c := range map[string]struct {
		content string
		row     int
		rule    string
	}{
		"type":      {idx(7, []byte{2, 1}, 1, 2), 0, array.RuleIDXHeader},
		"axes":      {"\x00\x00\x08\x09", 0, array.RuleIDXHeader},
		"header":    {idx(8, []byte{2, 1})[:9], 0, array.RuleIDXHeader},
		"short":     {idx(8, []byte{2, 1}, 1), 0, array.RuleArrayShort},
		"long":      {idx(8, []byte{2, 1}, 1, 2, 3), 0, array.RuleArrayLong},
		"one axis":  {idx(8, []byte{2}, 1, 2), 0, array.RuleMatrix},
		"truncated": {string(gzipped(t, idx(8, []byte{2, 1}, 1, 2))[:25]), 1, source.RuleTruncated},
	} {
		t.Run("idx "+name, func(t *testing.T) {
			checkRule(t, schemaOf(schema.FormatIDX), "x", c.content, Options{LabelsFile: filepath.Join(dir, "labels")}, c.row, "", 0, c.rule)
		})
	}
}
