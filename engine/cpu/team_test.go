package cpu_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/engine/enginetest"
	"dyad/internal/must"
	"dyad/internal/sizes"
)

// ofTeam is the backend of a member.
func ofTeam(method cpu.Method) func(engine.Team) engine.Backend {
	return func(t engine.Team) engine.Backend { return cpu.Backend{Workers: 1, Method: method, Team: t} }
}

// teamRecords are n rows whose first half has other labels than the second, so that shards have
// one class only; with nnz > 0 they are sparse.
func teamRecords(t *testing.T, n, d, nnz, labels int) *engine.Records {
	t.Helper()
	rng := rand.New(rand.NewPCG(uint64(n), uint64(d)))
	y := make([]float64, n)
	for i := range y {
		y[i] = 2*float64(i*labels/n)/float64(labels-1) - 1
	}
	if nnz == 0 {
		x := make([]float64, n*d)
		for i := range x {
			x[i] = (rng.Float64()*2 - 1 + 0.1*y[i/d]) / math.Sqrt(float64(d))
		}
		return must.Get(engine.AdoptRecords(x, y, d, engine.UnitBounds()))(t)
	}
	start, index, value := []int64{0}, []int32{}, []float64{}
	for range n {
		for k, c := 0, rng.IntN(d/nnz); k < nnz; k, c = k+1, c+1+rng.IntN(d/nnz) {
			if c < d {
				index, value = append(index, int32(c)), append(value, rng.NormFloat64())
			}
		}
		start = append(start, int64(len(index)))
	}
	return must.Get(engine.NewSparseRecords(start, index, value, y, d, engine.UnitBounds()))(t)
}

// TestTeams: any number of processes has the bits of one.
func TestTeams(t *testing.T) {
	problem := func(r *engine.Records, loss engine.Loss, nnz, labels int) engine.Problem {
		return engine.Problem{N: r.Units(), D: r.Dim(), Bounds: r.Bounds(), Loss: loss, Radius: 1, NonZerosPerRow: nnz, LabelValues: labels}
	}
	metric := enginetest.SmoothMetric{} // planned faster than engine.MahalanobisLogistic, for so many members
	for name, c := range map[string]struct {
		method          cpu.Method
		loss            engine.Loss
		n, d, nnz       int
		labels, persons int
		groups          []int
		slow            bool
	}{
		"near-linear, few chunks":  {method: cpu.NearLinear, loss: engine.Logistic{}, n: sizes.Of(5001, 9001), d: 20, labels: 2},
		"near-linear, one chunk":   {method: cpu.NearLinear, loss: engine.Logistic{}, n: 300, d: 5, labels: 2},
		"near-linear, many chunks": {method: cpu.NearLinear, loss: engine.Logistic{}, n: sizes.Of(2600, 8000), d: 256, labels: 2},
		"near-linear, five labels": {method: cpu.NearLinear, loss: engine.Logistic{}, n: 5000, d: 3, labels: 5, slow: true}, // "query groups" has five labels too
		"near-linear, sparse":      {method: cpu.NearLinear, loss: engine.Logistic{}, n: sizes.Of(3000, 5000), d: 100, nnz: 8, labels: 2},
		"direct":                   {method: cpu.Direct, loss: engine.Logistic{}, n: 1500, d: 4, labels: 2},
		"direct, five labels":      {method: cpu.Direct, loss: enginetest.SmoothHinge{}, n: 700, d: 4, labels: 5},
		"metric":                   {loss: metric, n: 700, d: 5, labels: 2},
		"metric, sparse":           {loss: metric, n: 300, d: 12, nnz: 3, labels: 2},
		"metric, two panels":       {loss: metric, n: 9000, d: 3, labels: 2, slow: true},
		"persons, near-linear":     {method: cpu.NearLinear, loss: engine.Logistic{}, n: sizes.Of(3000, 6000), d: 6, labels: 2, persons: 5},
		"persons, direct":          {method: cpu.Direct, loss: engine.Logistic{}, n: 600, d: 4, labels: 2, persons: 4},
		"persons, metric":          {loss: metric, n: 300, d: 3, labels: 2, persons: 3},
		"query groups":             {loss: engine.Logistic{}, n: 120, d: 4, labels: 5, groups: []int{20, 1, 49, 50}},
		"persons, query groups":    {loss: engine.Logistic{}, n: 90, d: 3, labels: 2, persons: 4, groups: []int{20, 1, 11}},
	} {
		t.Run(name, func(t *testing.T) {
			if c.slow && !sizes.Full() {
				t.Skip("slow: at full power")
			}
			began := time.Now()
			r := teamRecords(t, c.n, c.d, c.nnz, c.labels)
			if c.persons > 0 {
				of, persons := make([]int32, c.n), int32(-1)
				for i := range of {
					if i%c.persons == 0 || i%7 == 0 {
						persons++
					}
					of[i] = persons
				}
				r = must.Get(r.GroupPersons(of, int(persons)+1, c.persons))(t)
			}
			p := problem(r, c.loss, c.nnz, c.labels)
			p.PersonRows, p.Groups = c.persons, c.groups
			enginetest.RunTeams(t, ofTeam(c.method), p, r)
			t.Log(time.Since(began))
		})
	}
	t.Run("own loss", func(t *testing.T) {
		r := teamRecords(t, 100, 3, 0, 2)
		enginetest.RunTeams(t, ofTeam(cpu.Auto), problem(r, cosineLoss{lie: 1, smoothness: math.Inf(1)}, 0, 2), r)
	})
}
