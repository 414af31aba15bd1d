package curve

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"dyad/algorithms"
	"dyad/algorithms/attack"
	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/internal/must"
	"dyad/privacy"
)

// planCurve is a curve of two splits.
func planCurve(r *engine.Records, n int, delta float64, epsilons []float64, names ...string) (*Plan, error) {
	o := Options{Records: r.Units(), Training: n, Splits: 2, Held: privacy.Budget{Epsilon: 0.7, Delta: delta}}
	for split := range o.Splits {
		for _, epsilon := range epsilons {
			for _, name := range names {
				a, err := algorithms.ByName(name)
				if err != nil {
					return nil, err
				}
				spec, err := algorithms.NewSpec(cpu.Backend{},
					engine.Problem{N: n, D: r.Dim(), Bounds: r.Bounds(), Loss: engine.Logistic{}, Radius: 1}, 0,
					privacy.Budget{Epsilon: epsilon, Delta: delta}, algorithms.Certified)
				if err != nil {
					return nil, err
				}
				p, err := algorithms.Choice{Algorithm: a, L2: algorithms.DefaultL2(a, n, false)}.Plan(spec)
				if err != nil {
					return nil, err
				}
				o.Runs = append(o.Runs, Run{Name: name, Split: split, Algorithm: a, Training: p})
			}
		}
	}
	return New(o)
}

// privatePlan is a plan of two algorithms, two epsilons and two splits.
func privatePlan(t *testing.T, r *engine.Records, delta float64) *Plan {
	t.Helper()
	return must.Get(planCurve(r, 20, delta, []float64{0.5, 2}, "moments", "dpgdsc"))(t)
}

// furthest is the largest move of a release between neighbours, over its certificate.
func furthest(t *testing.T, data *engine.Records, neighbours []*engine.Records,
	job func(*engine.Records) algorithms.Job) (most float64) {
	t.Helper()
	for k, other := range neighbours {
		moves := must.Get(attack.Jobs(t.Context(), job(data), job(other), uint64(k)))(t)
		for _, m := range moves {
			most = max(most, m.Share())
		}
	}
	return most
}

func TestPrivateCurveOfNeighbours(t *testing.T) {
	data := attack.RandomRecords(40, 3, engine.UnitBounds(), 1)
	c := privatePlan(t, data, 1e-5)
	neighbours := attack.Neighbours(data, 30, 2)
	worst := furthest(t, data, neighbours, c.Job)
	must.Within(t, worst, 0.05, 1, "a release moves by ... of its certificate")
	// A known defect: a split that depends on the records.
	byLabel := func(r *engine.Records) algorithms.Job {
		var order []int
		for _, y := range []float64{1, -1} {
			for i := range r.Len() {
				if (r.Label(i) > 0) == (y > 0) {
					order = append(order, i)
				}
			}
		}
		return c.Job(r.Subset(order))
	}
	must.Above(t, furthest(t, data, neighbours, byLabel), 1, "a split by labels moves a release by")
}

func TestPrivateCurveChargesEveryRelease(t *testing.T) {
	c := privatePlan(t, attack.RandomRecords(40, 3, engine.UnitBounds(), 1), 1e-5)
	square := 0.0
	for _, r := range c.Options.Runs {
		square += r.Training.Guarantee.Mu*r.Training.Guarantee.Mu + c.held.Guarantee.Mu*c.held.Guarantee.Mu
	}
	if mu := math.Sqrt(square); len(c.Options.Runs) != 8 || math.Abs(c.Guarantee.Mu/mu-1) > 1e-6 {
		t.Errorf("%d runs of %.6g-GDP, together charged as %.6g", len(c.Options.Runs), mu, c.Guarantee.Mu)
	}
	for _, want := range []string{"constants of loss", "or was charged to the same data id", "norm bound"} {
		must.Contain(t, strings.Join(c.Guarantee.Assumptions, "; "), want)
	}
	once := slices.Compact(slices.Sorted(slices.Values(c.Guarantee.Assumptions)))
	must.Equal(t, len(once), len(c.Guarantee.Assumptions), "assumptions, each of them once")
	out, err := algorithms.Execute(context.Background(), c.Job(attack.RandomRecords(40, 3, engine.UnitBounds(), 1)),
		algorithms.Options{Public: true, Source: privacy.NewSeededSource(3)})
	if err != nil {
		t.Fatal(err) // a release that is not in the plan
	}
	rows, err := c.Rows(out.Weights, 0.95)
	if err != nil || len(rows) != 8 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	for _, r := range rows {
		if !(r.Low <= r.AUC && r.AUC <= r.High) {
			t.Errorf("%+v", r)
		}
	}
}
