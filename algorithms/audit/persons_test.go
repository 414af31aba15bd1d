package audit_test

import (
	"slices"
	"strings"
	"testing"

	"dyad/algorithms"
	"dyad/algorithms/attack"
	"dyad/algorithms/audit"
	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/internal/must"
	"dyad/privacy"
)

// TestAuditOfPersons: the worst case of persons, whose neighbour has one row in place of many,
// does not refute a plan for persons; and it does refute a plan whose noise is for as many
// persons as there may be rows.
func TestAuditOfPersons(t *testing.T) {
	const persons, most = 20, 8
	b := engine.UnitBounds()
	counts := make([]int, persons)
	for k := range counts {
		counts[k] = 1 + k%most
	}
	planFor := func(n int) *algorithms.Plan {
		s := must.Get(algorithms.NewSpec(cpu.Backend{Workers: 1}, engine.Problem{
			N: n, D: 2, Bounds: b, Loss: engine.Logistic{}, Radius: 0.1, PersonRows: most,
		}, 0.001, privacy.Budget{Epsilon: 1, Delta: 1e-5}, algorithms.Certified))(t)
		return must.Get(descent.Plan(s))(t)
	}
	data, neighbour := attack.WorstPersons(counts, 2, 7, b)
	p := planFor(persons)
	target := audit.Target{Algorithm: descent, Plan: p, Data: data, Neighbour: neighbour, Instance: "worst persons"}
	r := mustRun(t, target, audit.Options{Runs: 4000})
	if r.Refuted() || r.Unit != "one person" {
		t.Errorf("a plan for %s is refuted: %+v", r.Unit, r)
	}
	small := *p
	small.Releases = slices.Clone(p.Releases)
	small.Releases[0].Noise = planFor(most * persons).Noise()
	target.Plan = &small
	if r := mustRun(t, target, audit.Options{Runs: 4000}); !r.Refuted() {
		t.Errorf("noise for rows is not refuted: %+v", r)
	}
}

// TestWorstOfPersons: the search replaces all rows of a person, in data sets of the certificate's worst
// case, and the same runs that do not refute a plan refute one whose noise is a third of it.
func TestWorstOfPersons(t *testing.T) {
	for _, a := range []algorithms.Algorithm{algorithms.Moments{Second: "none"}, algorithms.GradientPerturbation{Steps: 2}, algorithms.MomentMetric{}} {
		loss := attack.Loss(a.Info())
		s := must.Get(algorithms.NewSpec(cpu.Backend{Workers: 1}, engine.Problem{
			N: 20, D: 2, Bounds: engine.UnitBounds(), Loss: loss, Radius: 0.1, PersonRows: 6,
		}, 0, privacy.Budget{Epsilon: 2, Delta: 1e-5}, algorithms.Certified))(t)
		p := must.Get(a.Plan(s))(t)
		target := must.Get(audit.Worst(t.Context(), a, p, 3))(t)
		from, to := target.Data.UnitRows(0)
		if !target.Data.ByPerson() || !strings.Contains(target.Instance, "person") || target.Data.Len() == target.Neighbour.Len() {
			t.Errorf("%s: %q, %d rows of the first person", a.Info().Name, target.Instance, to-from)
		}
		if r := mustRun(t, target, audit.Options{Runs: 4000}); r.Refuted() || r.Unit != "one person" || !(r.Move > 0.5) {
			t.Errorf("%s: %+v", a.Info().Name, r)
		}
		less := *p
		less.Guarantee.Epsilon /= 3
		less.Guarantee.Mu /= 3
		target.Plan = &less
		if r := mustRun(t, target, audit.Options{Runs: 4000}); !r.Refuted() {
			t.Errorf("%s: a third of the claim is not refuted: %+v", a.Info().Name, r)
		}
	}
}
