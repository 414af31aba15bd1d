package main

import (
	"math/rand/v2"

	"dyad/algorithms"
	"dyad/engine"
)

// personRecords returns both data sets of an instance whose records are persons with 1 to
// s.persons rows. The rows of a person are copies of the record, or some of them are random,
// with labels of their own; how many there are and which depends on the seed and the person, and
// differs for the person that replaces another.
func (s shape) personRecords(i instance) (data, neighbour *engine.Records, err error) {
	for side, to := range []**engine.Records{&data, &neighbour} {
		var x, y []float64
		var of []int32
		for p := range s.n {
			rng := rand.New(rand.NewPCG(i.seed, uint64(p)))
			row, label := i.x[p*s.d:(p+1)*s.d], i.y[p]
			if side == 1 && p == i.k {
				row, label = i.row, i.label
				rng = rand.New(rand.NewPCG(i.seed, uint64(s.n)))
			}
			mixed := rng.IntN(3) == 0
			for range pick(rng, 1, 1+rng.IntN(s.persons), s.persons) {
				if mixed && rng.IntN(2) == 0 {
					x, y = append(x, s.randomRow(rng)...), append(y, s.randomLabel(rng))
				} else {
					x, y = append(x, row...), append(y, label)
				}
				of = append(of, int32(p))
			}
		}
		rows := s
		rows.n = len(y)
		r, err := rows.store(x, y)
		if err != nil {
			return nil, nil, err
		}
		if *to, err = r.GroupPersons(of, s.n, s.persons); err != nil {
			return nil, nil, err
		}
	}
	return data, neighbour, nil
}

// ofPersons gives the records of a task to persons, with a public cap of rows.
func (t *task) ofPersons(rng *rand.Rand) {
	t.persons = pick(rng, 1, 2, 5, 12)
	t.problem.PersonRows = t.persons
	t.backend.Float32 = false
	t.describe()
}

// personJobs replace whole persons: under every release of moments, under single gradients of every
// loss, and under runs of every algorithm that learns from persons, a loss after the other.
func personJobs(all []candidate, round int) []job {
	var learners []algorithms.Algorithm
	for _, a := range algorithms.Catalog() {
		if i := a.Info(); i.NoPersons == "" && i.Supports(algorithms.Certified) && !ofMoments(a) {
			learners = append(learners, a)
		}
	}
	jobs := momentsJobs(all, round, true)
	add := func(name string, c candidate, make func(t task, rng *rand.Rand) configuration) {
		jobs = append(jobs, planned(func(rng *rand.Rand) configuration {
			t := draw(c, false, rng)
			t.ofPersons(rng)
			made := make(t, rng)
			made.area, made.cost = "persons", 2*made.cost
			return made
		}, "persons|%s|%s|%d", name, c.name, round))
	}
	for k, c := range all {
		add("gradient", c, func(t task, _ *rand.Rand) configuration { return gradient(c, t) })
		a := learners[(k+round)%len(learners)]
		for c.kinked && a.Info().NeedsSmooth {
			k++
			a = learners[(k+round)%len(learners)]
		}
		add(a.Info().Name, c, func(t task, rng *rand.Rand) configuration { return trained(a, c, t, rng) })
	}
	return jobs
}
