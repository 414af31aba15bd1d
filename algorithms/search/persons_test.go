package search

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"dyad/algorithms"
	"dyad/algorithms/replay"
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
	persons := everyPerson()
	count := len(persons)
	worst := func(sums func(Records) [2]int64) (most float64) {
		law := make([]float64, count*count*count) // probability of the first candidate
		for code := range law {
			s := sums(personsOf([][]record{persons[code%count], persons[code/count%count], persons[code/count/count]}, nil))
			law[code] = math.Exp(-p.choice*math.Abs(float64(s[0]-s[1]))/(2*p.rank.Sensitivity())) / 2
			if s[0] >= s[1] {
				law[code] = 1 - law[code]
			}
		}
		for code, a := range law {
			for place := 1; place < len(law); place *= count {
				digit := code / place % count
				for other := range digit {
					b := law[code+(other-digit)*place]
					most = max(most, math.Abs(math.Log(a/b)), math.Abs(math.Log((1-a)/(1-b))))
				}
			}
		}
		return most
	}
	sums := func(p *Plan, r Records) (s [2]int64) {
		for i := range s {
			ranks := must.Get(p.ranks(context.Background(), r, i, nil))(t)
			s[i] = ranks.Floor
		}
		return s
	}
	if got := worst(func(r Records) [2]int64 { return sums(p, r) }); got > epsilon*(1+1e-12) || got < 0.95*epsilon {
		t.Errorf("a choice moves by %v, want at most %v and nearly as much", got, epsilon)
	}
	if got := worst(func(r Records) [2]int64 {
		rows := *p // the known defect
		rows.Options.Records, rows.Options.PersonRows = len(r.Positive), 0
		r.First = nil
		return sums(&rows, r)
	}); got < 1.4*epsilon {
		t.Errorf("rows that count as records move a choice by %v only", got)
	}
}

// Over random and hostile neighbours that differ in all rows of one person, no score of any candidate moves
// by more than its certificate, and the worst ones reach it, on both roads.
func TestSearchOfReplacedPersons(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 5))
	reached := map[Road]float64{}
	for trial := range 8 {
		n, most, road := 3+rng.IntN(20), 6, []Road{Compose, RandomStopping}[trial%2]
		draw := func() []record {
			rows := make([]record, 1+rng.IntN(most))
			for i := range rows {
				rows[i] = record{[3]float64{rng.Float64(), float64(rng.IntN(3)), math.NaN()}, rng.IntN(3) == 0}
			}
			return rows
		}
		var all [][]record
		for range n {
			all = append(all, draw())
		}
		other, victim := draw(), rng.IntN(n)
		if trial%4 < 2 { // rows of a positive person from below all to above all
			for i := range all {
				for k := range all[i] {
					all[i][k] = record{}
				}
			}
			all[victim], other = []record{{[3]float64{-1, -1, -1}, true}}, make([]record, most)
			for k := range other {
				other[k] = record{[3]float64{1, 1, 1}, true}
			}
		}
		p := planOf(t, Options{Records: n, PersonRows: most, Budget: privacy.Budget{Epsilon: 1, Delta: 1e-6}, Settings: toys(3), Road: road})
		var seen []*replay.Recorder
		for range 2 {
			live := must.Get(privacy.NewPublicSession(privacy.NewSeededSource(uint64(trial)), p.Events()))(t)
			s := &replay.Recorder{Session: live}
			must.Get(p.Job(personsOf(all, func(int) []float64 { return []float64{0} })).Train(context.Background(), s, algorithms.Tracker{}))(t)
			seen, all[victim] = append(seen, s), other
		}
		reached[road] = max(reached[road], moved(t, p, seen[0], seen[1]))
	}
	if reached[Compose] < 0.99 || reached[RandomStopping] < 0.99 {
		t.Errorf("the worst neighbours reach %v of the certificates", reached)
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
		if _, err := algorithms.Execute(context.Background(), p.Job(r), algorithms.Options{Public: true}); err == nil {
			t.Errorf("%s: rows were searched by a plan of persons", p.Options.Road)
		}
		r.First = []int{0, 50}
		must.Err(algorithms.Execute(context.Background(), rows.Job(r), algorithms.Options{Public: true}))(t, "%s: persons were searched by a plan of rows", p.Options.Road)
	}
}
