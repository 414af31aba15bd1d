package dataset

import (
	"math"
	"strings"
	"testing"

	"dyad/engine"
	"dyad/internal/must"
)

// Whatever pairs are chosen, a record with their products is the one that the model's encoder makes of the same row, and a record without
// any is the one of the schema without the key; no record is longer than 1 before that, so that none was projected.
func TestChosenPairsAreThoseOfTheModel(t *testing.T) {
	const key = "choose_interactions: 2\n"
	for _, text := range []string{basisSchema, pairedSchema, strings.Replace(basisSchema, "cosine:6", "curve:4", 1)} {
		e := mustEncoder(t, key+strings.TrimPrefix(text, "\n"))
		c, fields := e.Candidates(), [][]string{}
		rows, _ := basisRows()
		var x, y []float64
		for _, row := range rows {
			v := must.Get(e.Encode(row))(t, row)
			norm := 0.0
			for _, u := range v {
				norm += u * u
			}
			if norm > 1 {
				t.Errorf("%q has norm %v", row, math.Sqrt(norm))
			}
			fields, x, y = append(fields, row), append(x, v...), append(y, 1)
		}
		r := must.Get(engine.NewRecords(x, y, e.Dim(), e.Bounds()))(t)
		last := len(c.Products) - 1
		for _, places := range [][]int{{}, {0, 1}, {last, 2}, {3, last - 1}} {
			model := e.Chosen(places)
			if want := len(e.Schema().Interactions) + len(places); len(model.Schema().Interactions) != want ||
				model.Schema().ChooseInteractions != 0 {
				t.Fatalf("the model's schema has %v", model.Schema().Interactions)
			}
			of, err := e.Records(r, model)
			if err != nil || of.Dim() != model.Dim() || len(places) > 0 && of.Dim() > c.Dim(e.Dim()) {
				t.Fatalf("%d features of at most %d, %v", of.Dim(), c.Dim(e.Dim()), err)
			}
			got := make([]float64, of.Dim())
			for i, row := range fields {
				want := must.Get(model.Encode(row))(t)
				of.Row(i, got)
				for k := range want {
					if math.Abs(got[k]-want[k]) > 1e-9 {
						t.Fatalf("%q, pairs %v: feature %s is %v, and the model's encoder makes %v", row, places, model.FeatureNames()[k],
							got[k], want[k])
					}
				}
			}
		}
		must.Same(t, must.Get(NewEncoder(e.Chosen([]int{0, 1}).Schema()))(t).FeatureNames(),
			e.Chosen([]int{0, 1}).FeatureNames(), "names of the model's schema")
	}
	for text, want := range map[string]string{
		"choose_interactions: 9\n" + basisSchema:  "must be 1 to 8",
		"choose_interactions: -1\n" + basisSchema: "must be 1 to 8",
		"choose_interactions: 8\ndata_id: x\nformat: csv\ncolumns:\n  - {name: a, range: [0, 1]}\n  - {name: b, range: [0, " +
			"1]}\n  - {name: y, role: label, positive: p}\n": "fewer pairs",
		"choose_interactions: 1\ndata_id: x\nformat: libsvm\nfeatures: 9\nrange: [0, 1]\ncolumns:\n  - {name: y, role: " +
			"label, positive: \"1\"}\n": "named columns",
	} {
		s, err := ParseSchema([]byte(text))
		if err == nil {
			_, err = NewEncoder(s)
		}
		must.FailDo(t, err, want, text)
	}
}
