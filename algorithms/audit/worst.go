package audit

import (
	"context"
	"fmt"
	"math"
	"slices"

	"dyad/algorithms"
	"dyad/algorithms/attack"
	"dyad/engine"
	"dyad/privacy"
)

// Worst searches for the two neighbouring data sets and the coins for which the exact vectors of a plan differ
// most. The first candidate is the structured instance with the replaced record at the ends, in the middle and
// at random places. Other candidates are random data sets, the record that moves the gradient of a metric at
// the start most and, for losses with kinks, equal margins with a changing label. Then Worst tries several
// coins. It uses only the scale of the noise, so the result only chooses an attack and is not a bound.
func Worst(ctx context.Context, a algorithms.Algorithm, p *algorithms.Plan, seed uint64) (Target, error) {
	return worst(ctx, Target{Algorithm: a, Plan: p}, nil, seed)
}

// WorstStream is Worst for a stream. It also tries the replaced record at places after the end of the burn-in,
// with growing distances between them.
func WorstStream(ctx context.Context, p *algorithms.Plan, seed uint64) (Target, error) {
	first := p.Spec.BurnIn // the first record of the first update
	indices := []int{first - 1, first + p.Spec.Batch - 1}
	for k := 1; first+k-1 < p.Spec.Horizon; k *= 2 {
		indices = append(indices, first+k-1)
	}
	return worst(ctx, Target{Stream: p}, indices, seed)
}

func worst(ctx context.Context, t Target, indices []int, seed uint64) (Target, error) {
	problem := t.problem()
	n, d, b := problem.N, problem.D, problem.Bounds
	var targets []Target
	source := privacy.NewSeededSource(seed)
	indices = append(indices, 0, 1, n/2, n-1, int(source.Permutation(n)[0]))
	_, metric := problem.Loss.(engine.MetricLoss)
	for _, k := range indices {
		data, neighbour := attack.WorstCase(n, d, k, b)
		targets = append(targets, Target{Data: data, Neighbour: neighbour,
			Instance: fmt.Sprintf("structured, record %d replaced", k)})
		if !metric {
			continue
		}
		// The label decides on which side a pair pulls.
		targets = append(targets, Target{Data: attack.Flipped(neighbour, k), Neighbour: neighbour,
			Instance: fmt.Sprintf("structured, label of record %d flipped", k)})
	}
	data := attack.RandomRecords(n, d, b, seed)
	for i, neighbour := range attack.Neighbours(data, 3, seed) {
		targets = append(targets, Target{Data: data, Neighbour: neighbour, Instance: fmt.Sprintf("random, neighbour %d", i)})
	}
	if l, ok := problem.Loss.(engine.MetricLoss); ok {
		domain := problem.Domain()
		more, err := searchMetric(l, b, domain, resized(domain.Start(), d, min(2, d))).in(d).targets(n, b)
		if err != nil {
			return Target{}, err
		}
		targets = append(targets, more...)
	}
	if t.Plan != nil && t.Plan.Moments() != nil {
		u, err := worstMoments(t.Plan.Moments(), n, d, b)
		if err != nil {
			return Target{}, err
		}
		targets = append(targets, u)
	}
	groups := [][]Target{targets}
	if math.IsInf(t.plan().Spec.Constants.Smoothness, 0) {
		// If a slope jumps, one bit of a computed margin decides the whole jump.
		groups = append(groups, targetsOf(attack.KinkNeighbours(n, d, b)))
	}
	most := []int{searchReleases, searchReleases, 0}
	if c := problem.Candidates; c.Choose > len(c.Products) {
		return Target{}, fmt.Errorf("audit: %d pairs are to be chosen, but there are only %d pairs",
			c.Choose, len(c.Products))
	} else if c.Choose > 0 {
		if m := t.Plan.Moments(); m.NoPairs != "" {
			return Target{}, fmt.Errorf("audit: the plan chooses no pairs: %s; use more records (-n) or a larger "+
				"epsilon", m.NoPairs)
		}
		// the choice comes after other releases
		groups = [][]Target{targets, nil, targetsOf(attack.PairNeighbours(n, d, b))}
	}
	if problem.ByPerson() {
		ofPersons(groups, problem, seed)
	}
	var best []Target
	for k, group := range groups {
		if group == nil {
			continue
		}
		for i, u := range group {
			group[i] = t
			group[i].Data, group[i].Neighbour, group[i].Instance, group[i].Coins = u.Data, u.Neighbour, u.Instance, seed
		}
		u, err := furthest(ctx, group, most[k])
		if err != nil {
			return Target{}, err
		}
		best = append(best, u)
	}
	worst, err := furthest(ctx, best, 0)
	if err != nil {
		return Target{}, err
	}
	var coins []Target
	for i := range uint64(8) {
		worst.Coins = seed + i
		coins = append(coins, worst)
	}
	return furthest(ctx, coins, searchReleases)
}

// targetsOf returns the instances as data sets to attack.
func targetsOf(all []attack.Instance) (targets []Target) {
	for _, u := range all {
		targets = append(targets, Target{Data: u.Data, Neighbour: u.Neighbour, Instance: u.Name})
	}
	return targets
}

// ofPersons turns each record of the targets into a person with 1 to PersonRows rows. All rows of the person
// are copies of the record. The replaced person has PersonRows rows in the data and one row in the neighbour.
// Targets with random persons whose rows differ are added.
func ofPersons(groups [][]Target, p engine.Problem, seed uint64) {
	for _, group := range groups {
		for i, u := range group {
			replaced := func(k int) bool {
				a, b := make([]float64, p.D), make([]float64, p.D)
				u.Data.Row(k, a)
				u.Neighbour.Row(k, b)
				return !slices.Equal(a, b) || u.Data.Label(k) != u.Neighbour.Label(k)
			}
			rows := func(side int) func(int) int {
				return func(k int) int {
					if replaced(k) {
						return []int{p.PersonRows, 1}[side]
					}
					return 1 + k%p.PersonRows
				}
			}
			group[i].Data = copiesOf(u.Data, p.PersonRows, rows(0))
			group[i].Neighbour = copiesOf(u.Neighbour, p.PersonRows, rows(1))
			group[i].Instance += ", all rows of a person"
		}
	}
	data := attack.RandomPersons(p.N, p.PersonRows, p.D, p.Bounds, seed)
	for i, neighbour := range attack.PersonNeighbours(data, 3, p.PersonRows, seed) {
		groups[0] = append(groups[0], Target{Data: data, Neighbour: neighbour,
			Instance: fmt.Sprintf("random persons, neighbour %d", i)})
	}
}

// copiesOf returns persons with rows(k) rows each, all copies of record k.
func copiesOf(r *engine.Records, most int, rows func(k int) int) *engine.Records {
	counts := make([]int, r.Len())
	for k := range counts {
		counts[k] = rows(k)
	}
	return attack.PersonRecords(counts, most, r.Dim(), r.Bounds(), func(k int, row []float64) float64 {
		r.Row(k, row)
		return r.Label(k)
	})
}

// worstMoments turns a record by the angle at which the joint release moves most
// (docs/theory.md#joint-moments). The class of the record is a class with the larger weight in the signed sum.
// The other records are opposite pairs of both classes, so the centre is near the origin.
func worstMoments(m *algorithms.MomentsPlan, n, d int, b engine.Bounds) (Target, error) {
	cos := -1.0
	if h := m.Scale * m.ClipRadius; h > 0 {
		cos = -min(1, 1/(2*h*h))
	}
	x, y := make([]float64, n*d), make([]float64, n)
	for i := range y {
		x[i*d+d-1] = b.FeatureNorm * float64(1-i/2%2*2)
		y[i] = b.LabelAbs * float64(1-i%2*2)
	}
	clear(x[:d])
	x[0] = b.FeatureNorm
	data, err := engine.NewRecords(x, y, d, b)
	if err != nil {
		return Target{}, err
	}
	if x[0] *= cos; d > 1 {
		x[1] += b.FeatureNorm * math.Sqrt(1-cos*cos)
	}
	neighbour, err := engine.AdoptRecords(x, y, d, b)
	return Target{Data: data, Neighbour: neighbour, Instance: "moments: in the neighbouring data set, record 0 is " +
		"rotated by the worst angle"}, err
}

// searchReleases is the number of releases of a run by which the search compares data sets of one kind.
const searchReleases = 8

// furthest returns the target whose exact vectors move most, measured by move.
func furthest(ctx context.Context, targets []Target, most int) (worst Target, err error) {
	largest := -1.0
	for _, t := range targets {
		if err := t.check(); err != nil {
			return Target{}, err
		}
		moved, err := t.move(ctx, most)
		if err != nil {
			return Target{}, err
		}
		if moved > largest {
			largest, worst = moved, t
		}
	}
	return worst, nil
}
