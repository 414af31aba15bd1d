package privacy

import (
	"math"
	"math/big"
	"math/rand/v2"
	"strconv"
	"testing"

	"dyad/internal/must"
	"dyad/internal/sizes"
)

func TestDecimalsAddUp(t *testing.T) {
	for _, c := range []struct {
		n    int
		x    float64
		want float64
	}{{5, 0.2, 1}, {3, 0.1, 0.3}, {10, 0.1, 1}, {7, 0.7, 4.9}, {1000, 0.001, 1}, {1000000, 1e-6, 1}, {3, 1.1, 3.3}, {0, 0.2, 0}, {3, 0, 0}, {1, 0.3, 0.3}, {9, 1e-300, 9e-300}} {
		list := make([]float64, min(c.n, 1000))
		for i := range list {
			list[i] = c.x
		}
		must.Equal(t, DecimalTimes(c.n, c.x), c.want, "%d times %v", c.n, c.x)
		if got := DecimalSum(list...); c.n <= 1000 && got != c.want {
			t.Errorf("the sum of %d times %v is %v, want %v", c.n, c.x, got, c.want)
		}
	}
	must.Equal(t, DecimalSum(0.1, 0.2, 1, 0.7), 2, "0.1 + 0.2 + 1 + 0.7")
	// What is larger is larger.
	for _, x := range []float64{0.2000001, math.Nextafter(0.2, 1)} {
		must.Above(t, DecimalTimes(5, x), 1, "5 times %v is", x)
	}
	must.Above(t, DecimalSum(1, 1e-300), 1, "1 + 1e-300 is")
	for _, x := range []float64{math.Inf(1), math.NaN()} {
		if got := DecimalSum(1, x); got <= math.MaxFloat64 {
			t.Errorf("1 + %v is %v", x, got)
		}
		if got := DecimalTimes(2, x); got <= math.MaxFloat64 {
			t.Errorf("2 times %v is %v", x, got)
		}
	}
	if got := DecimalTimes(2, math.MaxFloat64); !math.IsInf(got, 1) {
		t.Errorf("twice the largest number is %v", got)
	}
}

// Both readings of a sum hold for mechanisms that work with BelowDecimal: no real number of
// them is above it. With the numbers themselves it does not.
func TestBelowDecimalIsSound(t *testing.T) {
	sizes.NotShort(t, "slow")
	r := rand.New(rand.NewPCG(1, 2))
	exact := func(x float64) *big.Rat { return new(big.Rat).SetFloat64(x) }
	above := false
	for range 20000 {
		var list []float64
		asDecimals, spent, plain := new(big.Rat), new(big.Rat), new(big.Rat)
		for range 1 + r.IntN(12) {
			x := math.Ldexp(1+r.Float64(), r.IntN(40)-30)
			if r.IntN(2) == 0 { // a short decimal
				x, _ = strconv.ParseFloat(strconv.FormatFloat(x, 'g', 1+r.IntN(4), 64), 64)
			}
			list = append(list, x)
			d, _ := decimal(x)
			asDecimals.Add(asDecimals, d)
			spent.Add(spent, exact(BelowDecimal(x)))
			plain.Add(plain, exact(x))
		}
		s := DecimalSum(list...)
		d, _ := decimal(s)
		if d.Cmp(asDecimals) < 0 || spent.Cmp(d) > 0 || spent.Cmp(exact(s)) > 0 {
			t.Fatalf("the sum of %v as decimals is %v, less than they are", list, s)
		}
		if before, ok := decimal(math.Nextafter(s, 0)); ok && before.Cmp(asDecimals) >= 0 {
			t.Fatalf("the sum of %v as decimals is %v, and a smaller number is enough", list, s)
		}
		above = above || plain.Cmp(exact(s)) > 0
	}
	if !above {
		t.Error("the test would not notice a mechanism that works with the numbers themselves")
	}
}
