package enginetest

import (
	"math"
	"math/rand/v2"

	"dyad/engine"
)

// makeRecords returns the same records in dense and in sparse storage. A third of the features is zero, some
// rows are all zero or repeat, and most norms are close to R.
func makeRecords(rng *rand.Rand, p engine.Problem, labels labelling) (dense, sparse *engine.Records, err error) {
	x := make([]float64, p.N*p.D)
	start, index, value := []int64{0}, []int32(nil), []float64(nil)
	for i := range p.N {
		row := x[i*p.D : (i+1)*p.D]
		switch {
		case i%11 == 7:
		case i%11 == 8:
			copy(row, x[(i-2)*p.D:(i-1)*p.D])
		default:
			for k := range row {
				if rng.IntN(3) > 0 {
					row[k] = rng.NormFloat64()
				}
			}
			scale := 0.999
			if i%4 == 0 {
				scale = rng.Float64() * 0.999
			}
			scaleTo(row, scale*p.Bounds.FeatureNorm)
		}
		for k, v := range row {
			if v != 0 {
				index, value = append(index, int32(k)), append(value, v)
			}
		}
		start = append(start, int64(len(value)))
	}
	y := labels.make(rng, p.N, p.Bounds.LabelAbs)
	if dense, err = engine.NewRecords(x, y, p.D, p.Bounds); err != nil {
		return nil, nil, err
	}
	sparse, err = engine.NewSparseRecords(start, index, value, append([]float64(nil), y...), p.D, p.Bounds)
	return dense, sparse, err
}

// pairsOf returns the pairs of a problem, starting with the pairs that its objective averages over. With groups
// there are no other pairs. Otherwise prefixes of the natural order and of a random order follow.
func pairsOf(rng *rand.Rand, p engine.Problem) []engine.Pairs {
	if len(p.Groups) > 0 {
		return []engine.Pairs{p.Pairs()}
	}
	n := p.N
	order := make([]int32, n)
	for k, i := range rng.Perm(n) {
		order[k] = int32(i)
	}
	q := []engine.Pairs{p.Pairs(), engine.PrefixPairs{T: n - 1}, engine.PrefixPairs{Order: order, T: n - 1}}
	if n > 2 {
		q = append(q, engine.PrefixPairs{T: 1}, engine.PrefixPairs{Order: order, T: n / 2})
	}
	return q
}

// visit calls pair once for every two records that are in a pair. It returns the number of orders in which two
// records are in pairs: 2 if both (i, j) and (j, i) are pairs.
func visit(pairs engine.Pairs, pair func(i, j int)) (orders float64) {
	group := func(from, size int) {
		for i := from; i < from+size; i++ {
			for j := from; j < i; j++ {
				pair(i, j)
			}
		}
	}
	switch q := pairs.(type) {
	case engine.AllPairs:
		group(0, q.N)
	case engine.GroupPairs:
		from := 0
		for _, size := range q.Sizes {
			group(from, size)
			from += size
		}
	case engine.PrefixPairs:
		for t := range q.T {
			pair(int(q.Record(q.T)), int(q.Record(t)))
		}
		return 1
	}
	return 2
}

// scaleTo makes ||x|| = length up to rounding, if x is not zero.
func scaleTo(x []float64, length float64) {
	s := norm(x)
	if s == 0 {
		return
	}
	for k := range x {
		x[k] *= length / s
	}
}

func norm(x []float64) float64 {
	var s float64
	for _, v := range x {
		s += v * v
	}
	return math.Sqrt(s)
}

func distance(x, y []float64) float64 {
	diff := make([]float64, len(x))
	for k := range x {
		diff[k] = x[k] - y[k]
	}
	return norm(diff)
}

func sameBits(x, y []float64) bool {
	for k := range x {
		if math.Float64bits(x[k]) != math.Float64bits(y[k]) {
			return false
		}
	}
	return len(x) == len(y)
}

// snapshot copies everything that Sum must not change.
func snapshot(r *engine.Records, w []float64) []float64 {
	s := append([]float64(nil), w...)
	s = append(s, r.Labels()...)
	for i := range r.Len() {
		s = append(s, r.Rows(nil, i, 1)...)
	}
	start, index, value := r.Sparse()
	for _, v := range start {
		s = append(s, float64(v))
	}
	for _, v := range index {
		s = append(s, float64(v))
	}
	return append(s, value...)
}

// A labelling makes n labels within [-b, b].
type labelling struct {
	name   string
	values int // Problem.LabelValues
	make   func(rng *rand.Rand, n int, b float64) []float64
}

var labellings = []labelling{
	{"binary", 2, func(rng *rand.Rand, n int, b float64) []float64 {
		return fill(n, func(i int) float64 { return math.Copysign(b, rng.Float64()-0.4) })
	}},
	{"one positive", 0, func(_ *rand.Rand, n int, b float64) []float64 {
		return fill(n, func(i int) float64 {
			if i == n-1 {
				return b
			}
			return -b
		})
	}},
	{"one class", 2, func(_ *rand.Rand, n int, b float64) []float64 {
		return fill(n, func(int) float64 { return b })
	}},
	{"five grades", 5, func(rng *rand.Rand, n int, b float64) []float64 {
		return fill(n, func(int) float64 { return b * (float64(rng.IntN(5))/2 - 1) })
	}},
	{"real", engine.AnyLabels, func(rng *rand.Rand, n int, b float64) []float64 {
		return fill(n, func(int) float64 { return b * (2*rng.Float64() - 1) })
	}},
}

func fill(n int, f func(i int) float64) []float64 {
	y := make([]float64, n)
	for i := range y {
		y[i] = f(i)
	}
	return y
}

// boundsOf are the bounds of the cases, in turn.
var boundsOf = []engine.Bounds{
	{FeatureNorm: 1, LabelAbs: 1},
	{FeatureNorm: 2, LabelAbs: 0.5},
	{FeatureNorm: 0.5, LabelAbs: 2.5},
}

// semidefinite returns a random matrix of this rank and of Frobenius norm r.
func semidefinite(rng *rand.Rand, d, rank int, r float64) []float64 {
	m := make([]float64, d*d)
	for range rank {
		v := fill(d, func(int) float64 { return rng.NormFloat64() })
		for k := range m {
			m[k] += v[k/d] * v[k%d]
		}
	}
	s := engine.Symmetric{Dim: d}
	w := make([]float64, s.Len())
	s.Pack(w, m)
	scaleTo(w, r)
	return w
}
