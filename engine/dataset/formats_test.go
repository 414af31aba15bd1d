package dataset

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"

	"dyad/engine"
	"dyad/engine/dataset/schema"
	"dyad/engine/dataset/sparse"
	"dyad/internal/must"
)

func zstded(t testing.TB, text string) []byte {
	t.Helper()
	w := must.Get(zstd.NewWriter(nil))(t)
	return w.EncodeAll([]byte(text), nil)
}

// parquetFile writes rows with parquet-go.
func parquetFile[T any](t testing.TB, rows ...T) string {
	t.Helper()
	var b bytes.Buffer
	must.Do(t, parquet.Write(&b, rows))
	return b.String()
}

type patient struct {
	Age   *float32 `parquet:"age,optional"`
	Sex   string   `parquet:"sex"`
	Stage int64    `parquet:"stage"`
	Out   bool     `parquet:"out"`
	Query *string  `parquet:"query,optional"`
}

func pointer[T any](v T) *T { return &v }

func patients() []patient {
	return []patient{
		{pointer(float32(30.5)), "f", 1, true, pointer("q1")},
		{nil, "m", 2, false, pointer("q1")},
		{pointer(float32(70)), "it's, \"m\"", 1, true, pointer("q2")},
	}
}

const namedColumns = `
columns:
  - {name: years, field: age, range: [0, 100], missing: {policy: middle}}
  - {name: sex, categories: [f, m, "it's, \"m\""]}
  - {name: stage, categories: [1, 2]}
  - {name: out, role: label, positive: true, negative: false}
  - {name: query, role: group}
`

// The same three records in every format with named columns, compressed or not,
// with the format named and found.
func TestNamedFormatsAgree(t *testing.T) {
	files := map[string]struct{ name, content string }{
		schema.FormatCSV:   {"x.csv", "stage,age,sex,out,query\n1,30.5,f,true,q1\n2,,m,false,q1\n1,7e1,\"it's, \"\"m\"\"\",true,q2\n"},
		schema.FormatARFF:  {"x.arff", "% c\n@RELATION 'a b'\n@attribute age real\n@Attribute 'sex' {f,m,'it\\'s, \\\"m\\\"'}\n@attribute stage{1,2}\n@attribute \"out\" {true, false}\n@attribute query string\n\n@DATA\n30.5,f,1,true,q1\n% c\n?, 'm' ,2,false,q1\n70,\"it's, \\\"m\\\"\",1,true,'q2'\n"},
		schema.FormatJSONL: {"x.jsonl", "{\"age\": 30.5, \"sex\": \"f\", \"stage\": 1, \"out\": true, \"query\": \"q1\"}\n\n{\"sex\":\"m\",\"stage\":2,\"age\":null,\"out\":false,\"query\":\"q\\u0031\"}\r\n{\"stage\":\"1\",\"age\":70.0,\"sex\":\"it's, \\\"m\\\"\",\"out\":true,\"query\":\"q2\"}\n"},
		FormatParquet:      {"x.parquet", parquetFile(t, patients()...)},
	}
	var want *Dataset
	check := func(name string) func(d *Dataset, err error) {
		return func(d *Dataset, err error) {
			must.Do(t, err, name)
			if want == nil {
				want = d
			}
			sameRecords(t, d.Records, want.Records, name)
			if !slices.Equal(d.Records.Labels(), []float64{1, -1, 1}) || !slices.Equal(d.Groups, []int32{0, 0, 1}) || d.GroupCount != 2 || d.Positives != 2 {
				t.Errorf("%s: labels %v, groups %v", name, d.Records.Labels(), d.Groups)
			}
		}
	}
	for _, format := range []string{schema.FormatCSV, schema.FormatARFF, schema.FormatJSONL, FormatParquet} {
		f := files[format]
		head := "data_id: t\nformat: " + format
		if format == schema.FormatCSV {
			head += "\ncsv: {header: true}"
		}
		named, open := mustSchema(t, head+namedColumns), mustSchema(t, "data_id: t"+namedColumns)
		if format == schema.FormatCSV {
			open = mustSchema(t, "data_id: t\ncsv: {header: true}"+namedColumns)
		}
		for _, s := range []*Schema{named, open} {
			check(f.name)(Load(writeFile(t, f.name, f.content), s, Options{}))
			check(f.name + " by content")(Load(writeFile(t, "without-extension", f.content), s, Options{}))
			check(f.name + " from a reader")(load(s, f.content, Options{}))
			if format != FormatParquet {
				check(f.name + ".gz")(Load(writeFile(t, f.name+".gz", string(gzipped(t, f.content))), s, Options{}))
				check(f.name + ".zst")(Load(writeFile(t, f.name+".zst", string(zstded(t, f.content))), s, Options{}))
			}
		}
	}
}

// NumPy wrote the files in testdata: stored, compressed, Fortran order, both
// byte orders.
func TestArrayFormatsAgree(t *testing.T) {
	const rest = "features: 3\nrange: [-5, 5]\ncolumns:\n  - {name: y, role: label, positive: 1, negative: 0}\n  - {name: third, position: 3, range: [0, 200], transform: log1p, missing: {values: [0], policy: middle}}\n  - {name: first, position: 1, range: [0, 4], missing: {policy: middle}}\n"
	want := must.Get(load(mustSchema(t, "data_id: t\ncolumns:\n  - {name: a, range: [0, 4], missing: {policy: middle}}\n  - {name: b, range: [-5, 5]}\n  - {name: c, range: [0, 200], transform: log1p, missing: {values: [0], policy: middle}}\n  - {name: y, role: label, positive: 1}\n"),
		"1.5,-2,0,1\n0.25,3,100,0\n,1,7,0\n4,5,6,1\n", Options{}))(t)
	check := func(name string) func(d *Dataset, err error) {
		return func(d *Dataset, err error) {
			must.Do(t, err, name)
			sameRecords(t, d.Records, want.Records, name)
		}
	}
	npz, npy := mustSchema(t, "data_id: t\nformat: npz\n"+rest), mustSchema(t, "data_id: t\nformat: npy\n"+rest)
	open := mustSchema(t, "data_id: t\ndense: true\n"+rest)
	for _, s := range []*Schema{npz, open} {
		check("stored")(Load("testdata/numpy_stored.npz", s, Options{}))
		check("fortran")(Load("testdata/numpy_fortran.npz", s, Options{}))
	}
	for _, s := range []*Schema{npy, open} {
		check("npy")(Load("testdata/X_numpy.npy", s, Options{}))
		check("npy, labels named")(Load("testdata/X_numpy.npy", s, Options{LabelsFile: "testdata/y_numpy.npy"}))
	}
	content := must.Get(os.ReadFile("testdata/X_numpy.npy"))(t)
	for ext, packed := range map[string][]byte{".gz": gzipped(t, string(content)), ".zst": zstded(t, string(content))} {
		check("npy" + ext)(Load(writeFile(t, "X.npy"+ext, string(packed)), npy, Options{LabelsFile: "testdata/y_numpy.npy"}))
	}
	check("npy from a reader")(LoadReader("testdata/X_numpy.npy", bytes.NewReader(content), npy, Options{}))
	if d, err := Load(writeFile(t, "Z.npy", string(content)), npy, Options{Labels: LabelsOptional}); err != nil || d.HasLabels {
		t.Errorf("without labels: %v", err)
	}
	grouped := mustSchema(t, "data_id: t\nformat: npz\n"+rest+"  - {name: query, role: group}\n")
	must.Same(t, must.Get(Load("testdata/numpy_fortran.npz", grouped, Options{}))(t).Groups, []int32{0, 0, 1, 1}, "groups")
}

func idx(kind byte, dims []byte, values ...byte) string {
	b := []byte{0, 0, kind, byte(len(dims))}
	for _, d := range dims {
		b = append(b, 0, 0, 0, d)
	}
	return string(append(b, values...))
}

// Images beside their labels; rows of other digits are left out.
func TestIDXDropsOthers(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{
		"t-images-idx3-ubyte.gz": string(gzipped(t, idx(8, []byte{4, 1, 2}, 0, 255, 9, 9, 51, 102, 255, 0))),
		"t-labels-idx1-ubyte.gz": string(gzipped(t, idx(8, []byte{4}, 8, 5, 3, 8))),
	} {
		put(t, filepath.Join(dir, name), content)
	}
	const columns = "features: 2\nrange: [0, 255]\ncolumns: [{name: digit, role: label, positive: 8, negative: 3, others: drop}]\n"
	s := mustSchema(t, "data_id: t\nformat: idx\n"+columns)
	d := must.Get(Load(filepath.Join(dir, "t-images-idx3-ubyte.gz"), s, Options{}))(t)
	f := d.Encoder.Factor()
	if d.Records.Len() != 3 || !slices.Equal(d.Records.Labels(), []float64{1, -1, 1}) || d.Records.Dense()[2] >= -0.59*f || d.Records.Dense()[3] >= 0 {
		t.Errorf("got %v %v", d.Records.Dense(), d.Records.Labels())
	}
	strict := mustSchema(t, "data_id: t\nformat: idx\n"+strings.Replace(columns, ", others: drop", "", 1))
	must.Fail(Load(filepath.Join(dir, "t-images-idx3-ubyte.gz"), strict, Options{}))(t, schema.RuleLabel, "without others: drop")
}

// Dropped rows leave CSV and LIBSVM as if they had not been there, also with
// features that would be errors.
func TestDropOthers(t *testing.T) {
	for name, c := range map[string]struct{ schema, content string }{
		"csv":    {"data_id: t\ncolumns: [{name: a, range: [0, 9]}, {name: who, role: id}, {name: y, role: label, positive: 8, negative: 3, others: drop}]\n", "1,a,8\nx,b,4\n2,c,3\n,d,\"5\"\n"},
		"libsvm": {"data_id: t\nfeatures: 1\nrange: [0, 9]\ncolumns: [{name: y, role: label, positive: 8, negative: 3, others: drop}]\n", "8 1:1\n4 9:9\n3 1:2\n5 x\n"},
	} {
		d, err := load(mustSchema(t, c.schema), c.content, Options{KeepIDs: true})
		if err != nil || d.Records.Len() != 2 || !slices.Equal(d.Records.Labels(), []float64{1, -1}) {
			t.Errorf("%s: %v", name, err)
		} else if name == "csv" && !slices.Equal(d.IDs, []string{"a", "c"}) {
			t.Errorf("ids %q", d.IDs)
		}
	}
}

func TestGradedLabels(t *testing.T) {
	const label = "columns:\n  - {name: a, range: [0, 9]}\n  - {name: y, role: label, kind: numeric, range: [0, 4]}\n  - {name: q, role: group}\n"
	s := mustSchema(t, "data_id: t\n"+label)
	d := must.Get(load(s, "1,0,x\n2,3,y\n3,4,x\n4,2.5,y\n", Options{}))(t)
	if !slices.Equal(d.Records.Labels(), []float64{-1, 0.5, 1, 0.25}) || !slices.Equal(d.Groups, []int32{0, 1, 0, 1}) || d.Positives != 0 || d.Negatives != 0 || !s.IsGraded() || d.Encoder.LabelValues() != engine.AnyLabels {
		t.Errorf("labels %v, groups %v", d.Records.Labels(), d.Groups)
	}
	svm := mustSchema(t, "data_id: t\nfeatures: 2\nrange: [0, 1]\ncolumns:\n  - {name: y, role: label, kind: numeric, range: [0, 4]}\n  - {name: q, role: group}\n")
	if d, err := load(svm, "0 qid:10 1:1\n3 qid:2 2:1 # c\n4 qid:10\n", Options{}); err != nil || !slices.Equal(d.Groups, []int32{0, 1, 0}) || d.Records.Label(1) != 0.5 {
		t.Errorf("libsvm: %v (%v)", d, err)
	}
	if d, err := load(svm, "qid:10 1:1\nqid:2 2:1\n", Options{Labels: LabelsIgnored}); err != nil || d.HasLabels || d.GroupCount != 2 {
		t.Errorf("libsvm without labels: %v (%v)", d, err)
	}
	for _, c := range []struct {
		s               *Schema
		content, column string
		position        int
		rule            string
	}{
		{s, "1,0,x\n2,7391,y\n", "y", 2, schema.RuleLabelRange},
		{s, "1,0,x\n2,a7391,y\n", "y", 2, schema.RuleLabelNumber},
		{s, "1,0,x\n2,nan,y\n", "y", 2, schema.RuleLabelNumber},
		{s, "1,2,x\n2,3,\n", "q", 3, ruleNoGroup},
		{svm, "1 qid:1 1:1\n2 1:1\n", "q", 0, ruleNoGroup},
		{svm, "1 qid:1 1:1\n2 qid:1 1:1 qid:7391\n", "", 0, sparse.RuleQIDFirst},
	} {
		checkRule(t, c.s, "x", c.content, Options{}, 2, c.column, c.position, c.rule)
	}
}
