package attack_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"dyad/algorithms"
	"dyad/algorithms/attack"
	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/engine/enginetest"
	"dyad/internal/must"
	"dyad/internal/sizes"
	"dyad/privacy"
)

const personCap = 9

func personSpec(t *testing.T, backend engine.Backend, loss engine.Loss, persons int, l2 float64, m algorithms.Mode, delta float64) (algorithms.Spec, error) {
	t.Helper()
	return algorithms.NewSpec(backend, engine.Problem{
		N: persons, D: 3, Bounds: engine.UnitBounds(), Loss: loss, Radius: 0.5, PersonRows: personCap,
	}, l2, privacy.Budget{Epsilon: 1, Delta: delta}, m)
}

// TestPersonReplays: every algorithm of the catalogue, in every mode with and without delta,
// either protects one person, with n the number of persons, and no neighbour that has all rows
// of one person replaced moves a release further than certified; or it says why it does not.
func TestPersonReplays(t *testing.T) {
	const persons = 31
	data := attack.RandomPersons(persons, personCap, 3, engine.UnitBounds(), 7)
	near := attack.PersonNeighbours(data, sizes.Of(2, 12), personCap, 8)
	counts := make([]int, persons)
	for k := range counts {
		counts[k] = 1 + k%personCap
	}
	for _, loss := range []engine.Loss{engine.Logistic{}, engine.MahalanobisLogistic{}} {
		for _, a := range algorithms.Catalog() {
			info := a.Info()
			if _, score := loss.(engine.ScoreLoss); !info.Learns(loss) || testing.Short() && score == info.MetricsOnly {
				continue // short: a loss of scores for those that learn any loss
			}
			for _, m := range info.Modes {
				if m == algorithms.Paper {
					continue // its noise is accounted for by the same certificate
				}
				for _, delta := range []float64{1e-5, 0} {
					if delta == 0 && !slices.Contains(info.PureModes, m) {
						continue
					}
					name := loss.Name() + "/" + info.Name + "/" + m.String()
					l2 := 0.0
					if info.NeedsL2 {
						l2 = 0.01
					}
					s := must.Get(personSpec(t, cpu.Backend{}, loss, persons, l2, m, delta))(t)
					p, err := a.Plan(s)
					if info.NoPersons != "" {
						if !errors.Is(err, algorithms.ErrAssumption) || !strings.Contains(err.Error(), info.NoPersons) {
							t.Errorf("%s: %v, want a refusal with its reason", name, err)
						}
						continue
					}
					if err != nil {
						t.Errorf("%s: %v", name, err)
						continue
					}
					ratio, err := attack.Replay(a, p, data, near, 9)
					if err != nil {
						t.Errorf("%s: %v", name, err)
					}
					for _, k := range sizes.Of([]int{0, persons - 1}, []int{0, 8, persons - 1}) {
						worst, neighbour := attack.WorstPersons(counts, 3, k, engine.UnitBounds())
						r, err := attack.Replay(a, p, worst, []*engine.Records{neighbour}, 9)
						if err != nil {
							t.Errorf("%s, worst case, person %d: %v", name, k, err)
						}
						ratio = max(ratio, r)
					}
					t.Logf("%s: largest move %.3g of the certificate", name, ratio)
					if m == algorithms.NonPrivate {
						continue
					}
					if ratio < 0.05 {
						t.Errorf("%s: no neighbour moves more than %.3g of the certificate", name, ratio)
					}
					if g := p.Guarantee; g.Unit != "one person" || !strings.Contains(g.Relation, "all rows of one person") {
						t.Errorf("%s protects %q, %q", name, g.Unit, g.Relation)
					}
				}
			}
		}
	}
}

// TestPersonReplayCatchesRows: a plan for as many persons as there are rows promises too much,
// and replacing a person with many rows shows it.
func TestPersonReplayCatchesRows(t *testing.T) {
	var counts []int
	for range 7 {
		counts = append(counts, 1)
	}
	counts[3] = personCap
	data, neighbour := attack.WorstPersons(counts, 3, 3, engine.UnitBounds())
	s := must.Get(personSpec(t, rowsForPersons, engine.Logistic{}, 7, 0.01, algorithms.Certified, 1e-5))(t)
	p := must.Get(algorithms.DPGDSC{}.Plan(s))(t)
	// The same person with many rows and with one: the sum of this backend has them all.
	_, one := attack.WorstPersons([]int{1, 1, 1, 1, 1, 1, 1}, 3, 3, engine.UnitBounds())
	_, many := attack.WorstPersons(counts, 3, 2, engine.UnitBounds())
	if _, err := attack.Replay(algorithms.DPGDSC{}, p, data, []*engine.Records{neighbour, one, many}, 9); err == nil {
		t.Error("a sum over pairs of rows, divided by pairs of persons, passes as one of persons")
	}
	for _, a := range []algorithms.Algorithm{algorithms.Moments{}, algorithms.Moments{Second: "diagonal", Steps: 2}, algorithms.MomentMetric{}} {
		s := must.Get(personSpec(t, rowsForPersons, attack.Loss(a.Info()), 7, 0, algorithms.Certified, 1e-5))(t)
		p = must.Get(a.Plan(s))(t)
		if _, err := attack.Replay(a, p, data, []*engine.Records{neighbour, one, many}, 9); err == nil {
			t.Errorf("%s: sums over rows pass as those of the means of persons", a.Info().Name)
		}
	}
}

// rowsForPersons is a defect: it sums over all rows, or the pairs of all, without weights.
var rowsForPersons = enginetest.Altered{Backend: cpu.Backend{}, Sum: func(ctx context.Context, e engine.Evaluator, r *engine.Records, dst []float64, q engine.Query) error {
	p, plan := e.Kernel().Problem(), cpu.Backend{}.PlanMoments
	p.N, p.PersonRows = r.Len(), 0
	if q.Pairs != nil {
		plan, q.Pairs = cpu.Backend{}.Plan, p.Pairs()
	}
	k, err := plan(p)
	if err != nil {
		return err
	}
	rows, err := k.Bind(withoutPersons(r))
	if err != nil {
		return err
	}
	return rows.Sum(ctx, dst, q)
}}

func withoutPersons(r *engine.Records) *engine.Records {
	rows := make([]int, r.Len())
	for i := range rows {
		rows[i] = i
	}
	return r.Subset(rows)
}
