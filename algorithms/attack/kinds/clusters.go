package kinds

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"dyad/algorithms"
	"dyad/algorithms/cluster"
)

// clusters replaces a mapped record by its opposite at the radius, by a long record, by a short record, or by a
// random record.
func clusters(rng *rand.Rand, at Size) (string, int, int, Pair) {
	o := cluster.Options{
		Records: 1 + rng.IntN(40), Clusters: 1 + rng.IntN(6), Dim: 1 + rng.IntN(5), Radius: pick(rng, 0x1p-40, 1, 3, 1e9),
		Rounds: 1 + rng.IntN(4), Seed: rng.Uint64(), Budget: budget(rng),
	}
	if !at.drawn() {
		o.Records, o.Clusters, o.Dim, o.Radius, o.Rounds = at.Records, 2, min(at.Features, 1<<10), 3, 2
	}
	return fmt.Sprintf("k=%d rounds=%d radius=%g eps=%g delta=%g", o.Clusters, o.Rounds, o.Radius, o.Budget.Epsilon, o.Budget.Delta), o.Records, o.Dim, func(rng *rand.Rand) (data, neighbour algorithms.Job, err error) {
		p, err := cluster.New(o)
		if err != nil {
			return data, neighbour, err
		}
		rows := make([]float64, o.Records*o.Dim)
		for i := range rows {
			rows[i] = o.Radius * rng.NormFloat64() / math.Sqrt(float64(o.Dim))
		}
		other, victim := slices.Clone(rows), rng.IntN(o.Records)
		if !at.drawn() {
			victim = at.Unit
		}
		one, two := rows[victim*o.Dim:][:o.Dim], other[victim*o.Dim:][:o.Dim]
		scale := pick(rng, -1, -1e3, 0, 0.5, math.Inf(-1), math.NaN())
		clear(one)
		if one[rng.IntN(o.Dim)] = o.Radius; !at.drawn() {
			for k := range one { // all coordinates take part
				one[k] = o.Radius / math.Sqrt(float64(o.Dim))
			}
		}
		for k, v := range one {
			if two[k] = 0; v != 0 {
				two[k] = scale * v
			}
		}
		job := func(x []float64) algorithms.Job {
			return p.Job(func(context.Context) ([]float64, error) { return x, nil })
		}
		return job(rows), job(other), nil
	}
}
