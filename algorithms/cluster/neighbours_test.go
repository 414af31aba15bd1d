package cluster

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"dyad/algorithms"
	"dyad/algorithms/attack"
	"dyad/internal/must"
	"dyad/privacy"
)

func planned(t *testing.T, o Options) *Plan {
	t.Helper()
	if o.Budget.Epsilon == 0 {
		o.Budget = privacy.Budget{Epsilon: 2, Delta: 1e-5}
	}
	return must.Get(New(o))(t)
}

// extremes are records that move sums most: of the length of the radius in several directions, much longer
// ones, records next to rounding, the zero, and numbers that no schema lets through.
func extremes(r int, radius float64) (all [][]float64) {
	for j := range r {
		for _, v := range []float64{radius, -radius, 1e6 * radius, -1e300, math.Nextafter(radius, 0), math.Inf(1), math.NaN()} {
			x := make([]float64, r)
			x[j] = v
			all = append(all, x)
		}
	}
	rng := rand.New(rand.NewPCG(5, 5))
	for range 6 {
		x := direction(rng, r)
		for j := range x {
			x[j] *= radius
		}
		opposite := slices.Clone(x)
		for j := range opposite {
			opposite[j] = -opposite[j]
		}
		all = append(all, x, opposite)
	}
	return append(all, make([]float64, r))
}

// worstMove is the largest move of a release, over its certificate, of a run on a few records against every run with one record replaced by an
// extreme one, with the same releases; change disturbs the exact vectors, as a defect would. The
// results of both runs have the same bits: they depend on releases only.
func worstMove(t *testing.T, o Options, change func(rows, v []float64)) (most float64) {
	t.Helper()
	p := planned(t, o)
	rng := rand.New(rand.NewPCG(7, o.Seed))
	var rows []float64
	all := extremes(o.Dim, o.Radius)
	for range o.Records {
		rows = append(rows, all[rng.IntN(len(all))]...)
	}
	job := func(rows []float64) algorithms.Job {
		return p.Job(func(context.Context) ([]float64, error) { return rows, nil })
	}
	for i := range o.Records {
		for _, x := range all {
			other := slices.Clone(rows)
			copy(other[i*o.Dim:], x)
			moves := must.Get(attack.Jobs(t.Context(), job(rows), job(other), 3))(t)
			for _, m := range moves {
				if change != nil {
					change(rows, m.Was)
					change(other, m.Before)
					m.By = attack.Apart(m.Certificate, m.Was, m.Before)
				}
				most = max(most, m.Share())
			}
		}
	}
	return most
}

// Over all replacements by extreme records no release moves by more than its certificate, and some
// move by all of it.
func TestClusterSumsOfNeighbours(t *testing.T) {
	for _, o := range []Options{
		{Records: 4, Clusters: 1, Dim: 1, Radius: 1},
		{Records: 5, Clusters: 3, Dim: 2, Radius: 1},
		{Records: 6, Clusters: 2, Dim: 3, Radius: 0.37},
		{Records: 3, Clusters: 5, Dim: 4, Radius: 1e-90},
		{Records: 4, Clusters: 2, Dim: 2, Radius: 3e12, Budget: privacy.Budget{Epsilon: 3000, Delta: 1e-5}}, // with seeds
		{Records: 4, Clusters: 2, Dim: 2, Radius: 1, Budget: privacy.Budget{Epsilon: 3}},
	} {
		must.Equal(t, planned(t, o).Seeds > 0, o.Budget.Epsilon == 3000, "%+v: seeds", o)
		for seed := range uint64(3) {
			o.Seed, o.Rounds = seed, 3
			must.Within(t, worstMove(t, o, nil), 0.9, 1,
				"k = %d, r = %d: the worst neighbours move by ... of the certificate", o.Clusters, o.Dim)
		}
	}
}

// The search finds what a wrong query would do: numbers that weigh twice as much, sums of records that are not shortened, centres of the data.
func TestDefectsOfClusterSumsAreFound(t *testing.T) {
	const k, r = 3, 2
	for name, defect := range map[string]func(rows, v []float64){
		"numbers weigh twice": func(_, v []float64) {
			for c := range k {
				v[c] *= 2
			}
		},
		"records are not shortened": func(rows, v []float64) {
			clear(v)
			for _, x := range rows {
				if math.Abs(x) < 1e7 {
					v[k] += x * levels
				}
			}
		},
		"means instead of sums, of the exact number": func(_, v []float64) {
			for c := range k {
				for j := range r {
					v[k+c*r+j] *= 5 / max(1, v[c]/levels)
				}
			}
		},
	} {
		most := 0.0
		for seed := range uint64(3) {
			most = max(most, worstMove(t, Options{Records: 5, Clusters: k, Dim: r, Radius: 1, Rounds: 3, Seed: seed}, defect))
		}
		must.Above(t, most, 1.01, "%s: the worst neighbours move by", name)
	}
}

// Every record becomes integers of norm at most levels, by integer arithmetic, and one within the radius
// is off by less than a level in each coordinate.
func TestRecordsBecomeWholeVectors(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	for range 2000 {
		r := 1 + rng.IntN(40)
		radius := math.Ldexp(1+rng.Float64(), rng.IntN(200)-100)
		x := direction(rng, r)
		length := radius * []float64{1, 1 + 0x1p-52, rng.Float64(), 1e9, 0}[rng.IntN(5)]
		for j := range x {
			x[j] *= length
		}
		q := make([]int32, r)
		wholeRow(q, x, radius)
		var square int64
		for j, v := range q {
			square += int64(v) * int64(v)
			if want := x[j] / max(length, radius) * levels; math.Abs(float64(v)-want) > 1.2 {
				t.Fatalf("coordinate %v of radius %v is %d levels, want about %v", x[j], radius, v, want)
			}
		}
		if square > levels*levels {
			t.Fatalf("a squared norm of %d levels, want at most 2^52", square)
		}
	}
	q := []int32{1, 1}
	if wholeRow(q, []float64{math.NaN(), 1}, 1); q[0] != 0 || q[1] != 0 {
		t.Errorf("a record that is not a number is %v", q)
	}
}
