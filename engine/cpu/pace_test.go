package cpu_test

import (
	"math"
	"testing"
	"time"

	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/internal/must"
)

// A pace is a number within reason for every kind of problem, also those that have no estimate of
// their own, in little time; and where a gradient takes longer than the model says, it is larger.
func TestPace(t *testing.T) {
	hinge, _ := engine.LibraryByName("hinge")
	e := must.Get(hinge.Expression(engine.ExpressionOptions{}))(t)
	for name, p := range map[string]engine.Problem{
		"near-linear": {N: 10_000_000, D: 20, Bounds: engine.UnitBounds(), Loss: engine.Logistic{}, Radius: 1, LabelValues: 2},
		"sorted":      {N: 1_000_000, D: 20, Bounds: engine.UnitBounds(), Loss: engine.Score{Of: e}, Radius: 1, LabelValues: 2},
		"metric":      {N: 100_000, D: 10, Bounds: engine.UnitBounds(), Loss: engine.Metric{Of: engine.Logistic{}}, Radius: 1, LabelValues: 2},
		"groups":      {N: 60, D: 4, Bounds: engine.UnitBounds(), Loss: engine.Logistic{}, Radius: 1, Groups: []int{30, 30}},
		"wide":        {N: 1000, D: 100_000, Bounds: engine.UnitBounds(), Loss: engine.Logistic{}, Radius: 1, LabelValues: 2},
		"wide metric": {N: 1000, D: 90_000, Bounds: engine.UnitBounds(), Loss: engine.Metric{Of: engine.Logistic{}}, Radius: 1, LabelValues: 2},
		"tiny":        {N: 2, D: 1, Bounds: engine.UnitBounds(), Loss: engine.Logistic{}, Radius: 1, LabelValues: 2},
	} {
		start := time.Now()
		pace := cpu.Backend{}.Pace(p)
		if took := time.Since(start); !(pace > 1e-3 && pace < 1e4) || math.IsInf(pace, 0) || took > 20*time.Second {
			t.Errorf("%s: pace %v after %v", name, pace, took)
		}
		t.Log(name, pace, time.Since(start))
	}
}
