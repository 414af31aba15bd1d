package cuda

import (
	"testing"

	"dyad/engine"
	"dyad/engine/enginetest"
)

// openFake returns the backend on the interpreter.
func openFake(t *testing.T, f *fakeDriver) Backend {
	t.Helper()
	d, err := Open(f, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return Backend{Device: d}
}

// singlePrecision is the limit of Roundoff per pair of terms in float32.
const singlePrecision = 4e-6

// options keep the interpreter's work small.
func options() enginetest.Options {
	return enginetest.Options{
		Losses: []engine.ScoreLoss{engine.Logistic{}}, MetricLosses: []engine.MetricLoss{},
		Sizes: []int{2, 3, 17, 129}, Radii: []float64{0.05, 1, 200}, PerPair: singlePrecision,
	}
}

// TestConformance runs the suite of all backends on the embedded PTX, with the
// approximate instructions exact and off by their documented error either way.
func TestConformance(t *testing.T) {
	for _, skew := range []float64{0, 1, -1} {
		f := newFake()
		f.skew = skew
		o := options()
		if skew != 0 {
			o.Sizes = []int{3, 64}
		}
		enginetest.Run(t, openFake(t, f), o)
	}
}
