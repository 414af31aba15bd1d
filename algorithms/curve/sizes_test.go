package curve

import (
	"testing"

	"dyad/algorithms/attack"
	"dyad/engine"
	"dyad/internal/sizes"
)

// At all sizes, and wherever the record stands, replacing it moves every release of a private curve, of trainings and of
// figures, by no more than its certificate, and some by a part of it.
func TestCurvesOfEverySize(t *testing.T) {
	delta, planned := 1e-5, 0
	for _, cell := range sizes.Cells(t, 3e5, 1) {
		if cell.N < 20 {
			continue // too few records to train on and to test
		}
		data, neighbour := attack.WorstCase(cell.N, cell.D, cell.Unit, engine.UnitBounds())
		c, err := planCurve(data, 2*cell.N/3, delta, []float64{1}, "dpgdsc")
		if err != nil {
			t.Logf("%v: %v", cell, err)
			continue
		}
		planned++
		if worst := worstOfTwins(t, data, []*engine.Records{neighbour}, c.Job); !(worst <= 1) || worst < 0.05 {
			t.Errorf("%v: a release moves by %.3g of its certificate", cell, worst)
		}
	}
	if planned < 5 {
		t.Errorf("%d sizes were attacked", planned)
	}
}
