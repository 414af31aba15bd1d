package embedding_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"dyad/engine/embedding"
	"dyad/engine/pairgraph"
	"dyad/internal/must"
)

type pairs = []pairgraph.Pair

func pairGraph(t testing.TB, n int, p pairs) *pairgraph.Graph {
	t.Helper()
	return must.Get(pairgraph.New(n, p))(t)
}

// labelled is random data of n individuals and about m pairs.
func labelled(t testing.TB, n, d, m int, norm embedding.Norm) *embedding.Data {
	t.Helper()
	r := rand.New(rand.NewPCG(uint64(n), uint64(d)))
	seen, p := map[pairgraph.Pair]bool{}, pairs{}
	for range 3 * m {
		a, b := int32(r.IntN(n)), int32(r.IntN(n))
		key := pairgraph.Pair{A: min(a, b), B: max(a, b)}
		if a != b && !seen[key] && len(p) < m {
			seen[key] = true
			p = append(p, pairgraph.Pair{A: a, B: b})
		}
	}
	x, labels := make([]float64, n*d), make([]bool, len(p))
	for i := range x {
		x[i] = r.NormFloat64()
	}
	for i := range labels {
		labels[i] = r.IntN(2) == 0
	}
	return must.Get(embedding.NewData(x, d, norm, 1, pairGraph(t, n, p), labels))(t)
}

func gradients(t testing.TB, data *embedding.Data, loss embedding.ListLoss, rows, workers int) *embedding.Gradients {
	t.Helper()
	return must.Get(embedding.NewGradients(data, loss, rows, workers))(t)
}

func randomMatrix(n int, scale float64, seed uint64) []float64 {
	r := rand.New(rand.NewPCG(seed, 9))
	w := make([]float64, n)
	for i := range w {
		w[i] = scale * r.NormFloat64()
	}
	return w
}

// numbers are the pairs from, ..., to-1.
func numbers(from, to int) []int32 {
	list := make([]int32, 0, to-from)
	for i := from; i < to; i++ {
		list = append(list, int32(i))
	}
	return list
}

func entrywise(norm embedding.Norm, x []float64) float64 {
	s := 0.0
	for _, v := range x {
		if norm == embedding.L1 {
			s += math.Abs(v)
		} else {
			s = math.Hypot(s, v)
		}
	}
	return s
}

// meanLoss is the mean loss over all pairs at a matrix.
func meanLoss(data *embedding.Data, loss embedding.ListLoss, w []float64) (sum float64) {
	d, label := data.Dim(), map[bool]float64{true: 1}
	v := make([]float64, len(w)/d)
	for i, p := range data.Graph().Pairs() {
		clear(v)
		for k, x := range w {
			v[k/d] += x * (data.Row(int(p.A))[k%d] - data.Row(int(p.B))[k%d])
		}
		sum += loss.Phi(loss.Link().Of(v, make([]float64, len(v))), label[data.Label(i)], 0)
	}
	return sum / float64(len(data.Graph().Pairs()))
}

// The gradient without clipping is that of the mean loss, by central differences.
func TestGradientIsThatOfTheLoss(t *testing.T) {
	for _, c := range []struct {
		loss embedding.ListLoss
		rows int
	}{{embedding.Contrastive{Margin: 1.3}, 3}, {embedding.BradleyTerry{}, 1}} {
		data := labelled(t, 30, 4, 50, embedding.L2)
		g := gradients(t, data, c.loss, c.rows, 2)
		w := randomMatrix(g.Len(), 0.6, 1)
		got := make([]float64, g.Len())
		m := len(data.Graph().Pairs())
		must.Do(t, g.Sum(context.Background(), got, w, numbers(0, m), 1e6, embedding.WholeMatrix))
		for k := range w {
			const h = 1e-6
			at := func(x float64) float64 {
				v := slices.Clone(w)
				v[k] += x
				return meanLoss(data, c.loss, v)
			}
			if want := (at(h) - at(-h)) / (2 * h) * float64(m); math.Abs(got[k]-want) > 1e-6*(1+math.Abs(want)) {
				t.Errorf("%s: entry %d is %v, want %v", c.loss.Name(), k, got[k], want)
			}
		}
	}
}

// Every pair's term has norm at most clip, and attains it; GradientBound holds and is
// nearly attained by no more than the stated forms; sums are those of the terms.
func TestClipping(t *testing.T) {
	for _, norm := range []embedding.Norm{embedding.L1, embedding.L2} {
		data := labelled(t, 60, 5, 120, norm)
		m := len(data.Graph().Pairs())
		for _, scale := range []float64{1e-200, 0.01, 1, 100, 1e200, 1e307} {
			g := gradients(t, data, embedding.Contrastive{Margin: 1}, 4, 1)
			w := randomMatrix(g.Len(), scale, 3)
			bound := embedding.Contrastive{Margin: 1}.GradientBound(w, 5, norm, 1)
			for _, clip := range []float64{0.5, 1e-3, math.Inf(1)} {
				largest, total := 0.0, make([]float64, g.Len())
				one := make([]float64, g.Len())
				for i := range m {
					must.Do(t, g.Sum(context.Background(), one, w, numbers(i, i+1), min(clip, 1e290), embedding.WholeMatrix))
					n := entrywise(norm, one)
					if n > clip*(1+1e-15) || n > bound {
						t.Fatalf("%s, W of size %g, pair %d: norm %v exceeds clip %v or bound %v", norm, scale, i, n, clip, bound)
					}
					largest = max(largest, n)
					for k, v := range one {
						total[k] += v
					}
				}
				if scale >= 1 && scale <= 1e200 && clip <= 0.5 && largest < 0.999*clip {
					t.Errorf("%s, W of size %g: the largest norm is %v, clip %v is not attained", norm, scale, largest, clip)
				}
				must.Do(t, g.Sum(context.Background(), one, w, numbers(0, m), min(clip, 1e290), embedding.WholeMatrix))
				if clip > 1 {
					continue
				}
				for k := range one {
					one[k] -= total[k]
				}
				if e := entrywise(norm, one); e > 2*embedding.SumError(4, 5, m, clip)+1e-15*clip*float64(m) {
					t.Errorf("the sum of a batch is %v from that of its terms, bound %v", e, embedding.SumError(4, 5, m, clip))
				}
			}
		}
	}
}

// Clipping rows one by one, as [Li20] Algorithm 1 does, lets the whole matrix move by
// d' times the clip (docs/theory.md#pair-clipping): the defect that whole-matrix clipping repairs.
func TestRowClippingExceedsTheClip(t *testing.T) {
	const rows, h = 16, 0.5
	g := pairGraph(t, 2, pairs{{A: 0, B: 1}})
	data := must.Get(embedding.NewData([]float64{1, 0, 0, 0, -1, 0, 0, 0}, 4, embedding.L1, 1, g, []bool{false}))(t)
	w := make([]float64, rows*4)
	for r := range rows {
		w[r*4] = 3
	}
	grad := gradients(t, data, embedding.Contrastive{Margin: 20}, rows, 1)
	rowwise, clipped := make([]float64, len(w)), make([]float64, len(w))
	all := numbers(0, 1)
	must.Do(t, errors.Join(grad.Sum(context.Background(), rowwise, w, all, h, embedding.RowByRow), grad.Sum(context.Background(), clipped, w, all, h, embedding.WholeMatrix)))
	byRow := entrywise(embedding.L1, rowwise)
	must.Near(t, byRow, rows*h, 1e-12, "clipped by rows the matrix has norm")
	must.Near(t, entrywise(embedding.L1, clipped), h, 1e-12, "clipped as a whole the matrix has norm")
}

func TestSumBitsDoNotDependOnWorkers(t *testing.T) {
	data := labelled(t, 400, 30, 1500, embedding.L2)
	m := len(data.Graph().Pairs())
	var first []float64
	for _, workers := range []int{1, 2, 7} {
		g := gradients(t, data, embedding.Contrastive{Margin: 1}, 8, workers)
		dst := make([]float64, g.Len())
		must.Do(t, g.Sum(context.Background(), dst, randomMatrix(g.Len(), 0.3, 5), numbers(3, m), 0.2, embedding.WholeMatrix))
		if first == nil {
			first = dst
		}
		must.Same(t, first, dst, "%d workers change the result", workers)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	g := gradients(t, data, embedding.Contrastive{Margin: 1}, 8, 2)
	must.FailDo(t, g.Sum(ctx, make([]float64, g.Len()), make([]float64, g.Len()), numbers(0, m), 1, embedding.WholeMatrix), context.Canceled, "a cancelled sum returned")
}

func TestDataEnforcesBounds(t *testing.T) {
	for _, norm := range []embedding.Norm{embedding.L1, embedding.L2} {
		x := []float64{3, 4, 0.1, 0.2, math.NaN(), 1, 1e308, 1e308}
		data := must.Get(embedding.NewData(x, 2, norm, 1, pairGraph(t, 4, nil), nil))(t)
		for v := range 4 {
			must.Within(t, entrywise(norm, data.Row(v)), 0, 1, "%s: row %d has norm", norm, v)
		}
		if data.Row(1)[0] != 0.1 || data.Row(2)[1] != 0 || data.Row(0)[0] < 0.4 {
			t.Errorf("%s: rows became %v", norm, x)
		}
	}
	g := pairGraph(t, 2, pairs{{A: 0, B: 1}})
	for name, build := range map[string]func() error{
		"shape": func() error {
			_, err := embedding.NewData(make([]float64, 3), 2, embedding.L1, 1, g, []bool{true})
			return err
		},
		"labels": func() error { _, err := embedding.NewData(make([]float64, 4), 2, embedding.L1, 1, g, nil); return err },
		"norm":   func() error { _, err := embedding.NewData(make([]float64, 4), 2, 0, 1, g, []bool{true}); return err },
		"bound": func() error {
			_, err := embedding.NewData(make([]float64, 4), 2, embedding.L1, 0, g, []bool{true})
			return err
		},
	} {
		if build() == nil {
			t.Errorf("a wrong %s was accepted", name)
		}
	}
	data := labelled(t, 5, 2, 4, embedding.L1)
	must.Err(embedding.NewGradients(data, nil, 1, 1))(t, "no loss was accepted")
	must.Err(embedding.NewGradients(data, embedding.BradleyTerry{}, 2, 1))(t, "two rows of preferences were accepted")
}

// An epoch of 10^6 pairs at the size of the contract.
func BenchmarkEpoch(b *testing.B) {
	const batch = 1000
	data := labelled(b, 20_000, 58, 100_000, embedding.L2)
	m := len(data.Graph().Pairs())
	for _, workers := range []int{1, 2} {
		b.Run(fmt.Sprintf("d=58/rows=16/workers=%d", workers), func(b *testing.B) {
			g := gradients(b, data, embedding.Contrastive{Margin: 1}, 16, workers)
			dst, w := make([]float64, g.Len()), randomMatrix(g.Len(), 0.1, 1)
			all := numbers(0, m)
			for range b.N {
				for from := 0; from < m; from += batch {
					must.Do(b, g.Sum(context.Background(), dst, w, all[from:min(from+batch, m)], 0.5, embedding.WholeMatrix))
				}
			}
			b.ReportMetric(float64(m)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mpairs/s")
		})
	}
}
