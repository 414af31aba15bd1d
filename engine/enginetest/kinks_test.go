package enginetest_test

import (
	"math"
	"testing"

	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/engine/enginetest"
	"dyad/internal/sizes"
)

// swapped plans another loss than it is asked for.
type swapped struct {
	cpu.Backend
	score  engine.ScoreLoss
	metric engine.MetricLoss
}

func (b swapped) Plan(p engine.Problem) (engine.Kernel, error) {
	if _, ok := p.Loss.(engine.MetricLoss); ok {
		p.Loss = b.metric
	} else {
		p.Loss = b.score
	}
	return b.Backend.Plan(p)
}

// TestSuiteCatchesWrongKinks: the slack for pairs at a kink does not hide a knot, a jump
// or a side that is wrong.
func TestSuiteCatchesWrongKinks(t *testing.T) {
	sizes.NotShort(t, "slow")
	opts := enginetest.Options{
		Losses: []engine.ScoreLoss{engine.Score{Of: enginetest.Hinge()}}, MetricLosses: []engine.MetricLoss{engine.Metric{Of: enginetest.Hinge()}},
		Sizes: []int{3, 64}, Radii: []float64{1},
	}
	hinge := func(left, knot, right float64) enginetest.Pieces {
		return enginetest.Pieces{Label: "test-hinge", Parts: []engine.Piece{{From: math.Inf(-1), Slope: left}, {From: knot, Slope: right}}}
	}
	for name, is := range map[string]enginetest.Pieces{
		"": hinge(-1, 1, 0), "other knot": hinge(-1, 0.5, 0), "small jump": hinge(-1, 1, -1e-9), "left slope": hinge(-1-1e-9, 1, 0), "other side": hinge(0, 1, -1),
	} {
		for _, method := range []cpu.Method{cpu.Direct, cpu.Sorted} {
			o := opts
			if method == cpu.Sorted {
				o.MetricLosses = []engine.MetricLoss{}
			}
			want := ""
			if name != "" {
				want = "test-hinge"
			}
			suiteSays(t, swapped{cpu.Backend{Method: method}, engine.Score{Of: is}, engine.Metric{Of: is}}, o, want)
		}
	}
}
