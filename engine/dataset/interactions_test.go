package dataset

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"dyad/engine/dataset/schema"
	"dyad/internal/must"
)

// pairedSchema has interactions of all kinds: numbers with a basis and without one, two categories and several.
const pairedSchema = "interactions: [[age, area], [stage, dose], [sex, stage], [height, sex], [height, age], " +
	"[gain, sex]]" + basisSchema

// naiveProducts are the blocks of pairedSchema, from a row of basisSchema before its projection, each divided by its factor.
func naiveProducts(x []float64) (all [][]float64) {
	const h6, h4, h3 = 1 + 1./4 + 1./9 + 1./16 + 1./25 + 1./36, 1 + 1./4 + 1./9 + 1./16, 1 + 1./4 + 1./9
	times := func(scale float64, a, b []float64) {
		var block []float64
		for _, u := range a {
			for _, v := range b {
				block = append(block, scale*u*v)
			}
		}
		all = append(all, block)
	}
	age, area, dose, height, sex, stage := x[:3], x[6:9], x[9:12], x[15:16], x[16:17], x[17:21]
	times(math.Sqrt(h6/h3), age, area) // all three features of area
	times(math.Sqrt(h6/h3), stage, dose)
	times(1, sex, stage)
	times(math.Sqrt(3), height, sex)
	times(math.Sqrt(3*h6/h3), height, age)
	times(math.Sqrt(h4/h3/2), x[21:24], sex) // without the spike of gain
	return all
}

// The map is the formula, products of missing values are 0 or those of the public value, and no record is longer than 1.
func TestInteractionsAreProducts(t *testing.T) {
	e, plain := mustEncoder(t, pairedSchema), mustEncoder(t, basisSchema)
	const products = 9 + 12 + 4 + 1 + 3 + 3
	if e.Dim() != plain.Dim()+products || len(e.FeatureNames()) != e.Dim() {
		t.Fatalf("d %d, %d names, want %d", e.Dim(), len(e.FeatureNames()), plain.Dim()+products)
	}
	if names := e.FeatureNames(); names[26] != "age~1 * area~1" || names[27] != "age~1 * area~2" ||
		names[35] != "stage=1 * dose~1" || names[e.Dim()-1] != "gain~3 * sex=m" {
		t.Errorf("names %q", names[26:])
	}
	// V counts 6 for the interactions.
	must.Near(t, e.Factor(), 1/math.Sqrt(3+1./3+2+2+6), 1e-15, "factor")
	fields, wants := basisRows()
	for i, row := range fields {
		want := make([]float64, plain.Dim())
		for k, field := range row {
			if rule := plain.Listed(k).Encode([]byte(field), want[plain.Listed(k).Offset:][:plain.Listed(k).Width]); rule != "" {
				t.Fatal(rule)
			}
		}
		norm := 0.0
		for k := range want {
			want[k] /= plain.Factor()
		}
		for _, block := range naiveProducts(want) {
			want = append(want, block...)
		}
		for k, v := range want {
			want[k] = v * e.Factor()
			norm += want[k] * want[k]
		}
		for k := range want {
			want[k] /= max(1, math.Sqrt(norm))
		}
		wants[i] = want
	}
	checkFormula(t, e, fields, wants)
}

// Over places that are uniform and independent every block has the mean square norm factor^2. 21 x 21 points of the midpoint rule are
// exact for cosines of up to frequency 6.
func TestInteractionsHaveEqualNorms(t *testing.T) {
	e := mustEncoder(t, pairedSchema)
	const points = 21
	place := func(k int, lo, hi float64) string { return fmt.Sprint(lo + (hi-lo)*(float64(k)+0.5)/points) }
	sums := make([]float64, len(e.Interactions()))
	rows := 0
	x := make([]float64, e.Dim())
	for i := range points {
		for j := range points {
			clear(x)
			row := []string{place(i, 20, 60), fmt.Sprint(math.Expm1(math.Log1p(99) * (float64(j) + 0.5) / points)),
				place(i, 0, 10), place(j, 100, 200), "f", "2",
				fmt.Sprint(math.Expm1(math.Log1p(5000) * (float64(j) + 0.5) / points))}
			for k, field := range row {
				e.Listed(k).Encode([]byte(field), x[e.Listed(k).Offset:][:e.Listed(k).Width])
			}
			e.Multiply(x)
			for k, p := range e.Interactions() {
				for _, v := range x[p.Offset:][:p.WidthA*p.WidthB] {
					sums[k] += v * v
				}
			}
			rows++
		}
	}
	for k, s := range sums {
		if got := s / float64(rows) / (e.Factor() * e.Factor()); math.Abs(got-1) > 0.01 { // the line's square is not a cosine
			t.Errorf("block %d has the mean square norm %v factor^2", k, got)
		}
	}
}

// Every way to a record gives the same bits, and a row changes its own record alone: line by line, quickly, from Parquet and a pack, in
// float32, of persons.
func TestInteractionsAreAMapOfOneRecord(t *testing.T) {
	for _, way := range []string{schema.FormatCSV, FormatParquet, "float32", "persons", "pack", "scan"} {
		checkMapOfOneRecord(t, pairedSchema, way)
		if way == schema.FormatCSV || way == FormatParquet {
			checkMapOfOneRecord(t, basisSchema, way)
		}
	}
}

// checkMapOfOneRecord reads the rows of basisRows by one way, and again with another row in the place of one of them.
func checkMapOfOneRecord(t *testing.T, text, way string) {
	t.Helper()
	fields, _ := basisRows()
	who := ""
	switch way {
	case "float32":
		text = "store: float32\n" + text
	case "persons": // each has one row, and they are in the order of their ids
		text, who = "ids: public\n"+strings.Replace(text, "  - {name: y,", "  - {name: who, role: person}\n  - {name: y,", 1),
			"who,"
	}
	s := mustSchema(t, text)
	e := must.Get(NewEncoder(s))(t)
	read := func(rows [][]string) (all [][]float64) {
		t.Helper()
		var text, out bytes.Buffer
		text.WriteString("age,area,dose,height,sex,stage,gain," + who + "y\n")
		for i, r := range rows {
			id := ""
			if who != "" {
				id = fmt.Sprintf("p%03d,", i)
			}
			fmt.Fprintf(&text, "%s,%s%d\n", strings.Join(r, ","), id, i%2)
		}
		file, by := writeFile(t, "rows.csv", text.Bytes()), s
		var err error
		switch way {
		case "scan":
			err = Scan(file, s, Options{}, func(r *Row) error {
				all = append(all, must.Get(e.EncodeRow(r))(t))
				return nil
			})
		case FormatParquet:
			_, by, err = Convert(file, s, &out, FormatParquet, ConvertOptions{})
		case "pack":
			_, err = Pack(&out, file, s, PackOptions{})
		}
		must.Do(t, err)
		if way == "scan" {
			return all
		}
		if out.Len() > 0 {
			file = writeFile(t, "rows", out.Bytes())
		}
		d := must.Get(Load(file, by, Options{Persons: KeepPersons}))(t)
		for i := range rows {
			all = append(all, recordOf(d, i))
		}
		return all
	}
	got := read(fields)
	for i, row := range fields {
		must.Same(t, got[i], must.Get(e.Encode(row))(t), "%s, row %d %q", way, i, row)
	}
	for _, at := range []int{0, 250, 499} {
		other := slices.Clone(fields)
		other[at] = []string{"33", "", "1e300", "-5", "m", "", "0"}
		for i, x := range read(other) {
			if slices.Equal(x, got[i]) != (i != at) {
				t.Fatalf("%s: row %d was replaced, and row %d is equal: %v", way, at, i, i == at)
			}
		}
	}
}

func TestInteractionsRefused(t *testing.T) {
	with := func(pairs string) string { return "interactions: " + pairs + basisSchema }
	wide := "data_id: t\ninteractions: [[a, b], [c, a]]\ncolumns:\n  - {name: y, role: label, positive: 1}\n  - {name: " +
		"c, range: [0, 1]}\n"
	for _, name := range []string{"a", "b"} {
		wide += "  - {name: " + name + ", categories: ["
		for k := range 23 {
			wide += fmt.Sprintf("k%d, ", k)
		}
		wide += "last]}\n"
	}
	for text, want := range map[string]string{
		with("[[age]]"):                    "names 1 columns; want two different columns",
		with("[[age, area, sex]]"):         "want two different columns",
		with("[[age, age]]"):               "names 2 columns; want two different columns",
		with("[[age, year]]"):              `interaction 1: "year" is not a feature`,
		with("[[y, age]]"):                 `"y" is not a feature`,
		with("[[age, area], [area, age]]"): "is already in the list",
		with("[age, area]"):                "interactions: want a list, not a text",
		wide:                               "use fewer pairs",
		"data_id: t\nfeatures: 3\nrange: [0, 1]\ninteractions: [[a, b]]\ncolumns:\n  - {name: y, role: label, positive: 1}\n": "named columns",
	} {
		must.Fail(ParseSchema([]byte(text)))(t, want)
	}
	must.Check(ParseSchema([]byte(strings.Replace(wide, "[a, b], ", "", 1))))(t, "73 features")
	if s := mustSchema(t, "data_id: t\ninteractions: [[1, no]]\ncolumns:\n  - {name: 1, range: [0, 1]}\n  - {name: no, "+
		"range: [0, 1]}\n  - {name: y, role: label, positive: 1}\n"); s.Interactions[0][1] != "no" {
		t.Errorf("names %q", s.Interactions)
	}
}
