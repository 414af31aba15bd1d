package dataset

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dyad/engine/dataset/source"
	"dyad/internal/must"
)

// checkLoaded says what holds for every content: a ParseError, or records within
// their bounds.
func checkLoaded(t *testing.T, d *Dataset, err error) {
	t.Helper()
	if err != nil {
		var p *source.ParseError
		if !errors.As(err, &p) {
			t.Fatalf("content gave %v, which is no ParseError", err)
		}
		return
	}
	checkBounds(t, d.Records)
}

func FuzzCSV(f *testing.F) {
	fuzzLoad(f, []string{headerSchema, plainSchema, mixedSchema}, []Options{{}, {Labels: LabelsOptional, KeepIDs: true}},
		"age,sex,out\n30,f,yes\n40,m,no\n", "30,60,1\n40,70,0\n", "\"a\"\"\n\",1\n", "\x1f\x8b\x08", "\ufeff,,\n", "1,\"2\n")
}

func FuzzLIBSVM(f *testing.F) {
	fuzzLoad(f, []string{sparseSchema, denseSchema}, []Options{{}, {Labels: LabelsOptional}},
		"1 1:1 2:2\n-1 3:4\n", "1:1\n", "1 qid:3 1:1\n", "0 1:0 2:0 # x\n1 2:1e999\n")
}

// A schema that parses must build an encoder, whose JSON builds the same one.
func FuzzSchema(f *testing.F) {
	for _, seed := range []string{headerSchema, plainSchema, sparseSchema, denseSchema, mixedSchema, clinicalSchema, pairedSchema, "a: &a [*a]\n", "? x\n: y\n", "columns: [{<<: *x}]\n", "columns:\n  ! 00000000000000000000000000000000"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if s, err := ParseSchema([]byte(text)); err == nil {
			checkEncoder(t, s)
		}
	})
}

// checkEncoder is what holds for every valid schema. The encoder is nil for one that leaves the basis open or has many features.
func checkEncoder(t *testing.T, s *Schema) *Encoder {
	t.Helper()
	if s.Features > 1000 {
		return nil
	}
	e, err := NewEncoder(s)
	if err != nil {
		if s.Basis == BasisAuto {
			return nil
		}
		t.Fatalf("a valid schema has no encoder: %v", err)
	}
	if n := len(e.FeatureNames()); n != e.Dim() || n < 1 || !(e.Factor() > 0) {
		t.Fatalf("%d names, d %d, factor %v", n, e.Dim(), e.Factor())
	}
	b := must.Get(e.MarshalJSON())(t)
	var again Encoder
	must.Do(t, again.UnmarshalJSON(b), string(b))
	if c, err := again.MarshalJSON(); err != nil || string(c) != string(b) || again.Dim() != e.Dim() || again.Factor() != e.Factor() {
		t.Fatalf("%s\n%s\n%v", b, c, err)
	}
	return e
}

// A draft never panics, and one that succeeds loads its file unless the file
// has another flaw (such as a single row).
func FuzzDraft(f *testing.F) {
	for _, seed := range []string{"a,b,y\n1,2,0\n3,4,1\n", "1 1:1\n-1 2:3\n", "x;y\n", "@data\n1,2\n3,4\n", "\"a\n"} {
		f.Add(seed)
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, content string) {
		path := filepath.Join(dir, "x.csv")
		put(t, path, content)
		draft, err := Draft(path, DraftOptions{})
		if err == nil && draft.Label == "" && draft.Candidates != nil {
			draft, err = Draft(path, DraftOptions{Label: draft.Candidates[0]})
		}
		if err != nil {
			if !strings.HasPrefix(err.Error(), "dataset: ") {
				t.Fatalf("error %v lacks the prefix", err)
			}
			return
		}
		text := draft.Schema
		s := must.Get(ParseSchema(text))(t, string(text))
		d := must.Get(Load(path, s, Options{}))(t, string(text))
		checkLoaded(t, d, err)
	})
}

const fuzzedColumns = "ignore_others: true\ncolumns:\n  - {name: age, range: [0, 100], missing: {policy: middle}}\n  - {name: sex, categories: [f, m]}\n  - {name: out, role: label, positive: yes}\n"

func FuzzARFF(f *testing.F) {
	fuzzLoad(f, []string{"data_id: t\nformat: arff\n" + fuzzedColumns}, []Options{{}, {Labels: LabelsOptional}},
		"@relation r\n@attribute age real\n@attribute sex {f,'m'}\n@attribute out {yes,no}\n@data\n1,f,yes\n?,m,no\n", "@attribute 'a\\'b' {", "@data\n{0 1}\n", "@attribute age\tnumeric\n@data\n'1\\")
}

func FuzzJSONL(f *testing.F) {
	fuzzLoad(f, []string{"data_id: t\nformat: jsonl\n" + fuzzedColumns}, []Options{{}, {Labels: LabelsOptional}},
		"{\"age\":1,\"sex\":\"f\",\"out\":\"yes\"}\n{\"age\":null,\"sex\":\"\\u006d\",\"out\":false}\n", "{\"x\":{\"a\":[1,\"}\"]}}\n", "{\"age\":\"\\ud800\xff\"\r,\"\":1}", "[]\n{}")
}

// NPY, NPZ and IDX, as the first bytes say.
func FuzzArrays(f *testing.F) {
	for _, name := range []string{"X_numpy.npy", "numpy_stored.npz", "numpy_fortran.npz"} {
		b := must.Get(os.ReadFile(filepath.Join("testdata", name)))(f)
		f.Add(string(b))
	}
	fuzzLoad(f, []string{"data_id: t\nfeatures: 3\ndense: true\nrange: [-5, 5]\nmissing: {policy: middle}\ncolumns: [{name: y, role: label, positive: 1, negative: 0, others: drop}]\n"},
		[]Options{{Labels: LabelsOptional}, {LabelsFile: "testdata/y_numpy.npy"}},
		idx(8, []byte{4, 3}, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12), idx(0x0d, []byte{4, 1, 3}, make([]byte, 48)...))
}

func FuzzParquet(f *testing.F) {
	fuzzLoad(f, []string{"data_id: t\nformat: parquet" + namedColumns}, []Options{{Labels: LabelsOptional}}, parquetFile(f, patients()...), "PAR1PAR1")
}
