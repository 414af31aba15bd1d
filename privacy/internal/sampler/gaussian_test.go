package sampler_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"dyad/internal/must"
	"dyad/internal/sizes"
	"dyad/privacy"
	"dyad/privacy/internal/sampler"
	"dyad/privacy/privtest"
)

// gridCells counts the cells of n outputs around x, with the exact probability
// Phi(((m+1/2)g-x)/sigma) - Phi(((m-1/2)g-x)/sigma) of every cell; what is beyond
// 5.5 sigma is in the two outer cells.
func gridCells(x, sigma, grid float64, n int, draw func() float64) (counts []int, probs []float64) {
	first := math.Floor((x-5.5*sigma)/grid + 0.5)
	last := math.Floor((x+5.5*sigma)/grid + 0.5)
	cells := int(last-first) + 1
	counts = make([]int, cells)
	for range n {
		m := math.Floor(draw()/grid + 0.5)
		counts[int(min(max(m, first), last)-first)]++
	}
	for i := range cells {
		a := ((first+float64(i)-0.5)*grid - x) / sigma
		b := a + grid/sigma
		if i == 0 {
			a = math.Inf(-1)
		}
		if i == cells-1 {
			b = math.Inf(1)
		}
		if a > 0 {
			a, b = -b, -a
		}
		probs = append(probs, phi(b)-phi(a))
	}
	return counts, probs
}

type gridCase struct{ x, sigma, grid float64 }

var gridCases = []gridCase{
	{0.3, 1, 0.5},          // fine enough for about 20 cells
	{-0.7182818, 0.6, 1},   // grid coarser than sigma: rounding dominates
	{1 + 0x1p-50, 0.45, 2}, // 4.4 sigma, and a low-order bit in x
	{1e-300, 1.25, 1},      // far below one unit of the noise
	{-3e9, 1, 0.25},        // 2^33.5 cells from zero
	{0x1p80, 0x1p75, 0x1p75},
}

func draws(m privacy.Mechanism, x float64, src *sampler.Bits, width uint) func() float64 {
	buf := make([]float64, 512)
	next := len(buf)
	return func() float64 {
		if next == len(buf) {
			for i := range buf {
				buf[i] = x
			}
			addNoiseWidth(m, buf, src, width)
			next = 0
		}
		next++
		return buf[next-1]
	}
}

func TestGaussianGridLaw(t *testing.T) {
	for i, c := range gridCases {
		for width, n := range map[uint]int{64: 1 << 17, 1: 1 << 14, 9: 1 << 15} {
			if !sizes.Full() {
				n /= 4
			}
			m := privacy.Gaussian{Sigma: c.sigma, Grid: c.grid}
			src := seeded(uint64(100 + i))
			counts, probs := gridCells(c.x, c.sigma, c.grid, n, draws(m, c.x, src, width))
			must.CheckDo(t, privtest.CheckMultinomial(counts, probs, alpha), c, ", digits of ", width, " bits")
		}
	}
}

// Samplers with a defect that the test of the law must reject.
func TestGaussianGridLawRejectsDefects(t *testing.T) {
	sizes.NotShort(t, "sampling on one goroutine")
	const n = 1 << 19
	src := seeded(7)
	coins := rand.New(src)
	c := gridCases[0]
	round := func(v float64) float64 { return c.grid * math.Floor(v/c.grid+0.5) }
	m := privacy.Gaussian{Sigma: c.sigma, Grid: c.grid}
	for _, d := range []struct {
		name string
		draw func() float64
	}{
		{"sigma 3 % small", draws(privacy.Gaussian{Sigma: 0.97 * c.sigma, Grid: c.grid}, c.x, src, 64)},
		{"sigma 5 % large", draws(privacy.Gaussian{Sigma: 1.05 * c.sigma, Grid: c.grid}, c.x, src, 64)},
		{"shifted by 0.02 sigma", draws(m, c.x+0.02*c.sigma, src, 64)},
		{"x rounded before the addition", func() float64 { return round(c.x) + round(c.sigma*coins.NormFloat64()) }},
		{"rounded towards zero", func() float64 { return c.grid * math.Trunc((c.x+c.sigma*coins.NormFloat64())/c.grid) }},
		{"no tail beyond 3 sigma", func() float64 {
			for {
				if z := coins.NormFloat64(); math.Abs(z) < 3 {
					return round(c.x + c.sigma*z)
				}
			}
		}},
	} {
		counts, probs := gridCells(c.x, c.sigma, c.grid, n, d.draw)
		if privtest.CheckMultinomial(counts, probs, alpha) == nil {
			t.Errorf("%s was not rejected", d.name)
		}
	}
}

// offLattice counts the outputs that are no multiple of lattice.
func offLattice(n int, lattice float64, draw func() float64) (off int) {
	for range n {
		if v := draw(); math.Mod(v, lattice) != 0 {
			off++
		}
	}
	return off
}

// The set of possible outputs is the same for x = 0 and x = 1 + 2^-50, so
// low-order bits carry nothing. With naive float64 addition they do: outputs of
// small size have finer bits for x = 0 only (Mironov 2012).
func TestLowOrderBitsDoNotLeak(t *testing.T) {
	const n = 20_000
	src := seeded(9)
	coins := rand.New(src)
	for _, x := range []float64{0, 1 + 0x1p-50} {
		m := privacy.Gaussian{Sigma: 1, Grid: privacy.GridFor(1)}
		must.Equal(t, offLattice(n, m.Grid, draws(m, x, src, 64)), 0, "x = %v: ... of %d outputs are off the grid", x, n)
	}
	naive := func(x, lattice float64) int {
		return offLattice(n, lattice, func() float64 { return x + coins.NormFloat64() })
	}
	if naive(0, privacy.GridFor(1)) == 0 {
		t.Error("naive addition was not rejected")
	}
	if zero, one := naive(0, 0x1p-53), naive(1+0x1p-50, 0x1p-53); zero < n/20 || one > n/100 {
		t.Errorf("naive addition: %d and %d of %d outputs have bits below 2^-53, so the test sees no leak", zero, one, n)
	}
}
