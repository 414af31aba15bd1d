package objective

import (
	"math"
	"math/rand/v2"
	"testing"

	"dyad/engine"
	"dyad/internal/must"
	"dyad/kernels"
)

// randomClasses are scores with the given scale; positive ones are higher by the shift.
func randomClasses(high, low int, scale, shift float64) classes {
	rng := rand.New(rand.NewPCG(uint64(high), uint64(low)))
	c := classes{high: make([]float64, high), low: make([]float64, low), same: 3}
	for i := range c.high {
		c.high[i] = scale*(2*rng.Float64()-1) + shift
	}
	for j := range c.low {
		c.low[j] = scale * (2*rng.Float64() - 1)
	}
	return c
}

// Tiles have the stated error and refuse what they have not. Positive control: the stated
// error is far below a single pair of these.
func TestLogisticEqualsDirect(t *testing.T) {
	for _, v := range []struct {
		high, low    int
		scale, shift float64
		refuses      bool
	}{
		{1, 1, 0, 0, false},
		{3, 700, 2, 1, false},
		{130, 515, 1, -1, false},
		{300, 200, 1e-9, 0, false},
		{256, 256, 1, 1000, true},   // margins of 1000
		{256, 256, 70, 1e-3, false}, // up to 140
		{256, 256, 1, 7.5, true},    // a mean near 7e-4
		{256, 256, 1, 6, false},     // near 3e-3
		{20, 30, 1, -150, false},    // each log(1 + e^v) near 150
		{20, 30, 95, 0, true},       // up to 190
		{20, 30, 1, math.NaN(), true},
	} {
		c := randomClasses(v.high, v.low, v.scale, v.shift)
		got, ok, err := c.logistic(t.Context(), 2)
		if err != nil || ok == v.refuses {
			t.Errorf("%+v: accepted %v, %v", v, ok, err)
			continue
		}
		if v.refuses {
			continue
		}
		want, err := c.direct(t.Context(), engine.Logistic{}, 1)
		if err != nil || !near(got, want, 5e-13) {
			t.Errorf("%+v: got %v, want %v (%v)", v, got, want, err)
		}
		c.high[0] += 1e-3
		if other, err := c.direct(t.Context(), engine.Logistic{}, 1); err != nil || near(got, other, 5e-13) {
			t.Errorf("%+v: the bound does not see a score that is off by 1e-3 (%v)", v, err)
		}
	}
	// Scores far from 0 whose exponentials overflow, unlike those of their differences.
	c := randomClasses(50, 60, 3, 0)
	for _, x := range [][]float64{c.high, c.low} {
		for i := range x {
			x[i] += 5000
		}
	}
	got, ok, err := c.logistic(t.Context(), 1)
	if want, _ := c.direct(t.Context(), engine.Logistic{}, 1); err != nil || !ok || !near(got, want, 5e-13) {
		t.Errorf("far from 0: got %v, want %v (%v, %v)", got, want, ok, err)
	}
}

// Each way is taken for its range of records, and one that refuses leaves the sum to the next.
func TestLogisticFallsBack(t *testing.T) {
	for _, shift := range []float64{0, 10, 2 * kernels.MaxLogisticMargin} {
		c := randomClasses(40, 50, 1, shift)
		want := must.Get(c.direct(t.Context(), engine.Logistic{}, 1))(t)
		for _, exact := range []int{90, 90 / tiledTimes, 0} {
			if got, err := c.sum(t.Context(), engine.Logistic{}, 1, exact); err != nil || !near(got, want, 1e-11) {
				t.Errorf("shift %v, exact up to %d: got %v, want %v (%v)", shift, exact, got, want, err)
			}
		}
	}
}
