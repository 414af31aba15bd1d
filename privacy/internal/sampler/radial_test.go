package sampler_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mathext"

	"dyad/internal/must"
	"dyad/internal/sizes"
	"dyad/privacy"
	"dyad/privacy/internal/sampler"
	"dyad/privacy/privtest"
)

// noiseSampler draws vectors of m coordinates meant to have density
// proportional to exp(-||z||).
type noiseSampler func(m int) []float64

// exactKNorm is the release of x = 0 with scale 1. The grid of 2^-28 moves radius,
// direction and the cell boundaries below by less than 1e-6 of a standard
// deviation, which changes a false-alarm rate of 1e-9 by less than 1 %.
func exactKNorm(t *testing.T, src *sampler.Bits) noiseSampler {
	return func(m int) []float64 {
		z := make([]float64, m)
		addNoise(privacy.KNorm{Scale: 1}, z, src)
		return z
	}
}

func norm(z []float64) float64 {
	sum := 0.0
	for _, v := range z {
		sum += v * v
	}
	return math.Sqrt(sum)
}

// checkKNormLaw checks n draws of m coordinates: the radius is Gamma(m, 1); the
// first coordinate over the radius has the law of a coordinate of the uniform
// sphere, (z_1/r)^2 ~ Beta(1/2, (m-1)/2) with a fair sign; and both are
// independent, by the joint cells of 16 quantiles each. The direction is checked
// along a random axis too, as a law that is uniform in every coordinate only
// could pass otherwise.
func checkKNormLaw(m, n int, draw noiseSampler, coins *rand.Rand) error {
	const q = 16
	axis := make([]float64, m)
	for i := range axis {
		axis[i] = coins.NormFloat64()
	}
	length := norm(axis)
	first, along := make([]int, q*q), make([]int, q*q)
	radii := make([]float64, n)
	probs := make([]float64, q*q)
	for i := range probs {
		probs[i] = 1.0 / (q * q)
	}
	quantile := func(c float64) int { // of a coordinate c in [-1, 1] of the sphere
		tail := 0.5 * mathext.RegIncBeta(float64(m-1)/2, 0.5, max(0, 1-c*c))
		if c > 0 {
			tail = 1 - tail
		}
		return min(int(tail*q), q-1)
	}
	for i := range n {
		z := draw(m)
		r := norm(z)
		radii[i] = r
		cell := q * min(int(mathext.GammaIncReg(float64(m), r)*q), q-1)
		dot := 0.0
		for j, v := range z {
			dot += v * axis[j] / length
		}
		first[cell+quantile(z[0]/r)]++
		along[cell+quantile(dot/r)]++
	}
	if err := privtest.CheckCDF(radii, func(r float64) float64 { return mathext.GammaIncReg(float64(m), r) }, alpha/3); err != nil {
		return fmt.Errorf("radius: %w", err)
	}
	if err := privtest.CheckMultinomial(first, probs, alpha/3); err != nil {
		return fmt.Errorf("radius and first coordinate: %w", err)
	}
	if err := privtest.CheckMultinomial(along, probs, alpha/3); err != nil {
		return fmt.Errorf("radius and random axis: %w", err)
	}
	return nil
}

func TestKNormLaw(t *testing.T) {
	coins := rand.New(rand.NewPCG(1, 2))
	for m, n := range map[int]int{2: 1 << 16, 3: 1 << 16, 10: 1 << 14, 465: 1 << 10} {
		if !sizes.Full() {
			n /= 4
		}
		must.CheckDo(t, checkKNormLaw(m, n, exactKNorm(t, seeded(uint64(m))), coins), fmt.Sprintf("%d coordinates", m))
	}
}

// Defects that the test of the law must catch, at half of its sample size.
func TestKNormLawRejectsDefects(t *testing.T) {
	sizes.NotShort(t, "sampling on one goroutine")
	const n = 1 << 15
	src := seeded(5)
	coins := rand.New(src)
	exact := exactKNorm(t, src)
	scaled := func(f float64) noiseSampler {
		return func(m int) []float64 {
			z := exact(m)
			for i := range z {
				z[i] *= f
			}
			return z
		}
	}
	// withDirection gives the exact radius another direction.
	withDirection := func(direction func() float64) noiseSampler {
		return func(m int) []float64 {
			r := norm(exact(m))
			z := make([]float64, m)
			for i := range z {
				z[i] = direction()
			}
			length := norm(z)
			for i := range z {
				z[i] *= r / length
			}
			return z
		}
	}
	radius := func(shape func(m int) int) noiseSampler {
		return func(m int) []float64 {
			z := exact(m)
			r := 0.0
			for range shape(m) {
				r += coins.ExpFloat64()
			}
			length := norm(z)
			for i := range z {
				z[i] *= r / length
			}
			return z
		}
	}
	for name, draw := range map[string]noiseSampler{
		"scale 5 % small":           scaled(0.95),
		"scale 5 % large":           scaled(1.05),
		"radius of dimension m - 1": radius(func(m int) int { return m - 1 }),
		"radius of dimension m + 1": radius(func(m int) int { return m + 1 }),
		"direction of a cube":       withDirection(func() float64 { return 2*coins.Float64() - 1 }),
		"direction of Laplace":      withDirection(func() float64 { return coins.ExpFloat64() - coins.ExpFloat64() }),
		"independent Laplace": func(m int) []float64 {
			z := make([]float64, m)
			for i := range z {
				z[i] = (coins.ExpFloat64() - coins.ExpFloat64()) * math.Sqrt(float64(m+1)/2)
			}
			return z
		},
		"Gaussian": func(m int) []float64 {
			z := make([]float64, m)
			for i := range z {
				z[i] = coins.NormFloat64() * math.Sqrt(float64(m+1))
			}
			return z
		},
		"radius depends on direction": func(m int) []float64 {
			z := exact(m)
			if z[0] > 0 {
				z[0] *= 1.25
			}
			return z
		},
	} {
		for _, m := range []int{2, 3} {
			if checkKNormLaw(m, n, draw, coins) == nil {
				t.Errorf("%s was not rejected for %d coordinates", name, m)
			}
		}
	}
}

// planeProbs are the probabilities of the cells |i|, |j| <= half of a grid of
// width g around 0 for x + z, z of density exp(-||z||/scale)/(2 pi scale^2) in the
// plane, and the probability of being outside as the last one. Each cell by
// Gauss-Legendre quadrature with 8 x 8 nodes on each of 8 x 8 parts.
func planeProbs(x [2]float64, scale, g float64, half int) []float64 {
	nodes := []float64{-0.9602898564975363, -0.7966664774136267, -0.5255324099163290, -0.1834346424956498}
	weights := []float64{0.1012285362903763, 0.2223810344533745, 0.3137066458778873, 0.3626837833783620}
	for i := 3; i >= 0; i-- {
		nodes, weights = append(nodes, -nodes[i]), append(weights, weights[i])
	}
	const parts = 8
	cell := func(a, b float64) float64 { // of lower corner (a, b), relative to x
		h, sum := g/parts, 0.0
		for p := range parts {
			for q := range parts {
				for i, u := range nodes {
					for j, v := range nodes {
						z1 := a + h*(float64(p)+(1+u)/2)
						z2 := b + h*(float64(q)+(1+v)/2)
						sum += weights[i] * weights[j] * math.Exp(-math.Hypot(z1, z2)/scale)
					}
				}
			}
		}
		return sum * h * h / 4 / (2 * math.Pi * scale * scale)
	}
	var probs []float64
	rest := 1.0
	for i := -half; i <= half; i++ {
		for j := -half; j <= half; j++ {
			p := cell((float64(i)-0.5)*g-x[0], (float64(j)-0.5)*g-x[1])
			probs = append(probs, p)
			rest -= p
		}
	}
	return append(probs, rest)
}

func planeCounts(n, half int, g float64, draw func() (a, b float64)) []int {
	side := 2*half + 1
	counts := make([]int, side*side+1)
	for range n {
		a, b := draw()
		i, j := int(math.Floor(a/g+0.5))+half, int(math.Floor(b/g+0.5))+half
		if i < 0 || i >= side || j < 0 || j >= side {
			counts[side*side]++
		} else {
			counts[i*side+j]++
		}
	}
	return counts
}

// On a coarse grid every decision of a cell matters: the joint law of both
// rounded coordinates, for any width of the digits.
func TestKNormGridLaw(t *testing.T) {
	const half, g = 3, 1.0
	x, scale := [2]float64{0.3, -0.71}, 0.8
	probs := planeProbs(x, scale, g, half)
	for width, n := range map[uint]int{64: 1 << 16, 1: 1 << 13, 9: 1 << 13} {
		if !sizes.Full() {
			n /= 4
		}
		src := seeded(uint64(300 + width))
		counts := planeCounts(n, half, g, func() (float64, float64) {
			v := []float64{x[0], x[1]}
			addNoiseWidth(privacy.KNorm{Scale: scale, Grid: g}, v, src, width)
			return v[0], v[1]
		})
		must.CheckDo(t, privtest.CheckMultinomial(counts, probs, alpha), fmt.Sprintf("digits of %d bits", width))
	}
	src := seeded(8)
	for name, draw := range map[string]func() (float64, float64){
		"scale 5 % small": func() (float64, float64) {
			v := []float64{x[0], x[1]}
			addNoiseWidth(privacy.KNorm{Scale: 0.95 * scale, Grid: g}, v, src, 64)
			return v[0], v[1]
		},
		"x rounded before the addition": func() (float64, float64) {
			v := []float64{0, -1}
			addNoiseWidth(privacy.KNorm{Scale: scale, Grid: g}, v, src, 64)
			return v[0], v[1]
		},
		"rounded towards zero": func() (float64, float64) {
			v := []float64{x[0], x[1]}
			addNoiseWidth(privacy.KNorm{Scale: scale, Grid: g / 1024}, v, src, 64)
			return math.Trunc(v[0]), math.Trunc(v[1])
		},
	} {
		if privtest.CheckMultinomial(planeCounts(1<<16, half, g, draw), probs, alpha) == nil {
			t.Errorf("%s was not rejected", name)
		}
	}
}

func BenchmarkKNorm(b *testing.B) {
	src := must.Get(privacy.NewSource())(b)
	for _, m := range []int{1, 10, 465, 10_000} {
		b.Run(fmt.Sprint("m=", m), func(b *testing.B) {
			x := make([]float64, m)
			for b.Loop() {
				for i := range x {
					x[i] = 0.123456789
				}
				addNoise(privacy.KNorm{Scale: 0.3}, x, src.Bits)
			}
		})
	}
}
