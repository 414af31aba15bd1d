package cluster_test

import (
	"context"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"dyad/algorithms"
	"dyad/algorithms/cluster"
	"dyad/internal/must"
	"dyad/privacy"
)

func planOf(t *testing.T, o cluster.Options) *cluster.Plan {
	t.Helper()
	return must.Get(cluster.New(o))(t)
}

func found(t *testing.T, p *cluster.Plan, rows []float64, seed uint64) cluster.Clusters {
	t.Helper()
	out := must.Get(algorithms.Execute(context.Background(),
		p.Job(func(context.Context) ([]float64, error) { return rows, nil }),
		algorithms.Options{Public: true, Source: privacy.NewSeededSource(seed)}))(t)
	return must.Get(p.Read(out.Weights))(t)
}

// corners are n records around k = 3 places of the plane.
func corners(n int) (rows []float64) {
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range n {
		place := [][2]float64{{0.6, 0}, {-0.4, 0.5}, {-0.3, -0.6}}[i%3]
		rows = append(rows, 2*place[0]+0.1*rng.NormFloat64(), 2*place[1]+0.1*rng.NormFloat64())
	}
	return rows
}

// With enough records every place has a centre next to it and a third of the records, for every
// public seed.
func TestCentresAreFound(t *testing.T) {
	const n, radius = 6000, 2
	for seed := range uint64(10) {
		p := planOf(t, cluster.Options{Records: n, Clusters: 3, Dim: 2, Radius: radius, Seed: seed,
			Budget: privacy.Budget{Epsilon: 2, Delta: 1e-5}})
		c := found(t, p, corners(n), seed)
		for j, centre := range c.Centres {
			near := math.Inf(1)
			for _, place := range [][2]float64{{1.2, 0}, {-0.8, 1}, {-0.6, -1.2}} {
				near = min(near, math.Hypot(centre[0]-place[0], centre[1]-place[1]))
			}
			if near > 5*p.CentreNoise*radius || math.Abs(c.Counts[j]-n/3) > 5*p.CountNoise {
				t.Errorf("seed %d: %.0f records at a centre %v, noise %v", seed, c.Counts[j], centre, p.CentreNoise*radius)
			}
		}
	}
}

// The noise that a plan states is the noise of the runs.
func TestStatedNoiseIsThatOfRuns(t *testing.T) {
	const n, repeats = 2000, 200
	p := planOf(t, cluster.Options{Records: n, Clusters: 1, Dim: 2, Radius: 1, Rounds: 2,
		Budget: privacy.Budget{Epsilon: 1, Delta: 1e-5}})
	rows := make([]float64, 2*n) // all at one end, where the noise of the number counts in full
	for i := range n {
		rows[2*i] = 1
	}
	var centre, count float64
	for seed := range uint64(repeats) {
		c := found(t, p, rows, seed)
		// Centres are shortened to the radius: the tangential part alone is normal.
		centre += c.Centres[0][1] * c.Centres[0][1] / repeats
		count += (c.Counts[0] - n) * (c.Counts[0] - n) / repeats
	}
	must.Within(t, math.Sqrt(count)/p.CountNoise, 0.85, 1.15, "numbers have ... of the stated noise")
	must.Within(t, math.Sqrt(3*centre)/p.CentreNoise, 0.85, 1.15, "centres have ... of the stated noise")
}

// A plan warns where noise swamps the centres, and with what it says would do it does not warn.
func TestSwampedPlansWarn(t *testing.T) {
	o := cluster.Options{Records: 300, Clusters: 10, Dim: 8, Radius: 1, Budget: privacy.Budget{Epsilon: 1, Delta: 1e-6}}
	p := planOf(t, o)
	if w := p.Warnings(); len(w) != 1 || !strings.Contains(w[0], "the noise of a centre of n/k") ||
		!strings.Contains(w[0], "n = ") {
		t.Fatalf("warnings %q", w)
	}
	o.Records = int(float64(o.Records)*p.CentreNoise/0.25) + 1
	must.Equal(t, len(planOf(t, o).Warnings()), 0, "with %d records", o.Records)
}

func TestPlansOutOfRangeAreRefused(t *testing.T) {
	good := cluster.Options{Records: 100, Clusters: 3, Dim: 2, Radius: 1, Budget: privacy.Budget{Epsilon: 1, Delta: 1e-6}}
	for want, change := range map[string]func(*cluster.Options){
		"0 records":         func(o *cluster.Options) { o.Records = 0 },
		"67108865 records":  func(o *cluster.Options) { o.Records = 1<<26 + 1 },
		"257 clusters":      func(o *cluster.Options) { o.Clusters = 257 },
		"1025 dimensions":   func(o *cluster.Options) { o.Dim = 1025 },
		"-1 rounds":         func(o *cluster.Options) { o.Rounds = -1 },
		"the radius is NaN": func(o *cluster.Options) { o.Radius = math.NaN() },
		"the radius is 0":   func(o *cluster.Options) { o.Radius = 0 },
	} {
		o := good
		change(&o)
		must.Fail(cluster.New(o))(t, must.All{algorithms.ErrAssumption, want})
	}
	p := planOf(t, good)
	must.Err(p.Job(func(context.Context) ([]float64, error) { return make([]float64, 7), nil }).Train(context.Background(),
		nil, algorithms.Tracker{}))(t, "rows that do not fit the plan are clustered")
	must.Err(p.Read(make([]float64, 7)))(t, "a result that does not fit the plan is read")
}
