package dataset

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"testing"

	"dyad/engine/dataset/parquet"
	"dyad/engine/dataset/parse"
	"dyad/engine/dataset/schema"
	"dyad/engine/dataset/sparse"
	"dyad/internal/must"
)

const csrColumns = "features: 5\nnonzeros: 3\nrange: [-2, 2]\ncolumns:\n  - {name: y, role: label, positive: 1, negative: -1}\n"

// testdata/scipy_csr.npz is from scipy.sparse.save_npz, and numpy.savez with y and person.
func TestCSRIsLIBSVM(t *testing.T) {
	want := must.Get(load(mustSchema(t, "data_id: t\nformat: libsvm\n"+csrColumns), "1 3:0.5 5:-1\n-1\n1 1:1 2:0.25 3:0 4:1\n", Options{}))(t)
	s := mustSchema(t, "data_id: t\nformat: npz\nsparse: true\n"+csrColumns)
	got := must.Get(Load("testdata/scipy_csr.npz", s, Options{}))(t)
	if !got.Records.IsSparse() || got.Records.Len() != 3 {
		t.Fatalf("%d records, sparse %v", got.Records.Len(), got.Records.IsSparse())
	}
	sameRecords(t, got.Records, want.Records)
	must.Equal(t, must.Get(Summarize("testdata/scipy_csr.npz", s, Options{}))(t).Rows, 3, "rows of the summary")
}

func TestArraysOfPersons(t *testing.T) {
	s := mustSchema(t, "data_id: t\nformat: npz\nsparse: true\npersons: 2\n"+csrColumns+"  - {name: who, role: person}\n")
	d, err := Load("testdata/scipy_csr.npz", s, Options{Persons: KeepPersons})
	if err != nil || d.Records.Len() != 3 || d.Records.Units() != 2 {
		t.Fatalf("%v, %v", d, err)
	}
	must.Fail(Load("testdata/scipy_csr.npz", s, Options{}))(t, "role: person", "rows of persons are read one by one")
	must.Err(ParseSchema([]byte("data_id: t\nformat: libsvm\npersons: 2\n"+csrColumns+"  - {name: who, role: person}\n")))(t, "a LIBSVM file has persons")
}

// One number is one person, however it is written, and numbers that float64 may have mixed up are none.
func TestPersonsAsNumbers(t *testing.T) {
	s := mustSchema(t, "data_id: t\nformat: npz\nsparse: true\npersons: 2\n"+csrColumns+"  - {name: who, role: person}\n")
	zero := math.Copysign(0, -1)
	for _, c := range []struct {
		ids  []float64
		row  int
		rule string // "" if they are two persons
	}{
		{[]float64{0, 1.5, zero}, 0, ""}, {[]float64{-1, 1<<53 - 1, -1}, 0, ""}, {[]float64{0, 1, 2}, 0, ruleOtherPersons},
		{[]float64{1, 1 << 53, 1}, 2, ruleArrayID}, {[]float64{1, 2, -1e300}, 3, ruleArrayID}, {[]float64{math.Inf(1), 2, 2}, 1, ruleArrayID},
	} {
		content := npz(t, map[string]string{
			"data.npy": float64Vector(1, 2, 1), "indices.npy": float64Vector(0, 4, 1), "indptr.npy": float64Vector(0, 1, 2, 3), "shape.npy": float64Vector(3, 5), "y.npy": float64Vector(1, -1, 1), "person.npy": float64Vector(c.ids...)})
		if c.rule != "" {
			checkRule(t, s, "x.npz", content, Options{Persons: KeepPersons}, c.row, "who", 0, c.rule)
		} else if d, err := Load(writeFile(t, "x.npz", content), s, Options{Persons: KeepPersons}); err != nil || d.Records.Units() != 2 {
			t.Errorf("%v: %v", c.ids, err)
		}
	}
	must.Equal(t, string(parquet.AppendFloat(nil, zero, 64)), "0", "-0 in Parquet")
}

// float64Vector is a NumPy array.
func float64Vector(values ...float64) string {
	b := npyHeader("<f8", fmt.Sprintf("(%d,)", len(values)))
	for _, v := range values {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
	}
	return string(b)
}

func TestCSRErrors(t *testing.T) {
	s := mustSchema(t, "data_id: t\nformat: npz\nsparse: true\n"+csrColumns)
	vector := float64Vector
	good := func() map[string]string {
		return map[string]string{"data.npy": vector(1, 2, 1), "indices.npy": vector(0, 4, 1), "indptr.npy": vector(0, 2, 3), "shape.npy": vector(2, 5), "y.npy": vector(1, -1)}
	}
	must.Get(load(s, npz(t, good()), Options{}))(t)
	for name, c := range map[string]struct {
		member, content string
		row             int
		column          string
		position        int
		rule            string
	}{
		"csc":             {"format.npy", "csc", 0, "", 0, ruleNotCSR},
		"wide":            {"shape.npy", vector(2, 6), 0, "", 0, "only 5 features"},
		"rows":            {"shape.npy", vector(3, 5), 0, "", 0, ruleNotCSR},
		"labels":          {"y.npy", vector(1), 0, "", 0, ruleArrayRows},
		"end":             {"indptr.npy", vector(0, 2, 2), 0, "", 0, ruleNotCSR},
		"back":            {"indptr.npy", vector(0, 4, 3), 1, "", 0, ruleNotCSR},
		"not a start":     {"indptr.npy", vector(0, math.NaN(), 3), 1, "", 0, ruleNotCSR},
		"index too large": {"indices.npy", vector(0, 5, 1), 1, "", 0, ruleCSRIndex},
		"index below 0":   {"indices.npy", vector(-1, 4, 1), 1, "", 0, ruleCSRIndex},
		"index between":   {"indices.npy", vector(0, 3.5, 1), 1, "", 0, ruleCSRIndex},
		"twice":           {"indices.npy", vector(4, 4, 1), 1, "f5", 5, sparse.RuleIndexOrder},
		"NaN":             {"data.npy", vector(1, 2, math.NaN()), 2, "f2", 2, parse.RuleNotFinite},
		"short":           {"data.npy", vector(1, 2), 0, "", 0, ruleNotCSR},
	} {
		t.Run(name, func(t *testing.T) {
			members := good()
			members[c.member] = c.content
			checkRule(t, s, "x.npz", npz(t, members), Options{}, c.row, c.column, c.position, c.rule)
		})
	}
	members := good()
	members["data.npy"], members["indices.npy"], members["indptr.npy"] = vector(1, 1, 1, 1), vector(0, 1, 2, 3), vector(0, 4, 4)
	checkRule(t, s, "x.npz", npz(t, members), Options{}, 1, "", 0, schema.TooManyNonZeros(3))
}

func FuzzCSR(f *testing.F) {
	fuzzLoad(f, []string{"data_id: t\nformat: npz\nsparse: true\n" + csrColumns}, []Options{{Labels: LabelsOptional}}, string(must.Get(os.ReadFile("testdata/scipy_csr.npz"))(f)))
}
