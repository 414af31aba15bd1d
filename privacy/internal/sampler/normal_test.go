package sampler_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"dyad/internal/machine"
	"dyad/internal/must"
	"dyad/internal/sizes"
	"dyad/kernels"
	"dyad/privacy"
	"dyad/privacy/internal/sampler"
	"dyad/privacy/privtest"
)

// alpha is the false-alarm rate of every statistical check of these tests. The
// sources are seeded, so a run that passes once passes always.
const alpha = 1e-9

func phi(t float64) float64 { return math.Erfc(-t/math.Sqrt2) / 2 }

// normalCells counts n draws of Z in cells of width 1/8 for |Z| < 5 and two
// tails, with their probabilities.
func normalCells(n int, draw func() float64) (counts []int, probs []float64) {
	const cells = 80
	counts = make([]int, cells+2)
	for range n {
		i := math.Floor(draw()*8) + cells/2 + 1
		counts[int(min(max(i, 0), cells+1))]++
	}
	lower := func(t float64) float64 { // upper tail by symmetry: no cancellation
		return phi(-math.Abs(t))
	}
	for i := range cells + 2 {
		a, b := float64(i-1-cells/2)/8, float64(i-cells/2)/8
		switch {
		case i == 0 || i == cells+1:
			probs = append(probs, lower(5))
		case a >= 0:
			probs = append(probs, lower(a)-lower(b))
		default:
			probs = append(probs, lower(b)-lower(a))
		}
	}
	return counts, probs
}

func exactNormal(src *sampler.Bits, width uint) func() float64 {
	return func() float64 {
		negative, k, x := src.Normal(width)
		if negative {
			return -float64(k) - x
		}
		return float64(k) + x
	}
}

// Small digits make ties, tails and extended digits common; the law is the same.
func TestNormalLaw(t *testing.T) {
	for width, n := range map[uint]int{1: 1 << 16, 2: 1 << 16, 7: 1 << 16, 64: 1 << 19} {
		if !sizes.Full() {
			n /= 4
		}
		counts, probs := normalCells(n, exactNormal(seeded(uint64(width)), width))
		must.CheckDo(t, privtest.CheckMultinomial(counts, probs, alpha), fmt.Sprintf("digits of %d bits", width))
	}
}

// Defects that TestNormalLaw must catch, each at the size of its largest sample.
func TestNormalLawRejectsDefects(t *testing.T) {
	sizes.NotShort(t, "sampling on one goroutine")
	const n = 1 << 19
	src := seeded(1)
	z := exactNormal(src, 64)
	for _, c := range []struct {
		name string
		draw func() float64
	}{
		{"sigma 3 % small", func() float64 { return 0.97 * z() }},
		{"sigma 3 % large", func() float64 { return 1.03 * z() }},
		{"mean 0.02", func() float64 { return z() + 0.02 }},
		{"no tail beyond 3", func() float64 {
			for {
				if v := z(); math.Abs(v) < 3 {
					return v
				}
			}
		}},
		{"biased sign", func() float64 {
			if v := z(); v > 0 || src.Uint64n(100) > 0 {
				return v
			}
			return math.Abs(z())
		}},
		{"sum of 12 uniforms", func() float64 {
			v := -6.0
			for range 12 {
				v += float64(src.Uint64()>>11) * 0x1p-53
			}
			return v
		}},
	} {
		counts, probs := normalCells(n, c.draw)
		must.ErrDo(t, privtest.CheckMultinomial(counts, probs, alpha), "%s was not rejected", c.name)
	}
}

func TestNormalTails(t *testing.T) {
	n := sizes.Of(1<<20, 1<<21)
	sizes.NotShort(t, "needs 2 million draws")
	src := seeded(4)
	tail := func(draw func() float64) error {
		beyond, positive := 0, 0
		for range n {
			if v := draw(); math.Abs(v) > 4 {
				beyond++
				if v > 0 {
					positive++
				}
			}
		}
		return errors.Join(
			privtest.CheckBinomial(beyond, n, 2*phi(-4), alpha),
			privtest.CheckBinomial(positive, n, phi(-4), alpha))
	}
	must.CheckDo(t, tail(exactNormal(src, 64)))
	coins := rand.New(src)
	if tail(func() float64 { return min(4, coins.NormFloat64()) }) == nil {
		t.Error("a normal without upper tail beyond 4 was not rejected")
	}
	if tail(func() float64 { // Laplace tails fitted to variance 1
		return (coins.ExpFloat64() - coins.ExpFloat64()) / math.Sqrt2
	}) == nil {
		t.Error("Laplace tails were not rejected")
	}
}

func BenchmarkNormal(b *testing.B) {
	src := must.Get(privacy.NewSource())(b)
	for b.Loop() {
		src.Normal(64)
	}
}

// reportDraws reports the draws per second of processor time of all calls of add, and the
// multiply-adds that a core can do at the same time, as other programs slow both.
func reportDraws(b *testing.B, draws int, add func()) {
	set := must.Get(kernels.Select(kernels.Best))(b)
	peak := machine.FMAPeak(set)
	start := machine.ProcessorTime()
	for b.Loop() {
		add()
	}
	used := machine.ProcessorTime() - start
	b.ReportMetric(float64(b.N*draws)/used/1e6, "Mdraw/s")
	b.ReportMetric((peak+machine.FMAPeak(set))/2e9, "peak-Gflop/s")
}

func BenchmarkAdd(b *testing.B) {
	src := must.Get(privacy.NewSource())(b)
	x := make([]float64, 1000)
	for _, start := range []float64{0, 0.123456789, 1e-9} {
		for _, m := range []privacy.Mechanism{privacy.Gaussian{Sigma: 0.3}, privacy.Laplace{Scale: 0.3, Coordinates: len(x)}} {
			b.Run(fmt.Sprint(m.Name(), "/x=", start), func(b *testing.B) {
				reportDraws(b, len(x), func() {
					for i := range x {
						x[i] = start
					}
					addNoise(m, x, src.Bits)
				})
			})
		}
	}
}
