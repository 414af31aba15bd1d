package local

import (
	"math"
	"testing"
)

// tanh equals the function of package math up to an absolute error of 4 2^-53, odd, and within [-1, 1].
func TestTanh(t *testing.T) {
	for k := -400; k <= 400; k++ {
		for _, z := range []float64{float64(k) / 16, math.Ldexp(1.3, k)} {
			got := tanh(z)
			if math.Abs(got-math.Tanh(z)) > 0x1p-51 || got != -tanh(-z) || !(math.Abs(got) <= 1) {
				t.Errorf("tanh(%v) = %v, want %v", z, got, math.Tanh(z))
			}
		}
	}
}
