package face

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"dyad"
	"dyad/engine/dataset"
	"dyad/internal/must"
)

// Records of persons are planned, split and trained by person: the guarantee is for one of
// them, and a plan for rows does not fit.
func TestPersonsAreTheUnit(t *testing.T) {
	t.Chdir(t.TempDir())
	var rows strings.Builder
	for p := range 40 {
		for r := range 1 + p*p%9 {
			fmt.Fprintf(&rows, "p%d,%d,%d\n", p, (37*p+11*r)%100, (p+r)%2)
		}
	}
	schema := "data_id: visits\npersons: 40\nmax_rows_per_person: 30\ncsv: {header: true}\ncolumns:\n" +
		"  - {name: who, role: person}\n  - {name: age, range: [0, 100]}\n  - {name: ill, role: label, positive: \"1\", negative: \"0\"}\n"
	must.Do(t, errors.Join(os.WriteFile("v.csv", []byte("who,age,ill\n"+rows.String()), 0o600), os.WriteFile("v.yaml", []byte(schema), 0o600)))
	data := must.Get(dyad.Open("v.csv", "v.yaml"))(t)
	train, held := must.Get2(data.Split(0.25, 1))(t)
	if a, b := train.Shape(), held.Shape(); a.Records != 30 || b.Records != 10 || a.PersonRows != 30 || train.Records.Len()+held.Records.Len() != data.Records.Len() {
		t.Errorf("a split of 40 persons in %d rows has the shapes %+v and %+v", data.Records.Len(), a, b)
	}
	kept := must.Get(dataset.Load("v.csv", data.Schema(), dataset.Options{Persons: dataset.KeepPersons}))(t)
	must.Fail((dyad.PairSource{Density: 1, DegreeCap: 2}).Of(kept))(t, "role: person", "pairs of the rows of persons")
	book := must.Get(dyad.OpenLedger("ledger.jsonl"))(t)
	for _, rows := range []int{0, 29, 30} {
		shape := train.Shape()
		shape.PersonRows = rows
		plan := must.Get(dyad.Plan(shape, dyad.Options{Epsilon: 1}))(t)
		model, err := plan.Run(context.Background(), train, dyad.Run{Ledger: book})
		if fits := rows == 30; fits != (err == nil) || fits && model.Guarantee.Unit != "one person" {
			t.Errorf("a plan for %d rows of a person: %v, %+v", rows, err, model)
		}
	}
	if charged, _ := charges(t, book); charged != 1 {
		t.Errorf("%d charges, want that of the plan that fits", charged)
	}

	// A search of settings, or of two models, is for the same persons.
	var model *dyad.Model
	for _, rows := range []int{0, 29, 30} {
		shape := train.Shape()
		shape.PersonRows = rows
		settings := []dyad.Setting{{Name: "a", Shape: train.Shape()}, {Name: "b", Shape: shape}}
		plan, err := dyad.PlanSearch(shape, dyad.SearchOptions{Settings: settings, Epsilon: 1})
		if (err == nil) != (rows == 30) {
			t.Fatalf("settings for 30 and for %d rows of a person: %v", rows, err)
		}
		if err == nil {
			found, err := plan.Run(context.Background(), []*dyad.Data{train, train}, dyad.Run{Ledger: book})
			if err != nil || found.Promise.Unit != "one person" {
				t.Fatalf("%+v, %v", found, err)
			}
			model = found.Model
		}
	}
	for _, rows := range []int{0, 29, 30} {
		shape := train.Shape()
		shape.PersonRows = rows
		plan := must.Get(dyad.PlanSearch(shape, dyad.SearchOptions{Models: []*dyad.Model{model, model}, ModelNames: []string{"a", "b"}, Epsilon: 1}))(t)
		if _, err := plan.Run(context.Background(), []*dyad.Data{train, train}, dyad.Run{Ledger: book}); (err == nil) != (rows == 30) {
			t.Errorf("a choice for %d rows of a person: %v", rows, err)
		}
	}
	if charged, _ := charges(t, book); charged != 3 {
		t.Errorf("%d charges, want those of the plans that fit", charged)
	}
}
