package enginetest

import (
	"fmt"
	"math/rand/v2"

	"dyad/engine"
)

// personCounts are the cases of Options.Persons. Each has the numbers of rows of the persons; the largest
// number is at most the cap.
var personCounts = []struct {
	cap    int
	counts func(rng *rand.Rand) []int
}{
	{1, func(*rand.Rand) []int { return []int{1, 1, 1, 1, 1, 1, 1} }},
	{5, func(*rand.Rand) []int { return []int{5, 1} }},
	{400, func(*rand.Rand) []int { return []int{1, 1, 300, 1, 2} }},
	{40, func(rng *rand.Rand) []int { return random(rng, 90, 4) }},
	{40, func(rng *rand.Rand) []int { return random(rng, 25, 20) }},
}

func random(rng *rand.Rand, persons, most int) []int {
	out := make([]int, persons)
	for k := range out {
		out[k] = 1 + rng.IntN(most)
	}
	return out
}

// persons checks the gradient sums of a loss over the rows of persons.
func (s *suite) persons(loss engine.Loss, radius float64) {
	s.Helper()
	for number, c := range personCounts {
		rng := rand.New(rand.NewPCG(uint64(number), 19))
		counts, labels := c.counts(rng), labellings[(number+int(radius))%len(labellings)]
		p := engine.Problem{
			N: len(counts), D: []int{3, 8, 1, 5, 12}[number], Bounds: boundsOf[number%3], Loss: loss,
			Radius: radius, LabelValues: labels.values, PersonRows: c.cap,
		}
		s.personCase(rng, p, counts, labels)
	}
}

func (s *suite) personCase(rng *rand.Rand, p engine.Problem, counts []int, labels labelling) {
	s.Helper()
	s.name = fmt.Sprintf("%s r=%g %d persons d=%d %s", p.Loss.Name(), p.Radius, p.N, p.D, labels.name)
	var of []int32
	for k, m := range counts {
		for range m {
			of = append(of, int32(k))
		}
	}
	rng.Shuffle(len(of), func(i, j int) { of[i], of[j] = of[j], of[i] })
	rows := p
	rows.N = len(of)
	dense, sparse, err := makeRecords(rng, rows, labels)
	if err == nil {
		dense, err = dense.GroupPersons(of, p.N, p.PersonRows)
	}
	if err == nil {
		sparse, err = sparse.GroupPersons(of, p.N, p.PersonRows)
	}
	if err != nil {
		s.fail("%v", err)
		return
	}
	kernels := s.plan(p)
	if kernels == nil {
		return
	}
	var w []float64
	if _, ok := p.Loss.(engine.MetricLoss); ok {
		w = semidefinite(rng, p.D, p.D, p.Radius)
	} else {
		w = fill(p.D, func(int) float64 { return rng.NormFloat64() })
		scaleTo(w, p.Radius)
	}
	s.testStorages(kernels, p, dense, sparse, w, []engine.Pairs{p.Pairs()})
}
