package algorithms_test

import (
	"strings"
	"testing"

	"dyad/algorithms"
	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/internal/must"
	"dyad/privacy"
)

// The algorithms whose work grows with n^2 tell their time and a faster way in every plan for many records; for few
// records, and where the work is small, there is no warning.
func TestSlowPlansTellAFasterWay(t *testing.T) {
	warned := func(a algorithms.Algorithm, n int, l2 float64) string {
		t.Helper()
		p := engine.Problem{N: n, D: 20, Bounds: engine.Bounds{FeatureNorm: 1, LabelAbs: 1}, Loss: engine.Logistic{}, Radius: 1}
		spec := must.Get(algorithms.NewSpec(cpu.Backend{}, p, l2, privacy.Budget{Epsilon: 1, Delta: 1e-9}, algorithms.Certified))(t)
		plan := must.Get(a.Plan(spec))(t)
		for _, text := range plan.Warnings() {
			if strings.Contains(text, "steps take about") {
				return text
			}
		}
		return ""
	}
	for _, a := range []algorithms.Algorithm{algorithms.DPGDC2{}, algorithms.DPEGD{}, algorithms.OffPairC{}, algorithms.OffPairStrC{}} {
		l2 := 0.001
		if a.Info().Name == (algorithms.OffPairC{}).Info().Name {
			l2 = 0 // its objective has none
		}
		must.Contain(t, warned(a, 500_000, l2), "; --algorithm ")
		must.Equal(t, warned(a, 2000, l2), "", "%s", a.Info().Name)
	}
	must.Equal(t, warned(algorithms.DPGDSC{}, 500_000, 0.001), "", "dpgdsc")
}
