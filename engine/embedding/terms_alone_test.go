package embedding_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"dyad/engine/embedding"
	"dyad/engine/pairgraph"
	"dyad/internal/must"
)

// parted are n individuals, of which the first own have features in the first d/2 columns
// alone and the others in the rest, with many equal rows: so what those columns of a sum have
// comes from the first individuals, and pairs are at and around kinks.
func parted(t *testing.T, rng *rand.Rand, n, own, d int, p pairs) *embedding.Data {
	t.Helper()
	x, labels := make([]float64, n*d), make([]bool, len(p))
	for i := range n {
		from := 0
		if i >= own {
			from = d / 2
		}
		for k := from; k < from+d/2; k++ {
			if x[i*d+k] = float64(rng.IntN(3)-1) / 4; rng.IntN(3) == 0 {
				x[i*d+k] = rng.NormFloat64() / 4
			}
		}
	}
	for i := range labels {
		labels[i] = rng.IntN(2) == 0
	}
	return must.Get(embedding.NewData(x, d, embedding.L2, 1, pairGraph(t, n, p), labels))(t)
}

// sameColumns compares the first half of the columns, bit for bit up to the sign of zero.
func sameColumns(a, b []float64, d int) bool {
	for k := range a {
		if k%d < d/2 && a[k] != b[k] {
			return false
		}
	}
	return true
}

// TestTermsOfPairsAreComputedAlone: the clipped gradient of a pair is the same, bit for bit,
// alone and at every place of a list of any length among random pairs, for every loss and
// either clip (Gradients.Sum: each term is a function of its own pair).
func TestTermsOfPairsAreComputedAlone(t *testing.T) {
	const n, d = 40, 10
	rng := rand.New(rand.NewPCG(61, 26))
	for _, c := range []struct {
		loss embedding.ListLoss
		rows int
		how  embedding.Clip
	}{{embedding.Contrastive{Margin: 0.5}, 3, embedding.WholeMatrix}, {embedding.Contrastive{Margin: 0.25}, 4, embedding.RowByRow}, {embedding.BradleyTerry{}, 1, embedding.WholeMatrix}} {
		p := pairs{{A: 0, B: 1}}
		for i := int32(2); i < n; i++ {
			for j := i + 1; j < n; j += 1 + int32(rng.IntN(4)) {
				p = append(p, pairgraph.Pair{A: i, B: j})
			}
		}
		for trial := range 20 {
			data := parted(t, rng, n, 2, d, p)
			g := gradients(t, data, c.loss, c.rows, 1+trial%3)
			w, clip := randomMatrix(c.rows*d, 1, uint64(trial)), []float64{0.05, 0.5, 10}[trial%3]
			sum := func(list []int32) []float64 {
				dst := make([]float64, g.Len())
				must.Do(t, g.Sum(context.Background(), dst, w, list, clip, c.how))
				return dst
			}
			alone := sum([]int32{0})
			for length := 1; length <= 130; length++ {
				list := make([]int32, length)
				for i := range list {
					list[i] = 1 + int32(rng.IntN(len(p)-1))
				}
				list[rng.IntN(length)] = 0
				if !sameColumns(alone, sum(list), d) {
					t.Fatalf("%s: a pair has another gradient in a list of %d", c.loss.Name(), length)
				}
			}
		}
	}
}

// TestTermsOfTuplesAreComputedAlone: the same for the clipped gradient of a tuple
// (Tuples.Sum: a term is a function of its own records).
func TestTermsOfTuplesAreComputedAlone(t *testing.T) {
	const n, d, rows = 64, 10, 3
	rng := rand.New(rand.NewPCG(62, 26))
	for _, loss := range tupleLosses {
		for size := 2; size <= 7; size++ {
			for trial := range 6 {
				data, class := parted(t, rng, n, size, d, nil), make([]int32, n)
				for i := range class {
					class[i] = int32(rng.IntN(2))
				}
				s := tuples(t, data, class, loss, rows, size, 1+trial%3)
				w, clip := randomMatrix(rows*d, 1, uint64(trial)), []float64{0.05, 0.5, 10}[trial%3]
				own := numbers(0, size)
				alone := tupleSum(t, s, w, own, clip)
				for count := 1; count <= 130; count += 1 + rng.IntN(3) {
					var members []int32
					for range count {
						for _, k := range rng.Perm(n - size)[:size] {
							members = append(members, int32(size+k))
						}
					}
					copy(members[rng.IntN(count)*size:], own)
					if !sameColumns(alone, tupleSum(t, s, w, members, clip), d) {
						t.Fatalf("%s, tuples of %d: a tuple has another gradient in a list of %d", loss.Name(), size, count)
					}
				}
			}
		}
	}
}

// TestTermsOfAllPairsAreComputedAlone: the same for two records of one class at any places among
// records of other classes, which are all farther than the margin from each other and from
// these: their terms are 0 (AllPairs.Sum: each term is a function of its own two records).
func TestTermsOfAllPairsAreComputedAlone(t *testing.T) {
	const d, rows, margin = 11, 3, 1e-9
	rng := rand.New(rand.NewPCG(63, 26))
	sum := func(x []float64, class []int32, workers int, w []float64, clip float64) []float64 {
		data := must.Get(embedding.NewData(x, d, embedding.L2, 1, pairGraph(t, len(class), nil), nil))(t)
		return allPairsSum(t, data, class, margin, rows, workers, w, clip)
	}
	for trial := range 60 {
		n := 2 + rng.IntN(300) // up to several blocks and tiles
		x, class := randomMatrix(n*d, 0.2, uint64(trial)), make([]int32, n)
		for i := range class {
			class[i] = int32(i)
		}
		own := rng.Perm(n)[:2]
		i, j := min(own[0], own[1]), max(own[0], own[1])
		class[j] = class[i]
		w, clip := randomMatrix(rows*d, 1, uint64(trial)), []float64{0.05, 0.5, 10}[trial%3]
		two := slices.Concat(x[i*d:(i+1)*d], x[j*d:(j+1)*d])
		alone := sum(two, []int32{0, 0}, 1, w, clip)
		if among := sum(x, class, 1+trial%3, w, clip); !slices.Equal(alone, among) || alone[0] == 0 {
			t.Fatalf("n = %d: records %d and %d have another term among others: %v, alone %v", n, i, j, among, alone)
		}
	}
}
