package privacy_test

import (
	"math"
	"testing"

	"dyad/internal/must"
	"dyad/privacy"
)

func TestGridFor(t *testing.T) {
	for _, sigma := range []float64{1, 1.5, math.Nextafter(2, 0), 2, 0.3, 1e-300, 1e300, 3e-308} {
		g := privacy.GridFor(sigma)
		if f, _ := math.Frexp(g); f != 0.5 {
			t.Errorf("GridFor(%v) = %v, not a power of two", sigma, g)
		}
		if q := sigma / g; g > 0x1p-1074 && (q < 0x1p28 || q >= 0x1p29) {
			t.Errorf("sigma %v: sigma/grid = %v", sigma, q)
		}
	}
	for _, sigma := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		must.Equal(t, privacy.GridFor(sigma), 0, "GridFor(%v)", sigma)
	}
}
