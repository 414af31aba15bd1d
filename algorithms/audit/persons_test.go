package audit_test

import (
	"testing"

	"dyad/algorithms"
	"dyad/algorithms/algotest"
	"dyad/algorithms/audit"
	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/privacy"
	"dyad/privacy/account"
)

// TestAuditOfPersons: the worst case of persons, whose neighbour has one row in place of many,
// does not refute a plan for persons; and it does refute one whose noise is that of as many
// persons as there may be rows.
func TestAuditOfPersons(t *testing.T) {
	const persons, most = 20, 8
	b := engine.UnitBounds()
	counts := make([]int, persons)
	for k := range counts {
		counts[k] = 1 + k%most
	}
	planFor := func(n int) *algorithms.Plan {
		s, err := algorithms.NewSpec(cpu.Backend{Workers: 1}, engine.Problem{
			N: n, D: 2, Bounds: b, Loss: engine.Logistic{}, Radius: 0.1, PersonRows: most,
		}, 0.001, privacy.Budget{Epsilon: 1, Delta: 1e-5}, algorithms.Certified)
		if err != nil {
			t.Fatal(err)
		}
		p, err := descent.Plan(s)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	data, neighbour := algotest.WorstPersons(counts, 2, 7, b)
	p := planFor(persons)
	target := audit.Target{Algorithm: descent, Plan: p, Data: data, Neighbour: neighbour, Instance: "worst persons"}
	r := mustRun(t, target, audit.Options{Runs: 4000})
	if r.Refuted() || r.Unit != "one person" {
		t.Errorf("a plan for %s is refuted: %+v", r.Unit, r)
	}
	small := *p
	small.Noise = planFor(most * persons).Noise
	small.Events = []account.Event{small.Noise.Event(p.Certificate)}
	target.Plan = &small
	if r := mustRun(t, target, audit.Options{Runs: 4000}); !r.Refuted() {
		t.Errorf("noise for rows is not refuted: %+v", r)
	}
}
