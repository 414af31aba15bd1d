package account

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"dyad/internal/must"
	"dyad/internal/sizes"
)

// A sum is never below the real one, and next to it.
func TestUpSum(t *testing.T) {
	sizes.NotShort(t, "slow")
	r := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		var s upSum
		exact := new(big.Rat)
		for range 1 + r.IntN(200) {
			x, n := math.Ldexp(r.Float64(), r.IntN(60)-50), 1
			if r.IntN(2) == 0 {
				n = 1 + r.IntN(1_000_000)
			}
			s.addTimes(n, x)
			exact.Add(exact, new(big.Rat).Mul(new(big.Rat).SetInt64(int64(n)), new(big.Rat).SetFloat64(x)))
		}
		v := s.value()
		if new(big.Rat).SetFloat64(v).Cmp(exact) < 0 || new(big.Rat).SetFloat64(v*(1-0x1p-51)).Cmp(exact) > 0 {
			t.Fatalf("sum %v of %v", v, exact.FloatString(40))
		}
	}
	var s upSum
	s.add(1)
	s.addTimes(3, math.Inf(1))
	s.add(2)
	must.Above(t, s.value(), math.MaxFloat64, "with +Inf")
}
