package search

import (
	"context"
	"math"
	"testing"

	"dyad/algorithms"
	"dyad/algorithms/attack"
	"dyad/internal/must"
	"dyad/privacy"
)

// personsOf are the records of persons with these rows, whose candidate i has the score i of a row.
func personsOf(all [][]record, train func(i int) []float64) Records {
	var rows []record
	first := []int{0}
	for _, person := range all {
		rows = append(rows, person...)
		first = append(first, len(rows))
	}
	r := recordsOf(rows, train)
	r.First = first
	return r
}

func planOf(t *testing.T, o Options) *Plan {
	t.Helper()
	return must.Get(New(o))(t)
}

// everyPerson are persons of one row and of two: two candidates score a row by the opposite of each other.
func everyPerson() (all [][]record) {
	var rows []record
	for _, s := range []float64{-1, 0, 1} {
		for _, positive := range []bool{false, true} {
			rows = append(rows, record{[3]float64{s, -s}, positive})
		}
	}
	for i, r := range rows {
		all = append(all, []record{r}, []record{r, r}, []record{r, rows[(i+1)%len(rows)]}, []record{r, rows[(i+3)%len(rows)], r})
	}
	return all
}

// Over all data sets of three persons the exact law of the choice between two candidates moves by at most
// epsilon when all rows of one person are replaced, and by nearly as much. Rows that count as records
// move it by more.
func TestChoiceOfReplacedPersons(t *testing.T) {
	const n, epsilon = 3, 1. / 8
	models := []Model{{"a", "1"}, {"b", "2"}}
	p := planOf(t, Options{Records: n, PersonRows: 3, Budget: privacy.Budget{Epsilon: epsilon}, Models: models})
	worst := func(sums func(Records) [2]int64) float64 {
		return attack.Exhaust(everyPerson(), n, func(set [][]record) []float64 {
			s := sums(personsOf(set, nil))
			law := math.Exp(-p.choice*math.Abs(float64(s[0]-s[1]))/(2*p.rank.Sensitivity())) / 2 // probability of the first candidate
			if s[0] >= s[1] {
				law = 1 - law
			}
			return []float64{law}
		}, func(a, b []float64) float64 {
			return max(math.Abs(math.Log(a[0]/b[0])), math.Abs(math.Log((1-a[0])/(1-b[0]))))
		})
	}
	sums := func(p *Plan, r Records) (s [2]int64) {
		for i := range s {
			ranks := must.Get(p.ranks(context.Background(), r, i, nil))(t)
			s[i] = ranks.Floor
		}
		return s
	}
	must.Within(t, worst(func(r Records) [2]int64 { return sums(p, r) }), 0.95*epsilon, epsilon*(1+1e-12),
		"a choice moves by, want at most %v and nearly as much", epsilon)
	if got := worst(func(r Records) [2]int64 {
		rows := *p // the known defect
		rows.Options.Records, rows.Options.PersonRows = len(r.Positive), 0
		r.First = nil
		return sums(&rows, r)
	}); got < 1.4*epsilon {
		t.Errorf("rows that count as records move a choice by %v only", got)
	}
}

// A plan of persons says whom it protects, and takes records of persons only.
func TestSearchPlansPersons(t *testing.T) {
	for _, o := range []Options{{Settings: toys(3), Road: Compose}, {Settings: toys(3), Road: RandomStopping}, {Models: []Model{{"a", "1"}, {"b", "2"}}}} {
		o.Records, o.Budget = 50, privacy.Budget{Epsilon: 1, Delta: 1e-6}
		rows := planOf(t, o)
		o.PersonRows = 9
		p := planOf(t, o)
		if p.Guarantee.Unit != "one person" || rows.Guarantee.Unit != "one record" || p.Guarantee.Epsilon > 1 {
			t.Errorf("%s: %+v", p.Options.Road, p.Guarantee)
		}
		// The choice costs what it does for as many records.
		if p.rank.Sensitivity() != rows.rank.Sensitivity() || p.choice != rows.choice {
			t.Errorf("%s: sensitivity %v for epsilon %v, of rows %v for %v", p.Options.Road, p.rank.Sensitivity(), p.choice, rows.rank.Sensitivity(), rows.choice)
		}
		r := recordsOf(make([]record, 50), func(int) []float64 { return []float64{0} })
		must.Err(algorithms.Execute(context.Background(), p.Job(r), algorithms.Options{Public: true}))(t, "%s: rows were searched by a plan of persons", p.Options.Road)
		r.First = []int{0, 50}
		must.Err(algorithms.Execute(context.Background(), rows.Job(r), algorithms.Options{Public: true}))(t, "%s: persons were searched by a plan of rows", p.Options.Road)
	}
}
