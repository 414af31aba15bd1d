package local_test

import (
	"fmt"
	"math"
	"testing"

	"dyad/internal/must"
	"dyad/internal/sizes"
	"dyad/privacy"
	"dyad/privacy/local"
	"dyad/privacy/privtest"
)

func TestRandomizedResponseLaw(t *testing.T) {
	const n = 1 << 18
	for _, m := range []local.RandomizedResponse{{Epsilon: 0.2}, {Epsilon: 1}, {Epsilon: 0.5, Categories: 5}, {Epsilon: 3.25, Categories: 3}} {
		src := privacy.NewSeededSource(7)
		k := max(m.Categories, 2)
		counts, probs := make([]int, k), make([]float64, k)
		for range n {
			a := must.Get(m.Answer(k-1, src))(t)
			counts[a]++
		}
		for i := range probs {
			probs[i] = (1 - m.Truth()) / float64(k-1)
		}
		probs[k-1] = m.Truth()
		must.CheckDo(t, privtest.CheckMultinomial(counts, probs, alpha), fmt.Sprintf("%+v", m))
		// The same counts must refute a response of another epsilon.
		wrong := m
		wrong.Epsilon *= 1.2
		for i := range probs {
			probs[i] = (1 - wrong.Truth()) / float64(k-1)
		}
		probs[k-1] = wrong.Truth()
		if privtest.CheckMultinomial(counts, probs, alpha) == nil {
			t.Errorf("%+v: the counts fit epsilon %v too", m, wrong.Epsilon)
		}
		must.Near(t, m.Truth()/((1-m.Truth())/float64(k-1))/math.Exp(m.Epsilon), 1, 1e-12,
			"%+v: odds of the truth are not e^epsilon", m)
	}
}

func TestLocalRandomisersRefuse(t *testing.T) {
	src := privacy.NewSeededSource(1)
	for _, m := range []local.RandomizedResponse{{}, {Epsilon: -1}, {Epsilon: math.NaN()}, {Epsilon: 51}, {Epsilon: 1, Categories: 1}, {Epsilon: 1, Categories: -2}} {
		must.Err(m.Answer(0, src))(t, "%+v was accepted", m)
	}
	must.Err((local.RandomizedResponse{Epsilon: 1}).Answer(2, src))(t, "answer 2 of 2 categories was accepted")
	for _, m := range []local.Direction{
		{Dim: 0, Bound: 1, Epsilon: 1}, {Dim: 2, Bound: 0, Epsilon: 1}, {Dim: 2, Bound: math.Inf(1), Epsilon: 1},
		{Dim: 2, Bound: 1}, {Dim: 2, Bound: 1, Epsilon: 1, Pairs: 2000}, {Dim: 2, Bound: 1, Epsilon: 1, Pairs: 2, Favoured: 3},
	} {
		must.Err(m.Channel())(t, "%+v was accepted", m)
	}
	c := must.Get(local.Direction{Dim: 2, Bound: 1, Epsilon: 1}.Channel())(t)
	for _, g := range [][]float64{{1}, {1, math.NaN()}, {math.Inf(1), 0}} {
		must.Err(c.Send(g, src))(t, "a vector of length %d was sent", len(g))
	}
	if c.AddDecoded(make([]float64, 2), 1, local.DirectionMessage{Choice: 2}) == nil || c.AddDecoded(make([]float64, 3), 1, local.DirectionMessage{}) == nil {
		t.Error("a message that nobody can send was decoded")
	}
}

// meanProjection is the mean of <decoded, g>/||g||^2 with its standard error.
func meanProjection(t *testing.T, c *local.DirectionChannel, g []float64, n int) (mean, se float64) {
	t.Helper()
	src := privacy.NewSeededSource(uint64(len(g)))
	norm2 := 0.0
	for _, v := range g {
		norm2 += v * v
	}
	var s1, s2 float64
	for range n {
		msg := must.Get(c.Send(g, src))(t)
		x := make([]float64, len(g))
		must.Do(t, c.AddDecoded(x, 1, msg))
		p := 0.0
		for i, v := range x {
			p += v * g[i]
		}
		p /= norm2
		s1, s2 = s1+p, s2+p*p
	}
	mean = s1 / float64(n)
	return mean, math.Sqrt((s2/float64(n) - mean*mean) / float64(n))
}

// docs/theory.md#local-direction: E[G|g] = g within 3 standard errors. With the B of [Han19]
// Lemma 2 the mean is 2g, which the same test must refute.
func TestPrivateDirectionIsUnbiased(t *testing.T) {
	sizes.NotShort(t, "sampling on one goroutine")
	for _, m := range []local.Direction{
		{Dim: 1, Bound: 2, Epsilon: 1}, {Dim: 2, Bound: 2, Epsilon: 1}, {Dim: 3, Bound: 2, Epsilon: 1}, {Dim: 10, Bound: 2, Epsilon: 0.5},
		{Dim: 1, Bound: 2, Epsilon: 3, Pairs: 4}, {Dim: 2, Bound: 2, Epsilon: 3, Pairs: 8}, {Dim: 10, Bound: 2, Epsilon: 4, Pairs: 16},
		{Dim: 50, Bound: 2, Epsilon: 4, Pairs: 8, Favoured: 3}, {Dim: 1000, Bound: 2, Epsilon: 4},
	} {
		t.Run(fmt.Sprintf("d=%d,pairs=%d", m.Dim, m.Pairs), func(t *testing.T) {
			c := must.Get(m.Channel())(t)
			g := make([]float64, m.Dim)
			for i := range g {
				g[i] = math.Sin(float64(i + 1))
			}
			norm := 0.0
			for _, v := range g {
				norm = math.Hypot(norm, v)
			}
			for i := range g {
				g[i] *= 1.4 / norm
			}
			n := 40000
			if m.Dim >= 1000 {
				n = 4000
			}
			mean, se := meanProjection(t, c, g, n)
			must.Near(t, mean, 1, 3.5*se, "mean of <decoded, g>/|g|^2, want 1 within %v", 3.5*se)
			if se < 0.25 && math.Abs(2*mean-1) < 3.5*2*se {
				t.Errorf("the printed constant, twice too large, is not told apart: se %v", se)
			}
		})
	}
}

// The hemisphere of g, here that of one coordinate, is hit with the probability
// that the law states: e^epsilon times that of the other one at ||g|| >= Bound.
func TestPrivateDirectionHemisphere(t *testing.T) {
	sizes.NotShort(t, "sampling on one goroutine")
	const n = 1 << 17
	m := local.Direction{Dim: 3, Bound: 1, Epsilon: 1}
	c := must.Get(m.Channel())(t)
	truth := 1 / (1 + math.Exp(-m.Epsilon))
	for _, g := range [][]float64{{1, 0, 0}, {0, -5, 0}, {0.4, 0, 0}, {0, 0, 1e-320}} {
		src := privacy.NewSeededSource(3)
		hits, norm := 0, 0.0
		for range n {
			msg := must.Get(c.Send(g, src))(t)
			x := make([]float64, 3)
			must.Do(t, c.AddDecoded(x, 1, msg))
			for i, v := range g {
				norm = max(norm, math.Abs(v))
				if v > 0 && x[i] > 0 || v < 0 && x[i] < 0 {
					hits++
				}
			}
		}
		positive := 0.5 + min(norm, 1)/2
		must.CheckDo(t, privtest.CheckBinomial(hits, n, positive*truth+(1-positive)*(1-truth), alpha),
			"hemisphere of g = ", g)
		if norm >= 1 && privtest.CheckBinomial(hits, n, 1/(1+math.Exp(-1.1*m.Epsilon)), alpha) == nil {
			t.Errorf("g = %v: the counts fit 1.1 epsilon too", g)
		}
	}
}

// The guarantee rests on this alone: for every input the same number of candidates
// is favoured, one of a pair at most.
func TestPrivateDirectionFavoursTheSameNumber(t *testing.T) {
	huge, inf := math.MaxFloat64, math.Inf(1)
	for _, m := range []local.Direction{{Dim: 3, Bound: 1, Epsilon: 1}, {Dim: 3, Bound: 1, Epsilon: 5, Pairs: 16}, {Dim: 3, Bound: 1, Epsilon: 5, Pairs: 4, Favoured: 4}} {
		c := must.Get(m.Channel())(t)
		for _, g := range [][]float64{{1, 2, 3}, {0, 0, 0}, {-huge, huge, huge}, {5e-324, 0, 0}, {inf, -inf, 0}, {math.NaN(), 1, 1}} {
			for seed := range byte(20) {
				for positive := range uint64(2) {
					best := c.Favours(g, [32]byte{seed}, positive)
					if len(best) != c.Mechanism().Favoured {
						t.Fatalf("%+v: %d candidates favoured, want %d", m, len(best), c.Mechanism().Favoured)
					}
					for i, v := range best {
						if int(v) >= 2*c.Mechanism().Pairs || i > 0 && v/2 <= best[i-1]/2 {
							t.Fatalf("%+v: favoured %v, want ascending candidates of different pairs", m, best)
						}
					}
				}
			}
		}
	}
}

// g = 0 gives a uniform direction: no coordinate is favoured, in sign or in size.
func TestPrivateDirectionOfZeroIsUniform(t *testing.T) {
	sizes.NotShort(t, "sampling on one goroutine")
	const n = 1 << 16
	for _, pairs := range []int{1, 5} {
		c := must.Get(local.Direction{Dim: 3, Bound: 1, Epsilon: 4, Pairs: pairs}.Channel())(t)
		src := privacy.NewSeededSource(5)
		samples := make([]float64, n)
		for i := range samples {
			msg := must.Get(c.Send([]float64{0, 0, 0}, src))(t)
			x := make([]float64, 3)
			must.Do(t, c.AddDecoded(x, 1, msg))
			samples[i] = x[i%3] / c.Scale()
		}
		// A coordinate of a uniform point of the sphere in R^3 is uniform (Archimedes).
		must.CheckDo(t, privtest.CheckCDF(samples, func(x float64) float64 { return min(1, max(0, (x+1)/2)) }, alpha), fmt.Sprintf("%d pairs", pairs))
	}
}

// More candidates must pay off at a large epsilon and cost nothing at a small one.
func TestPrivateDirectionScale(t *testing.T) {
	scale := func(eps float64, pairs int) float64 {
		c := must.Get(local.Direction{Dim: 100, Bound: 1, Epsilon: eps, Pairs: pairs}.Channel())(t)
		return c.Scale()
	}
	if a, b := scale(6, 1), scale(6, 64); !(b < 0.5*a) {
		t.Errorf("epsilon 6: scale %v with one pair, %v with 64", a, b)
	}
	if a, b := scale(0.1, 1), scale(0.1, 64); !(b <= a*1.0001) {
		t.Errorf("epsilon 0.1: scale %v with one pair, %v with 64", a, b)
	}
	// The paper's B is twice ours; the gamma form holds for large dimensions.
	for _, d := range []int{1, 2, 3, 10, 1000, 20000} {
		c := must.Get(local.Direction{Dim: d, Bound: 3, Epsilon: 0.8}.Channel())(t)
		a, _ := math.Lgamma(float64(d-1)/2 + 1)
		b, _ := math.Lgamma(float64(d)/2 + 1)
		printed := 3 * math.SqrtPi * (math.Exp(0.8) + 1) / (math.Exp(0.8) - 1) * float64(d) * math.Exp(a-b)
		must.Near(t, printed/c.Scale(), 2, 1e-9, "d = %d: the printed B is ... times ours", d)
	}
}

func BenchmarkPrivateDirection(b *testing.B) {
	for _, pairs := range []int{1, 16} {
		b.Run(fmt.Sprintf("d=18/pairs=%d", pairs), func(b *testing.B) {
			c := must.Get(local.Direction{Dim: 18, Bound: 1, Epsilon: 1, Pairs: pairs}.Channel())(b)
			src := privacy.NewSeededSource(1)
			g, x := make([]float64, 18), make([]float64, 18)
			g[3] = 0.5
			for range b.N {
				msg, _ := c.Send(g, src)
				_ = c.AddDecoded(x, 1, msg)
			}
		})
	}
}

func TestShuffleEpsilon(t *testing.T) {
	// docs/theory.md#local-shuffling: n = 16100, epsilon 1, delta 1e-6.
	must.Near(t, must.Get(local.ShuffleEpsilon(1, 16100, 1e-6))(t), 0.17, 0.005, "epsilon")
	for _, c := range []struct {
		eps   float64
		n     int
		delta float64
	}{{6, 16100, 1e-6}, {1, 512, 1e-6}, {1, 0, 1e-6}, {1, 16100, 0}, {1, 16100, 1}, {0, 16100, 1e-6}} {
		if got, err := local.ShuffleEpsilon(c.eps, c.n, c.delta); err == nil {
			t.Errorf("%+v gave %v, want a refusal", c, got)
		}
	}
	// The exact law: the number of ones among n shuffled binary responses. The
	// binomial counts of n-1 others hide one answer; the theorem must cover the
	// exact divergence of the counts.
	const n, eps0, delta = 2000, 1.0, 1e-6
	bound := must.Get(local.ShuffleEpsilon(eps0, n, delta))(t)
	must.AtMost(t, shuffledResponseDelta(n, eps0, bound), delta, "at the stated epsilon %v the counts have delta", bound)
	must.AtLeast(t, shuffledResponseDelta(n, eps0, bound/8), delta, "an eighth of the stated epsilon would hold too: delta")
}

// shuffledResponseDelta is the exact hockey-stick divergence at epsilon of the number
// of ones in n shuffled binary responses when one true answer changes and all
// others are 0.
func shuffledResponseDelta(n int, eps0, epsilon float64) float64 {
	p := 1 / (1 + math.Exp(eps0)) // of a one from a zero
	lf := func(k int) float64 { v, _ := math.Lgamma(float64(k) + 1); return v }
	binomial := func(k int) float64 {
		if k < 0 || k > n-1 {
			return 0
		}
		return math.Exp(lf(n-1) - lf(k) - lf(n-1-k) + float64(k)*math.Log(p) + float64(n-1-k)*math.Log1p(-p))
	}
	worst := 0.0
	for _, flip := range []bool{false, true} {
		d := 0.0
		for k := 0; k <= n; k++ {
			a := p*binomial(k-1) + (1-p)*binomial(k)
			b := (1-p)*binomial(k-1) + p*binomial(k)
			if flip {
				a, b = b, a
			}
			d += max(0, a-math.Exp(epsilon)*b)
		}
		worst = max(worst, d)
	}
	return worst
}
