package dataset

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"dyad/engine"
	"dyad/internal/must"
)

// storeSchema has numbers, categories and missing values; with persons or groups if asked.
func storeSchema(t *testing.T, store, role string) *Schema {
	t.Helper()
	text := "data_id: stored\nformat: csv\ncsv: {header: true}\nmissing: {values: [\"?\"], policy: middle}\ncolumns:\n" +
		"  - {name: who, role: " + role + "}\n  - {name: a, range: [0, 1]}\n  - {name: b, range: [-10, 3], transform: \"\"}\n" +
		"  - {name: c, categories: [x, y, z]}\n  - {name: out, role: label, positive: \"1\", negative: \"0\"}\n"
	if role == RolePerson {
		text = "ids: public\nmax_rows_per_person: 3\n" + text
	}
	s := mustSchema(t, text)
	s.Store = store
	return s
}

// storeFile writes n rows, of about n/3 persons or groups, in any order.
func storeFile(t *testing.T, n int) string {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	var b bytes.Buffer
	b.WriteString("who,a,b,c,out\n")
	for range n {
		fmt.Fprintf(&b, "p%d,%v,%v,%s,%d\n", r.IntN(n/3+1), r.Float64(), 20*r.Float64()-14, []string{"x", "y", "z", "?"}[r.IntN(4)], r.IntN(2))
	}
	return writeFile(t, "data.csv", b.Bytes())
}

// sameRecords compares rows, labels and persons, to the bit.
func sameRecords(t *testing.T, got, want *engine.Records, what ...any) {
	t.Helper()
	if got.Len() != want.Len() || got.Units() != want.Units() || !slices.Equal(got.Labels(), want.Labels()) || !slices.Equal(got.FirstRows(), want.FirstRows()) {
		t.Fatalf("%s: %d rows of %d units, want %d of %d; or other labels or persons", fmt.Sprint(what...), got.Len(), got.Units(), want.Len(), want.Units())
	}
	for i := range want.Len() {
		x, y := got.Rows(nil, i, 1), want.Rows(nil, i, 1)
		if !slices.EqualFunc(x, y, func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }) {
			t.Fatalf("%s: row %d is %v, want %v", fmt.Sprint(what...), i, x, y)
		}
	}
}

// Records in float32 are those in float64, rounded toward zero, number by number; Encode and
// EncodeRow give the same bits as Load; and a model's encoder says so in its JSON.
func TestFloat32RecordsAreRoundedOnes(t *testing.T) {
	name := storeFile(t, 40_000) // several chunks and flushes
	wide := must.Get(Load(name, storeSchema(t, "", RoleIgnore), Options{}))(t)
	s := storeSchema(t, StoreFloat32, RoleIgnore)
	d := must.Get(Load(name, s, Options{}))(t)
	if !d.Records.IsNarrow() || d.Records.Dense() != nil || wide.Records.IsNarrow() || d.Positives != wide.Positives {
		t.Fatal("records are not stored as the schema says")
	}
	differ := 0
	for i := range wide.Records.Len() {
		x, want := d.Records.Rows(nil, i, 1), wide.Records.Rows(nil, i, 1)
		for k, v := range want {
			if x[k] != float64(engine.TowardZero(v)) {
				t.Fatalf("row %d: feature %d is %x, want %x toward zero", i, k, x[k], v)
			}
			if x[k] != v {
				differ++
			}
		}
	}
	if differ == 0 {
		t.Error("nothing was rounded: the test shows nothing")
	}
	text := must.Get(json.Marshal(d.Encoder))(t)
	must.Contain(t, string(text), `"store":"float32"`)
	e := new(Encoder)
	must.Do(t, e.UnmarshalJSON(text))
	d.Encoder = e
	checkScan(t, string(must.Get(os.ReadFile(name))(t)), s, d)
}

// Rows of persons are the same rows in float32 as in float64 and rounded.
func TestFloat32OfPersons(t *testing.T) {
	name := storeFile(t, 3000)
	wide := must.Get(Load(name, storeSchema(t, "", RolePerson), Options{Persons: KeepPersons}))(t)
	d := must.Get(Load(name, storeSchema(t, StoreFloat32, RolePerson), Options{Persons: KeepPersons}))(t)
	x := make([]float32, 0, wide.Records.Len()*wide.Records.Dim())
	for i := range wide.Records.Len() {
		for _, v := range wide.Records.Rows(nil, i, 1) {
			x = append(x, engine.TowardZero(v))
		}
	}
	want, err := engine.AdoptNarrowRecords(x, slices.Clone(wide.Records.Labels()), wide.Records.Dim(), wide.Records.Bounds())
	if err == nil {
		want, err = want.PersonsOf(wide.Records)
	}
	must.Do(t, err)
	sameRecords(t, d.Records, want)
}

// A schema says float32 or float64, and float32 of dense records only.
func TestStoreOfSchema(t *testing.T) {
	s := storeSchema(t, "mmap", RoleIgnore)
	must.FailDo(t, s.Validate(), "float32", "store: mmap")
	sparse := "data_id: x\nfeatures: 3\nrange: [0, 1]\nstore: float32\ncolumns:\n  - {name: y, role: label, positive: \"1\"}\n"
	must.Fail(ParseSchema([]byte(sparse)))(t, "dense", "float32 of sparse records")
	must.Check(ParseSchema([]byte(strings.Replace(sparse, "features", "dense: true\nfeatures", 1))))(t, "float32 of dense LIBSVM")
}
