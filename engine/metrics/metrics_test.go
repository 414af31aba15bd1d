package metrics

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"dyad/engine"
	"dyad/internal/must"
)

// wins returns 1 if p is above q, 1/2 if they are equal, and 0 otherwise.
func wins(p, q float64) float64 {
	switch {
	case p > q:
		return 1
	case p == q:
		return 0.5
	}
	return 0
}

// slowAUC is the definition.
func slowAUC(scores, labels []float64) float64 {
	var right, pairs float64
	for i, p := range scores {
		for j, q := range scores {
			if labels[i] > 0 && labels[j] <= 0 {
				pairs++
				right += wins(p, q)
			}
		}
	}
	return right / pairs
}

func TestAUCEqualsDefinition(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for trial := range 300 {
		n := 2 + r.IntN(60)
		s, y := make([]float64, n), make([]float64, n)
		levels := 1 + r.IntN(20) // few levels: many ties
		for i := range s {
			s[i] = float64(r.IntN(levels)-levels/2) / 3
			y[i] = float64(2*r.IntN(2) - 1)
		}
		y[0], y[1] = 1, -1
		if trial%10 == 0 {
			s[0], s[n-1] = math.Inf(1), math.Copysign(0, -1)
		}
		must.Equal(t, must.Get(AUC(s, y))(t), slowAUC(s, y), "AUC(%v, %v)", s, y)
	}
}

func TestAUCValues(t *testing.T) {
	for _, c := range []struct {
		scores, labels []float64
		want           float64
	}{
		{[]float64{1, 2, 3}, []float64{-1, -1, 1}, 1},
		{[]float64{3, 2, 1}, []float64{-1, -1, 1}, 0},
		{[]float64{5, 5, 5}, []float64{-1, -1, 1}, 0.5},
		{[]float64{1, 2, 2}, []float64{-1, -1, 1}, 0.75},
		{[]float64{1, 2, 2}, []float64{0, 0, 0.5}, 0.75}, // any label above 0 is positive
	} {
		must.Equal(t, must.Get(AUC(c.scores, c.labels))(t), c.want, "AUC(%v, %v)", c.scores, c.labels)
	}
}

// For counts beyond 2^53 the quotient must still be the nearest float64. Here
// the positives lie above all negatives but one, which lies above all of them:
// AUC = 1 - 1/N exactly.
func TestAUCLarge(t *testing.T) {
	const n = 200001
	s, y := make([]float64, 2*n), make([]float64, 2*n)
	for i := range n {
		s[i], y[i] = -1, -1
		s[n+i], y[n+i] = float64(i), 1
	}
	s[0] = math.Inf(1)
	must.Equal(t, must.Get(AUC(s, y))(t), float64(n-1)/float64(n), "AUC")
}

func TestAccuracy(t *testing.T) {
	s := []float64{0.1, 0.5, 0.9, 0.5, 0.2}
	y := []float64{-1, 1, 1, -1, 1}
	must.Equal(t, must.Get(Accuracy(s, y, 0.5))(t), 0.6, "accuracy")
}

func TestErrors(t *testing.T) {
	for _, c := range []struct {
		scores, labels []float64
		oneClass       bool
	}{
		{[]float64{1, 2}, []float64{1, 1}, true},
		{[]float64{1, 2}, []float64{-1, 0}, true},
		{nil, nil, true},
		{[]float64{1}, []float64{1, -1}, false},
		{[]float64{1, math.NaN()}, []float64{1, -1}, false},
		{[]float64{1, 1}, []float64{1, math.NaN()}, false},
	} {
		_, a := AUC(c.scores, c.labels)
		_, b := Accuracy(c.scores, c.labels, 0)
		for _, err := range []error{a, b} {
			if err == nil || errors.Is(err, ErrOneClass) != c.oneClass {
				t.Errorf("%v %v: got %v", c.scores, c.labels, err)
			}
		}
	}
	must.Err(Accuracy([]float64{1, 2}, []float64{1, -1}, math.NaN()))(t, "a NaN threshold was accepted")
}

func TestScores(t *testing.T) {
	dense := must.Get(engine.NewRecords([]float64{0.5, 0, 0, 0.25}, []float64{1, -1}, 2, engine.UnitBounds()))(t)
	sparse := must.Get(engine.NewSparseRecords([]int64{0, 1, 2}, []int32{0, 1}, []float64{0.5, 0.25}, []float64{1, -1}, 2, engine.UnitBounds()))(t)
	for _, r := range []*engine.Records{dense, sparse} {
		s, err := Scores(r, []float64{2, -4})
		if err != nil || s[0] != 1 || s[1] != -1 {
			t.Errorf("got %v, %v", s, err)
		}
		must.Err(Scores(r, []float64{1}))(t, "one weight for two features was accepted")
	}
}
