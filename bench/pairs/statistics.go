package main

import (
	"dyad/algorithms/pairs"
	"dyad/bench"
	"dyad/engine/embedding"
	"dyad/privacy"
)

// statistics is Table I: how many records, features and pairs of each kind there are, a repeat for each draw of
// pairs.
func (s settings) statistics() ([]row, axes, error) {
	a := axes{title: "Statistics of data sets", x: "pairs_asked", value: "number"}
	all, err := bench.Load(s.data, s.schema)
	if err != nil {
		return nil, a, err
	}
	x := float64(s.pairs)
	var rows []row
	for i := range s.repeats {
		t, err := s.task(all, i)
		if err != nil {
			return nil, a, err
		}
		similar := 0.0
		for _, dissimilar := range t.labels {
			if !dissimilar {
				similar++
			}
		}
		rows = append(rows, row{"records", x, i, float64(all.Len()), 0}, row{"features", x, i, float64(all.Dim()), 0},
			row{"positive pairs", x, i, similar, 0}, row{"negative pairs", x, i, float64(len(t.labels)) - similar, 0})
	}
	return rows, a, nil
}

// toySpec is the training of [Li20] Section VII-A.
func toySpec(t *task, m method) pairs.Spec {
	spec := pairs.Spec{
		Individuals: t.graph.Len(), Pairs: len(t.labels), Dim: 2, Bound: 1, Loss: embedding.Contrastive{Margin: 1}, Rows: 2,
		Unit: pairs.Group, Kappa: 1, Batch: 30, Epochs: 10, Clip: clip, Budget: privacy.Budget{Epsilon: 2},
		Noise: privacy.LaplaceNoise,
	}
	m.change(&spec)
	spec.StepSize = 1
	return spec
}

// toyPanels has the methods of the panels of Figure 7.
var toyPanels = []method{{"DPP Laplace", func(*pairs.Spec) {}},
	{"DPP-S Laplace (sound)", func(s *pairs.Spec) { s.Shrink = true }}, methods[0]}

// scatter is Figure 7: the 200 points of the toy, and where three metrics move them. The value is the second
// coordinate, a repeat a point; an odd one is of the second class.
func (s settings) scatter() ([]row, axes, error) {
	a := axes{title: "Toy data under metrics, epsilon 2", x: "first_coordinate", value: "second_coordinate",
		other: "class"}
	t, err := toyTask(0)
	if err != nil {
		return nil, a, err
	}
	var rows []row
	add := func(name string, w []float64) {
		for v, second := range t.classes {
			x, y := t.x[2*v], t.x[2*v+1]
			class := 0.0
			if second {
				class = 1
			}
			rows = append(rows, row{name, w[0]*x + w[1]*y, v, w[2]*x + w[3]*y, class})
		}
	}
	add("raw", []float64{1, 0, 0, 1})
	for _, m := range toyPanels {
		p, err := toySpec(t, m).Plan()
		if err != nil {
			return nil, a, err
		}
		r, err := t.trainPlan(p, 0, nil, 0)
		if err != nil {
			return nil, a, err
		}
		add(m.name, r.w)
	}
	return rows, a, nil
}
