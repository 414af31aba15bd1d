package face

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"dyad"
	"dyad/algorithms"
	"dyad/algorithms/search"
	"dyad/engine/dataset"
	"dyad/internal/must"
	"dyad/privacy"
)

func searchShape(t *testing.T, schema string) dyad.Shape {
	t.Helper()
	s := must.Get(dataset.ParseSchema([]byte(schema)))(t)
	e := must.Get(dataset.NewEncoder(s))(t)
	return dyad.ShapeOf(e, 5000)
}

// Each setting is trained by the algorithm that planned it, although the automatic choice depends on the
// budget and the roads are planned for different ones.
func TestSearchTrainsAsPlanned(t *testing.T) {
	shape := searchShape(t, dataset.SyntheticClinicalYAML())
	made := must.Get(dataset.SyntheticClinical(5000, 1))(t)
	data, steps := dyad.NewData(made), map[int]bool{}
	for _, epsilon := range []float64{0.4, 0.55, 0.6} {
		for _, road := range []search.Road{search.Auto} {
			s := must.Get(dyad.PlanSearch(shape, dyad.SearchOptions{Epsilon: epsilon, Road: road,
				Settings: []dyad.Setting{{Name: "a"}, {Name: "b", Options: dyad.Options{Radius: 2}}}}))(t)
			for _, plan := range s.Trainings {
				steps[plan.Moments().Steps] = true
			}
			// A session refuses what its plan does not list.
			must.Check(s.Run(t.Context(), []*dyad.Data{data, data},
				dyad.Run{Public: true, Source: privacy.NewSeededSource(1)}))(t, fmt.Sprintf("epsilon %v, road %q", epsilon, road))
		}
	}
	must.Equal(t, len(steps), 2, "the choice does not depend on the budget: steps %v", steps)
}

// What has no AUC of two classes from a linear score is refused with the plan, before a charge.
func TestSearchRefusesOtherModels(t *testing.T) {
	shape := searchShape(t, dataset.SyntheticClinicalYAML())
	graded := searchShape(t,
		"data_id: g\ncsv: {header: true}\ncolumns:\n  - {name: x, range: [0, 1]}\n  - {name: y, role: label, kind: numeric, "+
			"range: [0, 4]}\n")
	network := &dyad.Network{Hidden: []int{3}}
	for want, o := range map[string]dyad.SearchOptions{
		"a search or a curve uses weights": {Settings: []dyad.Setting{{Name: "a", Shape: shape,
			Options: dyad.Options{Algorithm: algorithms.Moments{Second: "diagonal", Intervals: true}}},
			{Name: "b", Shape: shape}}},
		"grades": {Settings: []dyad.Setting{{Name: "a", Shape: graded}, {Name: "b", Shape: graded}}},
		"linear models": {Settings: []dyad.Setting{{Name: "a", Shape: shape,
			Options: dyad.Options{Network: network}}, {Name: "b", Shape: shape}}},
		"linear model": {Models: []*dyad.Model{{Task: dyad.AUC, Network: network}, {Task: dyad.AUC}},
			ModelNames: []string{"a", "b"}},
		"metric": {Models: []*dyad.Model{{Task: dyad.Metric}, {Task: dyad.AUC}},
			ModelNames: []string{"a", "b"}},
		"the labels are grades": {Models: []*dyad.Model{{Task: dyad.AUC}, {Task: dyad.AUC}},
			ModelNames: []string{"a", "b"}},
	} {
		shape := shape
		if o.Epsilon = 1; want == "the labels are grades" {
			shape = graded
		}
		must.Fail(dyad.PlanSearch(shape, o))(t, want, fmt.Sprintf("want %q", want))
	}
}

// A curve of private data refuses what has no private figures, before a charge.
func TestPrivateCurveRefuses(t *testing.T) {
	for want, change := range map[string]func(*dyad.Shape, *dyad.CurveOptions){
		"is not private": func(_ *dyad.Shape, o *dyad.CurveOptions) {
			o.Settings[0].Options.Algorithm = algorithms.ProjectedGradient{}
		},
		"search or a curve uses": func(_ *dyad.Shape, o *dyad.CurveOptions) {
			o.Settings[0].Options.Algorithm = algorithms.Moments{Intervals: true}
		},
		"a metric has no private curve": func(_ *dyad.Shape, o *dyad.CurveOptions) { o.Settings[0].Options.Task = dyad.Metric },
		"persons with several":          func(s *dyad.Shape, _ *dyad.CurveOptions) { s.PersonRows = 3 },
		"the labels are grades":         func(s *dyad.Shape, _ *dyad.CurveOptions) { s.LabelValues = 5 },
		"query groups":                  func(s *dyad.Shape, _ *dyad.CurveOptions) { s.Groups = []int{5000} },
		"no records are left":           func(_ *dyad.Shape, o *dyad.CurveOptions) { o.Training = 5000 },
		"1 is there twice":              func(_ *dyad.Shape, o *dyad.CurveOptions) { o.Epsilons = []float64{1, 1} },
		"a is there twice":              func(_ *dyad.Shape, o *dyad.CurveOptions) { o.Settings = append(o.Settings, o.Settings[0]) },
		"a search or a curve uses weights": func(_ *dyad.Shape, o *dyad.CurveOptions) {
			o.Settings[0].Options.Algorithm = algorithms.Moments{Second: "diagonal", Intervals: true}
		},
		"LogOdds and Blocks": func(_ *dyad.Shape, o *dyad.CurveOptions) {
			o.Settings[0].Options.Algorithm = &algorithms.Moments{LogOdds: true}
		},
		"of features only": func(s *dyad.Shape, o *dyad.CurveOptions) {
			o.Settings[0].Options.Algorithm = algorithms.Moments{Blocks: []int{s.Features}}
		},
		"leave Intervals": func(_ *dyad.Shape, o *dyad.CurveOptions) {
			o.Settings[0].Options.Algorithm = algorithms.Moments{Second: "diagonal"}
			o.Settings[0].With = []algorithms.Option{{Name: "--intervals", Field: "Intervals", Value: true}}
		},
		"at least one run": func(_ *dyad.Shape, o *dyad.CurveOptions) { o.Settings = nil },
	} {
		s, o := searchShape(t, dataset.SyntheticClinicalYAML()),
			dyad.CurveOptions{Settings: []dyad.Setting{{Name: "a"}}, Epsilons: []float64{1}, Training: 3500, HeldEpsilon: 1}
		must.Get(dyad.PlanCurve(s, o))(t)
		change(&s, &o)
		if _, err := dyad.PlanCurve(s, o); !errors.Is(err, dyad.ErrInput) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// A curve is charged for data of the shape that it was planned for, and for no other.
func TestCurvesRefuseDataOfAnotherShape(t *testing.T) {
	t.Chdir(t.TempDir())
	const rows = 40
	base := "data_id: d\ncsv: {header: true}\ncolumns:\n  - {name: x, range: [-1, 1]}\n  - {name: z, range: [0, 1]}\n  - " +
		"{name: g, role: ignore}\n  - {name: y, role: label, positive: \"1\", negative: \"0\"}\n"
	read := func(schema, header string, n int, row func(i int) string, o dataset.Options) *dyad.Data {
		s := must.Get(dataset.ParseSchema([]byte(schema)))(t)
		text := header
		for i := range n {
			text += row(i) + "\n"
		}
		read := must.Get(dataset.LoadReader("r", strings.NewReader(text), s, o))(t)
		return dyad.NewData(read)
	}
	csv := func(schema string, n int) *dyad.Data {
		return read(schema, "x,z,g,y\n", n, func(i int) string { return fmt.Sprintf("0.5,0.25,%d,%d", i/2, i%2) },
			dataset.Options{Persons: dataset.KeepPersons})
	}
	data := csv(base, rows)
	c := must.Get(dyad.PlanCurve(data.Shape(), dyad.CurveOptions{Settings: []dyad.Setting{{Name: "a",
		Options: dyad.Options{Algorithm: algorithms.DPGDSC{}}}}, Epsilons: []float64{1}, Training: 20, HeldEpsilon: 1}))(t)
	book := must.Get(dyad.OpenLedger("ledger.jsonl"))(t)
	with := func(from, to string) *dyad.Data { return csv(strings.Replace(base, from, to, 1), rows) }
	for what, other := range map[string]*dyad.Data{
		"records":    csv(base, rows+1),
		"features":   with("name: g, role: ignore", "name: g, range: [0, 40]"),
		"groups":     with("name: g, role: ignore", "name: g, role: group"),
		"persons":    csv(strings.Replace("persons: 40\n"+base, "name: g, role: ignore", "name: g, role: person", 1), 2*rows),
		"provenance": with("range: [-1, 1]", "range: [-1, 1], from_data: true"),
		"rows":       csv("rows_per_person: 2\n"+base, rows),
		"selection":  with("negative: \"0\"", "negative: \"0\", others: drop"),
		"labels":     with("positive: \"1\", negative: \"0\"", "kind: numeric, range: [0, 1]"),
		"non-zeros": read("data_id: d\nformat: libsvm\nfeatures: 2\nnonzeros: 1\nrange: [-1, 1]\ncolumns:\n  - {name: y, "+
			"role: label, positive: \"1\", negative: \"0\"}\n", "", rows,
			func(i int) string { return fmt.Sprintf("%d 1:0.5", i%2) }, dataset.Options{}),
		"no labels": read(base, "x,z,g,y\n", rows, func(int) string { return "0.5,0.25,1,1" },
			dataset.Options{Labels: dataset.LabelsIgnored}),
	} {
		must.Fail(c.Run(t.Context(), other, dyad.Run{Ledger: book, Out: what + ".json"}))(t, dyad.ErrInput, what)
	}
	if entries, err := book.Entries(); err != nil || len(entries) != 0 {
		t.Errorf("%d lines of the ledger: %v", len(entries), err)
	}
	must.Check(c.Run(t.Context(), data, dyad.Run{Ledger: book, Out: "c.json"}))(t)
}
