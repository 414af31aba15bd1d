package attack_test

import (
	"slices"
	"testing"

	"dyad/algorithms"
	"dyad/algorithms/attack"
	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/internal/must"
	"dyad/internal/sizes"
	"dyad/privacy"
)

// Every online algorithm of the catalogue at all sizes, with the attacked record at its place in the stream: all releases together
// move by no more than certified, and what is returned follows from releases.
func TestStreamsOfEverySize(t *testing.T) {
	cells := sizes.Cells(t, 1.2e6, 1)
	for _, a := range algorithms.StreamCatalog() {
		if !slices.Contains(a.Info().Modes, algorithms.Certified) {
			continue
		}
		l2, planned, closest := 0.0, 0, 0.0
		if a.Info().NeedsL2 {
			l2 = 0.1
		}
		for i, c := range cells {
			o := algorithms.StreamOptions{Horizon: c.N, Buffer: min(8, c.N-1), Batch: max(1, c.N/[]int{3, 20}[i%2])}
			s := must.Get(algorithms.NewStreamSpec(cpu.Backend{}, engine.Problem{
				N: 2, D: c.D, Bounds: engine.UnitBounds(), Loss: engine.Logistic{}, Radius: 0.5,
			}, o, l2, privacy.Budget{Epsilon: 1, Delta: 1e-5}, algorithms.Certified))(t)
			p, err := a.Plan(s)
			if err != nil {
				t.Logf("%s, %v: %v", a.Info().Name, c, err)
				continue
			}
			planned++
			worst, other := attack.WorstCase(c.N, c.D, c.Unit, engine.UnitBounds())
			data, neighbour := mirrored(t, c)
			for _, of := range [][2]*engine.Records{{worst, other}, {data, neighbour}} {
				ratio, err := attack.ReplayStream(p, starter(p), of[0], []*engine.Records{of[1]}, 9)
				if err != nil {
					t.Errorf("%s, %v: %v (%v of the certificate)", a.Info().Name, c, err, ratio)
				}
				closest = max(closest, ratio)
			}
		}
		if planned < 8 || closest < 0.05 {
			t.Errorf("%s was attacked at %d sizes, and moves by %v of the certificate at most", a.Info().Name, planned, closest)
		}
		t.Logf("%s: %d sizes, closest %.3g", a.Info().Name, planned, closest)
	}
}
