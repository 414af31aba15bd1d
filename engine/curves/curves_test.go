package curves_test

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"dyad/engine/curves"
	"dyad/engine/dataset"
	"dyad/internal/must"
)

const schema = `data_id: c
csv: {header: true}
columns:
  - {name: age, range: [20, 90], basis: "curve:4"}
  - {name: dose, range: [0, 50], transform: log1p, basis: "spike:3"}
  - {name: plain, range: [-1, 3]}
  - {name: sex, categories: [f, m], missing: {policy: middle}}
  - {name: ward, categories: [a, b, c], missing: {policy: category}}
  - {name: y, role: label, positive: "1"}
`

func encoder(t *testing.T) *dataset.Encoder {
	t.Helper()
	s := must.Get(dataset.ParseSchema([]byte(schema)))(t)
	return must.Get(dataset.NewEncoder(s))(t)
}

// Curves of a record add up to its score before the projection, and bands are what the covariances say.
func TestCurvesAddUpToTheScore(t *testing.T) {
	e := encoder(t)
	w := make([]float64, e.Dim())
	for k := range w {
		w[k] = math.Sin(float64(k + 1))
	}
	var noise []float64
	for _, k := range e.Blocks() {
		for i := range k {
			for j := range i + 1 {
				c := 0.0
				if i == j {
					c = 0.04
				}
				noise = append(noise, c)
			}
		}
	}
	must.Do(t, curves.Check(e, noise))
	all := curves.Of(e, w, noise)
	at := []int{30, 70, 100, 1, 3} // m, and a missing ward
	fields := []string{"41", "", "3", "m", ""}
	fields[1] = strconv.FormatFloat(all[1].X[70], 'g', -1, 64)
	if all[0].X[30] != 41 || all[4].Categories[3] != "(missing)" || all[3].Categories[1] != "m" {
		t.Fatalf("%v %v %v", all[0].X[30], all[4].Categories, all[3].Categories)
	}
	x := must.Get(e.Encode(fields))(t)
	score, sum, norm := 0.0, 0.0, 0.0
	for k, v := range x {
		score += v * w[k]
	}
	for k, c := range all {
		sum += c.Y[at[k]]
	}
	for k, in := range e.Inputs()[:3] {
		for _, v := range e.Features(k, all[k].X[at[k]]-in.Shift) {
			norm += v * v
		}
	}
	norm = math.Max(1, math.Sqrt(norm+2*e.Factor()*e.Factor()))
	if math.Abs(sum/norm-score) > 1e-12 {
		t.Errorf("curves add up to %v, the score is %v", sum/norm, score)
	}
	for k, chi := range []float64{9.487729036781154, 9.487729036781154, 3.841458820694124} { // 4, 3 and a spike, and 1 degrees
		c := all[k]
		for _, j := range []int{0, 37, 100} {
			square := 0.0
			for _, v := range e.Features(k, c.X[j]) {
				square += v * v
			}
			if want := math.Sqrt(chi * 0.04 * square); math.Abs(c.High[j]-c.Y[j]-want) > 1e-9 || math.Abs(c.Y[j]-c.Low[j]-want) > 1e-9 {
				t.Errorf("%s at %v: band %v, want %v", c.Name, c.X[j], c.High[j]-c.Y[j], want)
			}
		}
	}
}

// Curves and surfaces of a record add up to its score before the projection, with a basis and without one.
func TestSurfacesAddUpToTheScore(t *testing.T) {
	const pairs = "interactions: [[age, ward], [plain, dose], [sex, ward], [sex, age]]\n"
	for _, text := range []string{pairs + schema, pairs + strings.NewReplacer(", basis: \"curve:4\"", "", ", basis: \"spike:3\"", "").Replace(schema)} {
		s := must.Get(dataset.ParseSchema([]byte(text)))(t)
		e := must.Get(dataset.NewEncoder(s))(t)
		w := make([]float64, e.Dim())
		for k := range w {
			w[k] = math.Sin(float64(k + 1))
		}
		all, pairs := curves.Of(e, w, nil), curves.Surfaces(e, w)
		// Values that both have: place 8 of 21 is place 40 of 101, 15 is 75, and 3 is 15.
		fields := []string{"", "", "", "m", "b"}
		for k, at := range []int{40, 75, 15} {
			fields[k] = strconv.FormatFloat(all[k].X[at], 'g', -1, 64)
		}
		x := must.Get(e.Encode(fields))(t)
		var score, norm, first float64
		for k, v := range x {
			score += v * w[k]
		}
		// The projection divided by the norm; the block of ward is the factor over it.
		for k, name := range e.FeatureNames() {
			if name == "ward=b" {
				first = x[k]
			}
		}
		norm = e.Factor() / first
		sum := all[0].Y[40] + all[1].Y[75] + all[2].Y[15] + all[3].Y[1] + all[4].Y[1]
		sum += pairs[0].Z[8][1] + pairs[1].Z[3][15] + pairs[2].Z[1][1] + pairs[3].Z[1][8]
		if math.Abs(sum/norm-score) > 1e-12 {
			t.Errorf("curves and surfaces add up to %v, the score is %v", sum/norm, score)
		}
		if pairs[1].A.Name != "plain" || !pairs[1].B.LogX || pairs[0].B.Categories[3] != "(missing)" || len(pairs[2].Z) != 2 || len(pairs[2].Z[0]) != 4 {
			t.Errorf("%+v", pairs)
		}
	}
}

// A bend is one only where no straight line is within the band.
func TestBends(t *testing.T) {
	e := encoder(t)
	w := make([]float64, e.Dim())
	w[0], w[4] = 1, 1 // a line in age, a cosine in dose
	noise := func(variance float64) (all []float64) {
		for _, k := range e.Blocks() {
			for i := range k {
				all = append(append(all, make([]float64, i)...), variance)
			}
		}
		return all
	}
	for _, c := range []struct {
		noise []float64
		want  [5]string
	}{
		{nil, [5]string{curves.NotKnown, curves.NotKnown, curves.Straight}},
		{noise(0), [5]string{curves.NoBend, curves.Bends, curves.Straight}},
		{noise(1e-4), [5]string{curves.NoBend, curves.Bends, curves.Straight}},
		{noise(10), [5]string{curves.NoBend, curves.NoBend, curves.Straight}},
	} {
		for k, got := range curves.Of(e, w, c.noise) {
			if got.Bend != c.want[k] {
				t.Errorf("%s: %q, want %q", got.Name, got.Bend, c.want[k])
			}
		}
	}
	for _, bad := range [][]float64{{}, noise(1)[1:], noise(-1), noise(math.NaN()), noise(math.Inf(1))} {
		if curves.Check(e, bad) == nil {
			t.Errorf("noise of %d numbers is accepted", len(bad))
		}
	}
}
