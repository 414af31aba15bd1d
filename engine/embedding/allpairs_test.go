package embedding_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"dyad/engine/embedding"
	"dyad/engine/pairgraph"
	"dyad/internal/must"
)

func allPairsSum(t testing.TB, data *embedding.Data, class []int32, margin float64, rows, workers int, w []float64, clip float64) []float64 {
	t.Helper()
	a := must.Get(embedding.NewAllPairs(data, class, embedding.Contrastive{Margin: margin}, rows, workers))(t)
	dst := make([]float64, a.Len())
	must.Do(t, a.Sum(context.Background(), dst, w, clip))
	return dst
}

// labelledAll is data with every pair of its individuals listed.
func labelledAll(t testing.TB, data *embedding.Data, class []int32) *embedding.Data {
	t.Helper()
	x, _ := data.Copy()
	var all pairs
	for j := range int32(data.Graph().Len()) {
		for i := range j {
			all = append(all, pairgraph.Pair{A: i, B: j})
		}
	}
	labels := make([]bool, len(all))
	for i, p := range all {
		labels[i] = class[p.A] != class[p.B]
	}
	listed := must.Get(embedding.NewData(x, data.Dim(), embedding.L2, 1, pairGraph(t, data.Graph().Len(), all), labels))(t)
	return listed
}

// The fused sum is the sum over a list of all pairs, with and without clipping, within
// the bounds of both; its bits do not depend on workers; without clipping it is the
// gradient of the objective.
func TestAllPairsAreTheListOfAllPairs(t *testing.T) {
	const n, d, rows = 150, 6, 3 // several blocks and tiles
	data, class := unpaired(t, n, d, 3, embedding.L2, 4)
	listed := labelledAll(t, data, class)
	g := gradients(t, listed, embedding.Contrastive{Margin: 1.5}, rows, 1)
	w := randomMatrix(rows*d, 1, 6)
	m := len(listed.Graph().Pairs())
	for _, clip := range []float64{1e9, 0.3, 1e-3} {
		want := make([]float64, g.Len())
		must.Do(t, g.Sum(context.Background(), want, w, numbers(0, m), clip, embedding.WholeMatrix))
		got := allPairsSum(t, data, class, 1.5, rows, 1, w, clip)
		distance := 0.0
		for k := range got {
			distance = math.Hypot(distance, got[k]-want[k])
		}
		// Lengths near clipping are raised by 2^-46 in the fused sum.
		must.Within(t, distance, 0, min(clip, 10)*float64(m)*1e-11, "clip %v: the fused sum is ... from the list", clip)
		for _, workers := range []int{2, 7} {
			must.Same(t, got, allPairsSum(t, data, class, 1.5, rows, workers, w, clip), "%d workers change the result", workers)
		}
	}
	small, smallClass := unpaired(t, 12, d, 2, embedding.L2, 11)
	a := must.Get(embedding.NewAllPairs(small, smallClass, embedding.Contrastive{Margin: 20}, rows, 1))(t)
	must.Do(t, a.Sum(context.Background(), make([]float64, a.Len()), w, 1e9))
	got := make([]float64, a.Len())
	must.Do(t, a.Sum(context.Background(), got, w, 1e9))
	for k, want := range differences(w, a.Objective) {
		if want *= 66; math.Abs(got[k]-want) > 1e-8*(1+math.Abs(want)) {
			t.Errorf("entry %d is %v, by differences %v", k, got[k], want)
		}
	}
}

// Every term has norm at most the clip, for records that coincide nearly or in full and
// matrices of any size; the clip is attained.
func TestAllPairsAreClipped(t *testing.T) {
	const clip = 0.25
	largest := 0.0
	for _, gap := range []float64{0, 1e-300, 1e-9, 0.01, 0.1, 1, 2} {
		for _, scale := range []float64{1e-250, 1e-6, 1, 1e6, 1e200, 1e300} {
			for _, other := range []int32{0, 1} {
				data := must.Get(embedding.NewData([]float64{-1, 0, gap - 1, 0}, 2, embedding.L2, 1, pairGraph(t, 2, nil), nil))(t)
				n := entrywise(embedding.L2, allPairsSum(t, data, []int32{0, other}, 1.5, 2, 1, randomMatrix(4, scale, 1), clip))
				if !(n <= clip*(1+1e-15)) {
					t.Fatalf("gap %g, W of size %g: the term has norm %v, clip %v", gap, scale, n, clip)
				}
				largest = max(largest, n)
			}
		}
	}
	if largest < 0.999*clip {
		t.Errorf("the largest term has norm %v, the clip is not attained", largest)
	}
	data, class := unpaired(t, 5, 2, 2, embedding.L1, 1)
	if _, err := embedding.NewAllPairs(data, class, embedding.Contrastive{Margin: 1}, 2, 1); err == nil {
		t.Error("sums in the l1 norm were accepted")
	}
}

// The error of the fused sum is within its bound, where records nearly coincide and
// slopes are as large as they get: a sum of the same terms in twice the precision.
func TestAllPairsError(t *testing.T) {
	const n, clip = 300, 1.0
	x, class := make([]float64, n), make([]int32, n)
	for i := range x {
		x[i], class[i] = 1-float64(i)*1e-7, int32(i%2)
	}
	data := must.Get(embedding.NewData(slices.Clone(x), 1, embedding.L2, 1, pairGraph(t, n, nil), nil))(t)
	got := allPairsSum(t, data, class, 1.5, 1, 1, []float64{1}, clip)[0]
	exact, lost := 0.0, 0.0 // compensated
	for i := range n {
		for j := range i {
			dx := data.Row(i)[0] - data.Row(j)[0]
			c := dx
			if class[i] != class[j] {
				c = math.Copysign(min(1.5-math.Abs(dx), 8*clip), -dx)
			}
			term := c*dx - lost
			sum := exact + term
			lost, exact = sum-exact-term, sum
		}
	}
	bound := embedding.AllPairsError(n, 1, 1, clip)
	if e := math.Abs(got - exact); e > bound || e == 0 {
		t.Errorf("the error is %v, bound %v", e, bound)
	}
	if sensitivity := 2 * float64(n-1) * clip; bound > 1e-6*sensitivity {
		t.Errorf("the bound %v is not small beside the sensitivity %v", bound, sensitivity)
	}
}

func BenchmarkAllPairs(b *testing.B) {
	for _, n := range []int{2000, 8000} {
		b.Run(fmt.Sprintf("n=%d/d=51/rows=16", n), func(b *testing.B) {
			data, class := unpaired(b, n, 51, 2, embedding.L2, 1)
			w := randomMatrix(16*51, 0.3, 1)
			for range b.N {
				allPairsSum(b, data, class, 1.5, 16, 1, w, 0.5)
			}
			b.ReportMetric(float64(n)*float64(n-1)/2*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mpairs/s")
		})
	}
}

func BenchmarkTuples(b *testing.B) {
	for _, loss := range tupleLosses {
		b.Run(loss.Name()+"/n=8000/size=8/d=51/rows=16", func(b *testing.B) {
			data, class := unpaired(b, 8000, 51, 2, embedding.L2, 1)
			s := tuples(b, data, class, loss, 16, 8, 1)
			members := must.Get(embedding.DrawTuples(8000, 8, 1, 0))(b)
			for range b.N {
				tupleSum(b, s, randomMatrix(16*51, 0.3, 1), members, 0.5)
			}
		})
	}
}
