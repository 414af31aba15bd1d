package dyad

import (
	"strings"
	"testing"

	"dyad/algorithms"
	"dyad/algorithms/search"
	"dyad/engine/dataset"
)

func searchShape(t *testing.T, schema string) Shape {
	t.Helper()
	s, err := dataset.ParseSchema([]byte(schema))
	if err != nil {
		t.Fatal(err)
	}
	e, err := dataset.NewEncoder(s)
	if err != nil {
		t.Fatal(err)
	}
	return ShapeOf(e, 5000)
}

// Each setting is trained by the algorithm that planned it, although the automatic choice depends on the
// budget and the roads are planned for different ones.
func TestSearchTrainsAsPlanned(t *testing.T) {
	shape := searchShape(t, dataset.SyntheticClinicalYAML())
	steps := map[int]bool{}
	for _, epsilon := range []float64{0.4, 0.55, 0.6} {
		for _, road := range []search.Road{search.Auto} {
			s, err := PlanSearch(SearchOptions{Epsilon: epsilon, Road: road, Settings: []Setting{{Name: "a", Shape: shape}, {Name: "b", Shape: shape, Options: Options{Radius: 2}}}}, nil)
			if err != nil {
				t.Fatal(err)
			}
			for i, plan := range s.Trainings {
				of := s.trainings[i]
				if of.Plan != plan || of.algorithm.(algorithms.Moments).Steps != plan.Moments().Steps {
					t.Errorf("epsilon %v, road %q: a plan of %d steps is carried out by %+v", epsilon, road, plan.Moments().Steps, of.algorithm)
				}
				steps[plan.Moments().Steps] = true
			}
		}
	}
	if len(steps) != 2 {
		t.Errorf("the choice does not depend on the budget: steps %v", steps)
	}
}

// What has no AUC of two classes from a linear score is refused with the plan, before a charge.
func TestSearchRefusesOtherModels(t *testing.T) {
	shape := searchShape(t, dataset.SyntheticClinicalYAML())
	graded := searchShape(t, "data_id: g\ncsv: {header: true}\ncolumns:\n  - {name: x, range: [0, 1]}\n  - {name: y, role: label, kind: numeric, range: [0, 4]}\n")
	network := &Network{Hidden: []int{3}}
	for want, o := range map[string]SearchOptions{
		"grades":                {Settings: []Setting{{Name: "a", Shape: graded}, {Name: "b", Shape: graded}}},
		"linear models":         {Settings: []Setting{{Name: "a", Shape: shape, Options: Options{Network: network}}, {Name: "b", Shape: shape}}},
		"linear model":          {Models: []*Model{{Task: AUC, Network: network}, {Task: AUC}}, ModelNames: []string{"a", "b"}, Shape: shape},
		"metric":                {Models: []*Model{{Task: Metric}, {Task: AUC}}, ModelNames: []string{"a", "b"}, Shape: shape},
		"the labels are grades": {Models: []*Model{{Task: AUC}, {Task: AUC}}, ModelNames: []string{"a", "b"}, Shape: graded},
	} {
		o.Epsilon = 1
		if _, err := PlanSearch(o, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q: %v", want, err)
		}
	}
}
