package local_test

import (
	"fmt"
	"math"
	"math/big"
	"testing"

	"dyad/internal/must"
	"dyad/internal/sizes"
	"dyad/privacy"
	"dyad/privacy/internal/sampler"
	"dyad/privacy/local"
	"dyad/privacy/privtest"
)

// alpha is the false-alarm rate of every statistical check of these tests. The sources are
// seeded, so a run that passes once passes always.
const alpha = 1e-9

// scripted is a source that yields words, then the stream of seed.
func scripted(words []uint64, seed uint64) *privacy.Source {
	rest := privacy.NewSeededSource(seed)
	return &privacy.Source{Bits: sampler.BitsFrom(func() uint64 {
		if len(words) == 0 {
			return rest.Uint64()
		}
		word := words[0]
		words = words[1:]
		return word
	})}
}

// expBetween are a lower and an upper bound of e^x, x >= 0, a few hundred bits apart.
func expBetween(x float64) (low, high *big.Float) {
	const prec = 400
	term, sum := big.NewFloat(1).SetPrec(prec), big.NewFloat(1).SetPrec(prec)
	y := big.NewFloat(x).SetPrec(prec)
	for j := 1; j < 600; j++ {
		term.Quo(term.Mul(term, y), big.NewFloat(float64(j)))
		sum.Add(sum, term)
	}
	slack := new(big.Float).SetMantExp(big.NewFloat(1), -300)
	step := new(big.Float).SetPrec(prec).Mul(sum, slack)
	return new(big.Float).SetPrec(prec).Sub(sum, step), new(big.Float).SetPrec(prec).Add(sum, step)
}

// The odds of a favoured place, in integers, are at most e^epsilon, and so near to it that
// no estimate notices; the other way round they are smaller still.
func TestPlaceOddsAreAtMostEpsilon(t *testing.T) {
	for _, epsilon := range []float64{local.MinEpsilon, 1e-6, 0.1, math.Ln2, 1, 6, 36.7, local.MaxEpsilon} {
		for _, c := range [][2]int{{2, 1}, {3, 1}, {2048, 1}, {2048, 1024}, {32, 5}, {math.MaxInt32, 1}} {
			n, k := c[0], c[1]
			hi, lo := local.PlaceOdds(n, k, epsilon)
			p := new(big.Int).Add(new(big.Int).Lsh(new(big.Int).SetUint64(hi), 64), new(big.Int).SetUint64(lo))
			q := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 128), p)
			big400 := func(a *big.Int, b int) *big.Float {
				return new(big.Float).SetPrec(400).SetInt(new(big.Int).Mul(a, big.NewInt(int64(b))))
			}
			odds := new(big.Float).Quo(big400(p, n-k), big400(q, k))
			low, high := expBetween(epsilon)
			must.AtMost(t, odds.Cmp(low), 0, "n = %d, k = %d, epsilon %v: the odds are above e^epsilon", n, k, epsilon)
			if r, _ := new(big.Float).Quo(odds, high).Float64(); !(r > 1-0x1p-43) {
				t.Errorf("n = %d, k = %d, epsilon %v: the odds are %v of e^epsilon", n, k, epsilon, r)
			}
			if r, _ := odds.Float64(); r < math.Exp(-epsilon)*(1+1e-15) {
				t.Errorf("n = %d, k = %d, epsilon %v: odds %v", n, k, epsilon, r)
			}
		}
	}
}

func TestPlaceLaw(t *testing.T) {
	const draws = 1 << 17
	src := privacy.NewSeededSource(2)
	for _, c := range []struct {
		n, k    int
		epsilon float64
	}{{2, 1, 1}, {5, 1, 0.3}, {12, 4, 2}, {12, 6, 2}} {
		counts, probs := make([]int, c.n), make([]float64, c.n)
		for range draws {
			counts[local.DrawPlace(c.n, c.k, c.epsilon, src)]++
		}
		total := float64(c.k)*math.Exp(c.epsilon) + float64(c.n-c.k)
		for i := range probs {
			probs[i] = 1 / total
			if i < c.k {
				probs[i] = math.Exp(c.epsilon) / total
			}
		}
		must.CheckDo(t, privtest.CheckMultinomial(counts, probs, alpha), fmt.Sprintf("%+v", c))
	}
}

// small are mechanisms whose law is enumerated: k < m and k = m, in one dimension, where
// all candidates are equal or opposite, and in more.
func small(t *testing.T, epsilon float64) (channels []*local.DirectionChannel) {
	t.Helper()
	for _, d := range []int{1, 2, 3} {
		for pairs := 1; pairs <= 4; pairs++ {
			for k := 1; k <= pairs; k++ {
				c := must.Get(local.Direction{Dim: d, Bound: 2, Epsilon: epsilon, Pairs: pairs, Favoured: k}.Channel())(t)
				channels = append(channels, c)
			}
		}
	}
	return channels
}

// vectors are zero, vectors of all lengths and ties, and opposite ones, of d dimensions.
func vectors(d int) [][]float64 {
	var all [][]float64
	for _, size := range []float64{0, 5e-324, 1e-30, 0.5, 2, 1e300} {
		for _, shape := range [][]float64{{1, 0, 0}, {0, 1, 0}, {1, 1, 1}, {-1, 2, 0.5}, {0.3, -1, 1}} {
			g, opposite := make([]float64, d), make([]float64, d)
			for i := range g {
				g[i] = size * shape[i]
				opposite[i] = -g[i]
			}
			all = append(all, g, opposite)
		}
	}
	return all
}

// What Send draws is the law that the other tests enumerate: with the seed fixed, the
// choices of many messages.
func TestSendHasTheLaw(t *testing.T) {
	sizes.NotShort(t, "slow")
	n := sizes.Of[uint64](1<<11, 1<<12)
	words := []uint64{1, 2, 3, 4}
	seed := [32]byte{0: 1, 8: 2, 16: 3, 24: 4}
	for _, c := range small(t, 1.5) {
		m := c.Mechanism()
		for i, g := range vectors(m.Dim) {
			if i%25 != 0 {
				continue
			}
			law := c.Law(g, seed)
			counts := make([]int, len(law))
			for s := range n {
				msg, err := c.Send(g, scripted(words, s))
				if err != nil || msg.Seed != seed {
					t.Fatal(msg.Seed, err)
				}
				counts[msg.Choice]++
			}
			must.CheckDo(t, privtest.CheckMultinomial(counts, law, alpha), fmt.Sprintf("%+v, g = %v", m, g))
		}
	}
}

// An attack by enumeration of the whole law, given the seed: for no two vectors is a
// message more than e^epsilon times as likely, and for some it is. From zero all are equally
// likely, whatever k.
func TestExactRatios(t *testing.T) {
	closest := map[bool]float64{} // by k < m
	for _, epsilon := range []float64{0.1, 1, 4} {
		for _, c := range small(t, epsilon) {
			m := c.Mechanism()
			worst, fromZero := 0.0, 0.0
			for s := range byte(12) {
				var laws [][]float64
				for _, g := range vectors(m.Dim) {
					laws = append(laws, c.Law(g, [32]byte{s, 1}))
				}
				for _, a := range laws {
					for _, b := range laws {
						worst = max(worst, ratio(a, b))
					}
					fromZero = max(fromZero, ratio(a, laws[0]))
				}
				for _, p := range laws[0] {
					if math.Abs(p*float64(2*m.Pairs)-1) > 1e-12 {
						t.Fatalf("%+v: a zero vector sends candidates with probabilities %v", m, laws[0])
					}
				}
			}
			if w := math.Log(worst) / epsilon; w > 1+1e-12 || w < 1-1e-11 {
				t.Errorf("%+v: the worst ratio is e^(%v epsilon), want 1", m, w)
			} else {
				closest[m.Favoured < m.Pairs] = max(closest[m.Favoured < m.Pairs], w)
			}
			must.Near(t, math.Log(fromZero), c.EpsilonAgainstZero(), 1e-11, "%+v: against zero", m)
		}
	}
	t.Logf("closest ratio ln(worst)/epsilon: %.15f for k = m, %.15f for k < m", closest[false], closest[true])
	for _, pairs := range []int{100, 1024} { // a circle of another length than a power of two, and the largest
		c := must.Get(local.Direction{Dim: 3, Bound: 1, Epsilon: 5, Pairs: pairs, Favoured: 7}.Channel())(t)
		for _, p := range c.Law(make([]float64, 3), [32]byte{1}) {
			if math.Abs(p*float64(2*pairs)-1) > 1e-10 {
				t.Fatalf("%d pairs: zero sends a candidate with probability %v", pairs, p)
			}
		}
	}
}

func ratio(a, b []float64) (worst float64) {
	for i := range a {
		worst = max(worst, a[i]/b[i])
	}
	return worst
}

// visit is the law of a visit: the directions, and the silence last.
func visit(c *local.DirectionChannel, r local.RandomizedResponse, takes bool, law []float64) []float64 {
	yes := r.Truth()
	if !takes {
		yes = 1 - yes
	}
	var all []float64
	for _, p := range law {
		all = append(all, yes*p)
	}
	return append(all, 1-yes)
}

// The exact worst ratio of a visit is the claim, for every split, and not beyond it. With
// a seeded bug, the law of a record that does not take part without its random circle, it
// is beyond.
func TestParticipationIsExact(t *testing.T) {
	closest, caught := 0.0, 0
	for _, epsilon := range sizes.Of([]float64{0.5, 4}, []float64{0.5, 1, 2, 4}) {
		for _, share := range []float64{0, 0.2, 0.5, 0.8} {
			for _, like := range small(t, 1) {
				m := like.Mechanism()
				r, c := must.Get2(m.Participation(epsilon, share))(t)
				m = c.Mechanism()
				if share == 0 && m.Epsilon != epsilon || share != 0 && r.Epsilon != share*epsilon {
					t.Errorf("epsilon %v, share %v: response %v, direction %v", epsilon, share, r.Epsilon, m.Epsilon)
				}
				worst, buggy := 0.0, 0.0
				for s := range byte(12) {
					seed := [32]byte{s, 2}
					out := visit(c, r, false, c.Law(make([]float64, m.Dim), seed))
					first := make([]float64, m.Dim) // what zero stands for, without the circle
					first[0] = 1e-20
					bug := visit(c, r, false, c.Law(first, seed))
					var in [][]float64
					for _, g := range vectors(m.Dim) {
						in = append(in, visit(c, r, true, c.Law(g, seed)))
					}
					for _, a := range in {
						worst = max(worst, ratio(a, out), ratio(out, a))
						buggy = max(buggy, ratio(a, bug))
						for _, b := range in {
							worst = max(worst, ratio(a, b))
						}
					}
				}
				w := math.Log(worst)
				if w > epsilon*(1+1e-12) || w < c.ParticipationEpsilon(r.Epsilon)-1e-11 {
					t.Errorf("%+v, share %v: the worst ratio is e^%v, stated %v, claim %v", m, share, w, c.ParticipationEpsilon(r.Epsilon), epsilon)
				}
				closest = max(closest, w/epsilon)
				if share == 0 && m.Dim > 1 && m.Favoured < m.Pairs {
					caught++
					if got := math.Log(buggy); got < epsilon*1.05 {
						t.Errorf("%+v: without the circle the worst ratio is e^%v, the enumeration does not see it", m, got)
					}
				}
			}
		}
	}
	if caught == 0 {
		t.Error("no seeded bug was tried")
	}
	t.Logf("closest ratio ln(worst)/epsilon: %.15f", closest)
}

// For one pair the split is e_s = epsilon, e_p = ln((1 + e^epsilon)/2); the sum of both
// parts in exact arithmetic: e^e_p 2/(1 + e^-e_s) <= e^epsilon.
func TestParticipationSplitsEpsilonExactly(t *testing.T) {
	for i := range 60 {
		epsilon := 0.05 * float64(i+1)
		for _, share := range []float64{0, 0.3, 0.7} {
			r, c := must.Get2(local.Direction{Dim: 2, Bound: 1}.Participation(epsilon, share))(t)
			if want := math.Log((1 + math.Exp(epsilon)) / 2); share == 0 && math.Abs(r.Epsilon-want) > 1e-9*want {
				t.Errorf("epsilon %v: response %v, want %v", epsilon, r.Epsilon, want)
			}
			_, response := expBetween(r.Epsilon)
			_, sample := expBetween(c.Mechanism().Epsilon)
			claim, _ := expBetween(epsilon)
			// e^e_p 2 e^e_s <= e^epsilon (1 + e^e_s), rising in e_s
			left := new(big.Float).Mul(response, new(big.Float).Mul(big.NewFloat(2), sample))
			right := new(big.Float).Mul(claim, new(big.Float).Add(big.NewFloat(1), sample))
			if left.Cmp(right) > 0 || c.Mechanism().Epsilon > epsilon {
				t.Errorf("epsilon %v, share %v: response %v and direction %v spend more", epsilon, share, r.Epsilon, c.Mechanism().Epsilon)
			}
		}
	}
	for _, share := range []float64{1, 1.5, -0.1, math.NaN()} {
		if _, _, err := (local.Direction{Dim: 2, Bound: 1}).Participation(1, share); err == nil {
			t.Errorf("share %v was accepted", share)
		}
	}
}

// The size of a message's estimate falls by the factor that the split gains.
func TestParticipationGain(t *testing.T) {
	for _, c := range []struct{ epsilon, variance, truth float64 }{{1, 0.68, 0.650}, {2, 0.76, 0.807}, {4, 0.91, 0.965}} {
		r, better := must.Get2(local.Direction{Dim: 10, Bound: 1}.Participation(c.epsilon, 0))(t)
		before := must.Get(local.Direction{Dim: 10, Bound: 1, Epsilon: 0.8 * c.epsilon}.Channel())(t)
		gain := math.Pow(better.Scale()/before.Scale(), 2)
		if math.Abs(gain-c.variance) > 0.005 || math.Abs(r.Truth()-c.truth) > 0.001 {
			t.Errorf("epsilon %v: variance x %v, truth %v, want %v", c.epsilon, gain, r.Truth(), fmt.Sprint(c))
		}
	}
}
