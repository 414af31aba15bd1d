package privacy_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"dyad/internal/must"
	"dyad/privacy"
	"dyad/privacy/privtest"
)

// alpha is the false-alarm rate of every statistical check of these tests. The sources are
// seeded, so a run that passes once passes always.
const alpha = 1e-9

func TestSources(t *testing.T) {
	a := must.Get(privacy.NewSource())(t)
	b := must.Get(privacy.NewSource())(t)
	s, same, other := privacy.NewSeededSource(1), privacy.NewSeededSource(1), privacy.NewSeededSource(2)
	if !a.Secret() || s.Secret() {
		t.Error("Secret must be true for NewSource and false for NewSeededSource")
	}
	for range 1000 { // equal words have probability 2^-64 each
		v := s.Uint64()
		if a.Uint64() == b.Uint64() || v == other.Uint64() {
			t.Fatal("two sources with different keys agree")
		}
		if v != same.Uint64() {
			t.Fatal("a seed gives two streams")
		}
	}
}

func permutationCounts(n int, draw func() []int32) (counts []int, probs []float64) {
	counts, probs = make([]int, 24), make([]float64, 24)
	for range n {
		code := 0 // Lehmer code of a permutation of 4
		p := draw()
		for i := range p {
			smaller := 0
			for _, v := range p[i+1:] {
				if v < p[i] {
					smaller++
				}
			}
			code = code*(4-i) + smaller
		}
		counts[code]++
	}
	for i := range probs {
		probs[i] = 1. / 24
	}
	return counts, probs
}

func TestPermutation(t *testing.T) {
	src := privacy.NewSeededSource(5)
	const n = 60_000
	must.CheckDo(t, privtest.CheckMultinomial(permutationCounts4(n, src, false)))
	if privtest.CheckMultinomial(permutationCounts4(n, src, true)) == nil {
		t.Error("swapping with any position was not rejected")
	}
	seen := make([]bool, 1000)
	for _, v := range src.Permutation(1000) {
		if seen[v] {
			t.Fatalf("%d twice", v)
		}
		seen[v] = true
	}
	for _, bad := range []int{0, -1, math.MaxInt32 + 1} {
		if src.Permutation(bad) != nil {
			t.Errorf("Permutation(%d) is not nil", bad)
		}
	}
}

// permutationCounts4 counts permutations of 4, drawn by Permutation or by the
// well-known wrong shuffle.
func permutationCounts4(n int, src *privacy.Source, wrong bool) ([]int, []float64, float64) {
	counts, probs := permutationCounts(n, func() []int32 {
		if !wrong {
			return src.Permutation(4)
		}
		p := []int32{0, 1, 2, 3}
		for i := range p {
			j := src.Uint64n(4)
			p[i], p[j] = p[j], p[i]
		}
		return p
	})
	return counts, probs, alpha
}

// In a uniform point of the ball of dimension d the norm r has the distribution
// function (r/R)^d, and a coordinate in dimension 3 has density 3/4 (1-t^2).
func TestUniformBall(t *testing.T) {
	const n, radius = 20_000, 2.5
	sample := func(d int, fill func([]float64)) (norms, first []float64) {
		x := make([]float64, d)
		for range n {
			fill(x)
			sum := 0.0
			for _, v := range x {
				sum += v * v
			}
			norms = append(norms, math.Sqrt(sum))
			first = append(first, x[d-1]/radius)
		}
		return norms, first
	}
	src := privacy.NewSeededSource(6)
	for _, d := range []int{1, 3, 20} {
		norms, first := sample(d, func(x []float64) { src.UniformBall(x, radius) })
		for _, r := range norms {
			must.AtMost(t, r, radius*(1+1e-14), "d = %d: norm", d)
		}
		must.CheckDo(t, privtest.CheckCDF(norms, func(r float64) float64 { return math.Pow(r/radius, float64(d)) }, alpha), "d = ", d, ": norm")
		if d == 3 {
			must.CheckDo(t, privtest.CheckCDF(first, coordinateCDF3, alpha))
		}
	}
	coins := rand.New(src)
	_, cube := sample(3, func(x []float64) { // direction from a cube
		for i := range x {
			x[i] = 2*coins.Float64() - 1
		}
		s := radius * math.Cbrt(coins.Float64()) / math.Sqrt(x[0]*x[0]+x[1]*x[1]+x[2]*x[2])
		for i := range x {
			x[i] *= s
		}
	})
	if privtest.CheckCDF(cube, coordinateCDF3, alpha) == nil {
		t.Error("a direction drawn from a cube was not rejected")
	}
	src.UniformBall(nil, 1)
}

func coordinateCDF3(t float64) float64 { return 0.5 + 0.75*(t-t*t*t/3) }

// The stream of a source can be replaced, so what it says of its secrecy must go with the
// stream: a charge would else be recorded as one with secret noise.
func TestSourceIsNoMoreSecretThanItsStream(t *testing.T) {
	src := must.Get(privacy.NewSource())(t)
	if !src.Secret() {
		t.Fatal("a source keyed by the operating system is not secret")
	}
	src.Bits = privacy.NewSeededSource(1).Bits
	if src.Secret() {
		t.Error("a source with the stream of a seed says that it is secret")
	}
	src = must.Get(privacy.NewSource())(t)
	*src.Bits = *privacy.NewSeededSource(1).Bits
	if src.Secret() {
		t.Error("a source with a copy of the stream of a seed says that it is secret")
	}
	if (&privacy.Source{}).Secret() {
		t.Error("a source without a stream says that it is secret")
	}
}
