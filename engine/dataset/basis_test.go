package dataset

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"dyad/internal/must"
)

const basisSchema = `
data_id: curved
format: csv
csv: {header: true}
basis: cosine:6
missing: {policy: middle}
columns:
  - {name: age, range: [20, 60]}
  - {name: area, range: [0, 99], transform: log1p, basis: curve:3}
  - {name: dose, range: [0, 10], missing: {values: ["-1"], policy: value, value: 2.5}}
  - {name: height, range: [100, 200], basis: none}
  - {name: sex, categories: [f, m]}
  - {name: stage, categories: [1, 2, 3], missing: {policy: category}}
  - {name: gain, range: [0, 5000], transform: log1p, basis: spike:4}
  - {name: y, role: label, positive: 1}
`

// naiveBasis is a row of basisSchema by the formula of the documentation, before the projection.
func naiveBasis(age, area, dose, height, gain float64, sex, stage string) []float64 {
	// V counts numbers 1/3, cosines and categories 1, and cosines with a spike 2.
	factor := 1 / math.Sqrt(3+1./3+2+2)
	var x []float64
	block := func(u float64, count int, line bool) {
		u = math.Min(math.Max(u, 0), 1)
		squares := 0.0
		for k := 1; k <= count; k++ {
			squares += 1 / float64(k*k)
		}
		for k := 1; k <= count; k++ {
			x = append(x, factor*math.Cos(math.Pi*float64(k)*u)/float64(k)*math.Sqrt(2/squares))
		}
		if line {
			x[len(x)-count] = factor * math.Sqrt(1.5) * (2*u - 1) * math.Sqrt(2/squares)
		}
	}
	missing := func(v float64, count int, u float64, line bool) {
		if math.IsNaN(v) {
			x = append(x, make([]float64, count)...)
			return
		}
		block(u, count, line)
	}
	missing(age, 6, (age-20)/40, false)
	missing(area, 3, math.Log1p(math.Max(area, 0))/math.Log1p(99), true)
	if math.IsNaN(dose) || dose == -1 {
		dose = 2.5
	}
	block(dose/10, 6, false)
	h := math.Min(math.Max((height-150)/50, -1), 1) * factor
	if math.IsNaN(height) {
		h = 0
	}
	x = append(x, h)
	x = append(x, map[string]float64{"f": -factor, "m": factor, "": 0}[sex])
	one := make([]float64, 4)
	one[max(0, slices.Index([]string{"1", "2", "3", ""}, stage))] = factor
	x = append(x, one...)
	switch {
	case math.IsNaN(gain):
		return append(x, make([]float64, 5)...)
	case gain <= 0:
		return append(x, 0, 0, 0, 0, factor*math.Sqrt2)
	}
	block(math.Log1p(gain)/math.Log1p(5000), 4, false)
	for k := range 4 {
		x[len(x)-1-k] *= math.Sqrt2
	}
	return append(x, 0)
}

// basisRows are rows of basisSchema: ends of ranges, values outside, every spelling of a missing one, and others.
func basisRows() (fields [][]string, want [][]float64) {
	c := newCoins(5, 5)
	number := func(lo, hi float64, missing ...string) (string, float64) {
		switch c.below(8) {
		case 0:
			text := missing[c.below(uint64(len(missing)))]
			return text, math.NaN()
		case 1:
			return fmt.Sprint(lo), lo
		case 2:
			return fmt.Sprint(hi), hi
		case 3:
			return fmt.Sprint(hi + 1000), hi + 1000
		case 4:
			return "1e300", 1e300
		}
		v := lo + (hi-lo)*c.uniform()
		return fmt.Sprint(v), v
	}
	for range 500 {
		var row [7]string
		var v [5]float64
		row[0], v[0] = number(20, 60, "", "nan", "NaN")
		row[1], v[1] = number(0, 99, "", "NAN")
		row[2], v[2] = number(0, 10, "", "-1", "-1.0", "nan")
		row[3], v[3] = number(100, 200, "", "nan")
		row[4] = []string{"f", "m", ""}[c.below(3)]
		row[5] = []string{"1", "2", "3", ""}[c.below(4)]
		row[6], v[4] = number([]float64{0, -3, 1e-9}[c.below(3)], 5000, "", "nan")
		x := naiveBasis(v[0], v[1], v[2], v[3], v[4], row[4], row[5])
		norm := 0.0
		for _, a := range x {
			norm += a * a
		}
		if norm = math.Sqrt(norm); norm > 1 {
			for k := range x {
				x[k] /= norm
			}
		}
		fields, want = append(fields, row[:]), append(want, x)
	}
	return fields, want
}

// The map is the formula, and no record is longer than 1.
func TestBasisIsItsFormula(t *testing.T) {
	e := mustEncoder(t, basisSchema)
	if want := 6 + 3 + 6 + 1 + 1 + 4 + 5; e.Dim() != want || len(e.FeatureNames()) != want {
		t.Fatalf("d %d, names %q, want %d", e.Dim(), e.FeatureNames(), want)
	}
	if names := e.FeatureNames(); names[0] != "age~1" || names[8] != "area~3" || names[15] != "height" ||
		names[16] != "sex=m" || names[24] != "gain~4" || names[25] != "gain=0" {
		t.Errorf("names %q", names)
	}
	fields, want := basisRows()
	checkFormula(t, e, fields, want)
}

// checkFormula compares the records of rows with those of a formula. None is longer than 1, and some are projected.
func checkFormula(t *testing.T, e *Encoder, fields [][]string, want [][]float64) {
	t.Helper()
	clipped := 0
	for i, row := range fields {
		x := must.Get(e.Encode(row))(t, row)
		norm := 0.0
		for k, v := range x {
			norm += v * v
			if math.Abs(v-want[i][k]) > 1e-14 {
				t.Fatalf("row %d %q: feature %d is %v, want %v", i, row, k, v, want[i][k])
			}
		}
		if norm > 1 {
			t.Fatalf("%q has squared norm %v", row, norm)
		}
		if norm > 1-1e-9 {
			clipped++
		}
	}
	if clipped == 0 || clipped == len(fields) {
		t.Errorf("%d of %d rows were clipped: the bound was not tried", clipped, len(fields))
	}
}

func recordOf(d *Dataset, i int) []float64 {
	x := make([]float64, d.Records.Dim())
	d.Records.Row(i, x)
	return x
}

// Without the key, or with none, every record is what it was: nothing of the schema's other results changes.
func TestNoBasisIsAsBefore(t *testing.T) {
	before, none := mustEncoder(t, mixedSchema), mustEncoder(t, "basis: none"+mixedSchema)
	if before.Factor() != none.Factor() || !slices.Equal(before.FeatureNames(), none.FeatureNames()) {
		t.Errorf("factor %v and %v, names %q", before.Factor(), none.Factor(), none.FeatureNames())
	}
	row := []string{"31", "9", "5", "m", "2", "a"}
	a := must.Get(before.Encode(row))(t)
	if b, err := none.Encode(row); err != nil || !slices.Equal(a, b) {
		t.Errorf("got %v (%v), want %v", b, err, a)
	}
}

func TestBasisRefused(t *testing.T) {
	wide := "data_id: t\nbasis: cosine:32\ncolumns:\n"
	for i := range 17 {
		wide += fmt.Sprintf("  - {name: c%d, range: [0, 1]}\n", i)
	}
	wide += "  - {name: y, role: label, positive: 1}\n"
	byIndex := "data_id: t\nfeatures: 3\nrange: [0, 1]\nbasis: cosine:6\ncolumns:\n  - {name: y, role: label, positive: 1}\n"
	for _, c := range []struct{ from, to, want string }{
		{"cosine:6", "cosine:1", "K from 2 to 32"}, {"cosine:6", "cosine:33", "K from 2 to 32"},
		{"cosine:6", "cosine:06", "K from 2 to 32"}, {"spike:4", "spike:1", "K from 2 to 32"},
		{"cosine:6", "waves", "basis is \"waves\""},
		{"categories: [f, m]", "categories: [f, m], basis: cosine:2", "categorical column cannot have"},
		{"positive: 1", "positive: 1, basis: none", "only features may have"},
		{basisSchema, byIndex, "named columns"}, {basisSchema, wide, "544 features, but at most 512"},
	} {
		must.Fail(ParseSchema([]byte(strings.Replace(basisSchema, c.from, c.to, 1))))(t, c.want, c.to)
	}
	must.Err(ParseSchema([]byte(strings.Replace(wide, "range: [0, 1]}", "range: [0, 1], basis: cosine:31}", 1))))(t,
		"543 features were accepted")
	must.Check(ParseSchema([]byte(strings.Replace(wide, "cosine:32", "cosine:30", 1))))(t, "510 features")
	file := writeFile(t, "rows.csv", "a,y\n1,0\n0.5,1\n")
	s := mustSchema(t, "data_id: t\nformat: csv\ncsv: {header: true}\nbasis: cosine:2\ncolumns:\n  - {name: a, range: "+
		"[0, 1]}\n  - {name: y, role: label, positive: 1}\n")
	if _, _, err := Convert(file, s, new(bytes.Buffer), FormatParquet, ConvertOptions{Encoded: true}); err != nil {
		t.Errorf("encoded rows: %v", err)
	}
}

// The schema alone decides which column has a spike, one of 0 under log1p; the others have the features of cosines, bit by bit.
func TestSpikesAreOfTheSchema(t *testing.T) {
	const text = `
data_id: d
basis: spike:6
missing: {policy: middle}
csv: {header: true}
columns:
  - {name: a, range: [1, 50], transform: log1p}
  - {name: b, range: [0, 50]}
  - {name: c, range: [0.5, 50], transform: log1p}
  - {name: y, role: label, positive: "1", negative: "0"}
`
	spiked, cosines := mustEncoder(t, text), mustEncoder(t, strings.Replace(text, "spike", "cosine", 1))
	for _, row := range [][]string{{"1", "0", "0.5"}, {"0", "-3", "0"}, {"17", "33", "2"}, {"", "50", ""}} {
		x, err := spiked.Encode(row)
		want, problem := cosines.Encode(row)
		if err != nil || problem != nil || !slices.Equal(x, want) {
			t.Errorf("%q: %v, and with cosines %v", row, x, want)
		}
	}
	must.Equal(t, mustEncoder(t, strings.Replace(text, "[1, 50]", "[0, 50]", 1)).Dim(), cosines.Dim()+1,
		"features with a range from 0 under log1p")
}

// The lines of a basis are straight in the place of a number, or nearly: a score with these weights has no bend but the bends of the series.
func TestLinesOfABasisAreStraight(t *testing.T) {
	for basis, most := range map[string]float64{"none": 1e-12, "curve:3": 1e-12, "cosine:5": 0.045, "spike:5": 0.045} {
		e := mustEncoder(t, `
data_id: d
csv: {header: true}
columns:
  - {name: a, range: [0, 6], transform: log1p}
  - {name: c, categories: [x, y, z]}
  - {name: y, role: label, positive: "1", negative: "0"}
basis: `+basis)
		lines := e.Lines()
		must.Equal(t, len(lines), e.Dim(), "%s: lines", basis)
		score := func(v float64) (sum float64) {
			for k, x := range e.Features(0, v) {
				sum += lines[k] * x
			}
			return sum
		}
		low, high := score(math.SmallestNonzeroFloat64), score(6)
		for u := 0.0; u <= 1; u += 0.0625 {
			v := max(math.Expm1(u*math.Log1p(6)), math.SmallestNonzeroFloat64) // 0 may be a spike
			if off := math.Abs(score(v)-low-(high-low)*u) / math.Abs(high-low); off > most {
				t.Errorf("%s: at %v the line is off by %v of its height", basis, v, off)
			}
		}
	}
}
