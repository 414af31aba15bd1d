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

// laplaceCDF is the distribution function of the standard Laplace law.
func laplaceCDF(t float64) float64 {
	if t > 0 {
		return 1 - math.Exp(-t)/2
	}
	return math.Exp(t) / 2
}

// laplaceCells is gridCells for x + scale L, L standard Laplace; what is beyond
// 12 scale is in the two outer cells.
func laplaceCells(x, scale, grid float64, n int, draw func() float64) (counts []int, probs []float64) {
	first := math.Floor((x-12*scale)/grid + 0.5)
	last := math.Floor((x+12*scale)/grid + 0.5)
	counts = make([]int, int(last-first)+1)
	for range n {
		m := math.Floor(draw()/grid + 0.5)
		counts[int(min(max(m, first), last)-first)]++
	}
	for i := range counts {
		a := ((first+float64(i)-0.5)*grid - x) / scale
		b := a + grid/scale
		if i == 0 {
			a = math.Inf(-1)
		}
		if i == len(counts)-1 {
			b = math.Inf(1)
		}
		if a > 0 { // upper tail by symmetry: no cancellation
			a, b = -b, -a
		}
		probs = append(probs, laplaceCDF(b)-laplaceCDF(a))
	}
	return counts, probs
}

func exponentialCells(n int, draw func() float64) (counts []int, probs []float64) {
	const cells = 64 // of width 1/8, and the tail beyond 8
	counts = make([]int, cells+1)
	for range n {
		counts[min(int(draw()*8), cells)]++
	}
	for i := range cells {
		probs = append(probs, math.Exp(-float64(i)/8)*-math.Expm1(-1.0/8))
	}
	return counts, append(probs, math.Exp(-8))
}

func TestExponentialLaw(t *testing.T) {
	for width, n := range map[uint]int{1: 1 << 16, 2: 1 << 16, 7: 1 << 16, 64: 1 << 19} {
		if !sizes.Full() {
			n /= 8
		}
		src := seeded(uint64(width))
		counts, probs := exponentialCells(n, func() float64 {
			k, x := src.Exponential(width)
			return float64(k) + x
		})
		must.CheckDo(t, privtest.CheckMultinomial(counts, probs, alpha), "digits of ", width, " bits")
	}
}

func TestExponentialLawRejectsDefects(t *testing.T) {
	sizes.NotShort(t, "sampling on one goroutine")
	src := seeded(3)
	coins := rand.New(src)
	exact := func() float64 {
		k, x := src.Exponential(64)
		return float64(k) + x
	}
	for name, draw := range map[string]func() float64{
		"scale 3 % large": func() float64 { return 1.03 * exact() },
		"uniform fraction": func() float64 { // the whole part is right
			return math.Floor(exact()) + coins.Float64()
		},
		"no tail beyond 6": func() float64 { return math.Mod(exact(), 6) },
		"half a normal":    func() float64 { return math.Abs(coins.NormFloat64()) },
	} {
		counts, probs := exponentialCells(1<<19, draw)
		if privtest.CheckMultinomial(counts, probs, alpha) == nil {
			t.Errorf("%s was not rejected", name)
		}
	}
}

// One coordinate of KNorm noise is Laplace noise, so both pass the same test.
func TestLaplaceGridLaw(t *testing.T) {
	for i, c := range gridCases {
		for width, n := range map[uint]int{64: 1 << 16, 1: 1 << 12, 9: 1 << 13} {
			if !sizes.Full() {
				n /= 8
			}
			for _, m := range []privacy.Mechanism{
				privacy.Laplace{Scale: c.sigma, Coordinates: 512, Grid: c.grid},
				privacy.KNorm{Scale: c.sigma, Grid: c.grid},
			} {
				src := seeded(uint64(200 + i))
				draw := draws(m, c.x, src, width)
				if k, ok := m.(privacy.KNorm); ok {
					draw = knormLine(k, c.x, src, width)
				}
				counts, probs := laplaceCells(c.x, c.sigma, c.grid, n, draw)
				must.CheckDo(t, privtest.CheckMultinomial(counts, probs, alpha), c, ", ", m, ", digits of ", width, " bits")
			}
		}
	}
}

// knormLine draws releases of one coordinate.
func knormLine(m privacy.KNorm, x float64, src *sampler.Bits, width uint) func() float64 {
	return func() float64 {
		v := []float64{x}
		addNoiseWidth(m, v, src, width)
		return v[0]
	}
}

func TestLaplaceGridLawRejectsDefects(t *testing.T) {
	const n = 1 << 18
	src := seeded(7)
	coins := rand.New(src)
	c := gridCases[0]
	m := privacy.Laplace{Scale: c.sigma, Coordinates: 1, Grid: c.grid}
	wider, narrower := m, m
	wider.Scale *= 1.05
	narrower.Scale *= 0.95
	round := func(v float64) float64 { return c.grid * math.Floor(v/c.grid+0.5) }
	naive := func() float64 {
		v := c.sigma * coins.ExpFloat64()
		if coins.IntN(2) == 0 {
			return -v
		}
		return v
	}
	for name, draw := range map[string]func() float64{
		"scale 5 % large":             draws(wider, c.x, src, 64),
		"scale 5 % small":             draws(narrower, c.x, src, 64),
		"shifted by 0.02 scale":       draws(m, c.x+0.02*c.sigma, src, 64),
		"Gaussian of equal variance":  draws(privacy.Gaussian{Sigma: c.sigma * math.Sqrt2, Grid: c.grid}, c.x, src, 64),
		"x rounded before the adding": func() float64 { return round(c.x) + round(naive()) },
		"no noise beyond 4 scale":     func() float64 { return round(c.x + max(-4*c.sigma, min(naive(), 4*c.sigma))) },
		"one-sided":                   func() float64 { return round(c.x + math.Abs(naive())) },
	} {
		counts, probs := laplaceCells(c.x, c.sigma, c.grid, n, draw)
		if privtest.CheckMultinomial(counts, probs, alpha) == nil {
			t.Errorf("%s was not rejected", name)
		}
	}
}

// The set of possible outputs does not depend on the low-order bits of x; with
// naive float64 addition it does, for the same reason as in
// TestLowOrderBitsDoNotLeak.
func TestPureNoiseStaysOnTheGrid(t *testing.T) {
	const n = 5_000
	src := seeded(9)
	coins := rand.New(src)
	for _, x := range []float64{0, 1 + 0x1p-50, -3.3} {
		for _, m := range []privacy.Mechanism{privacy.Laplace{Scale: 1, Coordinates: 4}, privacy.KNorm{Scale: 1}} {
			off := 0
			for range n {
				v := []float64{x, -x, 1, x}
				addNoise(m, v, src)
				for _, y := range v {
					if math.Mod(y, m.GridSize()) != 0 {
						off++
					}
				}
			}
			must.Equal(t, off, 0, "%v, x = %v: ... of %d outputs are off the grid", m, x, 4*n)
		}
	}
	naive := func(x float64) int {
		return offLattice(n, 0x1p-53, func() float64 { return x + coins.ExpFloat64() - coins.ExpFloat64() })
	}
	if zero, one := naive(0), naive(1+0x1p-50); zero < n/20 || one > n/50 {
		t.Errorf("naive addition: %d and %d of %d outputs have bits below 2^-53, so the test sees no leak", zero, one, n)
	}
}
