package metrics

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"dyad/internal/must"
)

// eachOrder visits all permutations of rows that list the scores in descending
// order.
func eachOrder(s []float64, rows []int, visit func(order []int)) {
	var extend func(order, left []int)
	extend = func(order, left []int) {
		if len(left) == 0 {
			visit(order)
			return
		}
		top := math.Inf(-1)
		for _, i := range left {
			top = max(top, s[i])
		}
		for k, i := range left {
			if s[i] == top {
				extend(append(slices.Clone(order), i), slices.Delete(slices.Clone(left), k, k+1))
			}
		}
	}
	extend(nil, rows)
}

// slowTop averages DCG at k and precision at k over all orders.
func slowTop(s, relevance []float64, rows []int, k int, gain func(float64) float64) (dcg, precision float64) {
	var orders float64
	eachOrder(s, rows, func(order []int) {
		orders++
		for r, i := range order[:min(k, len(order))] {
			dcg += gain(relevance[i]) / math.Log2(float64(r+2))
			if relevance[i] > 0 {
				precision += 1 / float64(k)
			}
		}
	})
	return dcg / orders, precision / orders
}

func TestTopKEqualsAverageOverOrders(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 4))
	for range 150 {
		n := 1 + r.IntN(6)
		s, y, ids := gradedData(r, n)
		relevance := make([]float64, n)
		for i := range y {
			relevance[i] = max(0, 3*y[i]) // 0, 1, 2 ... : half of the labels
		}
		k := 1 + r.IntN(7)
		f := func(v float64) float64 { return math.Pow(2, v) - 1 }
		var ndcg, precision float64
		groups, undefined := 0, 0
		for _, rows := range rowsOf(ids) {
			ideal, _ := slowTop(relevance, relevance, rows, k, f)
			if ideal == 0 {
				undefined++
				continue
			}
			d, p := slowTop(s, relevance, rows, k, f)
			ndcg += d / ideal
			precision += p
			groups++
		}
		a, err := NDCG(s, relevance, k, Grouping{IDs: ids})
		b, err2 := precisionAt(s, relevance, k, Grouping{IDs: ids})
		if groups == 0 {
			if !errors.Is(err, ErrNothingToRank) || !errors.Is(err2, ErrNothingToRank) {
				t.Fatalf("no relevant record: %v, %v", err, err2)
			}
			continue
		}
		if err != nil || math.Abs(a.Mean-ndcg/float64(groups)) > 1e-13 || a.Groups != groups || a.Undefined != undefined {
			t.Fatalf("NDCG %+v, %v, want %v", a, err, ndcg/float64(groups))
		}
		if err2 != nil || math.Abs(b.Mean-precision/float64(groups)) > 1e-14 || b.Groups != groups {
			t.Fatalf("precision %+v, %v, want %v", b, err2, precision/float64(groups))
		}
	}
}

func TestTopKByHand(t *testing.T) {
	// Gains in the order of the scores: 3, 2, 3, 0, 1, 2 (a common textbook
	// example): DCG 6.861127, ideal order 3, 3, 2, 2, 1, 0: 7.140995.
	l := math.Log2
	s := []float64{6, 5, 4, 3, 2, 1}
	got, err := NDCG(s, []float64{2, l(3), 2, 0, 1, l(3)}, 0, Grouping{})
	dcg, ideal := 3+2/l(3)+3/l(4)+1/l(6)+2/l(7), 3+3/l(3)+2/l(4)+2/l(5)+1/l(6)
	if err != nil || math.Abs(got.Mean-dcg/ideal) > 1e-14 || math.Abs(dcg-6.861127) > 1e-6 || math.Abs(ideal-7.140995) > 1e-6 {
		t.Errorf("%v, %v, want %v over %v", got, err, dcg, ideal)
	}
	relevance := []float64{3, 2, 3, 0, 1, 2}
	// Top 2, exponential: (7 + 3/log2 3) / (7 + 7/log2 3).
	must.Near(t, must.Get(NDCG(s, relevance, 2, Grouping{}))(t).Mean, (7+3/l(3))/(7+7/l(3)), 1e-15, "NDCG at 2")
	// A tie of one positive and two negatives takes ranks 2 to 4: at k = 3 it
	// holds 2/3 of a positive.
	p := must.Get(precisionAt([]float64{9, 5, 5, 5, 1}, []float64{1, 1, -1, -1, 1}, 3, Grouping{}))(t)
	must.Near(t, p.Mean, (1+2.0/3)/3, 1e-15, "precision at 3")
	must.Equal(t, must.Get(precisionAt([]float64{1, 2, 3}, []float64{1, -1, -1}, 5, Grouping{}))(t).Mean, 0.2, "a short group")
	// One group without positives.
	ids, y := []int{1, 1, 2, 2}, []float64{1, -1, -1, -1}
	must.Equal(t, must.Get(precisionAt([]float64{2, 1, 2, 1}, y, 1, Grouping{ids}))(t), GroupMean{1, 1, 1}, "one group")
	must.Same(t, must.Get(relevances([]float64{-1, -0.5, 0, 0.5, 1}))(t), []float64{0, 1, 2, 3, 4}, "relevance")
}

// The order of the file and monotone maps of the scores change nothing but
// the rounding of sums; sorting by relevance gives 1.
func TestTopKProperties(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 12))
	for range 30 {
		n := 50 + r.IntN(200)
		s, y, _ := gradedData(r, n)
		y[0] = 1
		relevance := make([]float64, n)
		mapped, permuted := make([]float64, n), make([]float64, n)
		for i := range y {
			relevance[i] = y[i] + 1
		}
		for i, p := range r.Perm(n) {
			mapped[i], permuted[i] = math.Exp(s[p]), relevance[p]
		}
		a, err := NDCG(s, relevance, 10, Grouping{})
		b, err2 := NDCG(mapped, permuted, 10, Grouping{})
		if err != nil || err2 != nil || math.Abs(a.Mean-b.Mean) > 1e-13 {
			t.Fatalf("%v %v: %v and %v", err, err2, a, b)
		}
		best, err := NDCG(relevance, relevance, 10, Grouping{})
		if err != nil || best.Mean != 1 || a.Mean > 1 || a.Mean < 0 {
			t.Fatalf("%v: best %v, got %v", err, best, a)
		}
	}
}
