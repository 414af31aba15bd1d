package algorithms_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"dyad/algorithms"
	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/engine/metrics"
	"dyad/internal/must"
	"dyad/privacy"
)

// twoClasses are n records of two Gaussian classes whose means differ by one standard
// deviation in every coordinate, within the unit ball.
func twoClasses(t *testing.T, n, d int, seed uint64) *engine.Records {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 5))
	x, y := make([]float64, n*d), make([]float64, n)
	for i := range y {
		y[i] = float64(2*rng.IntN(2) - 1)
		for k := range d {
			x[i*d+k] = (rng.NormFloat64() + 0.5*y[i]) / (2 * float64(d))
		}
	}
	return must.Get(engine.NewRecords(x, y, d, engine.UnitBounds()))(t)
}

// fullBatch are the algorithms that this file is about, with the default L2 weight.
var fullBatch = []algorithms.Candidate{
	{Algorithm: algorithms.DPGDSC{}, L2: 0.001},
	{Algorithm: algorithms.DPGDC{}},
	{Algorithm: algorithms.DPGDC2{}},
	{Algorithm: algorithms.DPEGD{}},
	{Algorithm: algorithms.GradientPerturbation{}},
}

func learningPlan(t *testing.T, c algorithms.Candidate, n, d int, epsilon float64) *algorithms.Plan {
	t.Helper()
	b := privacy.Budget{Epsilon: epsilon, Delta: 1e-5}
	spec := must.Get(algorithms.NewSpec(cpu.Backend{}, engine.Problem{
		N: n, D: d, Bounds: engine.UnitBounds(), Loss: engine.Logistic{},
		Radius: algorithms.DefaultRadius(c.Algorithm.Info().Name, n, d, b, algorithms.Certified, engine.Logistic{}),
	}, c.L2, b, algorithms.Certified))(t)
	return must.Get(c.Algorithm.Plan(spec))(t)
}

// aucOf is the AUC of the mean over runs on fresh records of the same classes.
func aucOf(t *testing.T, c algorithms.Candidate, p *algorithms.Plan, runs int) float64 {
	t.Helper()
	problem := p.Spec.Kernel.Problem()
	train, test := twoClasses(t, problem.N, problem.D, 1), twoClasses(t, 2000, problem.D, 2)
	sum := 0.0
	for i := range runs {
		result := must.Get(algorithms.Run(context.Background(), train, c.Algorithm, p, algorithms.Options{Public: true, Source: privacy.NewSeededSource(uint64(i))}))(t)
		scores := make([]float64, test.Len())
		row := make([]float64, problem.D)
		for j := range scores {
			test.Row(j, row)
			for k, v := range row {
				scores[j] += v * result.Weights[k]
			}
		}
		auc := must.Get(metrics.AUC(scores, test.Labels()))(t)
		sum += auc
	}
	return sum / float64(runs)
}

// At a generous epsilon every algorithm learns, at a tiny one it does not (so the figure
// does not come from the records by another way), and its noise, relative to the
// radius, falls as n grows.
func TestFullBatchAlgorithmsLearn(t *testing.T) {
	const n, d, runs = 400, 4, 8
	for _, c := range fullBatch {
		name := c.Algorithm.Info().Name
		generous := learningPlan(t, c, n, d, 8)
		if auc := aucOf(t, c, generous, runs); auc < 0.75 {
			t.Errorf("%s: mean AUC %.3f at epsilon 8, want at least 0.75 (the best is 0.92)", name, auc)
		}
		tiny := learningPlan(t, c, n, d, 0.001)
		must.Within(t, aucOf(t, c, tiny, runs), 0.2, 0.8, "%s: mean AUC ... at epsilon 0.001", name)
		noise := func(n int) float64 { return learningPlan(t, c, n, d, 1).Report().Number("noise_to_radius") }
		if few, more, many := noise(200), noise(2000), noise(20000); !(more < few/1.5 && many < more/1.5) {
			t.Errorf("%s: noise of %.3g, %.3g and %.3g radii at n = 200, 2000 and 20000", name, few, more, many)
		}
	}
}
