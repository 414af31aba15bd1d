package metrics

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"
)

// slowConcordance is the definition on the rows of one group.
func slowConcordance(s, y []float64, rows []int, w PairWeight) (right, total float64) {
	for _, i := range rows {
		for _, j := range rows {
			if y[i] <= y[j] {
				continue
			}
			weight := 1.0
			if w == LabelGap {
				weight = y[i] - y[j]
			}
			total += weight
			if s[i] > s[j] {
				right += weight
			} else if s[i] == s[j] {
				right += weight / 2
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
		for _, w := range []PairWeight{Equal, LabelGap} {
			for _, u := range []Undefined{Skip, AsZero, AsOne} {
				var sum float64
				var want GroupMean
				for _, rows := range rowsOf(ids) {
					right, total := slowConcordance(s, y, rows, w)
					if total > 0 {
						sum += right / total
					} else {
						want.Undefined++
						if u == Skip {
							continue
						}
						if u == AsOne {
							sum++
						}
					}
					want.Groups++
				}
				got, err := RankingAccuracy(s, y, w, Grouping{IDs: ids, Undefined: u})
				if want.Groups == 0 {
					if !errors.Is(err, ErrNothingToRank) {
						t.Fatalf("no defined group: %v, %v", got, err)
					}
					continue
				}
				want.Mean = sum / float64(want.Groups)
				if err != nil || got.Groups != want.Groups || got.Undefined != want.Undefined || math.Abs(got.Mean-want.Mean) > 1e-14 {
					t.Fatalf("weight %v, policy %v: got %+v, %v, want %+v", w, u, got, err, want)
				}
			}
		}
	}
}

// With binary labels it is the AUC, to the last bit; order preserving maps of
// scores and of labels (for Equal), and the order of records, change nothing;
// reversing the scores gives the complement.
func TestRankingAccuracyProperties(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 7))
	for range 50 {
		n := 4 + r.IntN(200)
		s, y := binaryData(r, n)
		auc, err := AUC(s, y)
		got, err2 := RankingAccuracy(s, y, Equal, Grouping{})
		if err != nil || err2 != nil || got != (GroupMean{Mean: auc, Groups: 1}) {
			t.Fatalf("%+v, %v, want %v, %v", got, err2, auc, err)
		}
		s, y, _ = gradedData(r, n)
		y[0], y[1] = -5, 5
		mapped, reversed, cubed := make([]float64, n), make([]float64, n), make([]float64, n)
		for i, p := range r.Perm(n) {
			mapped[i], reversed[i], cubed[i] = math.Exp(s[p]), -s[i], y[p]*y[p]*y[p]
		}
		a, err := RankingAccuracy(s, y, Equal, Grouping{})
		b, err2 := RankingAccuracy(mapped, cubed, Equal, Grouping{})
		if err != nil || err2 != nil || a != b {
			t.Fatalf("%v %v: %v and %v", err, err2, a, b)
		}
		for _, w := range []PairWeight{Equal, LabelGap} {
			a, _ := RankingAccuracy(s, y, w, Grouping{})
			b, _ := RankingAccuracy(reversed, y, w, Grouping{})
			if math.Abs(a.Mean+b.Mean-1) > 1e-15 {
				t.Fatalf("%v and reversed %v", a, b)
			}
		}
	}
}

// One outlier beside labels 2^-40 apart: plain sums of labels lose the gaps.
func TestLabelGapDoesNotCancel(t *testing.T) {
	const n = 2001
	s, y := make([]float64, n), make([]float64, n)
	for i := range s {
		s[i], y[i] = float64(i%7), 1+float64(i)*0x1p-51
	}
	var naive float64 // sum_i y_i (2 i - (n-1)) is the sum of all gaps
	for i := range y {
		naive += y[i] * float64(2*i-(n-1))
	}
	right, total := slowConcordance(s, y, rowsOf(make([]int, n))[0], LabelGap) // gaps are exact
	got, err := RankingAccuracy(s, y, LabelGap, Grouping{})
	if err != nil || math.Abs(got.Mean-right/total) > 0x1p-49 {
		t.Errorf("got %v, %v, want %v", got.Mean, err, right/total)
	}
	if math.Abs(naive/total-1) < 1e-9 {
		t.Errorf("the control did not cancel: %v against %v", naive, total)
	}
}

// An outlier in label and score must not swamp the other gaps of its half: with
// m = 1 in place of the lowest label of the half, each delta - m would round to
// -1 and delta would be lost.
func TestLabelGapOutlier(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 14))
	const half, delta = 1000, 0.8 * 0x1p-54
	s, y := make([]float64, 2*half+1), make([]float64, 2*half+1)
	for i := range half {
		s[i], s[half+i], y[half+i] = r.Float64(), r.Float64(), delta
	}
	s[2*half], y[2*half] = 2, 1
	concordant := 0
	for _, a := range s[:half] {
		for _, b := range s[half : 2*half] {
			if b > a {
				concordant++
			}
		}
	}
	outlier := half + half*(1-delta)
	want := (outlier + float64(concordant)*delta) / (outlier + half*half*delta)
	got, err := RankingAccuracy(s, y, LabelGap, Grouping{})
	if err != nil || math.Abs(got.Mean/want-1) > 0x1p-50 {
		t.Errorf("got %v, %v, want %v: off by %v", got.Mean, err, want, got.Mean/want-1)
	}
}

func TestRankingAccuracyByHand(t *testing.T) {
	s := []float64{3, 1, 2, 2}
	y := []float64{1, 0, 0.5, -1}
	// Pairs (y > y'): (0,1) +, (0,2) +, (0,3) +, (1,3) wrong, (2,1) +, (2,3) tie.
	got, err := RankingAccuracy(s, y, Equal, Grouping{})
	if err != nil || got.Mean != 4.5/6 {
		t.Errorf("%+v, %v", got, err)
	}
	// Gaps 1, 0.5, 2, 1, 0.5, 1.5: right 4 + 0.75 of 6.5.
	got, err = RankingAccuracy(s, y, LabelGap, Grouping{})
	if err != nil || math.Abs(got.Mean-4.75/6.5) > 1e-15 {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestRankingErrors(t *testing.T) {
	one := []float64{1}
	for name, f := range map[string]func() error{
		"lengths":   func() error { _, err := RankingAccuracy(one, nil, Equal, Grouping{}); return err },
		"empty":     func() error { _, err := RankingAccuracy(nil, nil, Equal, Grouping{}); return err },
		"NaN score": func() error { _, err := NDCG([]float64{math.NaN()}, one, 1, Linear, Grouping{}); return err },
		"Inf label": func() error { _, err := PrecisionAt(one, []float64{math.Inf(1)}, 1, Grouping{}); return err },
		"weight":    func() error { _, err := RankingAccuracy(one, one, 2, Grouping{}); return err },
		"ids":       func() error { _, err := RankingAccuracy(one, one, Equal, Grouping{IDs: []int{1, 2}}); return err },
		"policy":    func() error { _, err := PrecisionAt(one, one, 1, Grouping{Undefined: 3}); return err },
		"gain":      func() error { _, err := NDCG(one, one, 1, 2, Grouping{}); return err },
		"k":         func() error { _, err := NDCG(one, one, -1, Linear, Grouping{}); return err },
		"k 0":       func() error { _, err := PrecisionAt(one, one, 0, Grouping{}); return err },
		"negative":  func() error { _, err := NDCG(one, []float64{-1}, 1, Linear, Grouping{}); return err },
		"large":     func() error { _, err := NDCG(one, []float64{513}, 1, Exponential, Grouping{}); return err },
		"far labels": func() error {
			_, err := RankingAccuracy([]float64{1, 2}, []float64{-0x1p899, 0x1.8p899}, LabelGap, Grouping{})
			return err
		},
		"scale": func() error { _, err := Relevance(one, 0); return err },
		"range": func() error { _, err := Relevance([]float64{1.5}, 1); return err },
		"NaN":   func() error { _, err := Relevance([]float64{math.NaN()}, 1); return err },
	} {
		if err := f(); err == nil || errors.Is(err, ErrNothingToRank) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
