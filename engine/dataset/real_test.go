package dataset

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"dyad/engine"
	"dyad/internal/must"
	power "dyad/internal/sizes"
)

const (
	realData     = "../../../shared/data"
	benchSchemas = "catalog/schemas"
)

// needRealData skips the test on a machine that has only the repository.
func needRealData(t *testing.T) {
	t.Helper()
	if _, err := os.Stat(realData); err != nil {
		t.Skip("real data not present")
	}
}

// checkBounds holds records to the norm that their encoder promises.
func checkBounds(t *testing.T, r *engine.Records) {
	t.Helper()
	x := make([]float64, r.Dim())
	for i := range r.Len() {
		r.Row(i, x)
		var s float64
		for _, v := range x {
			s += v * v
		}
		if !(math.Sqrt(s) <= 1+1e-12) {
			t.Fatalf("record %d has norm %v, want at most 1", i, math.Sqrt(s))
		}
	}
}

// checkNorms is checkBounds of records with two classes.
func checkNorms(t *testing.T, r *engine.Records) {
	t.Helper()
	checkBounds(t, r)
	for i, y := range r.Labels() {
		if y != 1 && y != -1 {
			t.Fatalf("record %d has label %v", i, y)
		}
	}
}

func TestBenchSchemas(t *testing.T) {
	files, err := filepath.Glob(benchSchemas + "/*.yaml")
	if err != nil || len(files) < 9 {
		t.Fatalf("found %d schemas, want at least 9 (%v)", len(files), err)
	}
	for _, f := range files {
		if s := must.Get(LoadSchema(f))(t); s.BoundsFromData || s.Public {
			t.Errorf("%s: a benchmark schema must have public ranges and private records", f)
		}
	}
}

func TestRealData(t *testing.T) {
	needRealData(t)
	for _, c := range []struct {
		schema, file   string
		n, positive, d int
	}{
		{"pima", "pima/pima-indians-diabetes.data", 768, 268, 8},
		{"pima-libsvm", "pima/diabetes.libsvm", 768, 268, 8},
		{"debrecen", "debrecen/messidor_features.arff", 1151, 611, 19},
		{"wdbc", "wdbc/wdbc.data", 569, 212, 30},
		{"hepatitis", "hepatitis/hepatitis.data", 155, 32, 19},
		{"a7a", "a7a/a7a.gz", 16100, 3918, 123},
		{"a7a", "a7a/a7a.t.gz", 16461, 3923, 123},
		{"adult", "adult/adult.data.gz", 32561, 7841, 90},
		{"adult", "adult/adult.test.gz", 16281, 3846, 90},
		{"bank", "bank/bank-full.csv.gz", 45211, 5289, 47},
		{"mnist38", "mnist38/mnist38-train-images-idx3-ubyte.gz", 11982, 5851, 784},
		{"mnist38", "mnist38/mnist38-t10k-images-idx3-ubyte.gz", 1984, 974, 784},
	} {
		t.Run(c.file, func(t *testing.T) {
			if !power.Full() && (c.d == 784 && c.n > 10000 || c.file == "adult/adult.data.gz") || testing.Short() && c.n > 10000 && c.schema != "a7a" {
				t.Skip("large")
			}
			s := must.Get(LoadSchema(filepath.Join(benchSchemas, c.schema+".yaml")))(t)
			d := must.Get(Load(filepath.Join(realData, c.file), s, Options{}))(t)
			if d.Records.Len() != c.n || d.Positives != c.positive || d.Negatives != c.n-c.positive || d.Records.Dim() != c.d || d.Records.IsSparse() != (c.schema == "a7a") {
				t.Errorf("n %d, positive %d, d %d; want %d, %d, %d", d.Records.Len(), d.Positives, d.Records.Dim(), c.n, c.positive, c.d)
			}
			checkNorms(t, d.Records)
		})
	}
}

// The two forms of Pima hold the same records, LIBSVM in single precision.
func TestPimaFormsAgree(t *testing.T) {
	needRealData(t)
	var rec [2]*engine.Records
	for i, c := range [][2]string{{"pima", "pima-indians-diabetes.data"}, {"pima-libsvm", "diabetes.libsvm"}} {
		s := must.Get(LoadSchema(filepath.Join(benchSchemas, c[0]+".yaml")))(t)
		d := must.Get(Load(filepath.Join(realData, "pima", c[1]), s, Options{}))(t)
		rec[i] = d.Records
	}
	for k, v := range rec[0].Dense() {
		must.Near(t, v, rec[1].Dense()[k], 1e-6, "value %d", k)
	}
	for i, y := range rec[0].Labels() {
		must.Equal(t, y, rec[1].Label(i), "label %d", i)
	}
}

// A draft of every real file loads at once, with both classes.
func TestDraftRealData(t *testing.T) {
	needRealData(t)
	for _, c := range []struct {
		file  string
		n     int
		label string
	}{
		{"pima/pima-indians-diabetes.data", 768, "column9"},
		{"pima/diabetes.libsvm", 768, "label"},
		{"debrecen/messidor_features.arff", 1151, "19"},
		{"wdbc/wdbc.data", 569, "column2"},
		{"hepatitis/hepatitis.data", 155, "column20"},
		{"a7a/a7a.gz", 16100, "label"},
		{"mnist38/mnist38-t10k-images-idx3-ubyte.gz", 1984, "label"},
		{"adult/adult.data.gz", 32561, "column15"},
		{"bank/bank-full.csv.gz", 45211, "y"},
	} {
		t.Run(c.file, func(t *testing.T) {
			if c.n > 20_000 && !power.Full() || testing.Short() && c.n > 10000 {
				t.Skip("large: at full power")
			}
			path := filepath.Join(realData, c.file)
			draft := must.Get(Draft(path, DraftOptions{Label: c.label}))(t)
			text := draft.Schema
			s := must.Get(ParseSchema(text))(t, string(text))
			if !s.RangesFromData() {
				t.Error("a draft must say that its ranges are from the data")
			}
			d := must.Get(Load(path, s, Options{}))(t, string(text))
			if d.Records.Len() != c.n || d.Encoder.LabelColumn.Name != c.label {
				t.Errorf("n %d, label %q, want %d, %q", d.Records.Len(), d.Encoder.LabelColumn.Name, c.n, c.label)
			}
			checkNorms(t, d.Records)
		})
	}
}
