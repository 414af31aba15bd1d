package local_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"dyad/internal/must"
	"dyad/privacy"
	"dyad/privacy/local"
	"dyad/privacy/privtest"
)

// The draws of a message do not depend on the vector: after it the stream is at the same
// place for every vector, zero included. So is it after an answer, for every truth.
func TestDrawsDoNotDependOnTheInput(t *testing.T) {
	for _, m := range []local.Direction{
		{Dim: 1, Bound: 2, Epsilon: 1}, {Dim: 3, Bound: 2, Epsilon: 1}, {Dim: 3, Bound: 2, Epsilon: 6, Pairs: 64}, {Dim: 1, Bound: 2, Epsilon: 6, Pairs: 1024},
		{Dim: 3, Bound: 2, Epsilon: 0.1, Pairs: 1024, Favoured: 3},
	} {
		c := must.Get(m.Channel())(t)
		for seed := range uint64(20) {
			want := uint64(0)
			for i, g := range vectors(m.Dim) {
				src := privacy.NewSeededSource(seed)
				must.Get(c.Send(g, src))(t)
				if next := src.Uint64(); i == 0 {
					want = next
				} else if next != want {
					t.Fatalf("%+v: a message of %v draws another number of words than one of zero", m, g)
				}
			}
		}
	}
	for seed := range uint64(200) {
		next := [3]uint64{}
		for truth := range next {
			src := privacy.NewSeededSource(seed)
			must.Get((local.RandomizedResponse{Epsilon: 0.5, Categories: 3}).Answer(truth, src))(t)
			next[truth] = src.Uint64()
		}
		if next[0] != next[1] || next[0] != next[2] {
			t.Fatal("the number of words that an answer draws depends on the truth")
		}
	}
}

// The message of zero tells nothing of the order of the candidates, also not if fewer than
// all pairs are favoured and their sizes are equal.
func TestMessageOfZeroIsUniform(t *testing.T) {
	const n = 1 << 14
	for _, d := range []int{1, 2} {
		c := must.Get(local.Direction{Dim: d, Bound: 1, Epsilon: 3, Pairs: 8, Favoured: 2}.Channel())(t)
		src, counts, probs := privacy.NewSeededSource(6), make([]int, 16), make([]float64, 16)
		for range n {
			msg := must.Get(c.Send(make([]float64, d), src))(t)
			counts[msg.Choice]++
		}
		for i := range probs {
			probs[i] = 1.0 / 16
		}
		must.CheckDo(t, privtest.CheckMultinomial(counts, probs, alpha), "d = ", d)
	}
}

// The network is a function of the number of entries alone; it sorts, by the 0-1
// principle for all numbers up to 12, and with equal entries for more.
func TestMergeExchangeSorts(t *testing.T) {
	sort := func(a []int) {
		for _, e := range local.MergeExchange(len(a)) {
			if a[e[0]] < a[e[1]] {
				a[e[0]], a[e[1]] = a[e[1]], a[e[0]]
			}
		}
	}
	check := func(a []int) {
		t.Helper()
		want := slices.Clone(a)
		slices.Sort(want)
		slices.Reverse(want)
		if sort(a); !slices.Equal(a, want) {
			t.Fatalf("%d entries are not sorted: %v", len(a), a)
		}
	}
	for n := 1; n <= 12; n++ {
		for bits := range 1 << n {
			a := make([]int, n)
			for i := range a {
				a[i] = bits >> i & 1
			}
			check(a)
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{13, 16, 31, 64, 100, 1000, 1023, 1024} {
		for _, values := range []int{1, 2, 10, 1 << 40} {
			a := make([]int, n)
			for i := range a {
				a[i] = r.IntN(values)
			}
			check(a)
		}
	}
}

// A vector is scaled to entries that are 0 or of sizes 2^-80 to 2, so that no subnormal
// number is computed with, and keeps its direction and its length.
func TestPointOfAVector(t *testing.T) {
	check := func(bound float64, g ...float64) {
		t.Helper()
		u, zero, share, ok := local.Point(g, bound)
		norm, length := 0.0, 0.0
		for i := range g {
			norm, length = math.Hypot(norm, u[i]), math.Hypot(length, g[i])
			if s := math.Abs(u[i]); s != 0 && !(s >= 0x1p-80 && s < 2) {
				t.Errorf("g = %v, bound %v: scaled to %v", g, bound, u)
			}
		}
		if length < bound*0x1p-161 {
			if zero != 1 || share != 0 || norm != 1 || u[0] != 1 || !ok {
				t.Errorf("g = %v, bound %v: %v, %v, %v, %v, want the first unit vector for zero", g, bound, u, zero, share, ok)
			}
			return
		}
		for i := range g {
			if d := u[i]/norm - g[i]/length; math.Abs(d) > 1e-15 {
				t.Errorf("g = %v: direction %v off by %v", g, u, d)
			}
		}
		if want := min(length/bound, 1); zero != 0 || math.Abs(share-want) > 1e-15*want || !ok {
			t.Errorf("g = %v, bound %v: %v, %v, %v, want share %v", g, bound, zero, share, ok, want)
		}
	}
	for _, bound := range []float64{1, 3, 0x1p-500, 0x1p500} {
		for _, f := range []float64{0, 1e-40, 0.1, 0.99, 1, 7} {
			check(bound, f*bound, 0, 0)
			check(bound, -f*bound/4, f*bound/3, f*bound*1e-30)
			check(bound, 0, f*bound*1e-3, 5e-324)
		}
	}
	check(1, math.MaxFloat64/2, -math.MaxFloat64/4)
	check(1, 5e-324, -5e-324)
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		if _, _, _, ok := local.Point([]float64{1, v}, 1); ok {
			t.Errorf("%v counts as finite", v)
		}
	}
}
