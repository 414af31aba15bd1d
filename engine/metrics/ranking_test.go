package metrics

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"dyad/internal/must"
)

// slowConcordance is the definition on the rows of one group.
func slowConcordance(s, y []float64, rows []int) (right, total float64) {
	for _, i := range rows {
		for _, j := range rows {
			if y[i] > y[j] {
				total++
				right += wins(s[i], s[j])
			}
		}
	}
	return right, total
}

func gradedData(r *rand.Rand, n int) (s, y []float64, ids []int) {
	s, y, ids = make([]float64, n), make([]float64, n), make([]int, n)
	scoreLevels, labelLevels, groups := 1+r.IntN(12), 1+r.IntN(8), 1+r.IntN(5)
	for i := range s {
		s[i] = float64(r.IntN(scoreLevels))
		y[i] = float64(r.IntN(labelLevels)-2) / 3
		ids[i] = 100 - 7*r.IntN(groups)
	}
	return s, y, ids
}

// rowsOf are the groups in ascending order of ids.
func rowsOf(ids []int) (groups [][]int) {
	for id := range 101 {
		var rows []int
		for i, g := range ids {
			if g == id {
				rows = append(rows, i)
			}
		}
		if rows != nil {
			groups = append(groups, rows)
		}
	}
	return groups
}

func TestRankingAccuracyEqualsDefinition(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	for range 300 {
		s, y, ids := gradedData(r, 1+r.IntN(50))
		var sum float64
		var want GroupMean
		for _, rows := range rowsOf(ids) {
			if right, total := slowConcordance(s, y, rows); total > 0 {
				sum += right / total
				want.Groups++
			} else {
				want.Undefined++
			}
		}
		got, err := RankingAccuracy(s, y, Grouping{IDs: ids})
		if want.Groups == 0 {
			if !errors.Is(err, ErrNothingToRank) {
				t.Fatalf("no defined group: %v, %v", got, err)
			}
			continue
		}
		want.Mean = sum / float64(want.Groups)
		if err != nil || got.Groups != want.Groups || got.Undefined != want.Undefined || math.Abs(got.Mean-want.Mean) > 1e-14 {
			t.Fatalf("got %+v, %v, want %+v", got, err, want)
		}
	}
}

// With binary labels it is the AUC, to the last bit; order preserving maps of
// scores and of labels, and the order of records, change nothing;
// reversing the scores gives the complement.
func TestRankingAccuracyProperties(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 7))
	for range 50 {
		n := 4 + r.IntN(200)
		s, y := binaryData(r, n)
		auc, err := AUC(s, y)
		got, err2 := RankingAccuracy(s, y, Grouping{})
		if err != nil || err2 != nil || got != (GroupMean{Mean: auc, Groups: 1}) {
			t.Fatalf("%+v, %v, want %v, %v", got, err2, auc, err)
		}
		s, y, _ = gradedData(r, n)
		y[0], y[1] = -5, 5
		mapped, reversed, cubed := make([]float64, n), make([]float64, n), make([]float64, n)
		for i, p := range r.Perm(n) {
			mapped[i], reversed[i], cubed[i] = math.Exp(s[p]), -s[i], y[p]*y[p]*y[p]
		}
		a, err := RankingAccuracy(s, y, Grouping{})
		b, err2 := RankingAccuracy(mapped, cubed, Grouping{})
		if err != nil || err2 != nil || a != b {
			t.Fatalf("%v %v: %v and %v", err, err2, a, b)
		}
		if b, _ := RankingAccuracy(reversed, y, Grouping{}); math.Abs(a.Mean+b.Mean-1) > 1e-15 {
			t.Fatalf("%v and reversed %v", a, b)
		}
	}
}

func TestRankingAccuracyByHand(t *testing.T) {
	s := []float64{3, 1, 2, 2}
	y := []float64{1, 0, 0.5, -1}
	// Pairs (y > y'): (0,1) +, (0,2) +, (0,3) +, (1,3) wrong, (2,1) +, (2,3) tie.
	must.Equal(t, must.Get(RankingAccuracy(s, y, Grouping{}))(t).Mean, 4.5/6, "mean")
}

func TestRankingErrors(t *testing.T) {
	one := []float64{1}
	for name, f := range map[string]func() error{
		"lengths":   func() error { _, err := RankingAccuracy(one, nil, Grouping{}); return err },
		"empty":     func() error { _, err := RankingAccuracy(nil, nil, Grouping{}); return err },
		"NaN score": func() error { _, err := NDCG([]float64{math.NaN()}, one, 1, Grouping{}); return err },
		"Inf label": func() error { _, err := precisionAt(one, []float64{math.Inf(1)}, 1, Grouping{}); return err },
		"ids":       func() error { _, err := RankingAccuracy(one, one, Grouping{IDs: []int{1, 2}}); return err },
		"k":         func() error { _, err := NDCG(one, one, -1, Grouping{}); return err },
		"k 0":       func() error { _, err := precisionAt(one, one, 0, Grouping{}); return err },
		"negative":  func() error { _, err := NDCG(one, []float64{-1}, 1, Grouping{}); return err },
		"large":     func() error { _, err := NDCG(one, []float64{513}, 1, Grouping{}); return err },
		"range":     func() error { _, err := relevances([]float64{1.5}); return err },
		"NaN":       func() error { _, err := relevances([]float64{math.NaN()}); return err },
	} {
		if err := f(); err == nil || errors.Is(err, ErrNothingToRank) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
