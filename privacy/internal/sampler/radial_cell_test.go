package sampler_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"dyad/internal/must"
	"dyad/internal/sizes"
	"dyad/privacy"
	"dyad/privacy/internal/sampler"
)

// radialPrecision is the precision of the reference computation, in bits.
const radialPrecision = 600

// referenceFactor is scale (E_1 + ... + E_m)/(g ||N||) from 8 digits of 64 bits
// of every real, in 600-bit arithmetic, written down from the definition.
func referenceFactor(r sampler.Radial, m privacy.KNorm) (*big.Float, []*big.Rat) {
	normals, exponentials := r.Reals(8)
	squares, sum := new(big.Rat), new(big.Rat)
	for j := range normals {
		squares.Add(squares, new(big.Rat).Mul(normals[j], normals[j]))
		sum.Add(sum, exponentials[j])
	}
	float := func(v *big.Rat) *big.Float { return new(big.Float).SetPrec(radialPrecision).SetRat(v) }
	f := float(squares)
	f.Quo(float(sum), f.Sqrt(f))
	f.Mul(f, float(rat(m.Scale)))
	return f.Quo(f, float(rat(m.GridSize()))), normals
}

// referenceCell is x/g + z_i/g + 1/2: its floor is the cell.
func referenceCell(factor *big.Float, normal *big.Rat, x, g float64) *big.Float {
	v := new(big.Float).SetPrec(radialPrecision).SetRat(normal)
	v.Mul(v, factor)
	shift := new(big.Rat).Quo(rat(x), rat(g))
	shift.Add(shift, big.NewRat(1, 2))
	return v.Add(v, new(big.Float).SetPrec(radialPrecision).SetRat(shift))
}

func floorOf(v *big.Float) *big.Int {
	m, _ := v.Int(nil) // truncates
	if v.Sign() < 0 && new(big.Float).SetInt(m).Cmp(v) != 0 {
		m.Sub(m, big.NewInt(1))
	}
	return m
}

// hostileX returns an x for which x + z_i is within a few float64 steps of the
// boundary of a cell, or a random one.
func hostileX(coins *rand.Rand, factor *big.Float, normal *big.Rat, m privacy.KNorm) float64 {
	g := m.GridSize()
	x := (2*coins.Float64() - 1) * m.Scale * math.Ldexp(1, coins.IntN(30)-20)
	switch coins.IntN(8) {
	case 0:
		return math.Ldexp(x, []int{-1000, -90, 40, 300}[coins.IntN(4)])
	case 1:
		return x
	}
	v := referenceCell(factor, normal, x, g)
	v.Sub(new(big.Float).SetInt(floorOf(v)), v) // what is missing to the boundary, in cells
	missing, _ := v.Float64()
	x += missing * g
	for range coins.IntN(3) {
		x = math.Nextafter(x, math.Inf(coins.IntN(2)*2-1))
	}
	return x
}

func radialCase(coins *rand.Rand, src *sampler.Bits) (sampler.Radial, privacy.KNorm, int) {
	m := privacy.KNorm{Scale: math.Ldexp(1+coins.Float64(), coins.IntN(41)-20)}
	m.Grid = privacy.GridFor(m.Scale) * math.Ldexp(1, []int{0, 0, 0, 0, -12, -17, -30, 8, 28, 31, 40}[coins.IntN(11)])
	size := []int{1, 2, 3, 17, 60}[coins.IntN(5)]
	r := sampler.NewRadial(m.Scale, m.GridSize(), size, src, 64)
	if coins.IntN(3) == 0 { // reals near 0 and near the next integer
		head := func() uint64 {
			return []uint64{0, 1, math.MaxUint64, 1 << 63, coins.Uint64() >> 40, coins.Uint64()}[coins.IntN(6)]
		}
		r.SetHeads(
			func(int) (uint64, uint64) { return uint64(coins.IntN(3)), head() },
			func(int) (uint64, uint64) { return uint64(coins.IntN(3)), head() })
	}
	return r, m, size
}

// The float64 decision, the decision in big integers and 600-bit arithmetic give
// the same cell for the same digits, also beside the boundaries; the float64
// decision refuses what it cannot know.
func TestRadialCellDecision(t *testing.T) {
	n := sizes.Of(500, 1_500)
	if testing.Short() {
		n = 400
	}
	coins := rand.New(rand.NewPCG(3, 4))
	src := seeded(12)
	fast, refused, naiveWrong := 0, 0, 0
	for range n {
		r, m, size := radialCase(coins, src)
		factor, normals := referenceFactor(r, m)
		i := coins.IntN(size)
		x := hostileX(coins, factor, normals[i], m)
		want := floorOf(referenceCell(factor, normals[i], x, m.GridSize()))
		if got := r.Slow(i, x); got.Cmp(want) != 0 {
			t.Fatalf("big integers: cell %v, want %v (x = %v, %+v, %d coordinates)", got, want, x, m, size)
		}
		got, ok := r.Fast(i, x)
		switch {
		case ok && (!want.IsInt64() || got != want.Int64()):
			t.Fatalf("float64: cell %v, want %v (x = %v, %+v, %d coordinates)", got, want, x, m, size)
		case ok:
			fast++
		default:
			refused++
		}
		normal, _ := normals[i].Float64()
		if naive := math.Floor(x/m.GridSize() + r.FastFactor()*normal + 0.5); want.IsInt64() && naive != float64(want.Int64()) {
			naiveWrong++
		}
	}
	t.Logf("%d decided in float64, %d refused; plain float64 arithmetic is wrong for %d of %d", fast, refused, naiveWrong, n)
	if fast < n/10 || refused < n/10 || naiveWrong < n/50 {
		t.Error("some path is not tested")
	}
}

// The error bound of the factor that the float64 decision rests on. A defect of
// twice the slack gives wrong cells, which the comparison with big integers
// catches.
func TestRadialFastFactor(t *testing.T) {
	coins := rand.New(rand.NewPCG(7, 8))
	src := seeded(13)
	worst, caught := 0.0, 0
	const n = 700
	for range n {
		r, m, size := radialCase(coins, src)
		f := r.FastFactor()
		if f == 0 {
			continue
		}
		exact, normals := referenceFactor(r, m)
		off := new(big.Float).SetPrec(radialPrecision).SetFloat64(f)
		off.Sub(off, exact).Quo(off, exact)
		relative, _ := off.Float64()
		worst = max(worst, math.Abs(relative)*0x1p53)
		i := coins.IntN(size)
		x := hostileX(coins, exact, normals[i], m)
		r.SetFastFactor(f * (1 + 0x1p-47))
		if cell, ok := r.Fast(i, x); ok && r.Slow(i, x).Cmp(big.NewInt(cell)) != 0 {
			caught++
		}
	}
	t.Logf("largest error of the factor: %.3g units of 2^-53; %d of %d defects caught", worst, caught, n)
	must.AtMost(t, worst, 13, "the factor is off by %.3g units of 2^-53, proved: 13", worst)
	if worst < 1 || caught < 20 {
		t.Errorf("largest error %.3g, %d defects caught: the cases are too easy", worst, caught)
	}
}

// Where the first digits leave the cell open more are drawn, as many as needed,
// and the cell is the one of the real number.
func TestRadialDrawsMoreDigits(t *testing.T) {
	coins := rand.New(rand.NewPCG(5, 6))
	open := 0
	for seed := range uint64(400) {
		m := privacy.KNorm{Scale: 1 + coins.Float64(), Grid: math.Ldexp(1, -50-coins.IntN(30))}
		size := 1 + coins.IntN(4)
		r := sampler.NewRadial(m.Scale, m.GridSize(), size, seeded(seed), 64)
		x := coins.NormFloat64()
		i := coins.IntN(size)
		if _, ok := r.Fast(i, x); ok && m.Grid < 0x1p-55 {
			t.Fatalf("float64 decided a cell of %v", m.Grid)
		}
		got := r.Slow(i, x)
		digits := r.Digits(i)
		if lo, hi := r.Enclose(i, x, digits); lo.Cmp(hi) != 0 || lo.Cmp(got) != 0 {
			t.Fatalf("cell %v, but %d digits enclose %v to %v", got, digits, lo, hi)
		}
		if digits > 1 {
			open++
			if lo, hi := r.Enclose(i, x, digits-1); lo != nil && lo.Cmp(hi) == 0 {
				t.Fatalf("drew digit %d, not needed", digits)
			}
		}
		factor, normals := referenceFactor(r, m)
		if want := floorOf(referenceCell(factor, normals[i], x, m.Grid)); got.Cmp(want) != 0 {
			t.Fatalf("cell %v, want %v", got, want)
		}
	}
	must.AtLeast(t, open, 30, "only %d of 400 cases needed more than one digit", open)
}

// On the default grid nearly all coordinates are decided in float64.
func TestRadialFastIsTypical(t *testing.T) {
	src := seeded(14)
	m := privacy.KNorm{Scale: 0.7, Grid: privacy.GridFor(0.7)}
	const size, releases = 465, 20
	slow := 0
	for range releases {
		r := sampler.NewRadial(m.Scale, m.GridSize(), size, src, 64)
		for i := range size {
			x := 0.1 * float64(i)
			cell, ok := r.Fast(i, x)
			if !ok {
				slow++
			} else if r.Slow(i, x).Cmp(big.NewInt(cell)) != 0 {
				t.Fatalf("coordinate %d: float64 and big integers decide differently", i)
			}
		}
	}
	t.Logf("%d of %d coordinates needed big integers", slow, size*releases)
	must.AtMost(t, slow, size*releases/500, "%d of %d coordinates needed big integers, want at most 1 in 500", slow, size*releases)
}
