package attack

import (
	"math"
	"math/rand/v2"

	"dyad/algorithms"
	"dyad/engine"
)

// Loss returns an example loss for an algorithm. It is the logistic loss of scores, or of metrics if the
// algorithm learns only metrics.
func Loss(i algorithms.Info) engine.Loss {
	if i.Learns(engine.Logistic{}) {
		return engine.Logistic{}
	}
	return engine.MahalanobisLogistic{}
}

// RandomRecords returns n records of d features with uniform directions, norms up to R and random labels -b or
// b. They are for tests: the coins are not secret.
func RandomRecords(n, d int, b engine.Bounds, seed uint64) *engine.Records {
	rng := rand.New(rand.NewPCG(seed, 1))
	x, y := make([]float64, n*d), make([]float64, n)
	for i := range y {
		randomRecord(rng, x[i*d:(i+1)*d], b)
		y[i] = randomLabel(rng, b)
	}
	return mustRecords(x, y, d, b)
}

// Neighbours returns count copies of r with one record replaced. The replacement is in turn a random record, a
// mirrored record, or the same record with a flipped label.
func Neighbours(r *engine.Records, count int, seed uint64) []*engine.Records {
	rng := rand.New(rand.NewPCG(seed, 2))
	out := make([]*engine.Records, count)
	for c := range out {
		x, y := copies(r)
		d := r.Dim()
		k := rng.IntN(r.Len())
		row := x[k*d : (k+1)*d]
		switch c % 3 {
		case 0:
			randomRecord(rng, row, r.Bounds())
			y[k] = randomLabel(rng, r.Bounds())
		case 1:
			for j := range row {
				row[j] = -row[j]
			}
			y[k] = -y[k]
		default:
			y[k] = -y[k]
		}
		out[c] = mustRecords(x, y, d, r.Bounds())
	}
	return out
}

// Flipped returns r with the label of record k flipped.
func Flipped(r *engine.Records, k int) *engine.Records {
	x, y := copies(r)
	y[k] = -y[k]
	return mustRecords(x, y, r.Dim(), r.Bounds())
}

// WorstCase returns the structured instance of docs/theory.md#audit-worst-cases. Every record is (-R u, -b) for
// a unit vector u, and the neighbour's record k is (R u, b). On this instance the change of the AUC gradient
// nearly attains its bound.
func WorstCase(n, d, k int, b engine.Bounds) (data, neighbour *engine.Records) {
	x, y := make([]float64, n*d), make([]float64, n)
	for i := range y {
		x[i*d] = -b.FeatureNorm
		y[i] = -b.LabelAbs
	}
	data = mustRecords(append([]float64(nil), x...), append([]float64(nil), y...), d, b)
	x[k*d] = b.FeatureNorm
	y[k] = b.LabelAbs
	return data, mustRecords(x, y, d, b)
}

// PairNeighbours returns neighbours for attacks on the private choice of products. In most records, the features
// determine the label, so a model predicts with confidence. In a few records, the predictions are wrong, so sums of
// residuals times products are not near 0. The replaced record has the largest possible residuals and products.
func PairNeighbours(n, d int, b engine.Bounds) (all []Instance) {
	x, y := make([]float64, n*d), make([]float64, n)
	size := b.FeatureNorm / math.Sqrt(float64(d))
	for i := range n {
		side := float64(1 - 2*(i%2))
		y[i] = side * b.LabelAbs
		for k := range d {
			x[i*d+k] = size * side * float64(1-2*(i>>(k+1)&1)*(k%2))
		}
	}
	build := func(turned int, label float64) *engine.Records {
		rows, labels := append([]float64(nil), x...), append([]float64(nil), y...)
		for i := 0; i <= 8 && i < n; i += 2 {
			for k := range d {
				rows[i*d+k] = size
			}
			labels[i] = -b.LabelAbs
		}
		for k := d - turned; k < d; k++ {
			rows[k] = -size
		}
		labels[0] = label * b.LabelAbs
		return mustRecords(rows, labels, d, b)
	}
	return []Instance{
		{build(0, -1), build((d+1)/2, -1), "some predictions are confident but wrong; in the neighbour, half of " +
			"the features of record 0 have the other sign"},
		{build(0, 1), build(0, -1), "some predictions are confident but wrong; in the neighbour, record 0 has the " +
			"other label"},
		{build(0, -1), build(1, -1), "some predictions are confident but wrong; in the neighbour, one feature of " +
			"record 0 has the other sign"},
	}
}

// Exhaust returns the largest distance between the results of query for two neighbouring data sets. The
// function apart measures the distance. Exhaust tries all data sets of n elements of kinds.
func Exhaust[T any](kinds []T, n int, query func([]T) []float64, apart func(a, b []float64) float64) (most float64) {
	total := 1
	for range n {
		total *= len(kinds)
	}
	seen := make([][]float64, total)
	for code := range seen {
		set := make([]T, n)
		for i, c := 0, code; i < n; i, c = i+1, c/len(kinds) {
			set[i] = kinds[c%len(kinds)]
		}
		seen[code] = query(set)
	}
	for code, a := range seen {
		for place := 1; place < total; place *= len(kinds) {
			digit := code / place % len(kinds)
			for other := range digit {
				most = max(most, apart(a, seen[code+(other-digit)*place]))
			}
		}
	}
	return most
}

func copies(r *engine.Records) (x, y []float64) {
	x = make([]float64, r.Len()*r.Dim())
	for i := range r.Len() {
		r.Row(i, x[i*r.Dim():(i+1)*r.Dim()])
	}
	return x, append([]float64(nil), r.Labels()...)
}

func randomRecord(rng *rand.Rand, row []float64, b engine.Bounds) {
	var square float64
	for j := range row {
		row[j] = rng.NormFloat64()
		square += row[j] * row[j]
	}
	scale := b.FeatureNorm * math.Pow(rng.Float64(), 0.2) / math.Sqrt(square)
	for j := range row {
		row[j] *= scale
	}
}

func randomLabel(rng *rand.Rand, b engine.Bounds) float64 {
	if rng.IntN(2) == 0 {
		return -b.LabelAbs
	}
	return b.LabelAbs
}

func mustRecords(x, y []float64, d int, b engine.Bounds) *engine.Records {
	r, err := engine.AdoptRecords(x, y, d, b)
	if err != nil {
		panic(err) // the shapes are set by this package
	}
	return r
}
