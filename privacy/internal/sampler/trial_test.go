package sampler_test

import (
	"math"
	"math/big"
	"testing"

	"dyad/internal/must"
	"dyad/privacy/internal/sampler"
	"dyad/privacy/privtest"
)

// targets are those of the samplers with k <= 9, and the law of a byte that they correct.
func targets() (all []sampler.Target, proposed []float64) {
	all = []sampler.Target{{Num: 1, Den: 1}}
	for k, den := range []uint64{145, 88, 20, 2, 1, 1, 1, 1, 1, 1} {
		shift := uint(max(0, k-3))
		all = append(all, sampler.Target{K: uint64(k), Square: true, Num: 145, Den: den, Shift: shift})
		proposed = append(proposed, math.Ldexp(float64(den)/256, -int(shift)))
	}
	return all, proposed
}

// probability is p(x) by the math package.
func probability(p sampler.Target, x float64) float64 {
	t := float64(p.K) + x
	if p.Square {
		t *= t / 2
	}
	return math.Ldexp(float64(p.Num)/float64(p.Den), int(p.Shift)) * math.Exp(-t)
}

// The proposals of normal have the masses c_k/256, and c_k p_k(x) is 145 exp(-(k+x)^2/2)
// for every k: with p_k <= 1 these are all that its proof needs.
func TestNormalProposals(t *testing.T) {
	const n = 1 << 18
	all, probs := targets()
	all = all[1:]
	counts := make([]int, len(all)+1)
	drawn := 0
	seeded(1).Proposals(func(p sampler.Target) bool {
		if p.K < uint64(len(all)) && p != all[p.K] {
			t.Fatalf("k = %d is accepted by %+v, want %+v", p.K, p, all[p.K])
		}
		counts[min(p.K, uint64(len(all)))]++
		drawn++
		return drawn < n
	})
	beyond := 1.0
	for k, p := range all {
		must.Near(t, probs[k]*probability(p, 0.3), 145./256*math.Exp(-(float64(k)+0.3)*(float64(k)+0.3)/2), 1e-15,
			"k = %d: mass", k)
		must.AtMost(t, probability(p, 0), 1, "k = %d has acceptance probability", k)
		beyond -= probs[k]
	}
	probs = append(probs, beyond)
	must.CheckDo(t, privtest.CheckMultinomial(counts, probs, alpha))
	probs[1], probs[2] = 90./256, 18./256
	if privtest.CheckMultinomial(counts, probs, alpha) == nil {
		t.Error("bytes in other proportions were not rejected")
	}
}

// Trials at a fixed first digit of x have the probability of the mean of p over the
// rest of x.
func TestTrialLaw(t *testing.T) {
	all, _ := targets()
	for _, p := range all[:5] {
		for width, n := range map[uint]int{1: 1 << 12, 3: 1 << 12, 64: 1 << 16} {
			src := seeded(uint64(width))
			yes, head := 0, uint64(1)<<(width-1) // x in [1/2, 1/2 + 2^-width]
			for range n {
				if ok, _ := p.Trial(head, src, width); ok {
					yes++
				}
			}
			mean, unit := 0.0, math.Ldexp(1, -int(width))
			for i := range 64 {
				mean += probability(p, 0.5+unit*(float64(i)+0.5)/64) / 64
			}
			must.CheckDo(t, privtest.CheckBinomial(yes, n, mean, alpha), p, ", width ", width)
			if privtest.CheckBinomial(yes, n, mean+5/math.Sqrt(float64(n)), alpha) == nil {
				t.Errorf("%+v, width %d: a wrong probability was not rejected", p, width)
			}
		}
	}
}

// near stays within its error of the enclosure, which is narrow and right.
func TestTrialNear(t *testing.T) {
	src := seeded(2)
	all, _ := targets()
	worst := 0.0
	for _, p := range all {
		if p.K >= sampler.NearLimit {
			continue
		}
		for i := range 200 {
			head := src.Uint64() >> (i % 64)
			switch i {
			case 0:
				head = 0
			case 1:
				head = math.MaxUint64
			}
			least, most := p.Enclose(new(big.Int).SetUint64(head), 64)
			lo, _ := least.Float64()
			hi, _ := most.Float64()
			if want := probability(p, float64(head)*0x1p-64); !(least.Cmp(most) < 0) || math.Abs(lo-want) > 1e-14 || math.Abs(hi-want) > 1e-14 {
				t.Fatalf("%+v at %#x: enclosure [%v, %v], want %v", p, head, lo, hi, want)
			}
			got := p.Near(head)
			worst = max(worst, math.Abs(got-lo), math.Abs(got-hi))
		}
	}
	if worst > sampler.NearError || worst == 0 {
		t.Errorf("error %v, bound %v", worst, sampler.NearError)
	}
}

// A first digit of U next to the threshold needs more digits, and the decision is that
// of the real numbers: next to it on either side it is the same as in integers, and
// where the first digit holds the threshold both answers occur.
func TestTrialAtTheThreshold(t *testing.T) {
	all, _ := targets()
	rest := seeded(3)
	for _, p := range all {
		if p.K >= sampler.NearLimit {
			continue
		}
		for range 20 {
			head := rest.Uint64()
			least, most := p.Enclose(new(big.Int).SetUint64(head), 64)
			floor := func(v *big.Rat) uint64 {
				n := new(big.Int).Lsh(v.Num(), 64)
				return n.Quo(n, v.Denom()).Uint64()
			}
			lo, hi := floor(least), floor(most)
			for _, u := range []struct {
				head uint64
				want bool
			}{
				{lo - 1, true}, {lo - 1<<20, true}, {lo - 1<<33, true}, {lo - 1<<36, true},
				{hi + 1, false}, {hi + 1<<20, false}, {hi + 1<<33, false}, {hi + 1<<36, false},
			} {
				if u.want == (u.head > lo) { // wraps around: p is within 2^-28 of 0 or 1
					continue
				}
				got, _ := p.Trial(head, scripted([]uint64{u.head}, 1), 64)
				exact := p.Exact(head, scripted([]uint64{u.head}, 1), 64)
				if got != u.want || exact != u.want {
					t.Errorf("%+v, x %#x, U %#x: %v, in integers %v, want %v", p, head, u.head, got, exact, u.want)
				}
			}
		}
	}
	p := sampler.Target{Num: 1, Den: 1}
	const half = 1 << 63
	yes := 0
	for seed := range uint64(200) {
		lo, _ := p.Enclose(new(big.Int).SetUint64(half), 64)
		n := new(big.Int).Lsh(lo.Num(), 64)
		u := n.Quo(n, lo.Denom()).Uint64()
		ok, digits := p.Trial(half, scripted([]uint64{u}, seed), 64)
		if digits < 2 {
			t.Fatalf("U and p(x) share the first digit, but %d digits of x were drawn", digits)
		}
		if ok {
			yes++
		}
	}
	if yes == 0 || yes == 200 {
		t.Errorf("%d of 200 trials succeed where the first digits leave it open", yes)
	}
}
