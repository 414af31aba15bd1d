package account

import (
	"math"
	"testing"

	"dyad/internal/must"
	"dyad/internal/sizes"
)

// A sum of losses that was computed under any tilt bounds delta at every epsilon, also at
// those below its window, where most of the probability may lie: the search for an epsilon
// starts at 0 with the tilt of another one. The control: without what may be missing
// below the window the bound would be wrong by orders of magnitude.
func TestAnyTiltBoundsDelta(t *testing.T) {
	sizes.NotShort(t, "arithmetic on one goroutine")
	control := 1.0
	deltas := sizes.Of([]float64{1e-8, 1e-90}, []float64{1e-2, 1e-8, 1e-30, 1e-90})
	for name, e := range map[string]Event{
		"pure":    Repeat(PureEvent{Epsilon: 0.1}, 900),
		"poisson": Repeat(PoissonEvent{Event: GaussianEvent{Sensitivity: 1, Sigma: 2}, Rate: 0.1, Relation: ReplaceOne}, 300),
		"subset":  Repeat(WithoutReplacementEvent{Event: GaussianEvent{Sensitivity: 1, Sigma: 1}, Batch: 10, Records: 100}, 200),
	} {
		var a PLD
		must.Do(t, a.Compose(e))
		for _, s := range a.compose() {
			for _, at := range deltas {
				top := a.Epsilon(at)
				far := s.tilt(s.saddle(top))
				for _, share := range []float64{0, 0.3, 0.9} {
					epsilon := share * top
					want, got := s.delta(epsilon), far.delta(epsilon)
					must.AtLeast(t, got, want*(1-1e-6), "%s, tilted for delta %g: delta(%g) is said to be %g, it is %g", name, at, epsilon, got, want)
					defect := far
					defect.below = 0
					control = min(control, defect.delta(epsilon)/want)
				}
			}
		}
	}
	if !(control < 1e-3) || math.IsNaN(control) {
		t.Errorf("what lies below the window changes nothing (%g): the test sees nothing", control)
	}
}
