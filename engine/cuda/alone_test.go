package cuda

import (
	"math/rand/v2"
	"slices"
	"testing"

	"dyad/engine"
	"dyad/internal/must"
	"dyad/internal/sizes"
)

// throughSigmoid are losses whose slope jumps where a sigmoid crosses a constant, which it does
// at the margin at: the last bit decides, also in float32.
func throughSigmoid(t *testing.T, at float64) []engine.ScoreLoss {
	t.Helper()
	var all []engine.ScoreLoss
	for _, text := range []string{"max(0, sigmoid(2.8+c-u) - sigmoid(2.8))", "abs(sigmoid(0.2+c-u) - sigmoid(0.2))", "max(0.5, sigmoid(c-u))*softplus(-u)"} {
		e := must.Get(engine.NewExpression(text, text, engine.ExpressionOptions{Params: map[string]float64{"c": at}}))(t)
		all = append(all, engine.Score{Of: e})
	}
	return all
}

// TestSumsOfTermsAreExact: c_i is the sum of the terms of its pairs to the last bit, each
// computed from a group of its two records, at other places, in other blocks and threads: so a
// term is a function of its two records and w, also where one bit of it decides a jump (ownError).
// Records are in several tiles, with few scores, so that many pairs are on the kink, and with
// scores of their own. The control: one unit of a term more is seen.
func TestSumsOfTermsAreExact(t *testing.T) {
	n := sizes.Of(66, 90) // two tiles
	if testing.Short() {
		n = 70
	}
	rng := rand.New(rand.NewPCG(71, 26))
	losses := append(throughSigmoid(t, 0), throughSigmoid(t, 0.5)[0], library(t)["ramp"])
	for i, loss := range losses {
		if testing.Short() && i%3 != 0 || i%2 == 1 && !sizes.Full() {
			continue
		}
		b := openFake(t, newFake())
		b.Method = Direct
		p := engine.Problem{N: n, D: 3, Bounds: engine.UnitBounds(), Loss: loss, Radius: 1, LabelValues: engine.AnyLabels}
		x, y, w := make([]float64, n*p.D), make([]float64, n), []float64{0.5, 0, 0}
		for i := range y {
			switch rng.IntN(4) {
			case 0:
				x[i*p.D], x[i*p.D+1] = 0.8*rng.Float64()-0.4, rng.Float64()/2
			case 1:
				x[i*p.D] = 0.25
			case 2:
				x[i*p.D] = -0.25
			}
			if y[i] = -1; rng.IntN(2) == 0 {
				y[i] = 1
			}
		}
		sums := coefficientsOf(t, bound(t, b, p, x, y), w)
		pairs, xs, ys := twos(p, x, y)
		want, at := make([]float64, n), 0
		terms := coefficientsOf(t, bound(t, b, pairs, xs, ys), w)
		for i := range y {
			for j := range i {
				if terms[at] != -terms[at+1] {
					t.Fatalf("%s: a pair has the terms %v and %v", loss.Name(), terms[at], terms[at+1])
				}
				want[i] += terms[at]
				want[j] += terms[at+1]
				at += 2
			}
		}
		must.Same(t, sums, want, "%s: sums %v, of terms alone %v", loss.Name(), sums[:5], want[:5])
		k := bound(t, b, p, x, y).kernel
		if want[0] += 2 * 0x1p-22 * k.unit; slices.Equal(sums, want) || !k.direct {
			t.Errorf("%s: one unit more makes no difference", loss.Name())
		}
	}
}

// TestPrefixTermsAreComputedAlone: the same for prefixes, whose slopes are computed on the host:
// the coefficient of a record is that of a prefix of one pair.
func TestPrefixTermsAreComputedAlone(t *testing.T) {
	const n, d = 60, 3
	rng := rand.New(rand.NewPCG(72, 26))
	for _, loss := range throughSigmoid(t, 0) {
		b := openFake(t, newFake())
		p := engine.Problem{N: n, D: d, Bounds: engine.UnitBounds(), Loss: loss, Radius: 1, LabelValues: engine.AnyLabels}
		x, y, w := make([]float64, n*d), make([]float64, n), []float64{0.5, 0, 0}
		for i := range y {
			x[i*d+1] = rng.Float64() / 2
			if y[i] = -1; rng.IntN(2) == 0 {
				y[i] = 1
			}
		}
		own := func(x, y []float64, pairs engine.PrefixPairs) []float64 {
			one := p
			one.N = len(y)
			return coefficientsOver(t, bound(t, b, one, x, y), w, pairs)
		}
		whole := own(x, y, engine.PrefixPairs{T: n - 1})
		for i := range n - 1 {
			two := own(slices.Concat(x[i*d:(i+1)*d], x[(n-1)*d:]), []float64{y[i], y[n-1]}, engine.PrefixPairs{T: 1})
			if whole[i] != two[0] {
				t.Fatalf("%s: record %d has the coefficient %v in a prefix, %v alone", loss.Name(), i, whole[i], two[0])
			}
		}
	}
}
