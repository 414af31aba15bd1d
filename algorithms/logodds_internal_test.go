package algorithms

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/engine/metrics"
	"dyad/internal/must"
	"dyad/privacy"
)

// stranger is a session whose releases are numbers of its own, whatever the records are.
type stranger struct {
	privacy.Session
	rng *rand.Rand
}

func (s stranger) Release(x []float64, _ privacy.Certificate, _ privacy.Mechanism) error {
	for k := range x {
		x[k] = 40 + 30*s.rng.NormFloat64()
	}
	return nil
}

// logistic are n records of d features that are uniform from low to 1, projected to norm 1, and of a logistic law with the share of
// positives that rare moves.
func logistic(t *testing.T, n, d int, low, rare float64, seed uint64) *engine.Records {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 5))
	x, y := make([]float64, n*d), make([]float64, n)
	for i := range y {
		row, odds := x[i*d:][:d], -rare
		for k := range row {
			v := low + (1-low)*rng.Float64()
			odds += v * float64(3-k)
			row[k] = v * math.Sqrt(3/float64(d))
		}
		engine.ProjectBall(row, 1)
		if y[i] = -1; rng.Float64() < 1/(1+math.Exp(-odds)) {
			y[i] = 1
		}
	}
	return must.Get(engine.NewRecords(x, y, d, engine.UnitBounds()))(t)
}

// withOdds trains on records in a session.
func withOdds(t *testing.T, a Moments, r *engine.Records, epsilon float64, session func(*Plan) privacy.Session) []float64 {
	t.Helper()
	spec := must.Get(NewSpec(cpu.Backend{Workers: 1}, engine.Problem{N: r.Len(), D: r.Dim(), Bounds: engine.UnitBounds(), Loss: engine.Logistic{}, Radius: 1}, 0, privacy.Budget{Epsilon: epsilon, Delta: 1e-5}, Certified))(t)
	plan := must.Get(a.Plan(spec))(t)
	ev := must.Get(plan.Spec.Kernel.Bind(r))(t)
	return must.Get(a.Train(t.Context(), ev, plan, session(plan), Tracker{}))(t)
}

// TestMomentsSeeReleasesAlone: with the same releases, all that Moments gives is the same for other records: weights, errors, log odds and bands are
// post-processing. A number of the exact sums in any of them would differ.
func TestMomentsSeeReleasesAlone(t *testing.T) {
	one, other := logistic(t, 500, 6, 0, 0, 1), logistic(t, 500, 6, 0.5, 2, 2)
	for _, a := range []Moments{
		{LogOdds: true, Intervals: true, Blocks: []int{2, 4}}, {LogOdds: true, Steps: 2, Blocks: []int{2, 4}}, {LogOdds: true, Second: "diagonal"}, {LogOdds: true, Second: "none"},
		{LogOdds: true, Centre: []float64{0}, Balance: 0.4}, {LogOdds: true, CentreShare: 0.1},
	} {
		var got [2][]float64
		for i, r := range []*engine.Records{one, other} {
			got[i] = withOdds(t, a, r, 1, func(*Plan) privacy.Session { return stranger{rng: rand.New(rand.NewPCG(7, 7))} })
		}
		must.Same(t, got[0], got[1], "%+v: of some records and of others, with the same releases", a)
	}
}

// off is the mean distance of probabilities from the shares of positives of twentieths of the records.
func off(p, y []float64) (mean float64) {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return int(math.Copysign(1, p[a]-p[b])) })
	const parts = 20
	for i := range parts {
		var claimed, seen float64
		part := order[i*len(p)/parts : (i+1)*len(p)/parts]
		for _, k := range part {
			claimed += p[k]
			seen += (1 + y[k]) / 2
		}
		mean += math.Abs(claimed-seen) / float64(len(p))
	}
	return mean
}

// TestLogOddsAreCalibrated compares probabilities with shares of positives among records that were not trained on. Read as if no record had
// been clipped they are far too sure, and without steps they need the noise taken off.
func TestLogOddsAreCalibrated(t *testing.T) {
	test := logistic(t, 20000, 6, -1, 0, 9)
	rare := logistic(t, 20000, 6, -1, 3, 9)
	y := func(r *engine.Records) (out []float64) {
		for i := range r.Len() {
			out = append(out, r.Label(i))
		}
		return out
	}
	for _, c := range []struct {
		a       Moments
		n       int
		epsilon float64
		on      *engine.Records
		rare    float64
		most    float64
	}{
		{Moments{Steps: 2}, 20000, 2, test, 0, 0.03}, {Moments{}, 20000, 2, test, 0, 0.04}, {Moments{}, 1500, 0.5, test, 0, 0.12},
		{Moments{Steps: 2}, 20000, 2, rare, 3, 0.03}, {Moments{Second: "diagonal"}, 20000, 2, test, 0, 0.05},
	} {
		const runs = 5
		var mean, unclipped float64
		for seed := range runs {
			c.a.LogOdds = true
			w := withOdds(t, c.a, logistic(t, c.n, 6, -1, c.rare, uint64(seed)), c.epsilon, func(p *Plan) privacy.Session {
				return must.Get(privacy.NewPublicSession(privacy.NewSeededSource(uint64(seed)), p.Events()))(t)
			})
			w, _, numbers, _ := c.a.Parts(w, 6)
			odds := metrics.NewLogOdds(numbers)
			must.Do(t, odds.Check(6))
			for _, sum := range []*float64{&mean, &unclipped} {
				p := must.Get(odds.Probabilities(c.on, w))(t)
				*sum += off(p, y(c.on)) / runs
				odds.ClipRadius = 10
			}
		}
		t.Logf("steps %d, second %q, n %d, epsilon %g, rare %g: off by %.3f; without the clip %.3f", c.a.Steps, c.a.Second, c.n, c.epsilon, c.rare, mean, unclipped)
		if mean > c.most {
			t.Errorf("steps %d, second %q, n %d, epsilon %g, rare %g: probabilities are off by %.3f in the mean, at most %.2f is allowed", c.a.Steps, c.a.Second, c.n, c.epsilon, c.rare, mean, c.most)
		}
	}
}
