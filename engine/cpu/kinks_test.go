package cpu_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/engine/enginetest"
	"dyad/internal/must"
	"dyad/internal/sizes"
	"dyad/kernels"
)

// kinksAt are scalars whose slope jumps where a sigmoid crosses a constant, which it does at
// the given margin: the last bit of the sigmoid decides.
func kinksAt(t *testing.T, at, m float64) []*engine.Expression {
	t.Helper()
	return []*engine.Expression{
		expression(t, "max(0, sigmoid(m+c-u) - sigmoid(m))", map[string]float64{"m": m, "c": at}),
		expression(t, "abs(sigmoid(m+c-u) - sigmoid(m))", map[string]float64{"m": m, "c": at}),
		expression(t, "2*max(sigmoid(m), sigmoid(m+c-u)) - u/10", map[string]float64{"m": m, "c": at}),
	}
}

// fewScores are n records of d features with one of three vectors each, and labels of two
// values, or of many.
func fewScores(rng *rand.Rand, n, d int, many bool) (x, y []float64) {
	x, y = make([]float64, n*d), make([]float64, n)
	for i := range y {
		row := x[i*d:][:d]
		switch row[0] = -0.5; rng.IntN(3) {
		case 0:
			row[0] = 0.5
		case 1:
			row[d-1] = 0.75
		}
		if y[i] = -1; rng.IntN(4) > 0 {
			y[i] = 1
		}
		if many {
			y[i] = float64(rng.IntN(5))/2 - 1
		}
	}
	return x, y
}

// sparsely are the same records in compressed rows.
func sparsely(t *testing.T, x, y []float64, d int, b engine.Bounds) *engine.Records {
	t.Helper()
	start, index, value := []int64{0}, []int32(nil), []float64(nil)
	for i := range y {
		for k, v := range x[i*d:][:d] {
			if v != 0 {
				index, value = append(index, int32(k)), append(value, v)
			}
		}
		start = append(start, int64(len(value)))
	}
	return must.Get(engine.NewSparseRecords(start, index, value, slices.Clone(y), d, b))(t)
}

// TestSumsAtKinksAreSumsOfPairs: where the last bit of a computed slope decides a jump, a sum
// is still that of the pairs' own gradients, each computed from a data set of its two records:
// for scores and metrics, all pairs and prefixes, dense and sparse rows, two labels and many,
// plain and fastest kernels, at parameters that put many pairs on the kink.
func TestSumsAtKinksAreSumsOfPairs(t *testing.T) {
	const d = 3
	rng := rand.New(rand.NewPCG(51, 26))
	for size, n := range []int{9, 35} {
		if testing.Short() && n > 9 {
			break
		}
		for _, c := range []struct{ metric, many, sparse bool }{{}, {many: true}, {sparse: true}, {metric: true}, {metric: true, sparse: true}} {
			for trial := range 4 {
				if trial/2 != size && !sizes.Full() {
					continue
				}
				x, y := fewScores(rng, n, d, c.many)
				w, at := make([]float64, d), 0.0
				if c.metric {
					w, at = make([]float64, d*(d+1)/2), 1
				}
				if trial%2 == 1 { // many pairs have this margin
					w[0] = 0.5
					if at = 1; c.metric {
						at = 0.5
					}
				}
				for _, phi := range kinksAt(t, at, []float64{2.8, 0.2, 1.1, 0.7}[trial]) {
					for _, v := range []kernels.Variant{kernels.Generic, kernels.Best} {
						name := fmt.Sprintf("%s at %v, n = %d, %+v, %v", phi.Text(), at, n, c, v)
						p := problem(n, d, 1)
						if p.Loss = engine.Loss(engine.Score{Of: phi}); c.metric {
							p.Loss = engine.Metric{Of: phi}
						}
						if c.many {
							p.LabelValues = engine.AnyLabels
						}
						sumsOfPairs(t, name, cpu.Backend{Variant: v}, p, x, y, w, c.sparse)
					}
				}
			}
		}
	}
}

// sumsOfPairs compares the sums over all pairs and over a prefix with those of single pairs.
func sumsOfPairs(t *testing.T, name string, b cpu.Backend, p engine.Problem, x, y, w []float64, sparse bool) {
	t.Helper()
	if c, err := p.Loss.Constants(p.Bounds, p.Radius); err != nil || !math.IsInf(c.Smoothness, 1) {
		t.Fatalf("%s: %+v, %v, want a loss that is not smooth", name, c, err)
	}
	n, d := p.N, p.D
	sum := func(x, y []float64, pairs engine.Pairs) ([]float64, float64) {
		one := p
		one.N = len(y)
		r := adoptRecords(t, x, y, d)
		if sparse {
			r = sparsely(t, x, y, d, p.Bounds)
		}
		return sumOver(t, b, one, r, w, pairs)
	}
	type answer struct {
		sum   []float64
		limit float64
	}
	known := map[string]answer{} // by the two records, few of which differ
	pairSum := func(i, j int, pairs engine.Pairs) ([]float64, float64) {
		xs, ys := slices.Concat(x[i*d:][:d], x[j*d:][:d]), []float64{y[i], y[j]}
		key := fmt.Sprint(xs, ys, pairs)
		a, ok := known[key]
		if !ok {
			a.sum, a.limit = sum(xs, ys, pairs)
			known[key] = a
		}
		return a.sum, a.limit
	}
	whole, limit := sum(x, y, engine.AllPairs{N: n})
	total := make([]float64, len(w))
	for i := range n {
		for j := i + 1; j < n; j++ {
			pair, r := pairSum(i, j, engine.AllPairs{N: 2})
			limit += r
			for k := range total {
				total[k] += pair[k]
			}
		}
	}
	must.Within(t, distance(whole, total), 0, limit+float64(n*n)*0x1p-44, "%s: the sum over all pairs is ... from the sum of its pairs, limit %v", name, limit)
	prefix, limit := sum(x, y, engine.PrefixPairs{T: n - 1})
	clear(total)
	for i := range n - 1 {
		pair, r := pairSum(i, n-1, engine.PrefixPairs{T: 1})
		limit += r
		for k := range total {
			total[k] += pair[k]
		}
	}
	must.Within(t, distance(prefix, total), 0, limit+float64(n)*0x1p-44, "%s: the sum over a prefix is ... from the sum of its pairs, limit %v", name, limit)
}

// twoRows repeats the first two rows of x, with labels 1 and -1.
func twoRows(x, y []float64) {
	d := len(x) / len(y)
	for i := range y {
		if y[i] = 1; i%3 == 0 {
			y[i] = -1
		}
		copy(x[i*d:][:d], x[(i%2)*d:][:d])
	}
}

// TestKinksOfRandomFormulas: the same for random formulas that branch where they take the
// value that they have at the margin of many pairs, for scores that are sums of products, which
// vector kernels would round otherwise at other places.
func TestKinksOfRandomFormulas(t *testing.T) {
	const n, d = 23, 11
	rng := rand.New(rand.NewPCG(52, 26))
	count := sizes.Of(16, 40)
	if testing.Short() {
		count = 10
	}
	for done := 0; done < count; {
		x, y := make([]float64, n*d), make([]float64, n)
		for k := range d {
			x[k], x[d+k] = rng.NormFloat64()/8, rng.NormFloat64()/8
		}
		twoRows(x, y)
		inner := fmt.Sprintf("sigmoid(%s)", enginetest.RandomFormula(rng, 1+rng.IntN(2)))
		for _, metric := range []bool{false, true} {
			w := inBall(d, 1)
			u := 2 * (kernels.Dot(x[d:2*d], w) - kernels.Dot(x[:d], w)) // of records 1 and 0
			if metric {
				w, u = make([]float64, d*(d+1)/2), -1
			}
			phi := expression(t, fmt.Sprintf("abs(%s - c)", inner), map[string]float64{"c": expression(t, inner, nil).Phi(u)})
			p := problem(n, d, 1)
			p.Loss = engine.Score{Of: phi}
			if metric {
				p.Loss = engine.Metric{Of: phi}
			}
			if c, err := p.Loss.Constants(p.Bounds, p.Radius); err != nil || !math.IsInf(c.Smoothness, 1) {
				continue
			}
			for _, v := range []kernels.Variant{kernels.Generic, kernels.Best} {
				sumsOfPairs(t, phi.Text()+" "+v.String(), cpu.Backend{Variant: v}, p, x, y, w, false)
			}
			done++
		}
	}
}

// TestMarginsAtKinksAreThoseOfPairs: scores and distances are sums of products, which vector
// kernels round otherwise at other places. A hinge at the margin of many pairs, and a few units
// in the last place around it, sees every bit of that.
func TestMarginsAtKinksAreThoseOfPairs(t *testing.T) {
	sizes.NotShort(t, "slow")
	const n, d = 23, 11
	// The first two see vector kernels, by scores and by distances.
	for _, seed := range sizes.Of([]uint64{0, 26}, []uint64{0, 26, 2, 6}) {
		rng := rand.New(rand.NewPCG(53, seed))
		x, y := make([]float64, n*d), make([]float64, n)
		for k := range 2 * d {
			x[k] = rng.NormFloat64() / 5
		}
		twoRows(x, y)
		for _, metric := range []bool{false, true} {
			u, unit := 0.0, 0x1p-56
			w := make([]float64, d)
			if metric {
				w, unit = make([]float64, d*(d+1)/2), 0x1p-54
			}
			for k := range w {
				w[k] = rng.NormFloat64() / 10
			}
			if !metric {
				u = 2 * (kernels.Dot(x[d:2*d], w) - kernels.Dot(x[:d], w))
			} else {
				full, v := make([]float64, d*d), make([]float64, d)
				engine.Symmetric{Dim: d}.Unpack(full, w)
				for k := range d {
					v[k] = x[k] - x[d+k]
				}
				for k := range d {
					u += v[k] * kernels.Dot(full[k*d:][:d], v)
				}
				u = 1 - u
			}
			for step := -5.0; step <= 5; step++ {
				phi := expression(t, "hinge", map[string]float64{"m": u + step*unit})
				p := problem(n, d, 1)
				p.Loss = engine.Score{Of: phi}
				if metric {
					p.Loss = engine.Metric{Of: phi}
				}
				for _, v := range []kernels.Variant{kernels.Generic, kernels.AVX2, kernels.AVX512} {
					if _, err := kernels.Select(v); err != nil {
						continue
					}
					sumsOfPairs(t, fmt.Sprintf("%s, metric %v, %v", phi.Text(), metric, v), cpu.Backend{Variant: v, Method: cpu.Auto}, p, x, y, w, false)
					if !metric {
						sumsOfPairs(t, fmt.Sprintf("%s, direct, %v", phi.Text(), v), cpu.Backend{Variant: v, Method: cpu.Direct}, p, x, y, w, false)
					}
				}
			}
		}
	}
}

// roughStrip is analytic, as it says, and has slopes whose error has no bound.
type roughStrip struct{ engine.Scalar }

func (roughStrip) StripBound(_, height float64) float64 { return math.Exp(height) }
func (roughStrip) Bounds(lo, hi float64) (engine.ScalarBounds, error) {
	b, err := enginetest.SquaredHinge().Bounds(lo, hi)
	b.SlopeError = math.Inf(1)
	return b, err
}

// TestRoughLossesHaveNoExpansion: the near-linear method interpolates slopes in other records'
// scores, so its sums are no sums of terms of pairs: it is for losses with a bound of their error.
func TestRoughLossesHaveNoExpansion(t *testing.T) {
	p := problem(1<<17, 3, 1)
	p.Loss = engine.Score{Of: roughStrip{enginetest.SquaredHinge()}}
	must.Equal(t, must.Get((cpu.Backend{}).Plan(p))(t).Method(), "direct", "planned")
	must.Fail((cpu.Backend{Method: cpu.NearLinear}).Plan(p))(t, engine.ErrUnsupported, "near-linear")
}

// TestNeighboursAtKinks attacks the certificate of one gradient: all records of a class are
// equal, so all pairs have one of two margins, on the kink; one label is flipped, which moves
// the other records to other places of blocks of one class, and changes what a pair shares a
// block with. What the sums move by is at most the pairs of one record times PairDiameter, and
// the rounding.
func TestNeighboursAtKinks(t *testing.T) {
	const d = 2
	worst := map[string]float64{}
	variants := kernels.Variants()
	if testing.Short() {
		variants = variants[:1]
	}
	for _, metric := range []bool{false, true} {
		for _, m := range []float64{2.8, 0.2, 0.4, 1.1} {
			for form := range 3 {
				for _, n := range []int{13, 100} {
					for _, v := range variants {
						if n > 13 && v != variants[0] && v != variants[len(variants)-1] && !sizes.Full() {
							continue
						}
						p := problem(n, d, 0.1)
						p.Loss = engine.Score{Of: kinksAt(t, 0, m)[form]}
						if metric { // pairs of two classes have margin -1
							p.Loss = engine.Metric{Of: kinksAt(t, -1, m)[form]}
						}
						for _, pairs := range []engine.Pairs{engine.AllPairs{N: n}, engine.PrefixPairs{T: n - 1}} {
							ratio := movesAtKink(t, cpu.Backend{Variant: v}, p, pairs)
							name := fmt.Sprintf("metric %v, %T", metric, pairs)
							worst[name] = max(worst[name], ratio)
							must.Within(t, ratio, 0, 1, "%s, m = %v, form %d, n = %d, %v: moved ... of what is certified", name, m, form, n, v)
						}
					}
				}
			}
		}
	}
	for name, ratio := range worst {
		if t.Logf("%s: at most %.4g of what is certified", name, ratio); ratio < 0.3 {
			t.Errorf("%s: the attack reaches only %.4g", name, ratio)
		}
	}
}

// movesAtKink is the largest ratio of moved and certified for w = 0.
func movesAtKink(t *testing.T, b cpu.Backend, p engine.Problem, pairs engine.Pairs) (ratio float64) {
	t.Helper()
	n, d := p.N, p.D
	k := must.Get(b.Plan(p))(t)
	c, err := p.Loss.Constants(p.Bounds, p.Radius)
	if err != nil || !math.IsInf(c.Smoothness, 1) {
		t.Fatalf("%s: %+v, %v, want a loss that is not smooth", p.Loss.Name(), c, err)
	}
	roundoff := k.Bounds(engine.Query{Pairs: pairs}).OneRecord()
	w := make([]float64, p.Loss.ParamDim(d))
	sum := func(few, flipped int) []float64 {
		x, y := make([]float64, n*d), make([]float64, n)
		for i := range y {
			y[i] = 1
			if x[i*d] = 1; i < few {
				x[i*d], y[i] = -1, -1
			}
		}
		if flipped >= 0 {
			y[flipped] = -y[flipped]
		}
		dst, _ := sumOver(t, b, p, adoptRecords(t, x, y, d), w, pairs)
		return dst
	}
	for _, few := range []int{1, 4, 5, 8, n - 1} {
		before := sum(few, -1)
		for _, at := range []int{0, few, n / 2, n - 2} {
			shared := pairs.MaxPerRecord()
			if _, ok := pairs.(engine.PrefixPairs); ok && at < n-1 {
				shared = 1
			}
			moved := distance(before, sum(few, at))
			ratio = max(ratio, moved/(float64(shared)*c.PairDiameter+2*roundoff))
		}
	}
	return ratio
}

func adoptRecords(t *testing.T, x, y []float64, d int) *engine.Records {
	t.Helper()
	return must.Get(engine.NewRecords(x, y, d, engine.UnitBounds()))(t)
}
