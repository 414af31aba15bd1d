package sampler_test

import (
	"testing"

	"dyad/internal/must"
	"dyad/privacy/privtest"
)

func TestUint64n(t *testing.T) {
	src := seeded(1)
	for _, n := range []uint64{1, 2, 3, 10, 16} {
		counts, probs := make([]int, n+1), make([]float64, n+1)
		for range 20_000 {
			counts[src.Uint64n(n)]++
		}
		for i := range n {
			probs[i] = 1 / float64(n)
		}
		must.CheckDo(t, privtest.CheckMultinomial(counts, probs, alpha), "n = ", n)
	}
	// For n = 3 2^62 taking the high word without rejection would give every
	// third value twice the probability; here that is the values 0 mod 3.
	const n, draws = uint64(3) << 62, 50_000
	third := func(draw func() uint64) (count int) {
		for range draws {
			if draw()%3 == 0 {
				count++
			}
		}
		return count
	}
	must.CheckDo(t, privtest.CheckBinomial(third(func() uint64 { return src.Uint64n(n) }), draws, 1./3, alpha))
	biased := func() uint64 { return src.Uint64() % n }
	low := func(draw func() uint64) (count int) {
		for range draws {
			if draw() < n/3 {
				count++
			}
		}
		return count
	}
	must.CheckDo(t, privtest.CheckBinomial(low(func() uint64 { return src.Uint64n(n) }), draws, 1./3, alpha))
	if privtest.CheckBinomial(low(biased), draws, 1./3, alpha) == nil {
		t.Error("reduction modulo n was not rejected")
	}
}
