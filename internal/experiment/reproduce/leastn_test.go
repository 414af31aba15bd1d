package reproduce

import (
	"testing"

	"dyad/algorithms"
	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/internal/must"
	"dyad/privacy"
)

// The page of verdicts finds the number of records that is enough in the refusals of today, and in the words of
// earlier results.
func TestRefusalsNameTheNumberOfRecords(t *testing.T) {
	t.Chdir(t.TempDir())
	p := engine.Problem{N: 10, D: 20, Bounds: engine.UnitBounds(), Loss: engine.Logistic{}, Radius: 1}
	for a, epsilon := range map[algorithms.Algorithm]float64{algorithms.DPEGD{}: 50, algorithms.DPGDC2{}: 0.1} {
		s := must.Get(algorithms.NewSpec(cpu.Backend{}, p, 0, privacy.Budget{Epsilon: epsilon, Delta: 1e-5}, algorithms.Paper))(t)
		if _, err := a.Plan(s); err == nil || leastN.FindStringSubmatch(err.Error()) == nil {
			t.Errorf("%s: %v", a.Info().Name, err)
		}
	}
	for text, want := range map[string]string{"with the rest as it is n = 70 or": "70", "it needs n >= 80": "80"} {
		if got := leastN.FindStringSubmatch(text); got == nil || got[1] != want {
			t.Errorf("%q: %q, want %s", text, got, want)
		}
	}
}
