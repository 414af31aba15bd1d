package kernels

import (
	"math/rand/v2"
	"testing"

	"dyad/internal/must"
)

func uniform(n int, lo, hi float64) []float64 {
	rng := rand.New(rand.NewPCG(7, uint64(n)))
	x := make([]float64, n)
	for i := range x {
		x[i] = lo + (hi-lo)*rng.Float64()
	}
	return x
}

// benchVariants runs a benchmark for every variant of this processor.
func benchVariants(b *testing.B, bench func(b *testing.B, kernel *Set)) {
	for _, v := range Variants() {
		s := must.Get(Select(v))(b)
		b.Run("variant="+v.String(), func(b *testing.B) { bench(b, s) })
	}
}
