package privacy_test

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"dyad/internal/must"
	"dyad/privacy"
)

func TestFormatUpIsNeverBelow(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	values := []float64{0, 1, 0.12345649, 1.2345649e-6, 0.9999995, 0.99999949, 999999.5, 1e-5, 1.0 / 512, 1e-300, math.MaxFloat64 / 2, 9.999994999}
	for range 20000 {
		values = append(values, math.Exp(60*rng.Float64()-30))
	}
	for _, x := range values {
		text := privacy.FormatUp(x)
		v, err := strconv.ParseFloat(text, 64)
		if err != nil || v < x || v > x*(1+1.1e-5) {
			t.Errorf("FormatUp(%v) = %s", x, text)
		}
	}
	if privacy.FormatUp(1) != "1" || privacy.FormatUp(1e-5) != "1e-05" {
		t.Errorf("round numbers change: %s, %s", privacy.FormatUp(1), privacy.FormatUp(1e-5))
	}
	must.Equal(t, privacy.FormatUp(math.Inf(1)), "+Inf", "FormatUp(+Inf)")
}
