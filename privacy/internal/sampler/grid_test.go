package sampler_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"dyad/internal/must"
	"dyad/internal/sizes"
	"dyad/privacy"
	"dyad/privacy/internal/sampler"
)

func rat(v float64) *big.Rat { return new(big.Rat).SetFloat64(v) }

// cellAt is floor((x + s sigma (k + u))/g + 1/2) in rational arithmetic, written
// down from the definition, without any of the code under test.
func cellAt(c sampler.CellCase, u *big.Rat) *big.Int {
	z := new(big.Rat).Add(new(big.Rat).SetFrac(new(big.Int).SetUint64(c.K), big.NewInt(1)), u)
	z.Mul(z, rat(c.Sigma))
	if c.Negative {
		z.Neg(z)
	}
	z.Add(z, rat(c.X)).Quo(z, rat(c.Grid)).Add(z, big.NewRat(1, 2))
	// Euclidean division by a positive number rounds down.
	return new(big.Int).Div(z.Num(), z.Denom())
}

// digitsValue is the real number of the digits, and the length of the interval
// that they leave open.
func digitsValue(digits []uint64) (u, width *big.Rat) {
	v := new(big.Int)
	for _, d := range digits {
		v.Lsh(v, 64).Add(v, new(big.Int).SetUint64(d))
	}
	one := new(big.Int).Lsh(big.NewInt(1), uint(64*len(digits)))
	return new(big.Rat).SetFrac(v, one), new(big.Rat).SetFrac(big.NewInt(1), one)
}

// randomCell returns a hostile case. For about half of the cases the digits are
// set to a cell boundary, exactly or one unit beside it.
func randomCell(coins *rand.Rand) sampler.CellCase {
	sigma := math.Ldexp(1+coins.Float64(), coins.IntN(41)-20)
	if coins.IntN(4) == 0 {
		sigma = math.Ldexp(1, coins.IntN(41)-20)
	}
	grid := privacy.GridFor(sigma) * math.Ldexp(1, []int{0, 0, 0, 1, 5, 27, 28, 30, 36, 37, 60, -5, -24, -25, -26, -27, -40, -70}[coins.IntN(18)])
	x := (2*coins.Float64() - 1) * sigma * math.Ldexp(1, coins.IntN(80)-40)
	switch coins.IntN(8) {
	case 0:
		x = 0
	case 1:
		x = math.Round(x/grid) * grid
	case 2:
		x = (math.Floor(x/grid) + 0.5) * grid
	case 3:
		x = math.Ldexp(x, []int{-1000, -200, -90, 90, 300}[coins.IntN(5)])
	}
	c := sampler.CellCase{X: x, Sigma: sigma, Grid: grid, Negative: coins.IntN(2) == 0,
		K: uint64([]int{0, 0, 0, 1, 1, 2, 3, 15, 16, 40}[coins.IntN(10)]), Digits: []uint64{coins.Uint64()}}
	if coins.IntN(2) == 0 {
		return c
	}
	// The boundary below the cell is at x + s sigma (k+u) = (m - 1/2) g.
	u, _ := digitsValue(c.Digits)
	b := new(big.Rat).SetInt(cellAt(c, u))
	b.Sub(b, big.NewRat(1, 2)).Mul(b, rat(grid)).Sub(b, rat(x)).Quo(b, rat(sigma))
	if c.Negative {
		b.Neg(b)
	}
	b.Sub(b, new(big.Rat).SetInt64(int64(c.K)))
	b.Mul(b, new(big.Rat).SetInt(new(big.Int).Lsh(big.NewInt(1), 64)))
	d := new(big.Int).Div(b.Num(), b.Denom())
	d.Add(d, big.NewInt(int64(coins.IntN(3)-1)))
	if d.Sign() >= 0 && d.IsUint64() {
		c.Digits[0] = d.Uint64()
	}
	return c
}

// The fast decision, the decision in big integers and rational arithmetic give
// the same cell for the same digits, and no decision is made before the digits
// determine the cell.
func TestCellDecisionIsExact(t *testing.T) {
	n := sizes.Of(8_000, 24_000)
	if testing.Short() {
		n /= 2
	}
	coins := rand.New(rand.NewPCG(1, 2))
	src := seeded(3)
	fast, open, refused, naiveWrong := 0, 0, 0, 0
	for range n {
		c := randomCell(coins)
		u, width := digitsValue(c.Digits)
		lo, hi := cellAt(c, u), cellAt(c, new(big.Rat).Add(u, width))
		decided := lo.Cmp(hi) == 0
		z := float64(c.K) + float64(c.Digits[0])*0x1p-64
		if c.Negative {
			z = -z
		}
		if naive, _ := big.NewFloat(math.Floor((c.X+c.Sigma*z)/c.Grid + 0.5)).Int(nil); naive.Cmp(lo) != 0 {
			naiveWrong++
		}
		m, ok := c.Fast()
		switch {
		case ok && !decided:
			t.Fatalf("decided too early: %+v", c)
		case ok && (!lo.IsInt64() || m != lo.Int64()):
			t.Fatalf("fast cell %d, want %v: %+v", m, lo, c)
		case ok:
			fast++
		case !decided:
			open++
		default:
			refused++
		}
		got, digits := c.Slow(src)
		if decided && (digits != 1 || got.Cmp(lo) != 0) {
			t.Fatalf("slow cell %v with %d digits, want %v with 1: %+v", got, digits, lo, c)
		}
		if !decided && got.Cmp(lo) != 0 && got.Cmp(hi) != 0 && c.Grid > c.Sigma*0x1p-60 {
			t.Fatalf("slow cell %v, want %v or %v: %+v", got, lo, hi, c)
		}
	}
	if fast < n/4 || open < n/20 || refused == 0 {
		t.Errorf("%d fast, %d open, %d refused of %d: some path is not tested", fast, open, refused, n)
	}
	must.AtLeast(t, naiveWrong, n/20, "rounded arithmetic gives another cell in %d of %d cases only: the cases are too easy", naiveWrong, n)
}

// With the digits that follow, an open case is decided as rational arithmetic
// decides it.
func TestCellDecisionDrawsMoreDigits(t *testing.T) {
	coins := rand.New(rand.NewPCG(5, 6))
	open := 0
	for range 6_000 {
		c := randomCell(coins)
		u, width := digitsValue(c.Digits)
		if cellAt(c, u).Cmp(cellAt(c, new(big.Rat).Add(u, width))) == 0 {
			continue
		}
		open++
		more := make([]uint64, 6)
		for i := range more {
			more[i] = coins.Uint64()
		}
		got, digits := c.Slow(scripted(more, 1))
		full := append(slices.Clone(c.Digits), more...)
		u, width = digitsValue(full[:digits])
		lo, hi := cellAt(c, u), cellAt(c, new(big.Rat).Add(u, width))
		if lo.Cmp(hi) != 0 || got.Cmp(lo) != 0 || digits < 2 {
			t.Fatalf("cell %v from %d digits, want %v (upper end %v): %+v", got, digits, lo, hi, c)
		}
		u, width = digitsValue(full[:digits-1])
		if cellAt(c, u).Cmp(cellAt(c, new(big.Rat).Add(u, width))) == 0 {
			t.Fatalf("drew digit %d, not needed: %+v", digits, c)
		}
	}
	must.AtLeast(t, open, 500, "only %d open cases", open)
}
