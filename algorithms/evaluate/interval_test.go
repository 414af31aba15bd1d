package evaluate

import (
	"math"
	"testing"
)

// TestNoShareIsWithoutError: numbers that no share fits, because of the noise, give the interval of the nearest share and
// not that share alone. Every other interval is as before.
func TestNoShareIsWithoutError(t *testing.T) {
	for _, c := range []struct{ numerator, denominator, low, high float64 }{
		{-30, 100, 0, 0.136}, {130, 100, 0.862, 1}, {-10, 100, 0, 0.02}, {50, 100, 0.35, 0.655}, {5, -300, 0, 0.5},
	} {
		f := ratio{numerator: c.numerator, denominator: c.denominator, high: 1, numeratorNoise: 36, denominatorNoise: 9,
			sampling: func(theta float64) float64 { return 100 * theta * (1 - theta) }}.interval(0.95)
		if !(f.Low <= f.Value && f.Value <= f.High && math.Abs(f.Low-c.low) < 0.01 && math.Abs(f.High-c.high) < 0.01) {
			t.Errorf("%+v: %+v", c, f)
		}
	}
}
