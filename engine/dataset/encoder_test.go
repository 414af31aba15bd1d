package dataset

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"dyad/engine/dataset/schema"
	"dyad/engine/dataset/source"
	"dyad/internal/must"
)

const mixedSchema = `
data_id: mixed
columns:
  - {name: age, range: [20, 60]}
  - {name: area, range: [0, 99], transform: log1p, missing: {values: [0, none], policy: middle}}
  - {name: dose, range: [0, 10], missing: {policy: value, value: 2.5}}
  - {name: sex, categories: [f, m], missing: {values: ["?"], policy: middle}}
  - {name: stage, categories: [1, 2, 3], missing: {policy: category}}
  - {name: grade, categories: [a, b, c], missing: {policy: middle}}
  - {name: y, role: label, positive: 1}
`

func TestEncode(t *testing.T) {
	e := mustEncoder(t, mixedSchema)
	if want := []string{"age", "area", "dose", "sex=m", "stage=1", "stage=2", "stage=3", "stage=(missing)", "grade=a", "grade=b", "grade=c"}; !slices.Equal(e.FeatureNames(), want) || e.Dim() != len(want) {
		t.Errorf("names %q, d %d, want %q", e.FeatureNames(), e.Dim(), want)
	}
	must.Same(t, e.Columns(), []string{"age", "area", "dose", "sex", "stage", "grade"}, "columns")
	// Three numeric columns and three categorical ones: V = 3/3 + 3.
	must.Equal(t, e.Factor(), 1/math.Sqrt(4), "factor")
	for _, c := range []struct {
		fields []string
		want   []float64 // before the factor 1/2
	}{
		{[]string{"40", "9", "5", "f", "2", "a"}, []float64{0, 0, 0, -1, 0, 1, 0, 0, 1, 0, 0}}, // log1p(9) is half of log1p(99)
		{[]string{"30", "", "", "?", "", ""}, []float64{-0.5, 0, -0.5, 0, 0, 0, 0, 1, 0, 0, 0}},
		{[]string{"50", "none", "5", "m", "2.0", ""}, []float64{0.5, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0}},
		{[]string{"4e1", "0.0", "5", "m", "+3", ""}, []float64{0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0}},
		{[]string{"40", "-7", "5", "?", "1", ""}, []float64{0, -1, 0, 0, 1, 0, 0, 0, 0, 0, 0}}, // below the range
		{[]string{"1e300", "9", "5", "?", "1", ""}, []float64{1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0}},
	} {
		got := must.Get(e.Encode(c.fields))(t, c.fields)
		var norm float64
		for _, v := range c.want {
			norm += v * v / 4
		}
		norm = max(1, math.Sqrt(norm))
		for k, v := range c.want {
			if math.Abs(got[k]-v/2/norm) > 1e-14 {
				t.Errorf("%q: got %v, want %v / %v", c.fields, got, c.want, 2*norm)
				break
			}
		}
	}
	for fields, want := range map[string]source.ParseError{",9,5,f,2,a": {Column: "age", Position: 1}, "40,9,x,f,2,a": {Column: "dose", Position: 3}, "40,9,5,F,2,a": {Column: "sex", Position: 4}, "40": {}} {
		_, err := e.Encode(strings.Split(fields, ","))
		wantRule(t, err, want, fields)
	}
}

// A two-category column with its own missing category has three outputs, and
// one category with it has one.
func TestMissingCategoryWidth(t *testing.T) {
	e := mustEncoder(t, `
data_id: t
columns:
  - {name: a, categories: [x, y], missing: {policy: category}}
  - {name: b, categories: [x], missing: {policy: category}}
  - {name: out, role: label, positive: 1}
`)
	must.Same(t, e.FeatureNames(), []string{"a=x", "a=y", "a=(missing)", "b=(missing)"}, "names")
}

// Values that are the same number as text differ as categories only by text.
func TestAmbiguousCategories(t *testing.T) {
	e := mustEncoder(t, `
data_id: t
columns:
  - {name: code, categories: ["07", "7", "8", 1E2]}
  - {name: out, role: label, positive: 1}
`)
	x, err := e.Encode([]string{"07"})
	if err != nil || x[0] == 0 || x[1] != 0 {
		t.Errorf("07 gave %v, %v", x, err)
	}
	for _, unknown := range []string{"8.0", "100", "007"} {
		must.Err(e.Encode([]string{unknown}))(t, "%q was accepted", unknown)
	}
}

// Rows uniform in their ranges have mean square norm 1 before the projection.
// The squares lie in [0, 3], so the mean of N is within t of 1 with probability
// at least 1 - 2 exp(-2 N t^2 / 9) (Hoeffding): 1 - 1e-9 for the t below. The
// control, a factor 10 % off, must be rejected.
func TestUniformRowsHaveUnitNorm(t *testing.T) {
	e := mustEncoder(t, mixedSchema)
	const n = 20000
	limit := math.Sqrt(9 * math.Log(2e9) / (2 * n))
	c := newCoins(1, 1)
	var sum float64
	x := make([]float64, e.Dim())
	for range n {
		clear(x)
		for i := range e.Width() {
			f := e.Listed(i)
			out := x[f.Offset : f.Offset+f.Width]
			if f.Numeric {
				u := c.uniform()
				out[0] = f.Scale(f.Lo + u*(f.Hi-f.Lo))
				if f.Transform == schema.TransformLog1p {
					out[0] = f.Scale(math.Expm1(u * math.Log1p(f.Hi)))
				}
			} else {
				f.SetCategory(int(c.below(uint64(len(f.CatNames)))), out)
			}
		}
		for _, v := range x {
			sum += v * v
		}
	}
	must.Near(t, sum/n, 1, limit, "mean square norm")
	if biased := sum / n * 1.1 * 1.1; math.Abs(biased-1) <= limit {
		t.Errorf("the biased control %v passed", biased)
	}
}

func TestSparseEncode(t *testing.T) {
	e := mustEncoder(t, sparseSchema) // nonzeros 2, ranges [-1, 1], third [0, 10]
	x := must.Get(e.Encode([]string{"0.5", "0", "5", "0", "0"}))(t)
	for k, want := range []float64{0.5 / math.Sqrt2, 0, 0.5 / math.Sqrt2, 0, 0} {
		must.Near(t, x[k], want, 1e-15, "feature %d", k)
	}
	if e.NonZerosPerRow() != 2 || e.LabelValues() != 2 || mustEncoder(t, plainSchema).NonZerosPerRow() != 0 {
		t.Error("wrong NonZerosPerRow")
	}
	must.Err(e.Encode([]string{"1", "1", "1", "0", "0"}))(t, "three values were accepted where two are allowed")
	must.Same(t, e.FeatureNames(), []string{"f1", "f2", "third", "f4", "f5"}, "names")
}

// A model carries its encoder as JSON; it must give the same bits.
func TestEncoderJSON(t *testing.T) {
	for _, text := range []string{mixedSchema, sparseSchema, denseSchema, headerSchema, clinicalSchema} {
		e := mustEncoder(t, text)
		b := must.Get(json.Marshal(e))(t)
		back := new(Encoder)
		must.Do(t, json.Unmarshal(b, back))
		must.Equal(t, string(must.Get(json.Marshal(back))(t)), string(b), "JSON of the copy")
		if back.Dim() != e.Dim() || back.Factor() != e.Factor() || !slices.Equal(back.FeatureNames(), e.FeatureNames()) {
			t.Error("the copy differs")
		}
	}
	for _, bad := range []string{`{}`, `{"data_id":"t","columns":[]}`, `[]`, `{"data_id":1}`} {
		must.ErrDo(t, json.Unmarshal([]byte(bad), new(Encoder)), "%s was accepted", bad)
	}
}

// The encoder does not see later changes of the schema it was built from.
func TestEncoderCopiesSchema(t *testing.T) {
	s := mustSchema(t, plainSchema)
	e := must.Get(NewEncoder(s))(t)
	s.Columns[0].Range[1] = 1e6
	must.Equal(t, e.Schema().Columns[0].Range[1], 100, "range became")
	must.Err(NewEncoder(nil))(t, "a nil schema was accepted")
}
